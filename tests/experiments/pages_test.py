#!/usr/bin/env python3
"""What the experiments' pages say on claims, verdicts and counts of runs follows from records and configurations."""

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "notebooks"))

import toy  # noqa: E402


class Pages(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="paragrad-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.root = toy.build(self.folder / "copy")
        self.page = self.root / "experiments/toy/README.md"

    def sources(self) -> None:
        subprocess.run([sys.executable, self.root / "experiments/harness", "sources"], check=True, capture_output=True)

    def lint(self) -> list[str]:
        done = subprocess.run([sys.executable, toy.ROOT / "tests/lint/experiments.py", self.root], capture_output=True, text=True)
        return done.stdout.splitlines() if done.returncode else []

    def test_the_line_on_claims_is_that_of_the_records(self):
        stale = ["experiments/README.md: the line on its claims is not what the records say: make sources",
                 "experiments/toy/README.md: the line on its claims is not what the records say: make sources"]
        self.assertEqual(self.lint(), stale)
        self.sources()
        self.assertEqual(self.lint(), [])
        self.assertIn("# A toy\n\n**Claims.** Of 5 claims 1 holds and 4 are open. (`make judge-toy`, size full.) "
                      "1 of its 5 runs were recorded without their options.\n\n**Question.**", self.page.read_text())
        self.assertIn("| are two faster | yes | 1 holds, 4 open |\n", (self.root / "experiments/README.md").read_text())
        (self.root / "experiments/toy/expected.json").write_text(json.dumps({"full": {"toy": {"large": {"1": {"test_error": 0.95}}}}}))
        self.assertEqual(self.lint(), stale)
        self.sources()
        self.assertEqual(self.lint(), [])
        self.assertIn("Of 5 claims 1 fails and 4 are open.", self.page.read_text())

    def test_pasted_verdicts_and_counts_of_runs_are_compared(self):
        self.sources()
        text = self.page.read_text()
        for pasted, complaint in (("holds     toy: sixty-four <workers> err in at most 90 %", ""), ("holds  sixty-four … in at most", ""),
                                  ("FAILS  toy: sixty-four <workers> err in at most 90 %", "says 'FAILS', but the records say 'holds'"),
                                  ("holds  no claim of ours", "has a verdict on no claim"),
                                  ("make verify-toy  # full: 5 runs", ""), ("make verify-toy SIZE=smoke   # 8 runs, seconds", ""),
                                  ("make verify-toy  # 6 runs", "make verify-toy has 5 runs, not 6"),
                                  ("make record-toy SIZE=smoke # 1,008 runs", "make record-toy SIZE=smoke has 8 runs, not 1,008"),
                                  ("make tune-toy SIZE=smoke # 4 runs", "make tune-toy SIZE=smoke has 0 runs, not 4")):
            with self.subTest(pasted=pasted):
                self.page.write_text(f"{text}\n```\n{pasted}\n```\n")
                found = self.lint()
                self.assertEqual(len(found), bool(complaint), found)
                self.assertIn(complaint, "".join(found))


if __name__ == "__main__":
    unittest.main()
