#!/usr/bin/env python3
"""A run of an experiment whose harness and program are killed goes on where it was, and ends as if nothing had happened."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "notebooks"))

import toy  # noqa: E402

CONFIG = """
baseline = "sgd"

[options]
platform = "sim/platforms/k40m-fdr.toml"
model = "8-12-6:sigmoid"
learning-rate = 0.1
minibatch = 16
blocks = 4
epochs = 25
checkpoint-every = 1

[size.smoke]
seeds = [1]

[[data]]
name = "toy"
file = "data/toy.h5"

[[run]]
name = "sgd"
strategy = "sgd"
workers = 1
"""


class Interrupted(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="paragrad-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.root = toy.build(self.folder / "copy")
        (self.root / "experiments/toy/config.toml").write_text(CONFIG)
        (self.root / "experiments/toy/expected.json").unlink()
        (self.root / "experiments/toy/published.csv").unlink()
        toy.make_data(self.root)
        self.calls = self.folder / "calls"
        self.program = self.folder / "program"  # which writes down how it was called
        self.program.write_text(f'#!/bin/sh\necho "$@" >> {self.calls}\nexec {toy.PROGRAM} "$@"\n')
        self.program.chmod(0o755)
        self.run = self.root / "experiments/toy/runs/smoke/toy/sgd-s1"

    def start(self) -> subprocess.Popen:
        return subprocess.Popen([sys.executable, self.root / "experiments/harness", "--program", self.program, "run", "toy", "--size",
                                 "smoke"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def finish(self) -> dict:
        process = self.start()
        _, complaint = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, complaint)
        return json.loads((self.run / "manifest.json").read_text())["result"]

    def kill_in_the_middle(self) -> None:
        process = self.start()
        deadline = time.monotonic() + 30
        while not (self.run / "state/latest.json").exists():
            self.assertLess(time.monotonic(), deadline, "no state was written in 30 s")
            self.assertIsNone(process.poll(), "the run was over before it could be killed")
            time.sleep(0.001)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()

    def how(self) -> list[str]:
        """How the runs were begun."""
        return [word for line in self.calls.read_text().splitlines() for word in line.split() if word in ("--resume", "--overwrite")]

    def test_it_goes_on_and_ends_in_the_same_weights(self):
        expected = self.finish()
        shutil.rmtree(self.run.parent)
        self.kill_in_the_middle()
        self.assertFalse(self.run.with_name("sgd-s1.key.json").exists())
        found = self.finish()
        for metric in ("parameters_sha256", "samples", "test_error", "train_loss"):
            self.assertEqual(found[metric], expected[metric])
        self.assertEqual(self.how(), ["--overwrite", "--overwrite", "--resume"])

    def test_damaged_files_of_a_run_are_named(self):
        self.kill_in_the_middle()
        costs, manifest, key = self.run / "cost.json", self.run / "manifest.json", self.run.with_name("sgd-s1.key.json")
        for damaged, remedy in ((costs, "remove it"), (manifest, "remove the run's folder")):
            damaged.write_text("{")
            process = self.start()
            _, complaint = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 2, complaint)
            self.assertRegex(complaint, f"^harness: .*runs/smoke/toy/sgd-s1/{damaged.name}'? is .*; {remedy}.*\n$")
            damaged.unlink()
            self.finish()
        key.write_text("{")
        self.finish()
        self.assertEqual(self.how(), ["--overwrite", "--resume", "--overwrite", "--overwrite"])

    def test_with_other_options_it_begins_anew(self):
        self.kill_in_the_middle()
        path = self.root / "experiments/toy/config.toml"
        path.write_text(path.read_text().replace("learning-rate = 0.1", "learning-rate = 0.2"))
        self.assertEqual(self.finish()["epochs"], 25)
        self.assertEqual(self.how(), ["--overwrite", "--overwrite"])


if __name__ == "__main__":
    unittest.main()
