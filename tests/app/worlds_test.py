#!/usr/bin/env python3
"""Emulated workers, workers that share a process, and MPI ranks end in the same weights, bit for bit."""

import os
import re
import signal
import subprocess
import time
import unittest
from pathlib import Path

from paragrad_cli import MPIEXEC, PLATFORM, PROGRAM, ROOT, CliTest, run, weights

STRATEGIES = {
    "data_parallel": [],
    "model_averaging": [],
    "bmuf": [],
    "bmuf_adam": ["--optimiser", "adam"],
    "bmuf_adam cbm": ["--optimiser", "adamw", "--bmuf-kind", "cbm", "--block-momentum", "0.5"],
    "post_local_sgd": [],
    "slowmo": [],
    "slowmo with falling rates": ["--schedule", "exponential"],
    "diloco": [],
    "streaming_diloco": ["--fragment-cut", "packed", "--outer-delay", "2"],
    "eager_diloco": [],
    "eager_diloco without eager steps": ["--eager", "false"],
    "noloco": [],
    "noloco in threes": ["--group-size", "3"],
    "sparta": ["--mask-share", "0.2"],
    "sparta in a cycle": ["--mask-share", "0.4", "--mask", "cycle"],
    "bmuf cbm": ["--bmuf-kind", "cbm"],
    "bmuf cntk": ["--block-learning-rate-form", "cntk", "--block-momentum-time-constant", "100"],
    "bmuf nbm_cntk": ["--bmuf-kind", "nbm_cntk"],
}
LAUNCHERS_WITHOUT_MPI = {
    "srun": {"SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "0"},
    "flux run": {"FLUX_JOB_SIZE": "2", "FLUX_TASK_RANK": "1"},
    "jsrun": {"JSM_NAMESPACE_SIZE": "2", "JSM_NAMESPACE_RANK": "0"},
    "PALS": {"PALS_RANKID": "1"},
    "aprun": {"ALPS_APP_PE": "1"},
    "mpirun_rsh": {"MV2_COMM_WORLD_SIZE": "2", "MV2_COMM_WORLD_RANK": "0"},
}
CHANGE_A_LONE_WORKER = ["bmuf cntk", "bmuf_adam", "bmuf_adam cbm", "slowmo", "slowmo with falling rates", "diloco", "streaming_diloco", "eager_diloco",
                        "eager_diloco without eager steps", "noloco", "noloco in threes"]
COLLECTIVES = ["ring", "tree", "binomial", "butterfly", "halving_doubling", "parameter_server", "sharded_parameter_server",
               "double_tree", "hierarchical", "hierarchical:tree+halving_doubling", "auto"]


def ranks_with(argument: str) -> list[int]:
    """Processes of the program itself (not the launcher's) that were given this argument."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (process / "cmdline").read_bytes().decode().split("\0")
            if argument in arguments and (process / "exe").resolve() == Path(PROGRAM).resolve():
                found.append(int(process.name))
        except OSError:
            pass  # it has ended meanwhile
    return found


class Worlds(CliTest):
    def same_everywhere(self, workers: int, *options: str, task: list[str] | None = None, ranks: bool = True) -> str:
        """The hash of the weights with which this training ends in every world. ranks: also under MPI, which takes most of the time.
        Tests that combine two lists run every other pair there, so that each element occurs."""
        task = [*(self.task if task is None else task), *options]
        emulated = weights(run("simulate", "--workers", workers, "--platform", PLATFORM, *task))
        self.assertEqual(weights(run("train", "--workers", workers, *task)), emulated, "workers of one process")
        if ranks:
            self.assertEqual(weights(run("train", *task, ranks=workers)), emulated, "ranks")
        return emulated

    def test_ranks_that_another_launcher_started_and_that_are_alone_are_refused(self):
        for variables in ({"PMI_SIZE": "3"}, {"OMPI_COMM_WORLD_SIZE": "3"}, {"PMIX_RANK": "0", "SLURM_STEP_NUM_TASKS": "3"},
                          {"PMIX_RANK": "0", "FLUX_JOB_SIZE": "3"}):
            self.assert_refused(run("train", *self.task, env=os.environ | variables), "3 ranks", "alone", "MPI")
        self.assert_refused(run("train", *self.task, env=os.environ | {"PMIX_RANK": "2"}), "several ranks", "alone", "MPI")

    def test_processes_that_a_launcher_started_without_mpi_are_refused(self):
        checkpoint = self.folder / "of-one" / "checkpoint.h5"
        run("train", *self.task, "--out", checkpoint.parent).check_returncode()
        commands = (["train", *self.task], ["train", *self.task, "--workers", "2"], ["evaluate", checkpoint, "--data", self.data],
                    ["sharpness", checkpoint, "--data", self.data], ["calibrate", "--out", self.folder / "new.toml"])
        for launcher, variables in LAUNCHERS_WITHOUT_MPI.items():
            for command in commands if launcher == "srun" else commands[:1]:
                with self.subTest(launcher=launcher, command=command[0]):
                    self.assert_refused(run(*command, env=os.environ | variables), f"{launcher} has started", "cannot find each other",
                                        *variables)

    def test_a_launcher_that_started_one_process_changes_nothing(self):
        alone = weights(run("train", *self.task))
        for variables in LAUNCHERS_WITHOUT_MPI.values():
            ones = {name: "0" if name.endswith(("RANK", "RANKID", "PROCID", "PE")) else "1" for name in variables}
            with self.subTest(variables=ones):
                self.assertEqual(weights(run("train", *self.task, env=os.environ | ones)), alone)
        # A batch script of Slurm is no step, whatever the job has asked for.
        self.assertEqual(weights(run("train", *self.task, env=os.environ | {"SLURM_JOB_ID": "1", "SLURM_NTASKS": "4", "SLURM_PROCID": "0"})), alone)

    def test_every_strategy_and_collective_ends_in_the_same_weights_in_all_worlds(self):
        for name, more in STRATEGIES.items():
            collectives = COLLECTIVES if name == "bmuf" else COLLECTIVES[:4] if len(name.split()) == 1 else ["ring"]
            for collective in collectives:
                for workers in (2, 3, 4) if name == "bmuf" or collective == "ring" else [3]:
                    with self.subTest(strategy=name, collective=collective, workers=workers):
                        self.same_everywhere(workers, "--strategy", name.split()[0], *more, "--collective", collective,
                                             ranks=workers == 3 or collective == "ring")

    def test_compressed_gradients_end_in_the_same_weights_in_all_worlds(self):
        for i, compression in enumerate(("bits:1", "bits:8", "fp16", "top_k:0.1", "power_sgd:2")):
            for j, more in enumerate(([], ["--buffered", "true"], ["--bucket-bytes", "300"], ["--error-feedback", "false"],
                                      ["--auto-minibatch", "true", "--minibatch-search-samples", "100"], ["--quantise-threshold", "mean"])):
                if "mean" in more and compression != "bits:1":
                    continue
                with self.subTest(compression=compression, more=more):
                    self.same_everywhere(3, "--strategy", "data_parallel", "--compression", compression, *more,
                                         ranks=not more or "mean" in more or (i + j) % 2 == 0)

    def test_compressed_displacements_end_in_the_same_weights_in_all_worlds(self):
        for i, compression in enumerate(("bits:1", "e3m0", "statistical:4", "chunk_top_k:9,64,2", "power_sgd:2", "bf16", "partial:3")):
            for strategy in ("diloco", "streaming_diloco", "eager_diloco", "slowmo", "fed_adam"):
                for more in ([], ["--gather-codes", "true", "--error-decay", "0.9"], ["--error-feedback", "false"]):
                    if more and compression == "partial:3" or "--gather-codes" in more and compression == "power_sgd:2":
                        continue
                    with self.subTest(compression=compression, strategy=strategy, more=more):
                        self.same_everywhere(3, "--strategy", strategy, "--outer-compression", compression, *more,
                                             ranks=strategy == "diloco" or i % 4 == len(more))

    def test_published_combinations_of_the_strategies_page_run(self):
        page = (ROOT / "src/strategies/README.md").read_text()
        rows = re.findall(r"^\| [^|]*\d{4}\)[^|]* \| `(--[^`]*)`", page, re.MULTILINE)
        self.assertGreaterEqual(len(rows), 4)
        for row in rows:
            with self.subTest(options=row):
                self.same_everywhere(3, *row.split(), *(["--fragment-cut", "packed"] if "streaming_diloco" in row else []))

    def test_groups_within_nodes_sum_models_of_every_strategy_that_takes_outer_steps(self):
        for strategy in ("diloco", "slowmo", "fed_adam", "streaming_diloco", "eager_diloco", "bmuf", "sparta"):
            for collective in ("hierarchical:ring+butterfly", "auto"):
                with self.subTest(strategy=strategy, collective=collective):
                    self.same_everywhere(4, "--strategy", strategy, "--collective", collective, "--workers-per-node", "2", ranks=False)

    def test_16_bit_gradients_end_in_the_same_weights_through_every_collective_in_all_worlds(self):
        for i, collective in enumerate(COLLECTIVES):
            with self.subTest(collective=collective):
                more = ["--compression", ("fp16", "bf16")[i % 2], *(["--bucket-bytes", "300"] if i % 3 == 0 else [])]
                self.same_everywhere(3, "--strategy", "data_parallel", "--collective", collective, *more)

    def test_split_replicas_end_in_the_same_weights_in_all_worlds(self):
        for workers, more in ((2, []), (4, ["--strategy", "data_parallel", "--bucket-bytes", "300"]),
                              (4, ["--strategy", "bmuf"]), (4, ["--strategy", "data_parallel", "--gradient-bits", "1"])):
            with self.subTest(workers=workers, more=more):
                self.same_everywhere(workers, "--tensor-parallel", "2", *more)

    def test_pretrained_layers_end_in_the_same_weights_in_all_worlds(self):
        for i, strategy in enumerate(("data_parallel", "model_averaging", "bmuf", "slowmo")):
            for j, more in enumerate(([], ["--cd-steps", "2", "--persistent-chains", "true", "--pretrain-activations", "mean"],
                                      ["--sparsity-target", "0.1", "--sparsity-cost", "0.1", "--epochs", "0"])):
                with self.subTest(strategy=strategy, more=more):
                    options = ["--strategy", strategy, "--pretrain-epochs", "2", "--pretrain-learning-rate", "0.01",
                               "--visible-units", "gaussian", *more]
                    network = ("--epochs", "2", "--learning-rate", "0.1")
                    task = [a for a in self.task if a not in network] if "--epochs" in more else self.task
                    self.same_everywhere(3, *options, task=task, ranks=(i + j) % 2 == 0)

    def test_servers_of_their_own_serve_every_training_of_a_pretrained_run(self):
        options = ["--strategy", "async_sgd", "--servers", "1", "--pretrain-epochs", "1", "--pretrain-learning-rate", "0.01",
                   "--visible-units", "gaussian"]
        weights(run("train", *self.task, *options, ranks=3))
        weights(run("train", *self.task, *options, "--workers", 2))
        alone = ["--optimiser", "nesterov", *options]
        expected = weights(self.simulate(1, *alone))
        self.assertEqual(weights(run("train", *self.task, *alone, ranks=2)), expected)
        self.assertEqual(weights(run("train", *self.task, *alone, "--workers", 1)), expected)  # and a server

    def test_gradients_of_32_bits_are_uncompressed(self):
        options = ["--strategy", "data_parallel"]
        self.assertEqual(weights(self.simulate(3, *options, "--gradient-bits", "32")), weights(self.simulate(3, *options)))
        self.assertNotEqual(weights(self.simulate(3, *options, "--gradient-bits", "1")), weights(self.simulate(3, *options)))

    def test_buckets_and_overlap_end_in_the_same_weights_in_all_worlds(self):
        for workers, collective in ((2, "ring"), (3, "tree"), (4, "halving_doubling")):
            for bucket in ("100", "333", "100000000"):
                options = ["--strategy", "data_parallel", "--collective", collective, "--bucket-bytes", bucket]
                results = {}
                for overlap in ("true", "false"):
                    chosen = [*options, "--overlap", overlap]
                    results[f"simulated, overlap {overlap}"] = weights(self.simulate(workers, *chosen))
                    results[f"ranks, overlap {overlap}"] = weights(run("train", *self.task, *chosen, ranks=workers))
                    results[f"of one process, overlap {overlap}"] = weights(run("train", *self.task, *chosen, "--workers", workers))
                with self.subTest(workers=workers, collective=collective, bucket=bucket):
                    self.assertEqual(len(set(results.values())), 1, results)

    def test_the_groups_of_hierarchical_can_be_given_and_are_then_the_same_in_both_worlds(self):
        options = ["--strategy", "bmuf", "--collective", "hierarchical"]
        found = weights(self.simulate(4, *options))  # the platform has nodes of four, and so has this machine
        self.assertEqual(weights(run("train", *self.task, *options, ranks=4)), found)
        given = weights(self.simulate(4, *options, "--workers-per-node", 2))
        self.assertEqual(weights(run("train", *self.task, *options, "--workers-per-node", 2, ranks=4)), given)
        self.assertEqual(weights(run("train", *self.task, *options, "--workers-per-node", 2, "--workers", 4)), given)
        self.assertNotEqual(given, found)

    def test_what_auto_chooses_is_said_once(self):
        task = [a for a in self.task if a != "--quiet"]
        real = run("train", *task, "--strategy", "bmuf", "--collective", "auto", ranks=3)
        emulated = run("simulate", "--workers", 3, "--platform", PLATFORM, *task, "--strategy", "bmuf", "--collective", "auto")
        for result in (real, emulated):
            self.assertEqual(result.stdout.count("collective auto: "), 1, result.stdout + result.stderr)
        first = [next(line for line in result.stdout.splitlines() if "auto" in line) for result in (real, emulated)]
        self.assertIn("by its closed form", first[0])
        self.assertEqual(first[0].split(",")[0], first[1].split(",")[0])

    def test_one_worker_ends_in_the_weights_of_sgd_in_both_worlds(self):
        reference = weights(run("train", *self.task))
        self.assertEqual(weights(self.simulate(1)), reference)
        for name, more in STRATEGIES.items():
            if name in CHANGE_A_LONE_WORKER:
                continue
            for collective in COLLECTIVES if name == "bmuf" else COLLECTIVES[:1]:
                with self.subTest(strategy=name, collective=collective):
                    options = ["--strategy", name.split()[0], *more, "--collective", collective]
                    self.assertEqual(weights(self.simulate(1, *options)), reference)
            self.assertEqual(weights(run("train", *self.task, *options, ranks=1)), reference)

    def test_the_configuration_of_a_training_can_be_simulated(self):
        out = self.folder / "trained"
        real = run("train", *self.task, "--strategy", "bmuf", "--read-ahead", "false", "--out", out, ranks=2)
        again = run("simulate", "--config", out / "config.toml", "--workers", 2, "--platform", PLATFORM, "--out", self.folder / "simulated")
        self.assertEqual(weights(again), weights(real))
        hosted = run("train", "--config", out / "config.toml", "--workers", 2, "--out", self.folder / "hosted")
        self.assertEqual(weights(hosted), weights(real))
        for command in (["train"], ["simulate", "--platform", PLATFORM]):  # the number of workers is among the options
            repeated = run(*command, "--config", self.folder / "hosted/config.toml", "--out", self.folder / f"repeated-{command[0]}")
            self.assertEqual(weights(repeated), weights(real))

    def test_fewer_workers_than_ranks_are_refused(self):
        options = ["--strategy", "bmuf", "--workers", 2]
        self.assert_refused(run("train", *self.task, *options, ranks=3), "--workers", "2", "started 3 ranks")
        self.assertEqual(weights(run("train", *self.task, *options, ranks=2)), weights(self.simulate(2, "--strategy", "bmuf")))

    def test_when_samples_are_read_changes_no_weight(self):
        options = ["--strategy", "bmuf"]
        for ranks in (1, 3):
            with self.subTest(ranks=ranks):
                self.assertEqual(weights(run("train", *self.task, *options, "--read-ahead", "false", ranks=ranks)),
                                 weights(self.simulate(ranks, *options)))
        self.assert_refused(run("simulate", *self.task, "--read-ahead", "false", "--workers", 2, "--platform", PLATFORM), "--read-ahead")

    def test_local_optimisers_and_losses_end_in_the_same_weights_in_all_worlds(self):
        for i, options in enumerate((["--optimiser", "nesterov"], ["--optimiser", "adam"], ["--optimiser", "adamw", "--l2", "0.01"],
                                   ["--optimiser", "lars", "--lars-trust", "0.02"], ["--optimiser", "sgd", "--l2", "0.001"],
                                   ["--clip-gradient", "0.002"], ["--clip-gradient", "0.002", "--clip", "norm", "--optimiser", "adam"],
                                   ["--max-norm", "0.8", "--l2", "0.001"], ["--max-norm", "0.8", "--optimiser", "lars"],
                                   ["--loss", "squared_error", "--schedule", "exponential"], ["--parallel-start-epoch", "2"],
                                   ["--schedule", "newbob", "--newbob-restore", "true", "--reset-local-momentum", "false"])):
            for j, strategy in enumerate(("data_parallel", "bmuf")):
                with self.subTest(options=options, strategy=strategy):
                    self.same_everywhere(3, *options, "--strategy", strategy, ranks=(i + j) % 2 == 0)

    def test_recurrent_models_end_in_the_same_weights_in_all_worlds(self):
        chunks = ["--model", "8-2xblstm6p4+peepholes-6", "--chunks", "3-8+3"]
        spoken = ["--model", "8-blstm6-7", "--loss", "ctc", "--optimiser", "adam"]
        for name, model, workers, options in (
                ("bmuf", chunks, 3, ["--clip-gradient", "0.01"]), ("bmuf", chunks, 2, ["--bmuf-kind", "cbm"]),
                ("data_parallel", chunks, 3, ["--bucket-bytes", "1000"]), ("data_parallel", chunks, 2, ["--max-norm", "0.9"]),
                ("model_averaging", [*chunks[:3], "whole"], 3, []), ("bmuf", [*chunks[:3], "3-8+3/4"], 3, []),
                ("bmuf", spoken, 3, []), ("data_parallel", spoken, 3, ["--clip-gradient", "0.1", "--clip", "norm"])):
            with self.subTest(strategy=name, model=model, workers=workers, options=options):
                task = ["--data", self.data, *model, "--learning-rate", "0.1", "--epochs", "2", "--blocks", "2", "--minibatch",
                        "4", "--quiet", "--strategy", name, *options]
                self.same_everywhere(workers, task=task)

    def test_a_killed_rank_ends_the_others_within_seconds(self):
        task = [a if a != "2" else "100000" for a in self.task]  # epochs: longer than anybody waits
        with subprocess.Popen([MPIEXEC, "-n", "3", PROGRAM, "train", *task, "--strategy", "data_parallel"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as launcher:
            ranks = []
            while len(ranks) < 3:
                time.sleep(0.2)
                ranks = ranks_with(self.data)
            time.sleep(1)
            os.kill(ranks[-1], signal.SIGKILL)
            output = launcher.communicate(timeout=20)[0]
        self.assertNotEqual(launcher.returncode, 0)
        self.assertTrue(output.strip(), "no message")
        deadline = time.monotonic() + 5
        while any(Path(f"/proc/{rank}").exists() for rank in ranks) and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertFalse([rank for rank in ranks if Path(f"/proc/{rank}").exists()])

    def test_mpis_own_allreduce_trains_too(self):
        weights(run("train", *self.task, "--strategy", "bmuf", "--collective", "native", ranks=2))
        self.assert_refused(self.simulate(2, "--strategy", "bmuf", "--collective", "native"), "native", "choose another")
        self.assert_refused(run("train", *self.task, "--strategy", "bmuf", "--collective", "native", "--workers", 2), "native", "choose another")


if __name__ == "__main__":
    unittest.main()
