#!/usr/bin/env python3
"""A row of sources.md is reproduced if the whole interval of ours lies within the margin, in the same metric; else it says what is wrong."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "notebooks"))

import toy  # noqa: E402

TABLE = '''[[table]]
title = "a table"
theirs = "theirs"
ours = "ours"
experiment = "toy"
size = "smoke"

[[table.column]]
text = "error"
column = "speed_up"
metric = "test_error"
kind = "accuracy"
within = 0.1
{more}
'''
STATEMENT = '''
[[statement]]
source = "A text"
text = "less error"
published = 50
unit = "%"
experiment = "toy"
size = "smoke"
run = "ma-2"
over = "sgd"
form = "reduction"
metric = "test_error"
kind = "time"
within = 0.1
ours = "a toy"

[[statement]]
source = "A text"
text = "GPUs"
published = 40
no_value = "nothing is said about them"
'''


class Sources(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="paragrad-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.root = toy.build(self.folder / "copy")
        self.experiment = self.root / "experiments/toy"
        (self.experiment / "published.csv").write_text("run,speed_up\nma-2,0.5\nma-4,\n")

    def rows(self, errors: list[float], more: str = "", options: str = "") -> list[str]:
        """The rows with these errors of the seeds 1, 2 of ma-2. options: the digest of their options; "": none."""
        named = {"options": options} if options else {}
        self.record = {"ma-2": {str(seed): {"test_error": error} | named for seed, error in enumerate(errors, 1)},
                       "sgd": {"1": {"test_error": 1.0}, "2": {"test_error": 1.0}}}
        (self.experiment / "expected.json").write_text(json.dumps({"smoke": {"toy": self.record}}))
        (self.root / "experiments/sources.toml").write_text(TABLE.format(more=more) + STATEMENT)
        subprocess.run([sys.executable, self.root / "experiments/harness", "sources"], check=True, capture_output=True)
        text = (self.root / "experiments/sources.md").read_text()
        self.assertEqual("Recorded without their options" in text, True)  # at least those of sgd
        return re.findall(r"^\| (?:ma-2|A text) \| .* \| (.*) \| (.*) \|$", text, re.MULTILINE)

    def test_the_whole_interval_has_to_lie_within_the_margin(self):
        for errors, ours, status in (([0.501, 0.503], "0.502 ± 0.013", "reproduced"), ([0.46, 0.46], "0.460", "reproduced"),
                                     ([0.49, 0.51], "0.500 ± 0.127", "undecided"), ([0.549, 0.551], "0.550 ± 0.013", "undecided"),
                                     ([0.3, 0.3], "0.300", "not reproduced"), ([0.6, 0.602], "0.601 ± 0.013", "not reproduced")):
            with self.subTest(errors=errors):
                self.assertEqual(self.rows(errors)[0], (ours, status))

    def test_another_metric_is_not_compared(self):
        self.assertEqual(self.rows([0.5, 0.5], more='unlike = "frames, not words"')[0], ("0.500", "not comparable: frames, not words"))

    def test_records_of_other_options_give_no_value(self):
        self.assertEqual(self.rows([0.5, 0.5], options="0123456789abcdef")[0], ("", "open: recorded with other options: ma-2"))

    def test_statements_are_rows(self):
        found = self.rows([0.5, 0.5])
        self.assertEqual(found[1], ("50 %, a toy ([toy](toy/README.md))", "reproduced"))
        self.assertEqual(found[2], ("", "no value: nothing is said about them"))
        self.assertEqual(self.rows([0.8, 0.2])[1][1], "undecided")


if __name__ == "__main__":
    unittest.main()
