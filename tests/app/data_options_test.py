#!/usr/bin/env python3
"""Every option of what makes a data file changes the file: an option without effect is a failure.

A new option needs a value in VALUES, and what it has nothing to change without."""

import hashlib
import json
import unittest
from pathlib import Path

import image_files
from generated_speech_test import TEXT, UNSEEN, has_voices
from importers import SAMPLES, SOURCES, arrays, idx, kaldi_text, labels, numbers, pixels, table
from paragrad_cli import FolderTest, run

OF_FILE = {"name": "other", "source": "elsewhere", "licence": "free"}
SET_ASIDE = {"valid": 4, "seed": ("--valid 4", 2)}
OF_SAMPLES = OF_FILE | SET_ASIDE | {"normalise": ""}
# The value of an option, or what it needs and its value; @: a file or folder of Sources.
VALUES = {
    "import-idx": OF_SAMPLES | {
        "from": "@other", "train-images": "@other/train-images-idx3-ubyte", "train-labels": "@other/train-labels-idx1-ubyte",
        "test-images": "@other/t10k-images-idx3-ubyte", "test-labels": "@other/t10k-labels-idx1-ubyte", "prefix": "fashion-",
        "first-class": ("--train-labels @from-one --test-labels @from-one-too", 1), "scale": "none", "classes": 7},
    "import-cifar": OF_SAMPLES | {"from": "@hundred", "labels": ("--from @hundred", "coarse")},
    "import-images": OF_SAMPLES | {"from": "@mirrored", "train": "test", "test": 2, "validation": "test", "channels": 3,
                                   "skip-damaged": ("--from @damaged", ""), "scale": "none"},
    "import-numpy": OF_SAMPLES | {
        "from": "@other.npz", "arrays": "x_train=z", "classes": 7, "test": 3, "scale": ("--from @bytes.npz", "none"),
        "layout": ("--from @images.npz", "channels-first")},
    "import-csv": OF_SAMPLES | {
        "from": "@other.csv", "label": ("--from @numbers.csv", 1), "targets": ("--leave-out species", "a"), "leave-out": "b",
        "missing-labels": ("--from @missing.csv", "leave-out"), "separator": ("--from @spaces.csv --label 3", "space"),
        "decimal": ("--from @commas.csv --separator semicolon", "comma"), "valid-from": "@other.csv", "test-from": "@other.csv", "test": 3,
        "header": ("--from @numbers.csv", "yes")},
    "import-text": OF_FILE | {
        "from": "@other.csv", "tokens": "characters", "valid": 0.2, "test": 0.2, "cut": ("--from @chapters --valid 0.4", "documents")},
    "import-kaldi": OF_FILE | {
        "features": "@other.ark", "alignments": "@other-ali.ark", "valid-features": "@others.ark",
        "valid-alignments": ("--valid-features @others.ark", "@others-ali.ark"), "test-features": "@others.ark",
        "test-alignments": ("--test-features @others.ark", "@others-ali.ark"), "utt2spk": "@utt2spk", "cmvn": "utterance", "context": "1+1",
        "frame-shift": "5ms", "skip-missing": ("--features @more.ark", ""), "valid": 1, "seed": ("--valid 1", 3), "classes": 5,
        "class-names": "@names"},
    "import-fsdd": {"recordings": "@recordings", "states": 3, "test": ("--valid 0", 2), "valid": ("--test 0", 2), "bins": 24, "deltas": 1, "context": "1+1",
                    "frame-shift": "12ms"},
    "generate": {"name": "other", "samples": 301, "valid": 31, "test": 32, "dim": 5, "classes": 7, "mixtures": 3, "mean-duration": 7,
                 "separation": 3, "sequence-length": 20, "seed": 2},
    "generate-speech": {"text": "@more-text", "unseen-text": "@more-unseen", "name": "other", "train": "25s", "valid": "15s", "test": "15s", "voices": "slt",
                        "classes": 125, "bins": 24, "deltas": 1, "context": "1+1", "seed": 2},
}
ELSEWHERE = {"help", "out", "jobs"}  # jobs must not change the file (generated_speech_test.py)


class Sources:
    """Files that options name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.words = {"generate": "--samples 300 --valid 30 --test 30 --dim 4 --classes 6 --mixtures 2".split()}  # of commands
        for command, write in SOURCES.items():
            (folder / command).mkdir()
            self.words[command] = write(folder / command)
        self.text("text", "\n".join(TEXT) + "\n")
        self.text("unseen", "\n".join(UNSEEN) + "\n")
        self.text("more-text", "\n".join(TEXT[1:]) + "\n")
        self.text("more-unseen", "\n".join(UNSEEN[1:]) + "\n")
        self.words["generate-speech"] = ["--text", folder / "text", "--unseen-text", folder / "unseen",
                                         *"--train 20s --valid 5s --test 5s".split()]
        self.images()
        self.tables()
        self.utterances()

    def text(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def images(self) -> None:
        original, other = self.folder / "import-idx", self.folder / "other"
        other.mkdir()
        for name, count in (("train", SAMPLES), ("t10k", 6)):
            (other / f"{name}-images-idx3-ubyte").write_bytes(idx((count, 4, 4), pixels(16 * count, 2)))
            (other / f"{name}-labels-idx1-ubyte").write_bytes(idx((count,), bytes(reversed(labels(count)))))
        for file in list(original.iterdir()):
            (original / f"fashion-{file.name}").write_bytes((other / file.name).read_bytes())
        self.bytes("from-one", idx((SAMPLES,), bytes(1 + label for label in labels(SAMPLES))))
        self.bytes("from-one-too", idx((6,), bytes(1 + label for label in labels(6))))
        (self.folder / "hundred").mkdir()
        for name in ("train", "test"):
            self.bytes(f"hundred/{name}.bin", b"".join(bytes([label, 7 * label]) + pixels(3072, label) for label in range(10)))
        for name, damaged in (("mirrored", False), ("damaged", True)):
            files = [(f"{part}/{kind}/{i}.png", image_files.png(4, 4, 1, bytes(reversed(pixels(16, i))))) for part, count in (("train", 4), ("test", 2))
                     for kind in ("cat", "dog") for i in range(count)]
            image_files.write_folders(self.folder / name, files + [("train/cat/9.png", b"not a picture")] * damaged)

    def tables(self) -> None:
        x = numbers([i * i % 11 for i in range(3 * SAMPLES)], "d", "<f8", (SAMPLES, 3))
        image_files.write_npz(self.folder / "other.npz", arrays(x_train=x))
        image_files.write_npz(self.folder / "import-numpy/arrays.npz", arrays(z=x))
        image_files.write_npz(self.folder / "bytes.npz", arrays(x_train=image_files.npy((SAMPLES, 3), pixels(3 * SAMPLES - 1) + b"\xff", "|u1")))
        image_files.write_npz(self.folder / "images.npz", arrays(x_train=image_files.npy((SAMPLES, 3, 5, 3), pixels(45 * SAMPLES), "|u1")))
        (self.folder / "chapters").mkdir()
        for chapter in range(3):
            self.text(f"chapters/{chapter}.txt", f"Chapter {chapter}.\n" * (chapter + 2))
        self.text("other.csv", table().replace("0.", "1."))
        self.text("numbers.csv", "".join(f"{i % 3},{i % 5},{i % 2}\n" for i in range(SAMPLES)))
        self.text("missing.csv", "a,b,c\n" + "".join(f"{i},{i % 5},{('x', 'y', 'NA')[i % 3]}\n" for i in range(SAMPLES)))
        self.text("spaces.csv", "".join(f"{i}\t{i % 5}\t{i % 2} {i % 7}\n" for i in range(SAMPLES)))
        self.text("commas.csv", "a;b;c\n" + "".join(f"{i},5;{i % 5};{i % 2}\n" for i in range(SAMPLES)))

    def utterances(self) -> None:
        def frames(names: str, scale: float) -> str:
            return kaldi_text({f"u{name}": [[scale * (row * column + ord(name)) % 7 for column in range(3)] for row in range(6)] for name in names})
        self.text("other.ark", frames("0123", 1.5))
        self.text("others.ark", frames("012", 2.5))
        self.text("more.ark", frames("01239", 1.5))
        self.text("other-ali.ark", "".join(f"u{u} 0 1 2 2 1 0\n" for u in range(4)))
        self.text("others-ali.ark", "".join(f"u{u} 2 1 0 0 1 2\n" for u in range(3)))
        self.text("utt2spk", "".join(f"u{u} {'st'[u % 2]}\n" for u in range(4)))
        self.text("names", "first\nsecond\nthird\n")
        recordings = self.folder / "recordings"
        recordings.mkdir()
        for file in (self.folder / "import-fsdd/recordings").iterdir():
            (recordings / f"{9 - int(file.name[0])}{file.name[1:]}").write_bytes(file.read_bytes())

    def bytes(self, name: str, content: bytes) -> None:
        (self.folder / name).write_bytes(content)


class DataOptions(FolderTest):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.sources = Sources(cls.folder)
        cls.options = {command["command"]: [option["name"] for option in command["options"]]
                       for command in json.loads(run("help", "data", "--format", "json").stdout)[0]["commands"]}

    def words(self, text) -> list[str]:
        return [word.replace("@", f"{self.folder}/") for word in str(text).split()]

    def made(self, command: str, words: list[str]) -> str:
        """The bytes of the file, or why there is none."""
        out = self.folder / "out.h5"
        out.unlink(missing_ok=True)
        given = [*self.sources.words[command], "--out", out]
        if "name" in self.options[command] and "--name" not in words:
            given += ["--name", "own"]
        for option in words:  # given once
            if option.startswith("--") and option in given:
                at = given.index(option)
                del given[at:at + 2]
        done = run("data", command, *given, *words)
        return hashlib.sha256(out.read_bytes()).hexdigest() if done.returncode == 0 else done.stderr

    def test_every_option_changes_the_file(self):
        for command, values in VALUES.items():
            if command == "generate-speech" and not has_voices():
                continue
            without = {}
            for option, value in values.items():
                needs, value = value if isinstance(value, tuple) else ("", value)
                with self.subTest(command=command, option=option):
                    if needs not in without:
                        without[needs] = self.made(command, self.words(needs))
                    changed = self.made(command, [*self.words(needs), f"--{option}", *self.words(value)])
                    self.assertRegex(changed, "^[0-9a-f]{64}$")
                    self.assertNotEqual(changed, without[needs])

    def test_the_list_is_of_all_options(self):
        making = {command for command in self.options if command.startswith(("import-", "generate"))}
        self.assertEqual({*VALUES}, making)
        for command, values in VALUES.items():
            self.assertEqual({*values} | (ELSEWHERE & {*self.options[command]}), {*self.options[command]}, command)


if __name__ == "__main__":
    unittest.main()
