#!/usr/bin/env python3
"""Generated speech by the command line: some seconds of it, what is printed, what is refused, and a process that dies."""

import json
import os
import re
import signal
import subprocess
import time
import unittest
from pathlib import Path

from paragrad_cli import PROGRAM, FolderTest, run

TEXT = ["In the beginning was the word.", "The children play a game.", "What a big thing it is!", "My father has a yellow house.",
        "She measured the joy of others.", "Choose a shoe, and put it on."]
UNSEEN = ["Nobody knows why the chicken went there.", "My father has a yellow house.", "A cheese would be good.", "Just wait for us.",
          "We wish you the very best."]


def has_voices() -> bool:
    refused = run("data", "generate-speech", "--text", "none", "--out", "none.h5")
    return "flite1-dev" not in refused.stderr


@unittest.skipUnless(has_voices(), "the program was built without flite")
class GeneratedSpeech(FolderTest):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.text, cls.unseen = cls.folder / "text", cls.folder / "unseen"
        cls.text.write_text("\n".join(TEXT) + "\n")
        cls.unseen.write_text("\n".join(UNSEEN) + "\n")

    def generate(self, out: str, *more, train: str = "40s") -> subprocess.CompletedProcess:
        return run("data", "generate-speech", "--text", self.text, "--unseen-text", self.unseen, "--train", train, "--valid", "5s",
                   "--test", "5s", "--out", self.folder / out, *more)

    def test_the_file_is_sound_and_the_same_for_any_number_of_jobs(self):
        one, two = self.generate("one.h5"), self.generate("two.h5", "--jobs", 2)
        self.assertEqual(one.returncode, 0, one.stderr)
        self.assertRegex(one.stdout, r"one.h5: 4\d{3} training, [5-9]\d\d validation, [5-9]\d\d test samples of 440 features, \d+ classes\n"
                                     r"content sha256 [0-9a-f]{64}\n"
                                     r"a context has a class of its own where it has \d+ training frames or more\n$")
        self.assertEqual((self.folder / "one.h5").read_bytes(), (self.folder / "two.h5").read_bytes(), two.stderr)
        self.assertEqual(run("data", "verify", self.folder / "one.h5").returncode, 0)
        other = self.generate("other.h5", "--seed", 2)
        self.assertNotEqual(other.stdout.splitlines()[1], one.stdout.splitlines()[1])

    def test_phones_are_found_in_it_by_a_network(self):
        made = self.generate("train.h5")
        classes = re.search(r"(\d+) classes", made.stdout).group(1)
        data, out = self.folder / "train.h5", self.folder / "run"
        trained = run("train", "--data", data, "--model", f"440-64-{classes}:relu", "--learning-rate", "0.05", "--minibatch", "32",
                      "--epochs", 8, "--quiet", "--out", out)
        self.assertEqual(trained.returncode, 0, trained.stderr)
        decode = ["decode", out / "checkpoint.h5", "--data", data, "--subset", "train", "--grammar", "loop"]
        all_words, phones = (self.words_and_errors(run(*decode, *more)) for more in ([], ["--silence", "pau"]))
        self.assertLess(phones[0], all_words[0] - 10)  # two or more silences in each utterance
        self.assertLess(phones[1], phones[0] / 2)
        shown = run(*decode, "--silence", "pau", "--show-errors", "--result", self.folder / "result.json").stdout
        result = json.loads((self.folder / "result.json").read_text())
        self.assertEqual((result["words"], round(result["word_error"] * result["words"])), phones)
        self.assertEqual(result["substitutions"] + result["deletions"] + result["insertions"], phones[1])
        self.assertRegex(shown, r"(?m)^train-\d{6}: [a-z ]+, found [a-z ]+$")
        self.assertNotRegex(shown, r"\bpau\b")
        self.assert_refused(run(*decode, "--silence", "pausa"), "pausa", "pau")
        self.assert_refused(run("align", out / "checkpoint.h5", "--data", data, "--out", self.folder / "no.h5"), "several classes")

    def words_and_errors(self, result: subprocess.CompletedProcess) -> tuple[int, int]:
        self.assertEqual(result.returncode, 0, result.stderr)
        errors, words = re.search(r"\((\d+) of (\d+):", result.stdout).groups()
        return int(words), int(errors)

    def test_what_cannot_be_made_is_refused(self):
        empty = self.folder / "empty"
        empty.write_text("two words\n")
        for more, parts in ((["--train", "0h"], ["a duration above zero"]), (["--train", "5"], ["5"]), (["--voices", "slt,hal"], ["'hal'", "awb"]),
                            (["--text", self.folder / "none"], ["cannot read"]), (["--text", empty], ["no line"]),
                            (["--unseen-text", self.text], ["fewer than two"]), (["--classes", "3"], ["3 classes"]),
                            (["--jobs", "0"], ["--jobs"]), (["--out", self.folder / "none/x.h5"], ["none/x.h5"])):
            with self.subTest(more=more):
                arguments = {"--text": self.text, "--unseen-text": self.unseen, "--train": "1s", "--valid": "1s", "--test": "1s",
                             "--out": self.folder / "refused.h5", **dict(zip(more[::2], more[1::2]))}
                self.assert_refused(run("data", "generate-speech", *[a for pair in arguments.items() for a in pair]), *parts)
                self.assertFalse((self.folder / "refused.h5").exists())

    @unittest.skipUnless(Path(f"/proc/self/task/{os.getpid()}/children").exists(), "needs a list of a process's children")
    def test_a_killed_process_is_told_and_leaves_no_file(self):
        out = self.folder / "killed.h5"
        parent = subprocess.Popen([PROGRAM, "data", "generate-speech", "--text", self.text, "--unseen-text", self.unseen, "--train", "90h",
                                   "--jobs", "2", "--out", out], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        list_of_children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
        children = []
        while len(children) < 2 and parent.poll() is None:
            time.sleep(0.01)
            children = list_of_children.read_text().split()
        os.kill(int(children[0]), signal.SIGKILL)
        stdout, stderr = parent.communicate(timeout=60)
        self.assert_refused(subprocess.CompletedProcess(parent.args, parent.returncode, stdout, stderr), "signal 9")
        self.assertEqual([path.name for path in self.folder.iterdir() if path.name.startswith("killed")], [])
        for child in children:
            self.assertFalse(re.search(r"^State:\s+[^ZX]", self.status(child), re.MULTILINE), child)

    @staticmethod
    def status(process: str) -> str:
        try:
            return Path(f"/proc/{process}/status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return ""


if __name__ == "__main__":
    unittest.main()
