#!/usr/bin/env python3
"""notebooks/paragrad_runs.py: what it reads is what the runs, the harness and the publication say."""

import json
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

import toy


class Runs(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(tempfile.mkdtemp(prefix="paragrad-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        toy.build(cls.folder)
        sys.path.insert(0, str(cls.folder / "notebooks"))
        import paragrad_runs
        cls.reader = paragrad_runs
        cls.unrun = paragrad_runs.Study("toy", "smoke")
        toy.run_it(cls.folder)
        cls.study = paragrad_runs.study("toy")

    def test_a_run_is_its_files(self):
        run = self.study.run("ma-2")
        self.assertEqual(run.config["workers"], 2)
        self.assertEqual(run.manifest["run"]["strategy"], "model_averaging")
        self.assertEqual(run.result["test_error"], run.manifest["result"]["test_error"])
        self.assertEqual([record["epochs"] for record in run.curve], [1, 2, 3])
        self.assertEqual(len(run.metrics), 4)
        self.assertEqual(run.pretraining, [])

    def test_a_curve_adds_up_the_bytes_that_a_worker_sent(self):
        for name in ("sgd", "ma-2", "async-2"):
            run = self.study.run(name)
            self.assertEqual(run.curve[0]["total_sent_bytes"], run.metrics[0]["sent_bytes"])
            self.assertAlmostEqual(run.curve[-1]["total_sent_bytes"], run.result["sent_bytes"], places=6)
        self.assertEqual(self.study.run("sgd").result["sent_bytes"], 0)

    def test_a_histogram_of_staleness_has_all_gradients(self):
        histogram = self.study.run("async-2").staleness
        self.assertEqual([row["updates"] for row in histogram], [str(i) for i in range(len(histogram))])
        self.assertAlmostEqual(sum(row["share"] for row in histogram), 1)
        self.assertEqual(self.study.run("sgd").staleness, [])

    def test_a_timeline_adds_up_to_the_manifest(self):
        run = self.study.run("ma-2")
        self.assertEqual(run.timeline.about["clock"], "simulated")
        row = min(run.timeline.rows)
        self.assertAlmostEqual(run.timeline.totals(row)["aggregate"], run.result["aggregate_s"], delta=1e-9)
        with self.assertRaisesRegex(self.reader.Error, "`timeline`"):
            (run.folder / "timeline.json").rename(run.folder / "elsewhere.json")
            self.reader.Run(run.folder).timeline
        (run.folder / "elsewhere.json").rename(run.folder / "timeline.json")

    def test_a_claim_about_a_metric_that_no_run_has_is_an_error_not_a_claim_that_has_not_been_run(self):
        claim = {"text": "a claim", "left": "ma-2.tset_error", "op": "<", "right": 1}
        with self.assertRaisesRegex(self.reader.UserError, "tset_error"):
            self.study._verdict(claim, "toy")
        self.assertEqual(self.unrun._verdict(claim, "toy").status, "not run")

    def test_rows_are_means_over_the_seeds(self):
        rows = {row["run"]: row for row in self.study.rows("test_error", "speed_up", "staleness_mean")}
        self.assertEqual(list(rows), ["sgd", "ma-2", "ma-4", "async-2"])
        seeds = [run.result["test_error"] for run in self.study.runs("ma-4")["toy"]]
        self.assertAlmostEqual(rows["ma-4"]["test_error"], sum(seeds) / 2)
        self.assertEqual(rows["sgd"]["speed_up"], 1)
        self.assertIsNone(rows["sgd"]["staleness_mean"])

    def test_claims_hold_or_fail_by_the_runs_and_else_by_what_is_recorded(self):
        found = {(verdict.claim["text"].split()[0], verdict.claim["right"]): verdict for verdict in self.reader.verdicts("toy")}
        self.assertEqual({key: (verdict.status, verdict.recorded, verdict.size) for key, verdict in found.items()}, {
            ("two", 1): ("holds", "", "smoke"), ("two", 1000): ("FAILS", "", "smoke"),
            ("sixty-four", 0.9): ("not run", "holds", "full"), ("sixty-four", "ma-2.samples_per_s"): ("not run", "", "full")})
        self.assertRegex(found["two", 1].numbers, r"ma-2\.speed_up 1\.\d+ > 1")
        self.assertEqual(found["sixty-four", 0.9].numbers, "large.test_error 50.00 % <= 0.9")

    def test_a_recorded_speed_gives_a_speed_up_but_no_efficiency(self):
        recorded = {"one": {1: {"samples_per_s": 10.0}}, "four": {1: {"samples_per_s": 30.0}}}
        baselines = {"one": "one", "four": "one"}
        self.assertEqual(self.reader.results.values(recorded, baselines, "four", "speed_up"), [3])
        with self.assertRaisesRegex(self.reader.UserError, "no such metric"):
            self.reader.results.values(recorded, baselines, "four", "efficiency")
        timed = {"one": {1: {"total_s": 8.0}}, "four": {1: {"total_s": 4.0}}}
        self.assertEqual(self.reader.results.values(timed, baselines, "four", "sooner"), [2])

    def test_what_follows_from_records_and_options_is_what_the_runs_give(self):
        metrics = ("workers", "epoch_s", "speed_up", "efficiency")
        recorded = {run: {str(seed): {"training_s": values["training_s"]} for seed, values in seeds.items()}
                    for run, seeds in self.study.results["toy"].items()}
        file = self.study.whole.expected_file
        self.addCleanup(file.write_text, file.read_text())
        file.write_text(json.dumps({"smoke": {"toy": recorded}}))
        by_records = self.reader.Study("toy", "smoke").by_records()
        for ours, theirs in zip(by_records.rows(*metrics), self.study.rows(*metrics), strict=True):
            self.assertEqual(ours["run"], theirs["run"])
            for metric in metrics:
                self.assertAlmostEqual(ours[metric], theirs[metric], places=9)
        self.assertEqual(by_records.recorded_rows()[0].keys(), {"run", "data", "training_s"})

    def test_nothing_follows_from_options_that_leave_open_how_much_a_run_trains(self):
        import derived  # of the harness

        def of(command: str = "simulate", recorded: dict | None = None, **options) -> dict:
            options = {name.replace("_", "-"): value for name, value in options.items()}
            return derived.derived(derived.Run("a", options, command), options, recorded or {"training_s": 4.0})

        self.assertEqual(of(epochs=2), {"epoch_s": 2})
        self.assertEqual(of(epochs=2, workers=8, train_samples=100), {"workers": 8, "epoch_s": 2, "samples_per_s": 50})
        for more in ({"target_error": 0.1}, {"patience": 3}, {"max_blocks": 1}, {"schedule": "newbob"}):
            self.assertEqual(of(epochs=2, train_samples=100, **more), {})
        self.assertEqual(of(epochs=2, target_error=-1), {"epoch_s": 2})
        timed = {"epochs": 1, "blocks": 1, "train_samples": 1000, "max_steps": 3, "minibatch": 16, "strategy": "data_parallel"}
        self.assertEqual(of(**timed), {"samples_per_s": 12})
        for other in ({"strategy": "bmuf"}, {"blocks": 2}, {"train_samples": 40}):
            self.assertEqual(of(**timed | other), {})
        self.assertEqual(of("search", epochs=2, workers=8), {})
        self.assertEqual(of("collective", {"time_s": 0.5}, bytes="1MB", workers=4), {"workers": 4, "bus_bytes_per_s": 3e6})
        self.assertEqual(of("collective", {"time_s": 0.5}, bytes="1MB", workers=4, operation="broadcast"), {"workers": 4})

    def test_published_values_stand_beside_ours(self):
        (beside,) = self.reader.beside("toy")
        self.assertEqual(beside.published, {"sgd": 1, "ma-2": 1.9, "ma-4": 3.5})
        self.assertEqual(beside.comparison.predicted["ma-2"], self.study.mean("ma-2", "speed_up"))
        remarks, rows = self.reader.published_table("toy")
        self.assertEqual(remarks, "A publication, of 2016.")
        self.assertEqual(rows[1], {"run": "ma-2", "speed_up": "1.9"})

    def test_what_has_not_been_run_is_said_to_be_so(self):
        self.assertFalse(self.unrun.has_runs)
        self.assertEqual(self.unrun.results, {})
        with self.assertRaisesRegex(self.reader.NoRuns, "`make run-toy SIZE=full` makes them"):
            self.reader.study("toy", "full")
        with self.assertRaisesRegex(self.reader.Error, "is not a run folder"):
            self.reader.Run(self.folder)
        self.assertEqual(self.reader.Study("toy", "full").recorded_rows(), [{"run": "large", "data": "toy", "test_error": 0.5}])

    def test_a_run_with_other_options_than_those_of_the_experiment_does_not_count(self):
        key = self.study.experiment.run_folder("toy", "ma-4", 2).with_name("ma-4-s2.key.json")
        text = key.read_text()
        self.addCleanup(key.write_text, text)
        key.write_text(json.dumps(json.loads(text) | {"options": {}}))
        changed = self.reader.Study("toy", "smoke")
        self.assertEqual([run.name for run in changed.experiment.runs], ["sgd", "ma-2", "async-2"])


if __name__ == "__main__":
    unittest.main()
