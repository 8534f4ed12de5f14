#!/usr/bin/env python3
"""What does not fit into memory, onto the disk or below a limit ends with one sentence, if possible before it is begun."""

import json
import os
import resource
import shutil
import unittest

from paragrad_cli import PLATFORM, CliTest, run, weights


def under(limit: int, value: int) -> dict:
    """For run(): the child with a resource limit."""
    return {"preexec_fn": lambda: resource.setrlimit(limit, (value, value))}


ADDRESS_SPACE = under(resource.RLIMIT_AS, 6_000_000_000)


class Memory(CliTest):
    def train(self, model: str, *arguments: str, **more):
        return run("train", "--data", self.data, "--model", model, "--learning-rate", "0.1", "--epochs", 1, "--quiet", *arguments, **more)

    def test_a_model_that_does_not_fit_is_refused_before_it_is_made(self):
        self.assert_refused(self.train("8-1000000-1000000-6"), "'8-1000000-1000000-6'", "of 1 worker needs 8TB of memory, but ",
                            "is free")
        self.assert_refused(self.train("8-30000-30000-30000-6", **ADDRESS_SPACE), "of 1 worker needs 14.4", "GB of memory, but ")
        self.assert_refused(self.train("8-20000-20000-6", "--optimiser", "adam", **ADDRESS_SPACE), "needs 6.4", "GB of memory")

    def test_all_emulated_workers_count(self):
        model = ["--data", self.data, "--model", "8-10000-10000-6", "--learning-rate", "0.1", "--epochs", 1]
        self.assert_refused(run("simulate", "--workers", 8, "--platform", PLATFORM, "--oversubscribe", *model, **ADDRESS_SPACE),
                            "of 8 workers needs 6.4", "GB of memory, but ")
        self.assert_refused(run("collective", "--device", "cpu", "--workers", 8, "--platform", PLATFORM, "--oversubscribe", "--bytes",
                                "1GB", **ADDRESS_SPACE), "1000000000 bytes at each of 8 workers needs 8GB of memory, but ")

    def test_what_shows_in_the_midst_of_a_run_is_no_internal_error(self):
        # Parameters and gradient fit, and nothing beside them.
        result = self.train("8-22000-22000-6", **under(resource.RLIMIT_AS, 4_500_000_000))
        self.assert_refused(result, "memory")

    def test_a_timing_run_needs_no_memory_for_its_models(self):
        result = run("simulate", "--device", "meta", "--workers", 256, "--platform", PLATFORM, "--oversubscribe", "--model", "zoo:vgg16",
                     "--train-samples", 1281167, "--minibatch", 4096, "--strategy", "data_parallel", "--epochs", 1, "--max-blocks", 1,
                     "--max-steps", 1, "--quiet", **ADDRESS_SPACE)  # the models alone would take 283 GB
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_generator_that_does_not_fit_is_refused(self):
        for option, value in (("--dim", 4000000000), ("--classes", 99999999999), ("--mixtures", 9999999999)):
            result = run("data", "generate", "--out", self.folder / "large.h5", option, value, **ADDRESS_SPACE)
            self.assert_refused(result, f"{value} ", "of memory, but only ", "is free")
        self.assertEqual(list(self.folder.glob("large*")), [])


class Disk(CliTest):
    def test_a_data_file_that_does_not_fit_is_refused_before_it_is_written(self):
        result = run("data", "generate", "--out", self.folder / "large.h5", "--samples", 99999999999999, "--valid", 0, "--test", 0)
        self.assert_refused(result, f"'{self.folder / 'large.h5'}' needs 16000TB more, but its disk has only ", " free")
        self.assertEqual(list(self.folder.glob("large*")), [])

    def test_a_file_beyond_the_limit_of_file_sizes_is_reported(self):
        file = self.folder / "limited.h5"
        small = under(resource.RLIMIT_FSIZE, 100_000)
        generate = ["data", "generate", "--out", file, "--samples", 5000]
        self.assert_refused(run(*generate, **small), str(file), "File too large")
        self.assertEqual(list(self.folder.glob("limited*")), [])

    def test_a_run_beyond_the_limit_of_file_sizes_can_be_resumed(self):
        out = self.folder / "run"
        options = ["train", *self.task, "--out", out, "--checkpoint-every", 1, "--resume"]
        self.assert_refused(run(*options, **under(resource.RLIMIT_FSIZE, 3000)), "File too large")
        self.assertEqual(weights(run(*options)), weights(run("train", *self.task)))


class Clock(CliTest):
    def simulate(self, *arguments: str, strategy: str = "data_parallel"):
        return run("simulate", "--device", "meta", "--model", "784-512-10:relu", "--train-samples", "1000000", "--blocks", "1", "--minibatch",
                   "100000", "--workers", "4", "--strategy", strategy, "--platform", PLATFORM, "--quiet", *arguments)

    def test_a_simulation_ends_after_weeks_or_is_refused_with_the_end_of_the_clock(self):
        out = self.folder / "weeks"
        weeks = self.simulate("--device-rate", "1", "--epochs", "12", "--out", str(out))  # a million samples on four devices in each
        self.assertEqual(weeks.returncode, 0, weeks.stderr)
        records = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        self.assertAlmostEqual([record["time_s"] for record in records if "epoch" in record][-1], 3e6, delta=2e4)
        self.assert_refused(self.simulate("--device-rate", "1", "--epochs", "14"), "more than 40 days of simulated time", "--max-blocks")
        for strategy in ("model_averaging", "async_sgd", "bmuf"):
            self.assert_refused(self.simulate("--device-rate", "1", "--epochs", "500", strategy=strategy), "more than 40 days")


if __name__ == "__main__":
    unittest.main()
