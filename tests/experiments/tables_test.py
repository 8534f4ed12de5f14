#!/usr/bin/env python3
"""Differences of errors along a property of the data sets, claims about several runs, maps of winners, tolerances of recorded values, and
derived metrics, from results made by hand."""

import math
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "experiments/harness"), str(ROOT / "src/python")]

from config import DataSet, Experiment, Run  # noqa: E402
from derived import derived  # noqa: E402
from maps import lines_of, map_of  # noqa: E402
from paragrad.runs import Error, flat  # noqa: E402
from results import NotRun  # noqa: E402
from tables import trend  # noqa: E402
from terms import rank_correlation, read_term  # noqa: E402
from verdicts import judge, repetition  # noqa: E402

TABLE = {"title": "behind one worker", "runs": ["nbm-*", "sync-*"], "against": "sgd", "along": "hours"}


def experiment() -> Experiment:
    data = [DataSet(name, "", False, name, at=at) for name, at in (("ten", 10.0), ("one", 1.0), ("other", None))]
    runs = [Run(name, {"workers": 8}) for name in ("sgd", "nbm-8", "sync-8")]
    return Experiment("by_hand", "full", [1, 2], data, runs, None, [], [])


def errors(**of_runs: list[float]) -> dict[str, dict[int, dict[str, float]]]:
    return {run.replace("_", "-"): {seed: {"test_error": error} for seed, error in enumerate(of_seeds, 1)} for run, of_seeds in of_runs.items()}


class ClaimsAboutSeveralRuns(unittest.TestCase):
    RUNS = errors(m_1=[0.5, 0.1], m_2=[0.2, 0.3], m_3=[math.nan, 0.2], other=[0.0, 0.0])
    BASELINES = dict.fromkeys(RUNS, "")

    def test_the_least_is_of_one_run_on_all_seeds_and_not_one_that_diverged(self):
        self.assertEqual(read_term("least(m-*).test_error").values(self.RUNS, self.BASELINES), [0.2, 0.3])
        claim = {"left": "m-1.test_error", "op": "<=", "right": "least(m-*).test_error", "margin": 0.06, "text": ""}
        found = judge(claim, self.RUNS, self.BASELINES)
        self.assertEqual(found.numbers.split(";")[0], "m-1.test_error 30.00 % <= least(m-*).test_error 25.00 % + 6 %")
        self.assertEqual(judge(claim | {"margin": 0.04}, self.RUNS, self.BASELINES).verdict, "FAILS")

    def test_ranks(self):
        for one, other, correlation in (([1, 2, 3], [10, 30, 90], 1), ([1, 2, 3], [9, 3, 1], -1), ([1, 2, math.nan], [3, 2, 1], -1),
                                        ([1, 1, 1], [1, 2, 3], 0), ([1, 2, 2, 3], [1, 3, 2, 4], 0.9487), ([4], [7], 0)):
            self.assertAlmostEqual(rank_correlation(one, other), correlation, places=4)
        runs = {run: {seed: values | {"size": size} for seed, values in seeds.items()}
                for size, (run, seeds) in enumerate(self.RUNS.items())}
        self.assertEqual([round(value, 9) for value in read_term("rank(m-*, size).test_error").values(runs, self.BASELINES)], [0.5, 0.5])

    def test_without_an_interval_every_seed_counts(self):
        for left, op, right, verdict in (([10, 11, 9], "<", [8, math.inf, 8], "undecided"), ([8, math.inf, 8], "<=", [math.inf] * 3, "undecided"),
                                         ([math.inf] * 3, "<=", [math.inf] * 3, "FAILS"), ([1, 2, 3], "<", [math.inf] * 3, "holds"),
                                         ([1, math.nan, 3], "<", [4, 4, 4], "undecided")):
            runs = {name: {seed: {"t": value} for seed, value in enumerate(of, 1)} for name, of in (("a", left), ("b", right))}
            claim = {"text": "", "left": "a.t", "op": op, "right": "b.t"}
            with self.subTest(left=left, right=right):
                self.assertEqual(judge(claim, runs, dict.fromkeys(runs, "")).verdict, verdict)

    def test_a_rank_of_errors_is_no_percentage(self):
        runs = {run: {seed: values | {"size": size} for seed, values in seeds.items()} for size, (run, seeds) in enumerate(self.RUNS.items())}
        claim = {"text": "", "left": "rank(m-*, size).test_error", "op": "<", "right": 0.2, "margin": 0.5}
        self.assertEqual(judge(claim, runs, self.BASELINES).numbers, "rank(m-*, size).test_error 0.5 < 0.2 + 0.5")

    def test_such_a_claim_is_open_until_all_its_runs_are_recorded(self):
        for text in ("least(m-*).test_error", "rank(m-*, test_error).test_error"):
            with self.subTest(text):
                term = read_term(text)
                self.assertEqual(term.among(self.BASELINES), ["m-1", "m-2", "m-3"])
                with self.assertRaises(NotRun):
                    term.values({run: seeds for run, seeds in self.RUNS.items() if run != "m-2"}, self.BASELINES)

    def test_what_becomes_of_an_update_with_an_outer_momentum(self):
        run, options = Run("d", {}), {"strategy": "diloco", "outer-learning-rate": 0.5, "outer-momentum": 0.8}
        self.assertEqual(derived(run, options | {"outer-restart": 3}, {}), {})
        self.assertAlmostEqual(derived(run, {"strategy": "diloco"}, {})["outer_gain"], 7)
        self.assertEqual(derived(run, options, {"update_correlation": 0.5}), {"at_once": 0.9, "outer_gain": 2.5000000000000004,
                                                                              "aligned_gain": 0.5 * (1 + 0.8 / 0.6)})
        self.assertAlmostEqual(derived(run, options, {"update_correlation": 1})["aligned_gain"], derived(run, options, {})["outer_gain"])


class Maps(unittest.TestCase):
    TABLE = {"title": "t", "runs": ["m-*"], "map": "reached_s_{speed}_{delay}", "places": {"speed": ["1M", "1G"], "delay": ["1ms"]}}

    def test_the_winner_at_each_place_and_whether_the_seeds_tell_it_from_another(self):
        def of(slow: list[float], fast: list[float]) -> dict[int, dict[str, float]]:
            return {seed: {"reached_s_1M_1ms": one, "reached_s_1G_1ms": other} for seed, (one, other) in enumerate(zip(slow, fast), 1)}

        results = {"m-a": of([10, 12], [5, 5]), "m-b": of([11, 11.5], [math.inf, 1]), "m-c": of([20, 22], [9, 9.1]), "other": of([1, 1], [1, 1])}
        runs = [Run(name, {}) for name in results]
        study = Experiment("by_hand", "full", [1, 2], [DataSet("one", "", False, "one")], runs, None, [], [])
        found = map_of(study, results, self.TABLE)
        self.assertEqual(lines_of(found), [["speed \\ delay", "1ms"], ["1M", "m-a 11 ~"], ["1G", "m-a 5"]])
        self.assertEqual([line[0].rivals for line in found.places], [["m-b"], []])
        never = {run: of([math.inf] * 2, [math.inf] * 2) for run in results}
        self.assertEqual(lines_of(map_of(study, never, self.TABLE))[1:], [["1M", "-"], ["1G", "-"]])

    def test_values_of_platforms_are_named_by_their_platform(self):
        told = {"reached_s": {"wan 1.5MBps/0.5": 3, "k40m-fdr": None}, "reached_bytes": None, "score": None}
        with self.assertRaisesRegex(Error, "reached_s_a_b"):
            flat({"reached_s": {"a-b": 1, "a_b": 2}})
        self.assertEqual(flat(told), {"reached_s_wan_1_5MBps_0_5": 3, "reached_s_k40m_fdr": math.inf, "reached_bytes": math.inf, "score": None})


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
