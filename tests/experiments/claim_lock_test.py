#!/usr/bin/env python3
"""Claims are committed before the runs that judge them, and cannot be changed after; several seeds give an interval, not only a mean."""

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "notebooks"))

import toy  # noqa: E402

CLAIM = '\n[[claim]]\ntext = "{text}"\nstated = "{stated}"\nsizes = ["full"]\nleft = "large.test_error"\nop = "<="\nright = 0.5\n'


class ClaimLock(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="paragrad-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.root = toy.build(self.folder / "copy")
        self.experiment = self.root / "experiments/toy"
        self.config = self.experiment / "config.toml"
        self.lock = self.experiment / "claims.lock"

    def harness(self, *words: str, status: int = 0) -> str:
        done = subprocess.run([sys.executable, self.root / "experiments/harness", "--program", toy.PROGRAM, *words],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        if status == 2:
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        return done.stdout + done.stderr

    def git(self, *words: str) -> None:
        subprocess.run(["git", "-C", self.root, "-c", "user.name=x", "-c", "user.email=x@y", *words], check=True, capture_output=True)

    def refused(self, *words: str, parts: tuple[str, ...]) -> None:
        text = self.harness(*words, status=2)
        for part in parts:
            self.assertIn(part, text)

    def change(self, old: str, new: str) -> None:
        self.assertIn(old, self.config.read_text())
        self.config.write_text(self.config.read_text().replace(old, new, 1))

    def record(self, **errors: list[float]) -> None:
        """As if the size full had been run, with these test errors for the seeds 1, 2, …"""
        (self.experiment / "expected.json").write_text(json.dumps({"full": {"toy": {
            run.replace("_", "-"): {str(seed): {"test_error": error} for seed, error in enumerate(of_run, 1)}
            for run, of_run in errors.items()}}}))

    def test_a_claim_about_several_runs_is_kept_once_one_of_them_is_recorded(self):
        claim = CLAIM.format(text="all", stated="before").replace("large.test_error", "least(*-2).test_error")
        self.config.write_text(self.config.read_text() + claim)
        self.harness("lock", "toy")
        self.change(claim, claim.replace("0.5", "0.6"))
        self.harness("lock", "toy")
        self.record(ma_2=[0.5])
        self.change("right = 0.6", "right = 0.7")
        self.refused("lock", "toy", parts=("[[claim]] 'all' has been judged",))
        self.change("right = 0.7", "right = 0.6")
        self.harness("lock", "toy")
        self.change('name = "large"', 'name = "new-2"\nstrategy = "sgd"\nworkers = 1\n\n[[run]]\nname = "large"')  # it would match
        self.refused("lock", "toy", parts=("[[claim]] 'all' has been judged",))

    def test_a_claim_that_is_edited_after_its_record_is_refused_everywhere(self):
        self.record(large=[0.95])
        self.assertIn("FAILS ", self.harness("judge", "toy", status=1))
        self.change("right = 0.9", "right = 0.96")
        for words in (("judge", "toy"), ("verify", "toy", "--size", "smoke"), ("record", "toy", "--size", "smoke"), ("lock", "toy")):
            with self.subTest(command=words[0]):
                what = "must stay as it is" if words[0] == "lock" else "right is 0.96 and was 0.9"
                self.refused(*words, parts=("[[claim]] 'sixty-four <workers> err in at most 90 %'", what))
        lint = subprocess.run([sys.executable, toy.ROOT / "tests/lint/experiments.py", self.root], capture_output=True, text=True)
        self.assertEqual(lint.returncode, 1)
        self.assertIn("right is 0.96 and was 0.9", lint.stdout)

    def test_every_part_of_a_claim_is_locked_but_its_words(self):
        for old, new, what in (('op = "<="', 'op = "<"', "op is"), ('stated = "after"\nsizes', 'stated = "before"\nsizes', "stated is"),
                               ("within = 10", "within = 11", "within is"), ("seeds = [1, 2]", "seeds = [1]", "seeds is"),
                               ('rows = ["ma-*"]\nwithin', 'rows = ["ma-2"]\nwithin', "rows is")):
            with self.subTest(new=new):
                text = self.config.read_text()
                self.change(old, new)
                self.refused("judge", "toy", parts=(what,))
                self.config.write_text(text)
        self.change("err in at most 90 %", "are wrong in at most 90 % of the samples")
        self.harness("judge", "toy")

    def test_what_has_been_judged_can_neither_be_removed_nor_stated_before(self):
        self.record(large=[0.95])
        text = self.config.read_text()
        begin = text.index('[[claim]]\ntext = "sixty-four <workers>')
        self.config.write_text(text[:begin] + text[text.index("[[claim]]", begin + 1):])
        self.refused("judge", "toy", parts=("lacks [[claim]] 'sixty-four <workers> err in at most 90 %'",))
        self.refused("lock", "toy", parts=("has been judged and must stay",))
        self.config.write_text(text + CLAIM.format(text="half", stated="before"))
        self.refused("lock", "toy", parts=("'half'", "results of its runs are known", 'stated = "after"'))
        self.config.write_text(text + CLAIM.format(text="half", stated="after"))
        self.refused("judge", "toy", parts=("'half'", "not in claims.lock"))
        self.harness("lock", "toy")
        self.assertIn("FAILS     toy: half (stated after a result)", self.harness("judge", "toy", status=1))

    def test_results_in_run_folders_count_too_and_so_does_a_lock_that_was_removed(self):
        (self.experiment / "expected.json").unlink()
        run = self.experiment / "runs/full/toy/large-s1"
        run.mkdir(parents=True)
        (run / "manifest.json").write_text("{}")
        text = self.config.read_text()
        self.config.write_text(text + CLAIM.format(text="half", stated="before"))
        self.refused("lock", "toy", parts=("'half'", "results of its runs are known"))
        self.config.write_text(text)
        self.git("init")
        self.git("add", "experiments/toy")
        self.git("commit", "-m", "claims")
        self.lock.unlink()
        self.change("right = 0.9", "right = 0.95")
        self.refused("lock", "toy", parts=("must stay as it is",))
        self.config.write_text(text)
        self.harness("lock", "toy")

    def test_a_new_size_does_not_change_what_has_been_judged(self):
        self.change('text = "sixty-four <workers> err in at most 90 %"\nstated = "after"\nsizes = ["full"]',
                    'text = "sgd errs in at most 90 %"\nstated = "after"')
        self.change('left = "large.test_error"', 'left = "sgd.test_error"')
        (self.experiment / "expected.json").unlink()
        self.harness("lock", "toy")
        self.record(sgd=[0.95])
        self.change("[[data]]", '[size.laptop]\noptions = { epochs = 2 }\n\n[[data]]')
        self.harness("lock", "toy")
        self.assertEqual(json.loads(self.lock.read_text())[2]["seeds"].keys(), {"smoke", "laptop", "full"})

    def test_a_judged_claim_may_get_more_seeds_but_not_fewer(self):
        self.record(large=[0.95])
        for seeds, status in (("[1, 2, 3]", 0), ("[1, 2]", 2), ("[1, 2, 3, 4]", 0)):
            text = self.config.read_text()
            before = text[text.index("[size.full]"):].split("options")[0]
            self.change(before, f"[size.full]\nseeds = {seeds}\n")
            self.assertIn("must stay" if status else "wrote 5 claims", self.harness("lock", "toy", status=status))
            if status:
                self.config.write_text(text)

    def test_before_its_runs_a_claim_may_change(self):
        (self.experiment / "expected.json").unlink()
        self.change("right = 0.9", "right = 0.8")
        self.config.write_text(self.config.read_text() + CLAIM.format(text="half", stated="before"))
        self.assertIn("wrote 6 claims", self.harness("lock", "toy"))
        self.harness("judge", "toy")
        self.assertEqual([entry["right"] for entry in json.loads(self.lock.read_text()) if entry["kind"] == "claim"],
                         [1, 1000, 0.8, "ma-2.samples_per_s", 0.5])

    def test_nothing_is_recorded_before_its_claims_are_committed(self):
        (self.experiment / "expected.json").unlink()
        toy.make_data(self.root)
        self.change('runs = ["sgd", "ma-*", "async-2"]', 'runs = ["sgd", "ma-*"]')  # fewer runs take less time
        record = ("record", "toy", "--size", "smoke")
        self.git("init")
        self.refused(*record, parts=("experiments/toy/claims.lock is not committed",))
        self.git("add", "experiments/toy")
        self.git("commit", "-m", "claims")
        self.change("right = 1000", "right = 500")
        self.harness("lock", "toy")
        self.refused(*record, parts=("experiments/toy/claims.lock is not committed",))
        self.assertFalse((self.experiment / "expected.json").exists())
        self.git("commit", "-a", "-m", "a claim changed")
        self.assertIn("wrote 6 of 6 runs", self.harness(*record))
        shutil.rmtree(self.root / ".git")
        self.assertIn("cannot be checked", self.harness(*record))

    def test_a_claim_holds_only_if_its_whole_confidence_interval_does(self):
        (self.experiment / "expected.json").unlink()
        self.change("[size.full]", "[size.full]\nseeds = [1, 2, 3]")
        self.config.write_text(self.config.read_text() + '\n[[claim]]\ntext = "no worse than one"\nstated = "before"\nsizes = ["full"]\n'
                               'left = "large.test_error"\nop = "<="\nright = "sgd.test_error"\nmargin = 0.01\n')
        self.harness("lock", "toy")

        def judged(sgd: list[float], large: list[float]) -> str:
            self.record(sgd=sgd, large=large)
            return self.harness("judge", "toy", status=1 if sum(large) > sum(sgd) + 0.03 else 0)

        # t of 2 degrees of freedom is 4.303, so three differences of 0.002, 0.004, 0.006 have the interval 0.004 ± 0.005
        self.assertRegex(judged([0.2, 0.3, 0.4], [0.202, 0.304, 0.406]),
                         r"holds     toy: no worse than one\n.*; difference \+0\.40 ± 0\.50 points")
        # the means are as before, but the differences scatter
        self.assertRegex(judged([0.2, 0.3, 0.4], [0.212, 0.304, 0.396]), r"undecided toy: no worse than one\n.*\+0\.40 ± 1\.99 points")
        self.assertRegex(judged([0.2, 0.3, 0.4], [0.212, 0.314, 0.416]), r"FAILS     toy: no worse than one")
        self.assertRegex(judged([0.2, 0.3, 0.4], [0.21, 0.31, 0.41]), r"holds     toy: no worse than one\n[^;]*\n")  # to the last digit
        # against a number, the interval is that of the mean
        self.assertRegex(judged([0.2] * 3, [0.7, 0.7, 0.7]), r"holds     toy: sixty-four <workers> err in at most 90 %")
        self.assertRegex(judged([0.2] * 3, [0.95, 0.6, 0.9]), r"undecided toy: sixty-four <workers> err in at most 90 %")


if __name__ == "__main__":
    unittest.main()
