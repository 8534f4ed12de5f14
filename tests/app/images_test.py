#!/usr/bin/env python3
"""Convolutional networks end in the same weights in both worlds, in a timing run in the same time, and after an interruption."""

import json
import unittest

from paragrad_cli import PLATFORM, FolderTest, run, weights

STRATEGIES = {
    "data_parallel": [],
    "data_parallel in buckets": ["--bucket-bytes", "4000"],
    "data_parallel in one bit": ["--gradient-bits", "1"],
    "bmuf": [],
    "diloco": [],
}


class Images(FolderTest):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.data = str(cls.folder / "images.h5")
        made = run("data", "generate", "--out", cls.data, "--samples", 320, "--valid", 40, "--test", 40, "--dim", 192, "--classes", 10)
        assert made.returncode == 0, made.stderr

    def task(self, *more: str) -> list[str]:
        return ["--data", self.data, "--model", "zoo:resnet:depth=8,side=8", "--learning-rate", "0.05", "--epochs", "2", "--blocks",
                "2", "--minibatch", "16", "--quiet", *more]

    def simulate(self, workers: int, *options: str):
        return run("simulate", "--workers", workers, "--platform", PLATFORM, *options)

    def test_residual_networks_end_in_the_same_weights_in_both_worlds(self):
        for name, more in STRATEGIES.items():
            for workers in (2, 4):
                with self.subTest(strategy=name, workers=workers):
                    options = self.task("--strategy", name.split()[0], *more)
                    self.assertEqual(weights(self.simulate(workers, *options)), weights(run("train", *options, ranks=workers)))

    def test_host_threads_do_not_change_a_bit(self):
        options = self.task("--strategy", "bmuf")
        self.assertEqual(len({weights(self.simulate(4, *options, "--host-threads", n)) for n in (1, 2)}), 1)

    def test_devices_agree_within_rounding(self):
        losses = []
        for device in ("cpu", "reference"):
            out = self.folder / device
            result = run("train", *self.task(), "--device", device, "--out", out)
            self.assertEqual(result.returncode, 0, result.stderr)
            losses.append(json.loads((out / "metrics.jsonl").read_text().splitlines()[0])["train_loss"])
        self.assertAlmostEqual(losses[0], losses[1], delta=1e-3 * losses[0])

    def test_a_timing_run_takes_the_simulated_time_of_the_run_that_computes(self):
        times = []
        for device in ("cpu", "meta"):
            result = self.simulate(4, *self.task("--strategy", "data_parallel", "--device", device, "--out", self.folder / f"timed-{device}"))
            self.assertEqual(result.returncode, 0, result.stderr)
            times.append(json.loads((self.folder / f"timed-{device}/manifest.json").read_text())["simulation"]["makespan_s"])
        self.assertEqual(times[0], times[1])

    def test_networks_that_do_not_fit_are_refused(self):
        task = self.task()
        model = task.index("zoo:resnet:depth=8,side=8")
        for name, *words in (("zoo:lenet5", "192", "784"), ("zoo:resnet:depth=9", "depth", "6n + 2"), ("zoo:resnet:side=3", "side", "4"),
                             ("zoo:resnet:depth", "KEY=VALUE"), ("zoo:resnet:sides=8", "sides", "side")):
            with self.subTest(model=name):
                self.assert_refused(run("train", *task[:model], name, *task[model + 1:]), *words)
        self.assert_refused(run("train", *task, "--micro-batch", "4"), "batch_norm")
        self.assert_refused(self.simulate(2, *task, "--strategy", "data_parallel", "--tensor-parallel", "2"), "cannot be split")


if __name__ == "__main__":
    unittest.main()
