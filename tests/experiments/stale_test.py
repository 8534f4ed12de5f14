#!/usr/bin/env python3
"""Records that were made with other options, or are marked as stale, judge nothing; the runs are named."""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "notebooks"), str(Path(__file__).resolve().parents[2] / "experiments/harness")]

import toy  # noqa: E402
from config import names  # noqa: E402
from judging import data_sets, lines_of, verdicts_of  # noqa: E402
from loading import load  # noqa: E402
from plan import Plan  # noqa: E402
from records import options_digest  # noqa: E402

MARK = '\n[[stale]]\nwhy = "{why}"\n{more}'


def digest(options: dict, marks: list[str]) -> str:
    """The digest of a run without initial model and without what follows it."""
    text = json.dumps(["simulate", options, None, None, *([marks] if marks else [])], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Stale(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="paragrad-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.root = toy.build(self.folder / "copy")
        self.experiment = self.root / "experiments/toy"
        self.config, self.expected = self.experiment / "config.toml", self.experiment / "expected.json"
        self.text = self.config.read_text()

    def harness(self, *words: str, status: int = 0) -> str:
        done = subprocess.run([sys.executable, self.root / "experiments/harness", "--program", toy.PROGRAM, "--jobs", "1", *words],
                              capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def options(self, run: str, **own) -> dict:
        strategy = {"sgd": "sgd"}.get(run, "model_averaging")
        return {"platform": "sim/platforms/k40m-fdr.toml", "model": "8-12-6:sigmoid", "learning-rate": 0.1, "minibatch": 16, "blocks": 4,
                "epochs": 3, "strategy": strategy, "data": "data/toy.h5", "seed": 1} | own

    def record(self, marks: tuple[str, ...] = (), **options) -> None:
        """As if size full had been recorded with these options, and under these marks; without any: without a digest."""
        workers = {"sgd": 1, "ma-2": 2, "large": 64}
        of_run = {run: {"test_error": 0.5, "samples_per_s": 10.0 * count} for run, count in workers.items()}
        for run, count in workers.items() if options else ():
            of_run[run]["options"] = digest(self.options(run, workers=count, **options), list(marks))
        self.expected.write_text(json.dumps({"full": {"toy": {run: {"1": values} for run, values in of_run.items()}}}))

    def mark(self, *whys: str, more: str = "") -> None:
        self.config.write_text(self.text + "".join(MARK.format(why=why, more=more) for why in whys))

    def test_a_record_of_other_options_judges_nothing_and_is_named(self):
        self.record(epochs=3)
        text = self.harness("judge", "toy", status=1)  # the claim that is reversed
        self.assertRegex(text, r"holds     toy: sixty-four workers are faster than two\n")
        self.assertNotIn("without their options", text)
        self.config.write_text(self.text.replace("[size.full]\noptions = { epochs = 3 }", "[size.full]\noptions = { epochs = 4 }"))
        text = self.harness("judge", "toy")
        self.assertRegex(text, r"open      toy: sixty-four workers are faster than two\n          large.samples_per_s > ma-2.samples_per_s: "
                               r"recorded with other options: large, ma-2\n")
        self.assertRegex(text, r"open      a speed-up of a publication .*\n          recorded with other options: ma-2, sgd and not recorded: ma-4\n")
        self.assertIn("toy, full: All 5 claims are open.\n", text)
        shown = subprocess.run([sys.executable, "-c", "import paragrad_runs as p; print([(v.outcome, v.numbers) for v in p.verdicts('toy')])"],
                               cwd=self.root / "notebooks", capture_output=True, text=True, check=True).stdout  # what report and notebooks show
        self.assertIn("('not run', 'large.test_error <= 0.9: recorded with other options: large')", shown)
        self.assertIn("no recorded run can be run again: 3 runs (recorded with other options)", self.harness("recheck", "toy", status=2))
        self.assertIn("recorded with other options: sgd, ma-2, large, seeds 1", self.harness("queue", "--list"))

    def test_a_record_without_options_is_used_and_named(self):
        self.record()
        text = self.harness("judge", "toy", status=1)
        self.assertRegex(text, r"holds     toy: sixty-four workers are faster than two\n")
        self.assertIn("\n3 of 5 runs were recorded without their options", text)
        self.assertIn("recorded without its options: sgd, ma-2, large, seeds 1", self.harness("queue", "--list"))

    def test_only_records_made_after_a_mark_count(self):
        why, later = "Averages had the wrong weight.", "They had it again."
        for recorded_under, marks, counts in (((), (), True), ((), (why,), False), ((why,), (why,), True), ((why,), (why, later), False),
                                              ((why, later), (why, later), True), ((later,), (why, later), False)):
            with self.subTest(recorded_under=recorded_under, marks=marks):
                self.record(recorded_under, epochs=3)
                self.mark(*marks, more='sizes = ["f*"]\nruns = ["large", "ma-*"]\n')
                text = self.harness("judge", "toy", status=1 if counts and not marks else 0)
                self.assertEqual("holds     toy: sixty-four <workers> err" in text, counts)
                if not counts and later not in recorded_under:
                    self.assertIn("marked as stale (", text)
                    self.assertRegex(text, r"They had it again.\): large|wrong weight.\): large")
        self.record()  # without a digest it is older than any mark
        self.mark(why)
        self.assertIn("marked as stale (Averages had the wrong weight.): large", self.harness("judge", "toy"))

    def test_a_mark_is_never_removed_or_changed(self):
        self.record(epochs=3)
        self.mark("One.", "Two.")
        self.harness("judge", "toy")
        lint = [sys.executable, toy.ROOT / "tests/lint/experiments.py", self.root]
        self.assertIn("[[stale]] 'One.' is not in claims.lock: make lock-toy", subprocess.run(lint, capture_output=True, text=True).stdout)
        self.assertIn("and 2 [[stale]]", self.harness("lock", "toy"))
        self.assertNotIn("[[stale]]", subprocess.run(lint, capture_output=True, text=True).stdout)
        for marks, which in ((("Two.",), "One."), (("One.",), "Two."), (("One!", "Two."), "One."), (("Two.", "One."), "One.")):
            self.mark(*marks)
            for command in ("judge", "lock"):
                with self.subTest(marks=marks, command=command):
                    self.assertIn(f"[[stale]] '{which}' has been removed, changed or moved", self.harness(command, "toy", status=2))
        self.mark("One.", "Two.", "Three.")
        self.harness("lock", "toy")

    def test_a_mark_without_effect_is_refused(self):
        for mark, complaint in (('why = "A."\nruns = ["mb-*"]', "'mb-*' in runs matches no run"),
                                ('why = "A."\nsizes = ["laptop"]', "'laptop' in sizes matches no size"),
                                ('why = "A."\ndata = ["joy"]', "'joy' in data matches no data set"), ('why = " "', "has an empty 'why'"),
                                ('runs = ["sgd"]', "lacks 'why'"), ('why = "A."\nrun = ["sgd"]', "did you mean 'runs'?"),
                                ('why = "A."\nsizes = ["smoke"]\nruns = ["large"]', "'large' in runs matches no run"),
                                ('why = "A."\nruns = "sgd"', "'runs' has to be a list of strings"), ('why = "A."\n\n[[stale]]\nwhy = "A."', "is there twice")):
            with self.subTest(mark=mark):
                self.config.write_text(f"{self.text}\n[[stale]]\n{mark}\n")
                self.assertIn(complaint, self.harness("judge", "toy", status=2))

    def test_marked_runs_are_run_and_recorded_again(self):
        toy.make_data(self.root)
        self.expected.unlink()
        record = ("record", "toy", "--size", "smoke", "--missing")
        self.harness(*record)
        self.assertIn("wrote 0 of 8 runs", self.harness(*record))
        before = json.loads(self.expected.read_text())["smoke"]["toy"]
        self.mark("Averages had the wrong weight.", more='runs = ["ma-2"]\n')
        text = self.harness(*record)
        self.assertEqual(re.findall(r"toy ([\w-]+) seed (\d)", text), [("ma-2", "1"), ("ma-2", "2")])
        after = json.loads(self.expected.read_text())["smoke"]["toy"]
        changed = [(run, seed) for run, seeds in after.items() for seed in seeds if seeds[seed]["options"] != before[run][seed]["options"]]
        self.assertEqual(changed, [("ma-2", "1"), ("ma-2", "2")])
        self.assertIn("wrote 0 of 8 runs", self.harness(*record))

    def test_without_marks_digests_are_what_they_were(self):
        known, checked = {"local_sgd_family": "fashion-mnist", "compression": "fashion-mnist", "imagenet_hour": "predicted"}, 0
        for name, data in known.items():
            experiment = load(name, "full")
            experiment.stale.clear()
            plan, recorded = Plan(experiment), json.loads(experiment.expected_file.read_text())["full"][data]
            for run in experiment.runs:
                job = plan.job(experiment.data[0], run, experiment.seeds[0])
                text = json.dumps([job.command, job.options, job.after.get("decode"), experiment.initial], sort_keys=True)
                self.assertEqual(options_digest(plan, job), hashlib.sha256(text.encode()).hexdigest()[:16])
                checked += recorded[run.name][str(experiment.seeds[0])]["options"] == options_digest(plan, job)
        self.assertGreater(checked, 0)

    def test_of_every_experiment_every_claim_and_every_published_comparison_is_printed(self):
        for name in names():
            with self.subTest(experiment=name):
                experiment = load(name, "")
                verdicts = verdicts_of(experiment)
                wanted = [(claim["text"], data.name) for data in data_sets(experiment) for claim in experiment.claims_of(data.name)]
                wanted += [(entry["text"], "") for entry in experiment.published]
                self.assertEqual(sorted((one.entry["text"], one.data) for one in verdicts), sorted(wanted))
                self.assertTrue(all(one.numbers or one.comparison for one in verdicts))
                self.assertTrue(all(list(lines_of(one)) for one in verdicts))


if __name__ == "__main__":
    unittest.main()
