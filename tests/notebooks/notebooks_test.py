#!/usr/bin/env python3
"""Notebooks are stored without output, run on the runs of the size smoke, and say what makes their runs where there are none."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import toy

NOTEBOOKS = sorted((toy.ROOT / "notebooks").glob("*.ipynb"))
MODULES = ("nbconvert", "ipykernel", "matplotlib", "pandas")


class Notebooks(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(tempfile.mkdtemp(prefix="paragrad-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)

    def execute(self, notebook: Path) -> subprocess.CompletedProcess:
        """What comes of it is written to self.folder, where its kernel's sockets lie: of ports others might take the same."""
        own = {"IPYTHONDIR": str(self.folder / "ipython"), "JUPYTER_CONFIG_DIR": str(self.folder / "jupyter")}
        sockets = ["--KernelManager.transport=ipc", f"--KernelManager.ip={self.folder / notebook.stem}"]
        done = subprocess.run([toy.ROOT / "src/setup/python.sh", *MODULES, "--", "-m", "nbconvert", "--to", "notebook", "--execute",
                               *sockets, "--output-dir", self.folder, notebook],
                              env=os.environ | own, capture_output=True, text=True, timeout=120)
        if done.returncode == 2 and "no Python here" in done.stderr:
            self.skipTest(done.stderr.strip())
        return done

    def test_they_are_stored_without_output(self):
        self.assertEqual([notebook.name[:2] for notebook in NOTEBOOKS], ["01", "02", "03", "04", "05", "06"])
        for notebook in NOTEBOOKS:
            for cell in json.loads(notebook.read_text())["cells"]:
                with self.subTest(notebook=notebook.name, cell=cell["id"]):
                    self.assertEqual((cell.get("outputs", []), cell.get("execution_count")), ([], None))

    def test_they_say_which_command_makes_their_runs(self):
        for notebook in NOTEBOOKS:
            text = "".join("".join(cell["source"]) for cell in json.loads(notebook.read_text())["cells"])
            read = re.findall(r'study\("(\w+)"\)', text)
            for command in [f"make run-{name} SIZE=smoke" for name in read] or ["make timeline"]:
                with self.subTest(notebook=notebook.name):
                    self.assertIn(f"`{command}`", " ".join(text.split()))

    def test_they_run_and_draw(self):
        made = subprocess.run(["make", "-o", "program", "timeline", f"PROGRAM={Path(toy.PROGRAM).resolve()}"], cwd=toy.ROOT,
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(made.returncode, 0, made.stderr)
        with ThreadPoolExecutor(2) as pool:
            for notebook, done in zip(NOTEBOOKS, pool.map(self.execute, NOTEBOOKS)):
                with self.subTest(notebook=notebook.name):
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertIn('"image/png"', (self.folder / notebook.name).read_text())

    def test_where_there_are_no_runs_they_stop_and_say_what_makes_them(self):
        copy = self.folder / "copy"
        for part in ("experiments", "notebooks", "src/python"):
            shutil.copytree(toy.ROOT / part, copy / part, ignore=shutil.ignore_patterns("runs", "__pycache__"))
        done = self.execute(copy / "notebooks" / NOTEBOOKS[0].name)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("NoRuns: there are no runs of mlp_images here: `make run-mlp_images SIZE=smoke` makes them",
                      re.sub(r"\x1b\[[\d;]*m", "", done.stderr))


if __name__ == "__main__":
    unittest.main()
