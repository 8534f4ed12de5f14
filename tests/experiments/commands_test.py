#!/usr/bin/env python3
"""What the harness's commands for a cluster write can be started there, and what they cannot do they say in one sentence."""

import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path
from unittest.mock import patch

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/app"), str(ROOT / "tests/notebooks"), str(ROOT / "experiments/harness")]

import toy  # noqa: E402
from config import UserError, names  # noqa: E402
from loading import all_sizes, load  # noqa: E402
from paragrad_cli import MPIEXEC, PROGRAM  # noqa: E402
from runner import Runner, known_options  # noqa: E402
from slurm import text_of  # noqa: E402
from worlds import mpi_jobs  # noqa: E402


class Help(unittest.TestCase):
    def test_every_script_of_the_experiments_explains_itself_and_writes_nothing(self):
        scripts = [ROOT / "experiments/page", ROOT / "experiments/harness", *sorted((ROOT / "experiments").glob("*/fit.py"))]
        self.assertGreater(len(scripts), 7)
        with tempfile.TemporaryDirectory() as folder:
            for script in scripts:
                done = subprocess.run([sys.executable, script, "--help"], cwd=folder, capture_output=True, text=True)
                with self.subTest(script=script):
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertTrue(done.stdout.startswith("usage: "), done.stdout)
                    self.assertEqual(list(Path(folder).iterdir()), [])


class Jobs(unittest.TestCase):
    @patch("runner.program_identity", return_value="")  # which takes half of the time
    def test_of_every_experiment_each_option_of_a_job_is_one_of_train_and_given_once(self, _):
        known = known_options(Path(PROGRAM), "train")
        for name in names():
            for size in all_sizes(name):
                runner = Runner(load(name, size), Path(PROGRAM), 1)
                try:
                    jobs = mpi_jobs(runner, runner.experiment.data)
                except UserError:  # it only predicts times
                    continue
                for job, _ in jobs:
                    line = re.search(r"^mpiexec .* train (.*) &$", text_of(runner, job, Path("out")), re.MULTILINE)[1]
                    options = Counter(word.removeprefix("--").partition("=")[0] for word in shlex.split(line))
                    with self.subTest(experiment=name, size=size, job=job.label):
                        self.assertEqual([option for option, count in options.items() if count > 1 or option not in known], [])


class Toy(unittest.TestCase):
    def setUp(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="paragrad-"))
        self.addCleanup(shutil.rmtree, folder)
        self.root = toy.build(folder / "copy")
        self.recipe = self.root / "data/other.sh"
        self.made = self.root / "data/other.h5"

    def harness(self, *words: str, status: int = 0) -> str:
        done = subprocess.run([sys.executable, self.root / "experiments/harness", "--program", PROGRAM, *words], capture_output=True,
                              text=True, timeout=60)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        if status == 2:
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        return done.stdout + done.stderr

    def change(self, old: str, new: str) -> None:
        path = self.root / "experiments/toy/config.toml"
        self.assertIn(old, path.read_text())
        path.write_text(path.read_text().replace(old, new, 1))

    def with_other_data(self) -> None:
        """Adds a data set before the toy's, with a recipe."""
        self.change("[[data]]", '[[data]]\nname = "other"\nfile = "data/other.h5"\n\n[[data]]')
        self.recipe.parent.mkdir(exist_ok=True)
        self.recipe.write_text(f"#!/bin/sh\ncp data/toy.h5 {self.made}\n")
        self.recipe.chmod(0o755)

    def test_options_may_stand_before_the_names(self):
        for words in (("commands", "--size", "smoke", "toy"), ("--size", "smoke", "commands", "toy"), ("commands", "toy", "--size", "smoke")):
            self.assertEqual(len(self.harness(*words).splitlines()), 8)
        self.assertIn("no experiment 'toi'", self.harness("worlds", "--run", "sgd", "toi", status=2))

    def test_a_run_of_train_gets_the_seeds_too(self):
        self.change('platform = "sim/platforms/k40m-fdr.toml"\n', "")
        self.change('baseline = "sgd"', 'baseline = "sgd"\ncommand = "train"')
        self.assertEqual([re.search(r"--seed=(\d)", line)[1] for line in self.harness("commands", "toy", "--size", "smoke").splitlines()],
                         ["1"] * 4 + ["2"] * 4)

    def test_times_are_predicted_without_saving(self):
        toy.make_data(self.root)
        self.change("blocks = 4", "blocks = 4\ncheckpoint-every = 1")
        text = self.harness("predict", "toy", "--size", "smoke")
        self.assertTrue(text.startswith("checkpoint-every is left out"), text)
        for run in ("sgd", "ma-2", "ma-4", "async-2"):
            self.assertRegex(text, rf"\] toy {run} seed 1 predicted\n(.|\n)*/{run}-s1-predicted  ")

    def test_data_sets_that_are_not_here_are_left_out(self):
        toy.make_data(self.root)
        self.with_other_data()
        self.change('file = "data/other.h5"', 'file = "data/other.h5"\noptional = true')
        text = self.harness("predict", "toy", "--size", "smoke")
        self.assertIn("other: left out", text)
        self.assertNotIn("other sgd", text)
        self.harness("run", "toy", "--size", "smoke")
        self.assertIn("the same weights" if MPIEXEC else "skipped", self.harness("worlds", "--run", "sgd", "toy", "--size", "smoke"))
        self.change("[size.smoke]", '[size.smoke]\ndata = ["other"]')
        for words, said in ((("predict",), "toy has no data set in size smoke whose file is here"),
                            (("worlds", "--run", "sgd"), "sgd has not been run" if MPIEXEC else "")):
            self.assertIn(said, self.harness(*words, "toy", "--size", "smoke", status=2 if said else 0))

    def test_no_data_are_made_if_there_is_nothing_to_do(self):
        toy.make_data(self.root)
        self.with_other_data()
        self.assertIn("toy has not been run: run it with make run-toy SIZE=smoke", self.harness("compare", "toy", "--size", "smoke", status=2))
        self.change('baseline = "sgd"', 'baseline = "sgd"\ncommand = "search"')
        self.assertIn("toy has only searches", self.harness("predict", "toy", "--size", "smoke", status=2))
        self.assertFalse(self.made.exists())


if __name__ == "__main__":
    unittest.main()
