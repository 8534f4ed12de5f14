#!/usr/bin/env python3
"""What an importer guesses: each one says what it took for what, names what it leaves out, sets nothing aside unasked, and refuses
where two readings are equally likely."""

import json
import math
import random
import shutil
import struct
import unittest
import wave
from pathlib import Path

from image_files import npy, png, write_folders, write_npz
from importers import SAMPLES, SOURCES, arrays, idx, kaldi_text, labels, numbers, pixels, table
from paragrad_cli import FolderTest, help_commands, run


def write(path: Path, content: bytes | str) -> None:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def npz(folder: Path, **others: bytes) -> None:
    write_npz(folder / "arrays.npz", arrays(**others))


def record(path: Path, rate: int) -> None:
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, rate, 0, "NONE", ""))
        file.writeframes(struct.pack(f"<{rate // 2}h", *(int(6000 * math.sin(t / 3)) for t in range(rate // 2))))


def ark(values: list[float], classes: str = "0 0 1 1 2 2"):
    """Utterances whose second feature has these values in turn."""
    frames = {f"u{u}": [[random.Random(9 * u + t).gauss(0, 1), values[(u + t) % len(values)], 1.0 * t * t] for t in range(6)] for u in range(4)}
    return lambda f: (write(f / "feats.ark", kaldi_text(frames)), write(f / "ali.ark", "".join(f"u{u} {classes}\n" for u in range(4))))


LEFT_OUT = {  # something next to what is read
    "import-idx": (lambda f: shutil.copy(f / "t10k-images-idx3-ubyte", f / "valid-images-idx3-ubyte"), "1 IDX file", "valid-images-idx3-ubyte"),
    "import-cifar": (lambda f: shutil.copy(f / "test_batch.bin", f / "data_batch_6.bin"), "1 .bin file", "data_batch_6.bin"),
    "import-images": (lambda f: write_folders(f, [(f"train/cat/{i}{e}", b"") for i, e in enumerate((".bmp", ".webp", ".GIF", "", ".bmp"))]),
                      "train", "2 .bmp, 1 .gif, 1 .webp, 1 without an ending"),
    "import-numpy": (lambda f: npz(f, x_dev=pixels(9), sample_weight=b""), "2 arrays", "sample_weight, x_dev", "--arrays"),
    "import-kaldi": (lambda f: write(f / "ali.ark", (f / "ali.ark").read_text() + "u9 0 0\n"), "1 alignment ", "u9"),
    "import-text": (lambda f: write(f / "empty.txt", b""), "empty", "empty.txt"),
    "import-fsdd": (lambda f: write(f / "recordings/7_anna.wav", b""), "left out 1 name ", "7_anna.wav"),
}
ONE_CLASS = {
    "import-idx": lambda f: write(f / "train-labels-idx1-ubyte", idx((SAMPLES,), bytes(SAMPLES))) or write(f / "t10k-labels-idx1-ubyte", idx((6,), bytes(6))),
    "import-cifar": lambda f: [write(path, b"".join(b"\3" + pixels(3072, i) for i in range(9))) for path in f.glob("*.bin")],
    "import-images": lambda f: [shutil.rmtree(f / part / "dog") for part in ("train", "test")],
    "import-numpy": lambda f: npz(f, y_train=numbers([0] * SAMPLES, "q", "<i8")),
    "import-csv": lambda f: write(f / "table.csv", table("", lambda y: "0")),
    "import-kaldi": ark([1.0, 2.5], "0 0 0 0 0 0"),
}
EMPTY_CLASSES = {  # most of them
    "import-idx": lambda f: write(f / "train-labels-idx1-ubyte", idx((SAMPLES,), bytes(255 * (i % 2) for i in range(SAMPLES)))),
    "import-numpy": lambda f: npz(f, y_train=numbers([1000 * y for y in labels(SAMPLES)], "q", "<i8")),
    "import-csv": lambda f: write(f / "table.csv", table("", lambda y: str(1000 * y))),
    "import-kaldi": ark([1.0, 2.5], "0 0 9 9 5 5"),
}
NO_CLASSES = {  # times or numbers of persons
    "import-numpy": (lambda f: npz(f, y_train=numbers([1700000000 + i for i in range(SAMPLES)], "q", "<i8")), "y_train[0]", "1700000000"),
    "import-csv": (lambda f: write(f / "table.csv", table("", lambda y: str(1700000000 + y))), "line 1 ", "1700000000", "--label"),
    "import-kaldi": (ark([1.0, 2.5], "0 0 1 1 2 2000000000"), "2000000000", "ali-to-pdf"),
}
LARGE = [5.4e6 + 0.1 * i for i in range(7)]  # as northings in metres: float32 rounds them to halves
ROUNDED = {
    "import-numpy": lambda f: npz(f, x_train=numbers([LARGE[i % 7] if i % 3 == 1 else i * i % 11 for i in range(3 * SAMPLES)], "d", "<f8", (SAMPLES, 3))),
    "import-csv": lambda f: write(f / "table.csv", "a,b,c\n" + "".join(f"{i * i % 11},{LARGE[i % 7]},{i % 2}\n" for i in range(SAMPLES))),
    "import-kaldi": ark(LARGE),
}


class Importers(FolderTest):
    def setUp(self) -> None:
        self.number = 0

    def source(self, command: str, change=None) -> list:
        self.number += 1
        folder = self.folder / f"{self.id().rsplit('.', 1)[1]}-{self.number}"
        folder.mkdir()
        arguments = SOURCES[command](folder)
        if change:
            change(folder)
        return ["data", command, *arguments, *([] if command == "import-fsdd" else ["--name", "own"]), "--out", self.folder / "out.h5"]

    def said(self, command: list, *more) -> list[str]:
        done = run(*command, *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()

    def warnings(self, said: list[str]) -> list[str]:
        return [line for line in said if line.startswith("warning: ")]

    def test_every_importer_says_what_it_took_and_warns_of_nothing_without_reason(self):
        self.assertEqual(set(SOURCES), {command for command in help_commands("data") if command.startswith("import-")})
        for command in SOURCES:
            with self.subTest(command):
                said = self.said(self.source(command))
                self.assertRegex(said[0], r"out\.h5: \d+ training, ")
                self.assertTrue(any(line.startswith(("features: ", "images: ", "text: ")) for line in said), said)
                self.assertTrue(any(line.startswith(("classes: ", "vocabulary: ")) for line in said), said)
                self.assertGreaterEqual(len(said), 5, "and where it took it from")
                self.assertEqual(self.warnings(said), [])

    def test_no_importer_sets_samples_aside_unasked_and_the_option_is_named_where_too_many_are(self):
        for command in set(SOURCES) - {"import-fsdd"}:  # whose split into three sets is part of the data set, and is said
            with self.subTest(command):
                source = self.source(command)
                self.assertIn(" 0 validation, ", self.said(source)[0])
                if command != "import-text":  # whose sets are shares
                    self.assert_refused(run(*source, "--valid", 5000), "uses up all", "--valid")
        self.assertTrue(any("the next 1 for validation" in line for line in self.said(self.source("import-fsdd"))))
        source = self.source("import-fsdd")
        source[source.index("--valid") + 1] = 40
        self.assert_refused(run(*source), "no recordings for training", "--valid")

    def test_what_is_left_out_is_counted_and_named(self):
        self.assertEqual(set(SOURCES) - set(LEFT_OUT), {"import-csv"})  # reads one file, and all of it
        for command, (change, *words) in LEFT_OUT.items():
            with self.subTest(command):
                warnings = self.warnings(self.said(self.source(command, change)))
                self.assertEqual(len(warnings), 1, warnings)
                for word in ("left out", *words):
                    self.assertIn(word, warnings[0])

    def test_labels_that_are_hardly_classes_are_named(self):
        self.assertEqual(set(SOURCES) - set(ONE_CLASS), {"import-fsdd", "import-text"})  # always ten words; no labels
        self.assertEqual(set(ONE_CLASS) - set(EMPTY_CLASSES), {"import-cifar", "import-images"})  # know their classes
        for catalogue, words in ((ONE_CLASS, "the same label"), (EMPTY_CLASSES, "have no training sample")):
            for command, change in catalogue.items():
                with self.subTest(command, words=words):
                    more = ["--classes", 40] if command == "import-kaldi" and catalogue is EMPTY_CLASSES else []
                    self.assertTrue(any(words in line for line in self.warnings(self.said(self.source(command, change), *more))))
        self.assertTrue(any("12 different labels" in line for line in self.warnings(self.said(
            self.source("import-numpy", lambda f: npz(f, y_train=numbers(list(range(SAMPLES)), "q", "<i8")))))))

    def test_numbers_that_no_network_can_have_as_classes_are_refused(self):
        for command, (change, *words) in NO_CLASSES.items():
            with self.subTest(command):
                self.assert_refused(run(*self.source(command, change)), "1000000", *words)
        for command in ("import-idx", "import-numpy", "import-kaldi"):
            self.assert_refused(run(*self.source(command), "--classes", 1000001), "--classes")

    def test_features_that_float32_rounds_away_are_named_and_normalised_before_they_are_rounded(self):
        for command, change in ROUNDED.items():
            with self.subTest(command):
                self.assertTrue(any("float32" in line and "standard deviation" in line for line in self.warnings(self.said(self.source(command, change)))))
                option = ["--cmvn", "global"] if command == "import-kaldi" else ["--normalise"]
                said = self.said(self.source(command, change), *option)
                self.assertFalse(any("float32, in" in line for line in said), said)
                least, most = self.second_feature()
                self.assertAlmostEqual((most - least) / 6, 0.5, delta=0.05)  # a seventh of the range is half a deviation

    def second_feature(self) -> tuple[float, float]:
        stored = self.stored_floats()
        return min(stored), max(stored)

    def stored_floats(self) -> list[float]:
        """The second feature of the training set: float32 numbers lie together in the file, in rows of `dim`."""
        info = json.loads(run("data", "info", self.folder / "out.h5").stdout)
        content, count, dim = (self.folder / "out.h5").read_bytes(), info["train"]["samples"], info["dim"]
        for begin in range(0, len(content) - 4 * count * dim, 4):
            rows = struct.unpack_from(f"<{count * dim}f", content, begin)
            columns = [rows[d::dim] for d in range(dim)]
            if all(abs(math.fsum(c) / count) < 1e-5 and abs(math.fsum(x * x for x in c) / count - 1) < 1e-4 for c in columns):
                return list(columns[1])
        raise AssertionError("no features of mean 0 and variance 1")


class Images(FolderTest):
    def setUp(self) -> None:
        self.own = self.folder / self.id().rsplit(".", 1)[1]
        self.own.mkdir()
        SOURCES["import-images"](self.own)

    def imported(self, *more):
        return run("data", "import-images", "--from", self.own, "--name", "own", "--out", self.own / "out.h5", *more)

    def test_a_folder_called_val_is_the_validation_set(self):
        for name in ("val", "valid", "validation"):
            shutil.copytree(self.own / "test", self.own / name)
            done = self.imported()
            self.assertIn("8 training, 4 validation, 4 test", done.stdout)
            self.assertIn(f"{name} for validation", done.stdout)
            self.assert_refused(self.imported("--valid", 1), "validation set of its own")
            shutil.rmtree(self.own / name)
        for name in ("val", "valid"):
            shutil.copytree(self.own / "test", self.own / name)
        self.assert_refused(self.imported(), "both 'val' and 'valid'", "--validation")
        done = self.imported("--validation", "val")
        self.assertIn("4 validation", done.stdout)
        self.assertIn("left out of", done.stdout)

    def test_names_with_a_dot_are_no_images_and_all_endings_of_jpeg_are(self):
        write_folders(self.own, [("train/cat/._0.png", b"\0\5\x16\7" + bytes(60)), ("train/._cat", b""), (".DS_Store", b""),
                                 ("train/cat/x.jfif", png(4, 4, 1, bytes(16))), ("train/dog/x.JPE", png(4, 4, 1, bytes(16)))])
        done = self.imported()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("10 training", done.stdout)
        self.assertNotIn("warning", done.stdout)

    def test_images_in_deeper_folders_and_beside_the_classes_are_counted(self):
        write_folders(self.own, [(f"train/cat/more/{i}.png", b"") for i in range(3)] + [("train/0.png", b""), ("unlabelled/0.png", b""), ("notes.txt", b"")])
        said = self.imported().stdout
        self.assertIn("3 in the folder cat/more", said)
        self.assertIn("1 .png", said)
        self.assertIn("notes.txt, unlabelled", said)

    def test_grey_images_among_coloured_ones_are_counted(self):
        write_folders(self.own, [(f"{part}/cat/{i}.png", png(4, 4, 3, bytes(48))) for part, count in (("train", 4), ("test", 2)) for i in range(count)])
        self.assertIn("train: 4 grey images became coloured", self.imported().stdout)


class Recordings(FolderTest):
    def test_recordings_with_different_sample_rates_are_refused(self):
        for name, rates in (("two", {0: 8000, 1: 16000}), ("test", {0: 16000}), ("others", {0: 44100, 1: 11025})):
            with self.subTest(name):
                folder = self.folder / name
                folder.mkdir()
                for digit in range(2):
                    for index in range(3):
                        record(folder / f"{digit}_anna_{index}.wav", rates.get(index, 8000 if name != "others" else 44100))
                self.assert_refused(run("data", "import-fsdd", "--recordings", folder, "--test", 1, "--valid", 1, "--bins", 23, "--out", self.folder / "out.h5"),
                                    "samples per second", "_anna_0.wav", "resample")


class Arrays(FolderTest):
    def imported(self, arrays: dict[str, bytes], *more):
        write_npz(self.folder / "arrays.npz", arrays)
        return run("data", "import-numpy", "--from", self.folder / "arrays.npz", "--name", "own", "--out", self.folder / "out.h5", *more)

    def scale(self, done) -> float:
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(run("data", "info", self.folder / "out.h5").stdout)["feature_scale"]

    def uint8(self, most: int, shape: tuple) -> dict[str, bytes]:
        count = math.prod(shape)
        return {"x_train": npy((SAMPLES, *shape), bytes((i % (most + 1) for i in range(SAMPLES * count)))), "y_train": numbers(labels(SAMPLES), "q", "<i8")}

    def test_bytes_are_brightness_or_numbers_and_where_that_is_not_clear_the_import_asks(self):
        for shape in ((5,), (5, 5), (5, 5, 3)):
            self.assertEqual(self.scale(self.imported(self.uint8(1, shape))), 1, "zeros and ones")
            self.assertAlmostEqual(self.scale(self.imported(self.uint8(1, shape), "--scale", "bytes")), 1 / 255)
            self.assertEqual(self.scale(self.imported(self.uint8(200, shape), "--scale", "none")), 1)
        self.assert_refused(self.imported(self.uint8(20, (5,))), "table of uint8", "20", "--scale")
        self.assertAlmostEqual(self.scale(self.imported(self.uint8(255, (30,)))), 1 / 255)
        done = self.imported(self.uint8(20, (5, 5)))
        self.assertAlmostEqual(self.scale(done), 1 / 255)
        self.assertIn("warning: the largest pixel is 20 of 255", done.stdout)
        self.assert_refused(self.imported(arrays(), "--scale", "none"), "--scale", "uint8")
        self.assert_refused(self.imported(self.uint8(9, (5,)), "--scale", "none", "--normalise"), "--scale", "--normalise")
        self.assertEqual(self.imported(self.uint8(9, (5,)), "--normalise").returncode, 0)

    def test_images_with_channels_first_are_asked_for(self):
        draw = random.Random(8)
        first = {"x_train": npy((2, 3, 5, 6), draw.randbytes(180)), "y_train": numbers([0, 1], "q", "<i8")}
        self.assert_refused(self.imported(first), "2x3x5x6", "PyTorch", "--layout")
        as_first = self.imported(first, "--layout", "channels-first")
        self.assertIn("images: 5x6x3", as_first.stdout)
        content = random.Random(8).randbytes(180)
        last = bytes(content[90 * n + 30 * c + p] for n in range(2) for p in range(30) for c in range(3))
        as_last = self.imported({**first, "x_train": npy((2, 5, 6, 3), last)})
        self.assertEqual(as_first.stdout.splitlines()[1], as_last.stdout.splitlines()[1])
        self.assertIn("images: 3x5x6", self.imported(first, "--layout", "channels-last").stdout)
        self.assert_refused(self.imported(arrays(), "--layout", "channels-first"), "--layout", "12x3")

    def test_whole_numbers_in_floating_point_may_be_classes(self):
        done = self.imported(arrays(y_train=numbers([float(y) for y in labels(SAMPLES)], "d", "<f8")))
        self.assertIn("warning: the targets are whole numbers", done.stdout)

    def test_a_folder_of_arrays_names_what_is_no_array(self):
        for name, content in arrays(groups=b"").items():
            write(self.folder / f"{name}.npy", content)
        (self.folder / "valid").mkdir()
        write(self.folder / "notes.txt", "")
        said = run("data", "import-numpy", "--from", self.folder, "--name", "own", "--out", self.folder.parent / f"{self.folder.name}.h5").stdout
        (self.folder.parent / f"{self.folder.name}.h5").unlink()
        self.assertIn("left out 1 array of another name: groups", said)
        self.assertRegex(said, r"left out \d names that are no NumPy array: .*notes\.txt, .*valid")

    def test_whole_numbers_that_float32_does_not_have_are_counted(self):
        values = [*range(0, 16777216, 1 << 20), 16777216, 16777217][:SAMPLES + 6]
        x = numbers(values, "q", "<i8", (len(values), 1))
        said = self.imported({"x_train": x, "y_train": numbers(labels(len(values)), "q", "<i8")}).stdout
        self.assertIn("rounded: 1 whole number that float32 does not have", said)

    def test_the_index_of_a_table_is_named(self):
        values = [value for i in range(SAMPLES) for value in (i + 7, i * i % 5)]
        self.assertIn("warning: feature 1 counts the samples", self.imported(arrays(x_train=numbers(values, "d", "<f8", (SAMPLES, 2)))).stdout)


class Training(FolderTest):
    def file(self, value: float, subset: int) -> Path:
        """A data file, one feature of which another tool has replaced."""
        count, marked = 12, 123.4375  # of samples in each set
        parts = {"train": 0, "valid": 1, "test": 2}
        made = {}
        for part, number in parts.items():
            x = [random.Random(f"{part}{i}").gauss(0, 1) for i in range(3 * count)]
            x[3 * 5 + 1] = marked + number
            made |= {f"x_{part}": numbers(x, "f", "<f4", (count, 3)), f"y_{part}": numbers(labels(count), "q", "<i8")}
        write_npz(self.folder / "arrays.npz", made)
        path = self.folder / f"{value}-{subset}.h5"
        run("data", "import-numpy", "--from", self.folder / "arrays.npz", "--name", "own", "--out", path).check_returncode()
        content = path.read_bytes()
        self.assertEqual(content.count(struct.pack("<f", marked + subset)), 1)
        path.write_bytes(content.replace(struct.pack("<f", marked + subset), struct.pack("<f", value)))
        return path

    def test_features_that_are_not_finite_are_named_instead_of_the_learning_rate(self):
        for value in (math.nan, -math.nan, math.inf, -math.inf):
            for subset, name in enumerate(("train", "valid", "test")):
                for units in ("sigmoid", "relu"):  # which hides NaN
                    with self.subTest(value=value, subset=name, units=units):
                        self.assert_refused(run("train", "--data", self.file(value, subset), "--model", f"3-4-3:{units}", "--learning-rate", 1e-9,
                                                "--epochs", 1, "--blocks", 1, "--quiet"), f"feature 1 in row 5 of {name} is {value:.1f}".replace("-nan", "nan").removesuffix(".0"))

    def test_a_loss_that_is_not_a_number_has_no_sign(self):
        done = run("train", "--data", self.file(1, 0), "--model", "3-4-3:relu", "--learning-rate", 1e30, "--epochs", 9, "--blocks", 1, "--minibatch", 1, "--quiet")
        self.assert_refused(done, "the loss became ", "lower the learning rate")
        self.assertNotIn("-nan", done.stderr)


if __name__ == "__main__":
    unittest.main()
