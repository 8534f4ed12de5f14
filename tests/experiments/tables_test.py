#!/usr/bin/env python3
"""Differences of errors along a property of the data sets, tolerances of recorded values, and derived metrics, from results made by hand."""

import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "experiments/harness")]

from config import DataSet, Experiment, Run  # noqa: E402
from derived import derived  # noqa: E402
from tables import trend  # noqa: E402
from verdicts import repetition  # noqa: E402

TABLE = {"title": "behind one worker", "runs": ["nbm-*", "sync-*"], "against": "sgd", "along": "hours"}


def experiment() -> Experiment:
    data = [DataSet(name, "", False, name, at=at) for name, at in (("ten", 10.0), ("one", 1.0), ("other", None))]
    runs = [Run(name, {"workers": 8}) for name in ("sgd", "nbm-8", "sync-8")]
    return Experiment("by_hand", "full", [1, 2], data, runs, None, [], [])


def errors(**of_runs: list[float]) -> dict[str, dict[int, dict[str, float]]]:
    return {run.replace("_", "-"): {seed: {"test_error": error} for seed, error in enumerate(of_seeds, 1)} for run, of_seeds in of_runs.items()}


class Along(unittest.TestCase):
    def test_a_column_per_data_set_in_the_order_of_their_places(self):
        results = {"ten": errors(sgd=[0.2, 0.3], nbm_8=[0.201, 0.303], sync_8=[0.2, 0.3]),
                   "one": errors(sgd=[0.5, 0.6], nbm_8=[0.52, 0.62]),
                   "other": errors(sgd=[0.1, 0.1], nbm_8=[0.9, 0.9])}
        # Differences on ten hours 0.1 and 0.3 points: 0.2 with 12.706 times their standard error, 0.1.
        self.assertEqual(trend(experiment(), results, TABLE),
                         [["run", "minus", "1", "10"], ["nbm-8", "sgd", "+2.00 ± 0.00", "+0.20 ± 1.27"],
                          ["sync-8", "sgd", "-", "+0.00 ± 0.00"]])


class Deviations(unittest.TestCase):
    ENTRY = {"metric": "test_error", "deviations": 5}
    # Standard deviations 0.001, 0.003 and 0.01 (times the root of 2 over 2): the first counts as that of the median run.
    RECORDED = errors(sgd=[0.2, 0.201], nbm_8=[0.2, 0.203], sync_8=[0.2, 0.21])

    def wrong(self, machine: str = "another", by_seeds: bool = False, **of_runs: list[float]) -> list[str]:
        results = errors(**of_runs)
        for seeds in results.values():
            for result in seeds.values():
                result["machine"] = machine
        recorded = {run: {seed: result | {"machine": "one"} for seed, result in seeds.items()} for run, seeds in self.RECORDED.items()}
        return [re.match(r"data (\S+) seed (\d)", line).group(0) for line in repetition(self.ENTRY, {"data": results}, {"data": recorded}, by_seeds=by_seeds).wrong]

    def test_values_of_another_machine_may_differ_by_so_many_of_the_recorded_seeds(self):
        five = 5 * 2 ** -0.5
        for run, deviation in (("sgd", 0.003), ("nbm_8", 0.003), ("sync_8", 0.01)):
            with self.subTest(run=run):
                self.assertEqual(self.wrong(**{run: [0.2 + 0.99 * five * deviation]}), [])
                self.assertEqual(self.wrong(**{run: [0.2 - 1.01 * five * deviation]}), [f"data {run.replace('_', '-')} seed 1"])

    def test_recheck_compares_values_of_another_machine_with_the_interval_of_the_seeds(self):
        half = 12.706 * 0.01 * 2 ** -0.5 * 1.5 ** 0.5  # in which a third value is expected around the mean of two
        for value, found in ((0.205 + 0.99 * half, []), (0.205 - 0.99 * half, []), (0.205 + 1.01 * half, ["data sync-8 seed 1"])):
            self.assertEqual(self.wrong(by_seeds=True, sync_8=[value]), found)
        self.assertEqual(self.wrong(machine="one", by_seeds=True, sync_8=[0.2000001]), ["data sync-8 seed 1"])

    def test_on_a_machine_like_this_one_nothing_may_differ(self):
        self.assertEqual(self.wrong(machine="one", sgd=[0.2, 0.201]), [])
        self.assertEqual(self.wrong(machine="one", sgd=[0.2, 0.2010001]), ["data sgd seed 2"])


class Derived(unittest.TestCase):
    def test_a_number_may_be_written_as_a_text_and_words_give_nothing(self):
        run = Run("sgd", {})
        numbers = {"workers": 8, "epochs": 2, "train-samples": 100, "target-error": 0}
        expected = {"workers": 8, "epoch_s": 5, "samples_per_s": 20}
        self.assertEqual(derived(run, numbers, {"training_s": 10}), expected)
        self.assertEqual(derived(run, {key: str(value) for key, value in numbers.items()}, {"training_s": 10}), expected)
        self.assertEqual(derived(run, dict.fromkeys(numbers, "many"), {"training_s": 10}), {})
        self.assertEqual(derived(run, dict.fromkeys(numbers, "1.2.3"), {"training_s": 10}), {})


if __name__ == "__main__":
    unittest.main()
