#!/usr/bin/env python3
"""What a training has found or recorded stays when it ends early: the best model, the records, and no weights that are no numbers."""

import json
import re
import unittest
from pathlib import Path

from paragrad_cli import PLATFORM, CliTest, run

BLOWS_UP = ["--epochs", "5", "--schedule", "table", "--schedule-rates", "0.2,0.2,1000,3e38,3e38", "--optimiser", "sgd"]
STRATEGIES = {"sgd": 1, "data_parallel": 2, "model_averaging": 2, "bmuf": 2, "diloco": 2, "post_local_sgd": 2, "async_sgd": 2, "async_local_sgd": 2, "easgd": 2}


def records(out: Path) -> list[dict]:
    return [record for line in (out / "metrics.jsonl").read_text().splitlines() if "epoch" in (record := json.loads(line))]


class KeptResults(CliTest):
    def command(self, command: str, workers: int, out: Path, *more: str) -> list[str]:
        platform = ["--platform", PLATFORM] if command == "simulate" else []
        rate = [] if "--lr-per-sample" in more else ["--learning-rate", "0.2"]
        return [command, "--workers", str(workers), *platform, "--data", self.data, "--model", "8-12-6:sigmoid", "--blocks", "4",
                "--minibatch", "16", "--quiet", "--out", str(out), *rate, *more]

    def error_of(self, checkpoint: Path) -> float:
        scored = run("evaluate", checkpoint, "--data", self.data, "--subset", "valid")
        return float(re.search(r"error ([0-9.]+) %", scored.stdout).group(1))

    def test_the_best_model_is_left_when_the_run_does_not_reach_its_end(self):
        worse = 0
        for strategy, workers in STRATEGIES.items():
            for validations in ("1",) if "async" in strategy or strategy == "easgd" else ("1", "2"):
                with self.subTest(strategy=strategy, validations=validations):
                    out = self.folder / f"best-{strategy}-{validations}"
                    ended = run(*self.command("train", workers, out, "--strategy", strategy, "--keep-best", "true", "--validations",
                                              validations, *BLOWS_UP))
                    self.assert_refused(ended, "lower the learning rate")
                    best = min(record["valid_error"] for record in records(out))
                    worse += best < records(out)[-1]["valid_error"]
                    self.assertAlmostEqual(self.error_of(out / "checkpoint.h5"), 100 * best, delta=0.01)
        self.assertGreater(worse, 5, "too few runs ended with a model that was not their best")

    def test_a_run_that_saved_no_state_is_not_replaced_by_resuming_it(self):
        for command in ("train", "simulate"):
            with self.subTest(command=command):
                out = self.folder / f"records-{command}"
                self.assert_refused(run(*self.command(command, 2, out, "--strategy", "model_averaging", *BLOWS_UP)), "learning rate")
                before = {name: (out / name).read_bytes() for name in ("metrics.jsonl", "checkpoint.h5", "manifest.json", "config.toml")}
                self.assertGreater(len(records(out)), 1)
                for more in ([], ["--checkpoint-every", "1"]):
                    again = run(*self.command(command, 2, out, "--strategy", "model_averaging", *BLOWS_UP, "--resume", *more))
                    self.assert_refused(again, f"holds {len(records(out))} records of a run that saved no state", "--overwrite")
                    self.assertEqual(before, {name: (out / name).read_bytes() for name in before})
                whole = ["--strategy", "model_averaging", "--epochs", "1"]
                self.assertEqual(run(*self.command(command, 2, out, *whole, "--overwrite")).returncode, 0)

    def test_a_run_without_records_or_that_saves_its_state_begins_again(self):
        out = self.folder / "begins"
        blows_up = ["--epochs", "2", "--optimiser", "sgd", "--strategy", "model_averaging", "--lr-per-sample", "3e38", "--resume"]
        for more in ([], ["--checkpoint-every", "1"]):
            for _ in range(2):
                self.assert_refused(run(*self.command("train", 2, out, *blows_up, *more)), "in epoch 1")

    def test_no_run_ends_well_with_weights_that_are_not_numbers(self):
        data = self.without_validation()
        for strategy, workers in STRATEGIES.items():
            if strategy == "easgd":
                continue  # whose centre goes only a part of the way
            with self.subTest(strategy=strategy):
                out = self.folder / f"infinite-{strategy}"
                for folder in (["--out", str(out)], []):
                    ended = run("train", "--workers", workers, "--strategy", strategy, "--data", data, "--model", "8-12-6:relu",
                                "--lr-per-sample", "1e38", "--minibatch", "0", "--blocks", "1", "--optimiser", "sgd", "--epochs", "1", *folder)
                    self.assert_refused(ended, "weights became infinite or NaN in epoch 1")
                self.assertFalse((out / "checkpoint.h5").exists())


    def test_a_state_with_weights_that_are_not_numbers_does_not_replace_a_good_one(self):
        out = self.folder / "good-state"
        ended = run("train", "--workers", "2", "--strategy", "model_averaging", "--data", self.data, "--model", "8-12-6:relu", "--optimiser",
                    "sgd", "--lr-per-sample", "3e38", "--minibatch", "0", "--blocks", "4", "--epochs", "1", "--quiet", "--out", out,
                    "--checkpoint-every", "1")
        self.assert_refused(ended, "weights became infinite or NaN in epoch 1")
        self.assertFalse((out / "state/latest.json").exists())


class BatchNormalisation(CliTest):
    def train(self, workers: int, *more: str):
        model = self.folder / "normalised.txt"
        model.write_text("network normalised\ninput 8\na = affine input outputs=16\nn = batch_norm a\nr = relu n\n"
                         "y = affine r outputs=6\n")
        return run("train", "--workers", workers, "--data", self.data, "--model", f"file:{model}", "--learning-rate", "0.1",
                   "--epochs", "1", "--quiet", *more)

    def test_a_variance_of_one_value_is_refused_before_training(self):
        shared = ["--strategy", "data_parallel", "--minibatch", "8", "--blocks", "1"]
        self.assert_refused(self.train(8, *shared), "n (batch_norm", "one of 4 samples gives some of 8 workers a single sample: add --sync-batch-norm")
        self.assertEqual(self.train(8, *shared, "--sync-batch-norm").returncode, 0)
        self.assert_refused(self.train(1, "--minibatch", "1"), "minibatch of a block is a single sample")
        self.assert_refused(self.train(1, "--minibatch", "499", "--blocks", "1"), "the last minibatch of a block is a single sample")
        self.assert_refused(self.train(2, "--strategy", "post_local_sgd", "--minibatch", "3", "--blocks", "1"), "some of 2 workers a single sample: give a larger --minibatch")
        self.assertEqual(self.train(1, "--minibatch", "250", "--blocks", "1").returncode, 0)


if __name__ == "__main__":
    unittest.main()
