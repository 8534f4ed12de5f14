#!/usr/bin/env python3
"""The number of workers is part of the algorithm, the number of ranks is not: eight workers end in the same weights on any number of ranks."""

import json
import os
import signal
import subprocess
import time
import unittest

from paragrad_cli import MPIEXEC, PLATFORM, PROGRAM, CliTest, run, weights, working_ranks

WORKERS = 8
DENSE = ["--model", "8-12-6:sigmoid", "--learning-rate", "0.1", "--epochs", "2", "--blocks", "2", "--minibatch", "16"]
WIDE = ["--model", "8-700-6:sigmoid", *DENSE[2:]]  # layers whose messages are not eager
TASKS = {
    "bmuf": [*WIDE, "--strategy", "bmuf"],
    "1-bit": [*WIDE, "--strategy", "data_parallel", "--gradient-bits", "1"],
    "buffered": [*WIDE, "--strategy", "data_parallel", "--buffered", "true"],
    "PowerSGD": [*WIDE, "--strategy", "data_parallel", "--compression", "power_sgd:2"],
    "DiLoCo": [*DENSE, "--strategy", "diloco", "--optimiser", "adamw"],
    "streaming": [*WIDE, "--strategy", "streaming_diloco", "--fragment-cut", "packed", "--outer-delay", "9"],
    "sparse": [*WIDE, "--strategy", "diloco", "--outer-compression", "top_k:0.1", "--gather-codes", "true", "--error-decay", "0.9"],
    "eager": [*WIDE, "--strategy", "eager_diloco", "--optimiser", "adamw"],
    "pairs": [*DENSE, "--strategy", "noloco", "--optimiser", "muon"],
    "sparse averaging": [*DENSE, "--strategy", "sparta", "--mask-share", "0.1", "--optimiser", "adamw"],
    "Adam": [*DENSE, "--strategy", "data_parallel", "--optimiser", "adam", "--bucket-bytes", "300"],
    "servers": [*DENSE, "--strategy", "bmuf", "--collective", "parameter_server"],
    "hierarchical": [*DENSE, "--strategy", "model_averaging", "--collective", "hierarchical", "--workers-per-node", "3"],
    "tensor parallelism": [*DENSE, "--strategy", "bmuf", "--tensor-parallel", "2"],
    "DBLSTM": ["--model", "8-2xblstm6-6", "--chunks", "3-8+3", "--learning-rate", "0.1", "--epochs", "2", "--blocks", "1", "--minibatch", "2",
               "--strategy", "bmuf"],
    "DBN": [*DENSE, "--strategy", "slowmo", "--pretrain-epochs", "1", "--pretrain-learning-rate", "0.01", "--visible-units", "gaussian"],
}


class Elastic(CliTest):
    def test_eight_workers_end_in_the_same_weights_on_any_number_of_ranks(self):
        for name, task in TASKS.items():
            options = ["--workers", WORKERS, "--data", self.data, *task, "--quiet"]
            emulated = weights(run("simulate", "--platform", PLATFORM, *options))
            for ranks in (0, 1, 2, 3, 4):
                with self.subTest(task=name, ranks=ranks):
                    self.assertEqual(weights(run("train", *options, ranks=ranks)), emulated)

    def test_memory_that_the_host_cannot_reach_changes_no_weight(self):
        options = ["--workers", 5, "--data", self.data, *TASKS["1-bit"], "--quiet"]
        self.assertEqual(weights(run("train", *options, "--device", "isolated", ranks=2)), weights(run("train", *options)))

    def test_asynchronous_workers_and_their_servers_share_ranks(self):
        for more in (["--strategy", "async_sgd", "--servers", "2"], ["--strategy", "easgd"],
                     ["--strategy", "async_local_sgd", "--push-every", "3"]):
            with self.subTest(options=more):
                out = self.folder / more[1]
                weights(run("train", "--workers", 4, "--data", self.data, *DENSE, *more, "--quiet", "--out", out, ranks=3))
                manifest = json.loads((out / "manifest.json").read_text())
                self.assertEqual([manifest["run"][key] for key in ("world", "workers", "ranks")], ["mpi", 4, 3])

    def test_a_run_says_how_many_workers_it_has_and_can_be_repeated_on_another_number_of_ranks(self):
        out, again = self.folder / "three", self.folder / "two"
        begun = weights(run("train", "--data", self.data, *TASKS["bmuf"], "--quiet", "--out", out, ranks=3))
        self.assertIn("workers=3\n", (out / "config.toml").read_text())
        for ranks in (0, 2):
            self.assertEqual(weights(run("train", "--config", out / "config.toml", "--out", again, "--overwrite", ranks=ranks)), begun)
        self.assertEqual(weights(run("simulate", "--config", out / "config.toml", "--platform", PLATFORM, "--out", again, "--overwrite")), begun)

    def test_when_a_rank_is_killed_all_end_and_it_is_named(self):
        out = self.folder / "killed"
        task = TASKS["bmuf"].copy()
        task[task.index("--epochs") + 1] = "100000"  # longer than anybody waits
        command = [MPIEXEC, "-n", "2", PROGRAM, "train", "--workers", "5", "--data", self.data, *task, "--quiet", "--out", str(out)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as launcher:
            deadline = time.monotonic() + 20
            while len(ranks := working_ranks(out)) < 2 and time.monotonic() < deadline:
                time.sleep(0.1)
            time.sleep(0.5)
            os.kill(ranks[1], signal.SIGKILL)
            output = launcher.communicate(timeout=20)[0]
        self.assertNotEqual(launcher.returncode, 0)
        self.assertIn("rank 1 was killed", output)

    def test_one_sided_windows_between_ranks_that_share_workers_are_refused(self):
        options = ["--workers", 4, "--data", self.data, *DENSE, "--strategy", "async_sgd", "--server-transport", "windows", "--quiet"]
        refused = run("train", *options, ranks=2)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("one-sided windows need one worker per rank", refused.stderr)


if __name__ == "__main__":
    unittest.main()
