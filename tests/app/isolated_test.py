#!/usr/bin/env python3
"""What a GPU asks of the program: on the device `isolated`, whose memory the host cannot reach and which computes only when
waited for, every training ends in the weights of the device `cpu`, in both worlds."""

import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from paragrad_cli import PLATFORM, PROGRAM, ROOT, CliTest, run, weights

SERVER = ["--servers", "1", "--optimiser", "sgd", "--momentum", "0"]
TRAININGS = {  # by strategy, and what is asked of it
    "sgd": [["--keep-best", "true"], ["--clip-gradient", "0.002", "--clip", "norm", "--max-norm", "0.8"]],
    "data_parallel": [[], ["--overlap", "true", "--bucket-bytes", "300"], ["--buffered", "true", "--gradient-bits", "1"],
                      ["--compression", "top_k:0.1"], ["--compression", "power_sgd:2"], ["--compression", "fp16"],
                      ["--optimiser", "lars"], ["--optimiser", "adagrad"], ["--tensor-parallel", "2"],
                      ["--auto-minibatch", "true", "--minibatch-search-samples", "100"],
                      ["--collective", "hierarchical:tree+halving_doubling"], ["--parallel-start-epoch", "2"]],
    "model_averaging": [[], ["--schedule", "newbob", "--newbob-restore", "true"]],
    "bmuf": [[], ["--bmuf-kind", "nbm_cntk", "--validations", "2", "--keep-best", "true"], ["--tensor-parallel", "2"],
             ["--pretrain-epochs", "1", "--visible-units", "gaussian", "--persistent-chains", "true",
              "--pretrain-learning-rate", "0.01"]],
    "bmuf_adam": [["--optimiser", "adam"]],
    "slowmo": [[]],
    "diloco": [[], ["--outer-compression", "statistical:2"], ["--outer-compression", "e3m0", "--gather-codes", "true"]],
    "streaming_diloco": [[], ["--fragments", "2", "--fragment-cut", "packed", "--outer-delay", "3"]],
    "eager_diloco": [[], ["--eager", "false"]],
    "noloco": [[]],
    "sparta": [["--mask-share", "0.3"]],
    "post_local_sgd": [[]],
}
ASYNCHRONOUS = ["async_sgd", "easgd", "bounded_staleness", "staleness_scaled", "lazy_sgd", "backup_workers", "async_local_sgd"]
RECURRENT = {
    "chunks": ["--model", "8-2xblstm6p4+peepholes-6", "--chunks", "3-8+3", "--clip-gradient", "0.01"],
    "ctc": ["--model", "8-blstm6-7", "--loss", "ctc", "--optimiser", "adam"],
}


class Isolated(CliTest):
    def test_a_collective_that_wants_more_scratch_memory_in_its_middle_has_the_right_sums(self):
        for collective, workers, more in (("butterfly", "5,6,7", []), ("bruck", "5,9,10", ["--operation", "reduce_scatter"]),
                                          ("hierarchical:ring+butterfly", "8", ["--workers-per-node", "2"])):
            with self.subTest(collective=collective):
                done = run("collective", "--collective", collective, "--workers", workers, "--bytes", "52B", "--platform", PLATFORM,
                           "--device", "isolated", *more)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_every_training_ends_in_the_weights_of_cpu(self):
        for strategy, variants in TRAININGS.items():
            for more in variants:
                with self.subTest(strategy=strategy, more=more):
                    options = ["--strategy", strategy, *more]
                    workers = 1 if strategy == "sgd" else 4
                    expected = weights(self.simulate(workers, *options))
                    self.assertEqual(weights(self.simulate(workers, *options, "--device", "isolated")), expected)

    def test_messages_of_ranks_go_through_memory_of_the_host(self):
        for strategy, more in (("data_parallel", ["--overlap", "true", "--bucket-bytes", "300"]), ("bmuf", []),
                               ("data_parallel", ["--gradient-bits", "1"]), ("model_averaging", ["--collective", "native"])):
            with self.subTest(strategy=strategy, more=more):
                options = [*self.task, "--strategy", strategy, *more]
                expected = weights(run("train", *options, ranks=3))
                self.assertEqual(weights(run("train", *options, "--device", "isolated", ranks=3)), expected)

    def test_asynchronous_runs_repeat_those_of_cpu(self):
        for strategy in ASYNCHRONOUS:
            with self.subTest(strategy=strategy):
                options = ["--strategy", strategy, *(SERVER if strategy != "easgd" else SERVER[2:])]
                expected = weights(self.simulate(3, *options))
                self.assertEqual(weights(self.simulate(3, *options, "--device", "isolated")), expected)
        weights(run("train", *self.task, "--strategy", "async_sgd", *SERVER, "--device", "isolated", ranks=3))

    def test_recurrent_models_end_in_the_weights_of_cpu_and_score_the_same(self):
        for name, model in RECURRENT.items():
            scores = {}
            for device in ("cpu", "isolated"):
                out = str(self.folder / f"{name}-{device}")
                done = run("simulate", "--workers", 2, "--platform", PLATFORM, "--data", self.data, *model, "--learning-rate", "0.1",
                           "--epochs", "2", "--blocks", "2", "--minibatch", "4", "--quiet", "--strategy", "bmuf", "--device",
                           device, "--out", out)
                loss = ["--loss", "ctc"] if name == "ctc" else []
                scored = run("evaluate", f"{out}/checkpoint.h5", "--data", self.data, *loss, "--device", device)
                self.assertEqual(scored.returncode, 0, scored.stderr)
                scores[device] = (weights(done), scored.stdout)
            self.assertEqual(scores["cpu"], scores["isolated"])

    def test_one_sided_windows_are_refused(self):
        options = ["--strategy", "async_sgd", *SERVER, "--server-transport", "windows", "--device", "isolated"]
        self.assert_refused(self.simulate(2, *options), "windows", "--server-transport messages")
        weights(self.simulate(2, *options[:-4], "--server-transport", "auto", "--device", "isolated"))


@unittest.skipIf(shutil.which("nvidia-smi"), "there may be a GPU")
class WithoutGpu(CliTest):
    def test_a_machine_without_a_gpu_says_so_in_one_sentence(self):
        for device in ("cuda", "cuda:tf32"):
            self.assert_refused(self.simulate(1, "--device", device), "device 'cuda'", "choose the device cpu")

    def test_gpu_check_says_so_too_and_writes_no_report(self):
        report = self.folder / "gpu-report.json"
        done = subprocess.run([sys.executable, ROOT / "tests/gpu/check.py", "--programs", Path(PROGRAM).parent, "--report", report],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assert_refused(done, "gpu-check", "choose the device cpu")
        self.assertFalse(report.exists())


if __name__ == "__main__":
    unittest.main()
