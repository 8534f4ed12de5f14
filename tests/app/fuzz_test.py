#!/usr/bin/env python3
"""Damaged HDF5 files, the program's own and those of other tools, crash no command: each run succeeds or ends with one sentence.

Usage: fuzz_test.py [INPUTS [SEED]], where INPUTS is per command. Input k of a seed is the same bytes on every machine."""

import concurrent.futures
import json
import os
import random
import re
import subprocess
import sys
import unittest
from pathlib import Path

from paragrad_cli import PROGRAM, ROOT, CliTest, run

INPUTS = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 70
SEED = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 1
FOREIGN = str(ROOT / "tests/data/foreign.h5")
FOREIGN_CHECKPOINT = str(ROOT / "tests/data/foreign_checkpoint.h5")


def damaged(whole: bytes, number: int, seed: int = SEED) -> bytes:
    """One to four bytes changed, most of them where there is something."""
    draw = random.Random(f"{seed} {number}")
    used = [at for at, byte in enumerate(whole) if byte != 0]
    content = bytearray(whole)
    for _ in range(draw.choice((1, 1, 2, 4))):
        at = draw.choice(used) if draw.random() < 0.9 else draw.randrange(len(whole))
        content[at] = draw.choice((0, 1, 0x7f, 0x80, 0xff, content[at] ^ 1 << draw.randrange(8), draw.randrange(256)))
    return bytes(content)


class Fuzz(CliTest):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        out = cls.folder / "own"
        made = run("train", "--data", cls.data, "--model", "8-12-6", "--learning-rate", "0.1", "--epochs", "1", "--quiet", "--out", out)
        assert made.returncode == 0, made.stderr
        cls.checkpoint = str(out / "checkpoint.h5")

    def survive(self, file: str, *command: str) -> None:
        """The command with each damaged form of `file` in the place of {}."""
        whole = Path(file).read_bytes()
        folder = self.folder / self.id().rsplit(".", 1)[1]
        folder.mkdir()

        def complaint(number: int) -> str:
            path = folder / f"{number}.h5"
            path.write_bytes(damaged(whole, number))
            try:
                result = subprocess.run([PROGRAM, *(part.format(path) for part in command)], capture_output=True, timeout=100)
            except subprocess.TimeoutExpired:
                return f"input {number} of seed {SEED}: no end after 100 s"
            lines = result.stderr.decode(errors="replace").splitlines()
            if result.returncode == 0 and not lines or \
                    result.returncode == 2 and len(lines) == 1 and lines[0].startswith("paragrad: "):
                path.unlink()
                return ""
            return f"input {number} of seed {SEED}: code {result.returncode}\n" + "\n".join(lines[:5])

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            complaints = [text for text in pool.map(complaint, range(INPUTS)) if text]
        self.assertEqual(complaints, [], f"{len(complaints)} of {INPUTS} inputs to {' '.join(command)}\n" + "\n".join(complaints))

    def test_info_about_a_data_file(self):
        self.survive(self.data, "data", "info", "{}")

    def test_info_about_a_foreign_data_file(self):
        self.survive(FOREIGN, "data", "info", "{}")

    def test_evaluation_of_a_checkpoint(self):
        self.survive(self.checkpoint, "evaluate", "{}", "--data", self.data)

    def test_evaluation_of_a_foreign_checkpoint(self):
        self.survive(FOREIGN_CHECKPOINT, "evaluate", "{}", "--data", FOREIGN, "--subset", "valid")

    def test_evaluation_on_a_foreign_data_file(self):
        self.survive(FOREIGN, "evaluate", FOREIGN_CHECKPOINT, "--data", "{}", "--subset", "valid")

    def test_inputs_on_which_hdf5_crashed_or_looped_are_damaged_files(self):
        for number, finding in ((200, "crashes while reading it"), (142, "does not terminate while reading it")):
            path = self.folder / f"known-{number}.h5"
            path.write_bytes(damaged(Path(FOREIGN).read_bytes(), number, seed=2))
            result = run("data", "info", path)
            if re.search(r"HDF5 +1\.10\.8$", run("--version").stdout, re.MULTILINE):  # another one may read it
                self.assert_refused(result, f"'{path}' is damaged: HDF5 1.10.8 {finding}")
            self.assertIn(result.returncode, (0, 2))

    def test_a_name_that_is_no_utf8_is_shown_with_a_replacement(self):
        path, out = self.folder / "name.h5", self.folder / "name"
        path.write_bytes(Path(FOREIGN).read_bytes().replace(b"foreign\0", b"f\xffreign\0"))
        self.assertEqual(json.loads(run("data", "info", path).stdout)["name"], "f\ufffdreign")
        trained = run("train", "--data", path, "--model", "4-3", "--learning-rate", "0.1", "--epochs", "1", "--blocks", "1",
                      "--out", out, "--quiet")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        self.assertEqual(json.loads((out / "manifest.json").read_text())["data"]["name"], "f\ufffdreign")

    def test_training_from_a_foreign_checkpoint(self):
        self.survive(FOREIGN_CHECKPOINT, "train", "--init", "{}", "--data", FOREIGN, "--model", "4-3", "--learning-rate", "0.1",
                     "--epochs", "1", "--blocks", "1", "--minibatch", "2", "--quiet")


if __name__ == "__main__":
    unittest.main()
