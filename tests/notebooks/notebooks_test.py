#!/usr/bin/env python3
"""Notebooks are stored with what they show, and show the same when they are executed again.

Compared are, for each cell, the kinds of its outputs; texts and tables word for word, except for SHA-256, and numbers up to a tenth, as
other processors round differently; and the sizes of pictures, not what is in them.
"""

import base64
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import toy

FOLDER = toy.ROOT / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
PYTHON = os.environ.get("PARAGRAD_PYTHON", sys.executable)
MODULES = "ipykernel, matplotlib, nbclient, pandas"
VARIES = {"tags": ["varies"]}  # text that other rounding would change from the first letter that differs
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")

sys.path.insert(0, str(FOLDER))
from execute import code_sha256  # noqa: E402


def cells(notebook: Path) -> list[dict]:
    return json.loads(notebook.read_text())["cells"]


def contents(output: dict) -> dict[str, str]:
    """By MIME type."""
    found = output.get("data") or {"text/plain": output["text"]}
    return {kind: text if isinstance(text, str) else "".join(text) for kind, text in found.items()}


def words_and_numbers(text: str) -> tuple[str, list[float]]:
    text = " ".join(re.sub(r"\b[\da-f]{64}\b", "SHA-256", text).split())
    return NUMBER.sub("#", text), [float(number) for number in NUMBER.findall(text)]


def difference(stored: list[dict], fresh: list[dict]) -> str:
    """What differs between two cells' outputs; empty if nothing does."""
    kinds = [[sorted(contents(output)) for output in outputs] for outputs in (stored, fresh)]
    if kinds[0] != kinds[1]:
        return f"outputs: {kinds[0]} are stored, {kinds[1]} are shown now"
    for before, now in zip(map(contents, stored), map(contents, fresh)):
        if "image/png" in before:
            sizes = [struct.unpack(">II", base64.b64decode(of["image/png"])[16:24]) for of in (before, now)]
            if not all(is_close(one, other) for one, other in zip(*sizes)):
                return f"a picture of {sizes[0]} pixels is stored, now it has {sizes[1]}"
        (words, numbers), (words_now, numbers_now) = (words_and_numbers(of["text/plain"]) for of in (before, now))
        if words != words_now or not all(map(is_close, numbers, numbers_now)):
            return f"stored:\n{before['text/plain']}\nnow:\n{now['text/plain']}"
    return ""


def is_close(one: float, other: float) -> bool:
    return abs(one - other) <= max(0.1 * max(abs(one), abs(other)), 0.01)  # the second for shares


class Notebooks(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(tempfile.mkdtemp(prefix="paragrad-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)

    def execute(self, *notebooks: Path, program: Path = FOLDER / "execute.py") -> subprocess.CompletedProcess:
        """Writes to self.folder."""
        if subprocess.run([PYTHON, "-c", f"import {MODULES}"], capture_output=True).returncode != 0:
            self.skipTest(f"{PYTHON} lacks one of {MODULES}: src/setup/packages.sh pages")
        return subprocess.run([PYTHON, program, "--out", self.folder, *notebooks], capture_output=True, text=True, timeout=230)

    def test_the_stored_outputs_are_those_of_the_stored_code(self):
        for notebook in NOTEBOOKS:
            with self.subTest(notebook=notebook.name):
                self.assertEqual(json.loads(notebook.read_text())["metadata"].get("code_sha256"), code_sha256(cells(notebook)),
                                 "make notebooks")

    def test_they_are_small_and_tell_nothing_of_the_machine(self):
        for notebook in NOTEBOOKS:
            self.assertLess(notebook.stat().st_size, 300_000)
            for cell in cells(notebook):
                with self.subTest(notebook=notebook.name, cell=cell["id"]):
                    self.assertIn(cell["metadata"], ({}, VARIES))
                    for output in cell.get("outputs", []):
                        self.assertNotEqual(output.get("name"), "stderr")
                        text = contents(output)["text/plain"]
                        self.assertNotRegex(text, r"(?<![\w.])/\w+/|\d\d:\d\d:\d\d")

    def test_they_say_which_command_makes_their_runs(self):
        read = {notebook: re.findall(r'study\("(\w+)", "smoke"\)', "".join(sum((cell["source"] for cell in cells(notebook)), [])))
                for notebook in NOTEBOOKS}
        for notebook, names in read.items():
            for name in names:
                with self.subTest(notebook=notebook.name):
                    self.assertIn(f"`make run-{name} SIZE=smoke`", " ".join("".join(cells(notebook)[0]["source"]).split()))
        made = re.search(r"for name in (.*); do \$\(HARNESS\) run", (toy.ROOT / "Makefile").read_text())[1].split()
        self.assertEqual(made, sum(read.values(), []))

    def test_executed_again_they_show_the_same(self):
        done = self.execute()
        self.assertEqual(done.returncode, 0, done.stderr)
        for notebook in NOTEBOOKS:
            pictures = 0
            for cell, again in zip(cells(notebook), cells(self.folder / notebook.name), strict=True):
                with self.subTest(notebook=notebook.name, cell=cell["id"]):
                    stored, fresh = cell.get("outputs", []), again.get("outputs", [])
                    self.assertEqual(len(fresh), len(stored))
                    if cell["metadata"] != VARIES:
                        self.assertEqual(difference(stored, fresh), "")
                    pictures += sum("image/png" in contents(output) for output in again.get("outputs", []))
            self.assertGreater(pictures, 0)

    def test_what_differs_is_found(self):
        def shown(text: str) -> list[dict]:
            return [{"output_type": "execute_result", "data": {"text/plain": [text]}}]

        table = "     workers  error\nsgd        1 0.1184"
        for other in (table.replace("0.1184", "0.1201"), table.replace("  ", " ")):
            self.assertEqual(difference(shown(table), shown(other)), "")
        for other in (table.replace("1 0", "2 0"), table.replace("sgd", "bmuf"), table.replace("0.1184", "0.1384"), table + "\nma 2 0.1"):
            self.assertIn(other, difference(shown(table), shown(other)))
        self.assertIn("outputs", difference(shown(table), []))

    def test_where_there_are_no_runs_they_stop_and_say_what_makes_them(self):
        copy = self.folder / "copy"
        for part in ("experiments", "notebooks", "src/python"):
            shutil.copytree(toy.ROOT / part, copy / part, ignore=shutil.ignore_patterns("runs", "*.h5", "__pycache__"))
        done = self.execute(copy / "notebooks/02_bmuf.ipynb", program=copy / "notebooks/execute.py")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("NoRuns: there are no runs of bmuf_images here: `make run-bmuf_images SIZE=smoke` makes them",
                      re.sub(r"\x1b\[[\d;]*m", "", done.stderr))


if __name__ == "__main__":
    unittest.main()
