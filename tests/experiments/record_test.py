#!/usr/bin/env python3
"""Values are recorded run by run, and what is recorded need not be run again: not even where only the source is."""

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "notebooks"))

import toy  # noqa: E402

TUNE = '\n[tune]\noption = "learning-rate"\nmeasure = "valid_error"\nseeds = [1]\n[tune.grid]\nsgd = [0.1, 1e300]\nma = [0.2]\nasync = [0.1]\nlarge = [0.1]\n'


class Recording(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="paragrad-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.root = toy.build(self.folder / "copy")
        self.experiment = self.root / "experiments/toy"
        (self.experiment / "expected.json").unlink()
        toy.make_data(self.root)

    def program(self, refused: str = "--refuse-nothing") -> Path:
        """The program, which notes every run and fails if it gets the option `refused`."""
        path = self.folder / "program"
        path.write_text(f'#!/bin/sh\ncase "$*" in *"{refused} "*) echo "error: refused" >&2; exit 2;; *--out=*) echo run >> {self.folder}/ran;;'
                        f' esac\nexec {toy.PROGRAM} "$@"\n')
        path.chmod(0o755)
        return path

    def harness(self, *words: str, status: int = 0, refused: str = "--refuse-nothing") -> tuple[str, int]:
        """What it prints, and how many runs it made."""
        (self.folder / "ran").write_text("")
        done = subprocess.run([sys.executable, self.root / "experiments/harness", "--program", self.program(refused), "--jobs", "1", *words],
                              capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr, len((self.folder / "ran").read_text().split())

    def forget_runs(self) -> None:
        shutil.rmtree(self.experiment / "runs")

    def change(self, old: str, new: str) -> None:
        path = self.experiment / "config.toml"
        self.assertIn(old, path.read_text())
        path.write_text(path.read_text().replace(old, new, 1))

    def expected(self) -> dict:
        """What is recorded, without costs, which differ from time to time."""
        runs = json.loads((self.experiment / "expected.json").read_text())["smoke"]["toy"]
        return {run: {seed: {key: value for key, value in values.items() if key != "core_s"} for seed, values in seeds.items()}
                for run, seeds in runs.items()}

    def record(self, *words: str, **more) -> tuple[str, int]:
        return self.harness("record", "toy", "--size", "smoke", *words, **more)

    def test_what_is_recorded_is_not_run_again(self):
        self.assertEqual(self.record()[1], 8)  # of sgd, ma-2, ma-4 and async-2, two seeds each
        whole = self.expected()
        self.forget_runs()
        self.assertEqual(self.record("--missing")[1], 0)
        self.assertEqual(self.expected(), whole)
        kept = {"smoke": {"toy": whole | {"ma-4": {"1": whole["ma-4"]["1"]}}}}  # without seed 2
        (self.experiment / "expected.json").write_text(json.dumps(kept))
        text, runs = self.record("--missing")
        self.assertEqual((runs, self.expected()["ma-4"]), (1, whole["ma-4"]))
        self.assertIn("wrote 1 of 8 runs", text)
        self.change("minibatch = 16", "minibatch = 32")
        self.assertEqual(self.record("--missing")[1], 8)
        self.assertNotEqual(self.expected()["sgd"]["1"]["options"], whole["sgd"]["1"]["options"])

    def test_a_file_that_an_option_names_is_run_with_again_if_its_content_changes(self):
        run = ("run", "toy", "--size", "smoke")
        self.change('runs = ["sgd", "ma-*", "async-2"]', 'runs = ["sgd", "ma-2", "async-2"]')
        self.change("seeds = [1, 2]", "seeds = [1]")
        self.change('model = "8-12-6:sigmoid"', 'model = "file:net.txt"')
        self.change('platform = "sim/platforms/k40m-fdr.toml"', 'platform = "k40m-fdr"')  # built into the program
        net = self.root / "net.txt"
        net.write_text("network net\ninput 8\nhidden = affine input outputs=12\nactive = sigmoid hidden\ny = affine active outputs=6\n")
        self.assertEqual(self.harness(*run)[1], 3)
        order = self.root / "order.txt"
        order.write_text((self.experiment / "runs/smoke/toy/async-2-s1/order.txt").read_text())
        self.change('name = "async-2"\n', 'name = "async-2"\nreplay = "order.txt"\n')
        self.assertEqual([self.harness(*run)[1], self.harness(*run)[1]], [1, 0])
        for file, runs in ((net, 3), (self.root / "sim/platforms/k40m-fdr.toml", 3), (order, 1)):
            with self.subTest(file=file.name):
                file.write_text(file.read_text() + "# \n")
                self.assertEqual([self.harness(*run)[1], self.harness(*run)[1]], [runs, 0])

    def test_a_new_metric_is_recorded_too(self):
        self.record()
        self.change('[[repeats]]\nmetric = "test_error"', '[[repeats]]\nmetric = "valid_error"\nabsolute = 1\n\n[[repeats]]\nmetric = "test_error"')
        self.forget_runs()
        self.assertEqual(self.record("--missing")[1], 8)
        self.assertEqual(self.expected()["sgd"]["1"].keys(),
                         {"machine", "options", "test_error", "valid_error", "samples_per_s"})  # the last for a claim on ma-2.speed_up

    def test_what_follows_a_run_adds_metrics(self):
        self.record()
        before = self.expected()["sgd"]["1"]
        self.change('[[repeats]]\nmetric = "test_error"', '[sharpness]\nepsilon = 0.01\n\n[[repeats]]\nmetric = "sharpness"\nabsolute = 1\n\n'
                                                         '[[repeats]]\nmetric = "test_error"')
        self.record("--missing")
        after = self.expected()["sgd"]["1"]
        self.assertGreater(after["sharpness"], 0)
        self.assertEqual(after["test_error"], before["test_error"])
        self.assertNotEqual(after["options"], before["options"])
        self.change("epsilon = 0.01", "epsilon = 0.02")
        self.record("--missing")
        self.assertGreater(self.expected()["sgd"]["1"]["sharpness"], after["sharpness"])
        self.change("epsilon = 0.02", "epsilon = 0")
        self.assertIn("--epsilon", self.record(status=2)[0])
        self.change("epsilon = 0", "epsilom = 0.01")
        self.assertIn("epsilon", self.record(status=2)[0])

    def test_on_a_machine_like_the_recording_one_values_repeat_to_the_last_bit_on_others_within_the_tolerance(self):
        self.change("right = 1000", "right = 1")
        self.harness("lock", "toy")
        self.record()
        verify = ("verify", "toy", "--size", "smoke")
        self.assertIn("test_error repeats: 8 values, largest difference 0 (tolerance 0.1 absolute; none for the 8 recorded on a machine like this one)",
                      self.harness(*verify)[0])
        path = self.experiment / "expected.json"
        whole = json.loads(path.read_text())
        whole["smoke"]["toy"]["ma-4"]["2"]["test_error"] += 1e-15
        path.write_text(json.dumps(whole))
        self.assertRegex(self.harness(*verify, status=1)[0], r"toy ma-4 seed 2: test_error [\d.]+, recorded [\d.]+ on a machine like this one\n")
        whole["smoke"]["toy"]["ma-4"]["2"]["machine"] = "Difference Engine No. 2"
        path.write_text(json.dumps(whole))
        self.assertIn("(tolerance 0.1 absolute; none for the 7 recorded on a machine like this one)", self.harness(*verify)[0])

    def test_recorded_runs_of_larger_sizes_are_run_again_in_turn(self):
        self.harness("recheck", "toy", status=2)  # nothing is recorded
        self.harness("record", "toy", "--size", "smoke")
        self.assertIn("no recorded run", self.harness("recheck", "toy", status=2)[0])  # of a larger size
        self.harness("record", "toy", "--size", "full")
        self.forget_runs()
        text, runs = self.harness("recheck", "toy")
        self.assertEqual(runs, 5)
        self.assertIn("5 of 5 recorded runs", text)
        self.assertIn("holds  toy, full: test_error repeats: 5 values, largest difference 0", text)
        path = self.experiment / "expected.json"
        whole = json.loads(path.read_text())
        of_full = whole["full"]["toy"]
        self.assertTrue(all(0 < seeds["1"]["core_s"] < 60 for seeds in of_full.values()))
        self.assertRegex(self.harness("cost", "toy")[0], r"toy +smoke +8 +0\.00\d\ntoy +full +5 +0\.0\d+\nall ")
        of_full["large"]["1"]["core_s"] = 1000  # too expensive
        of_full["sgd"]["1"]["options"] = "other"  # not what config.toml says now
        of_full["ma-2"]["1"]["test_error"] += 0.01
        del of_full["ma-4"]["1"]["core_s"]  # as recorded by an earlier version
        of_full["async-2"]["1"]["at_least"] = True  # it was killed and resumed
        path.write_text(json.dumps(whole))
        self.forget_runs()
        text, runs = self.harness("recheck", "toy", "--budget", "500", status=1)
        self.assertEqual(runs, 2)
        self.assertIn("toy: not covered: 1 run (recorded with other options), 1 run (recorded without its costs), "
                      "1 run (takes more than 500 core-seconds)\n2 of 2 recorded runs", text)
        self.assertRegex(text, r"toy ma-2 seed 1: test_error [\d.]+, recorded [\d.]+ on a machine like this one")
        self.assertRegex(self.harness("cost", "toy")[0], r"toy +full +5 +0\.27\d   unknown for 1   at least: 1 was killed and resumed\n")

    def test_a_failure_loses_no_finished_run(self):
        text, runs = self.record(status=2, refused="--seed=2")
        self.assertIn("refused", text)
        self.assertEqual({run: list(seeds) for run, seeds in self.expected().items()},
                         {run: ["1"] for run in ("sgd", "ma-2", "ma-4", "async-2")})
        self.forget_runs()
        self.assertEqual(self.record("--missing")[1], 4)
        self.assertEqual(self.harness("verify", "toy", "--size", "smoke", status=1)[1], 4)  # seed 1, to compare; one claim is wrong

    def test_each_runs_trials_are_one_search_and_recorded(self):
        self.change("learning-rate = 0.1\n", "")
        with (self.experiment / "config.toml").open("a") as file:
            file.write(TUNE)
        tune = ("tune", "toy", "--size", "smoke")
        text, searches = self.harness(*tune)
        self.assertEqual(searches, 4)
        trials = json.loads((self.experiment / "trials.json").read_text())["toy"]
        self.assertIsNone(trials["sgd"]["1e+300"]["1"]["valid_error"])  # diverged
        self.assertIn("sgd = 0.1", (self.experiment / "tuned.toml").read_text())
        result = json.loads((self.experiment / "runs/smoke/tune/toy/ma-2/001-s1/manifest.json").read_text())["result"]
        self.assertEqual(trials["ma-2"]["0.2"]["1"]["valid_error"], result["valid_error"])
        self.assertRegex(self.harness("cost", "toy")[0], r"toy +tune +5 +0\.00\d\n")
        self.forget_runs()
        (self.experiment / "tuned.toml").unlink()
        self.assertEqual(self.harness(*tune, "--missing")[1], 0)
        self.assertIn("sgd = 0.1", (self.experiment / "tuned.toml").read_text())
        self.change("sgd = [0.1, 1e300]", "sgd = [0.1, 0.4]")
        self.assertEqual(self.harness(*tune, "--missing")[1], 1)
        self.assertEqual([path.name for path in (self.experiment / "runs/smoke/tune/toy/sgd").glob("*-s1")], ["001-s1"])  # 0.4 alone
        self.change("sgd = [0.1, 0.4]", "sgd = [1e300]")
        self.assertIn("every learning-rate of its grid failed", self.harness(*tune, status=2)[0])

    def test_an_option_that_is_true_or_false_can_be_tuned(self):
        with (self.experiment / "config.toml").open("a") as file:
            file.write(TUNE.replace('"learning-rate"', '"shuffle"').replace("[0.1, 1e300]", "[true, false]").replace("[0.2]", "[true]")
                       .replace("[0.1]", "[false]"))
        self.harness("tune", "toy", "--size", "smoke")
        self.assertIn("--shuffle=true", self.harness("commands", "toy", "--size", "smoke")[0])

    def test_trials_that_stop_at_a_rung_are_not_chosen(self):
        self.change("learning-rate = 0.1\n", "")
        with (self.experiment / "config.toml").open("a") as file:
            file.write(TUNE.replace("sgd = [0.1, 1e300]", "sgd = [0.1, 0.0001]").replace("seeds = [1]", "seeds = [1, 2]\nrungs = [1]"))
        self.harness("tune", "toy", "--size", "smoke")
        self.assertEqual(self.harness("tune", "toy", "--size", "smoke", "--missing")[1], 0)
        trials = json.loads((self.experiment / "trials.json").read_text())["toy"]["sgd"]
        self.assertEqual({value: [of_seed.get("stopped_after") for of_seed in seeds.values()] for value, seeds in trials.items()},
                         {"0.1": [None, None], "0.0001": [1, 1]})
        self.assertIn("sgd = 0.1", (self.experiment / "tuned.toml").read_text())
        self.change("rungs = [1]", "rungs = [2]")  # which could have stopped others
        self.assertEqual(self.harness("tune", "toy", "--size", "smoke", "--missing")[1], 4)
        self.assertEqual(self.harness("tune", "toy", "--size", "smoke", "--jobs", "2")[1], 4)  # continues the same searches

    def test_data_sets_of_a_size_may_be_patterns(self):
        self.change('[size.smoke]', '[size.smoke]\ndata = ["t*"]')
        self.assertIn("wrote 8 of 8 runs", self.record()[0])

    def test_a_single_data_set_is_tuned_and_recorded_without_touching_the_others(self):
        self.change("learning-rate = 0.1\n", "")
        self.change('name = "toy"\nfile = "data/toy.h5"\n', 'name = "toy"\nfile = "data/toy.h5"\n\n[[data]]\nname = "other-0.5"\nfile = "data/toy.h5"\n'
                    "tune = { rungs = [], grid = { sgd = [0.1, 0.0001] } }\n")
        with (self.experiment / "config.toml").open("a") as file:
            file.write(TUNE.replace("sgd = [0.1, 1e300]", "sgd = [0.1, 0.001]").replace("seeds = [1]", "seeds = [1]\nrungs = [1]"))
        for data in ("toy", "oth*"):
            self.assertEqual(self.harness("tune", "toy", "--size", "smoke", "--data", data)[1], 4)
            self.assertEqual(self.record("--data", data)[1], 8)
        self.assertEqual(self.record("--missing")[1], 0)
        trials = json.loads((self.experiment / "trials.json").read_text())
        stopped = {data: {value: "stopped_after" in seeds["1"] for value, seeds in runs["sgd"].items()} for data, runs in trials.items()}
        self.assertEqual(stopped, {"toy": {"0.1": False, "0.001": True}, "other-0.5": {"0.1": False, "0.0001": False}})
        recorded = json.loads((self.experiment / "expected.json").read_text())["smoke"]
        test_errors = [{run: values["1"]["test_error"] for run, values in recorded[data].items()} for data in ("toy", "other-0.5")]
        self.assertEqual(*test_errors)
        self.assertIn("no data set 'third'", self.record("--data", "third", status=2)[0])

    def test_claims_are_judged_by_the_record(self):
        self.assertIn("no recorded values", self.harness("judge", "toy", "--size", "smoke")[0])
        (self.experiment / "expected.json").write_text(json.dumps({"full": {"toy": {"large": {"1": {"test_error": 0.95}}}}}))
        text, runs = self.harness("judge", "toy", status=1)
        self.assertEqual(runs, 0)
        self.assertRegex(text, "FAILS     toy: sixty-four <workers> err in at most 90 % ")
        self.assertRegex(text, "open      toy: sixty-four workers are faster than two\n")
        (self.experiment / "expected.json").write_text(json.dumps({"full": {"toy": {"large": {"1": {"test_error": 0.85}}}}}))
        self.assertRegex(self.harness("judge", "toy")[0], "holds     toy: sixty-four <workers> err in at most 90 % ")
        self.change("[size.full]", "[size.full]\nseeds = [1, 2]")
        self.harness("lock", "toy")
        self.assertNotIn("holds", self.harness("judge", "toy")[0])  # one seed of two is no mean


if __name__ == "__main__":
    unittest.main()
