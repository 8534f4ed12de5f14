#!/usr/bin/env python3
"""Spoken digits from recordings to words: the recipe of the data file on sounds made here, a rising or falling tone per digit."""

import os
import re
import subprocess
import unittest

from digit_sounds import record_digits
from paragrad_cli import MPIEXEC, PLATFORM, PROGRAM, ROOT, FolderTest, run


class Digits(FolderTest):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        recordings = cls.folder / "recordings"
        record_digits(recordings, 18)
        (recordings / "notes.txt").write_text("not a recording")
        cls.recordings, cls.data = recordings, cls.folder / "digits.h5"
        cls.made = subprocess.run(["sh", str(ROOT / "data/speech-digits.sh"), str(cls.data)], capture_output=True, text=True,
                                  env={**os.environ, "PARAGRAD": PROGRAM, "FSDD_DIR": str(cls.folder)}, timeout=120)

    def word_error(self, result: subprocess.CompletedProcess) -> float:
        self.assertEqual(result.returncode, 0, result.stderr)
        return float(re.search(r"word error ([0-9.]+) %", result.stdout).group(1))

    def test_the_recipe_aligns_and_a_network_of_either_kind_finds_the_digits(self):
        self.assertEqual(self.made.returncode, 0, self.made.stderr)
        self.assertEqual(run("data", "verify", self.data).returncode, 0)
        self.assertEqual(len(re.findall(r"frames have a different label", self.made.stdout)), 3)
        for name, model, options in (("dense", "1320-64-60:relu", ["--minibatch", "64", "--learning-rate", "0.02"]),
                                     ("recurrent", "1320-blstm16-60", ["--minibatch", "4", "--learning-rate", "0.05"])):
            out = self.folder / name
            trained = run("train", "--data", self.data, "--model", model, *options, "--epochs", 8, "--quiet", "--out", out)
            self.assertEqual(trained.returncode, 0, trained.stderr)
            decoded = run("decode", out / "checkpoint.h5", "--data", self.data)
            self.assertLessEqual(self.word_error(decoded), 4, decoded.stdout)
            frame_error = re.search(r"test error ([0-9.]+ %)", trained.stdout).group(1)
            self.assertIn(f"frame error {frame_error}", decoded.stdout)
        chunked = run("decode", self.folder / "recurrent/checkpoint.h5", "--data", self.data, "--chunks", "10-10+10")
        self.assertLessEqual(self.word_error(chunked), 10, chunked.stdout)
        self.loops(self.folder / "dense/checkpoint.h5")
        for name in ("dense", "recurrent"):
            self.the_same_in_every_world(self.folder / name / "checkpoint.h5")

    def the_same_in_every_world(self, checkpoint):
        """One process, ranks and emulated workers find the same; only simulated time is printed on top."""
        for command, *options in (("decode", "--show-errors"), ("align", "--out", self.folder / "aligned.h5"), ("evaluate",)):
            command = [command, checkpoint, "--data", self.data, *options]
            alone = run(*command)
            self.assertEqual(alone.returncode, 0, alone.stderr)
            emulated = run(*command, "--workers", 3, "--platform", PLATFORM).stdout.splitlines(keepends=True)
            simulated = [line for line in emulated if line.startswith("simulated time")]
            self.assertEqual(len(simulated), 1, emulated)
            self.assertEqual("".join(line for line in emulated if line not in simulated), alone.stdout)
            if MPIEXEC:
                self.assertEqual(run(*command, ranks=3).stdout, alone.stdout)

    def test_a_network_learns_by_ctc_which_digits_are_said_and_not_when(self):
        out = self.folder / "spoken"
        options = ["--data", self.data, "--context", "0+0", "--loss", "ctc"]
        trained = run("train", *options, "--model", "120-blstm24-11", "--optimiser", "adam", "--learning-rate", "0.01", "--minibatch",
                      "4", "--epochs", 40, "--quiet", "--out", out)
        self.assertEqual(trained.returncode, 0, trained.stderr)
        error = re.search(r"test error ([0-9.]+) %", trained.stdout).group(1)
        self.assertLessEqual(float(error), 60)  # of ten digits, eight examples of each, no alignment
        checkpoint = out / "checkpoint.h5"
        self.assertIn(f"error {error} %", run("evaluate", checkpoint, *options[:-2]).stdout)  # the checkpoint names the loss
        self.assert_refused(run("evaluate", checkpoint, *options[:-1], "cross_entropy"), "11 outputs", "60 classes")
        self.assert_refused(run("evaluate", checkpoint, *options, "--chunks", "10"), "leave out --chunks")
        self.assert_refused(run("train", *options, "--model", "120-blstm24-60", "--learning-rate", "0.1"), "need 11 outputs including the blank")

    def loops(self, checkpoint):
        few = run("decode", checkpoint, "--data", self.data, "--grammar", "loop", "--insertion-score", "-1000", "--show-errors")
        many = run("decode", checkpoint, "--data", self.data, "--grammar", "loop", "--insertion-score", "1000", "--show-errors")
        self.assertIn(" 0 inserted", few.stdout)
        self.assertGreater(self.word_error(many), 100)
        self.assertRegex(many.stdout, r"(?m)^3_anna_2: three, found \w+ \w+")

    def test_what_cannot_be_read_or_does_not_fit_is_refused(self):
        out = self.folder / "refused.h5"
        self.assert_refused(run("data", "import-fsdd", "--recordings", self.folder / "none", "--out", out), "no folder")
        self.assert_refused(run("data", "import-fsdd", "--recordings", self.folder, "--out", out), "no recordings")
        self.assert_refused(run("data", "import-fsdd", "--recordings", self.recordings, "--states", 80, "--out", out), "too few")
        self.assert_refused(run("data", "import-fsdd", "--recordings", self.recordings, "--test", 90, "--out", out), "for training")
        frames, model = self.folder / "frames.h5", self.folder / "frames"
        run("data", "generate", "--out", frames, "--samples", 200, "--valid", 0, "--test", 50, "--dim", 4, "--classes", 3)
        trained = run("train", "--data", frames, "--model", "4-3", "--learning-rate", "0.1", "--epochs", 1, "--quiet", "--out", model)
        self.assertEqual(trained.returncode, 0, trained.stderr)
        checkpoint = model / "checkpoint.h5"
        self.assert_refused(run("align", checkpoint, "--data", frames, "--out", out), "no class names")
        self.assert_refused(run("decode", checkpoint, "--data", self.data), "features")
        self.assert_refused(run("decode", checkpoint, "--data", frames, "--grammar", "none"), "grammar", "loop")
        self.assertFalse(out.exists())


if __name__ == "__main__":
    unittest.main()
