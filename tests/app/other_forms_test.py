#!/usr/bin/env python3
"""Other forms of tables, arrays, images and IDX files make the data file, bit for bit, that the plain form makes; what cannot be told
is refused."""

import gzip
import shutil
import struct
import unittest

import hdf5_tampering
from image_files import npy, png, write_folders, write_npz
from import_case import ImportTest
from paragrad_cli import CliTest, run

ROWS = [(0.37, -1.62, 480.0), (1.05, 0.21, -0.84), (-0.73, 0.96, 2.17), (0.16, -0.35, 1.43), (2.64, 1.08, -0.51), (-1.27, 0.62, 0.09),
        (0.81, -0.94, -1.36), (0.55, 1.71, 0.28)]
KINDS = [("iris", "rose")[i % 2] for i in range(8)]


class Tables(ImportTest):
    def table(self, text: str, name: str = "own.csv"):
        (self.own / name).write_text(text)
        return self.own / name

    def plain(self, rows=ROWS, head: str = "", kinds=None, name: str = "own.csv"):
        return self.table(head + "".join(f"{a},{b},{c},{kind}\n" for (a, b, c), kind in zip(rows, kinds or KINDS)), name)

    def test_whitespace_separates_columns(self):
        expected = self.content("import-csv", self.plain())
        for name, line in (("one", "{} {} {} {}\n"), ("aligned", "{:>9}  {:>9} {:>12}   {}\n"), ("around", "  {} {} {} {}  \n"), ("tabs", " {}\t {} {} \t{}\n"),
                           ("quoted", '{} {} "{}" "{}"\r\n'), ("savetxt", "{:.18e} {:.18e} {:.18e} {}\n")):
            with self.subTest(name):
                path = self.table("# a, b; c and the kind\n#\n\n" * (name in ("savetxt", "aligned")) + "".join(line.format(*x, kind) for x, kind in zip(ROWS, KINDS)))
                self.assertEqual(self.content("import-csv", path, "--separator", "space"), expected)
                if name != "tabs":  # which are separators themselves
                    self.assertEqual(self.content("import-csv", path), expected)
                    said = self.imported("import-csv", path).stdout
                    self.assertIn("separator: whitespace; 2 comment lines skipped\n" if "#" in path.read_text() else "separator: whitespace\n", said)
        path = self.table("a b c kind\n" + "".join(f"{a} {b} {c} {kind}\n" for (a, b, c), kind in zip(ROWS, KINDS)))
        self.assertIn("named in line 1; features a, b, c; label kind", self.imported("import-csv", path).stdout)
        self.refused("import-csv", self.table("1 2 a\n1  b\n"), "line 2", "2 fields", "line 1 has 3")
        self.refused("import-csv", self.table('1 "2"3 a\n'), "line 1", "quotation mark")
        self.refused("import-csv", self.table("# nothing\n#\n"), "is empty", more=("--separator", "space"))
        # A comma says more than a blank.
        self.assertIn("2 classes", self.imported("import-csv", self.table("1,a b\n2,c d\n" * 3)).stdout)

    def test_decimals_after_a_comma(self):
        expected = self.content("import-csv", self.plain())
        for separator in (";", "\t", " "):
            with self.subTest(separator=separator):
                lines = [separator.join([*(str(x).replace(".", ",") for x in row), kind]) + "\n" for row, kind in zip(ROWS, KINDS)]
                path = self.table("".join(lines))
                self.assertEqual(self.content("import-csv", path, "--decimal", "comma"), expected)
                if separator != " ":  # where commas separate
                    self.refused("import-csv", path, "line 2", "which is not a number: if a comma is the decimal separator, give --decimal comma")
        self.refused("import-csv", self.plain(), "--decimal", "comma", more=("--decimal", "comma", "--separator", "comma"))
        self.refused("import-csv", self.table("1.5;2,5;a\n1,5;2,5;b\n"), "'1.5', which is not a number: if a point is the decimal separator, give --decimal point",
                     more=("--decimal", "comma", "--header", "no"))
        self.refused("import-csv", self.table("1.234,5;a\n1,5;b\n"), "'1.234,5', which is not a number", more=("--decimal", "comma", "--header", "no"))
        targets = self.content("import-csv", self.table("0,5;1,5\n2,5;3\n" * 4), "--decimal", "comma", "--targets", 2)
        self.assertEqual(targets, self.content("import-csv", self.table("0.5,1.5\n2.5,3\n" * 4), "--targets", 2))

    def test_a_separate_table_for_the_test_or_validation_set(self):
        drawn = {name: self.plain(ROWS[at:at + count], kinds=KINDS[at:at + count], name=f"{name}.csv")
                 for name, at, count in (("train", 0, 4), ("valid", 4, 2), ("test", 6, 2))}
        more = ("--valid-from", drawn["valid"], "--test-from", drawn["test"])
        said = self.imported("import-csv", drawn["train"], *more)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("4 training, 2 validation, 2 test samples", said.stdout)
        self.assertIn(f"test set: '{drawn['test']}'", said.stdout)
        # The same as arrays.
        arrays = {}
        for name, path in drawn.items():
            rows = [line.split(",") for line in path.read_text().splitlines()]
            arrays[f"x_{name}"] = npy((len(rows), 3), struct.pack(f"<{3 * len(rows)}d", *(float(x) for row in rows for x in row[:3])), "<f8")
            arrays[f"y_{name}"] = npy((len(rows),), b"".join(row[3].encode("utf-32-le") for row in rows), "<U4")
        write_npz(self.own / "own.npz", arrays)
        for normalise in ((), ("--normalise",)):
            self.assertEqual(self.content("import-csv", drawn["train"], *more, *normalise), self.content("import-numpy", self.own / "own.npz", *normalise))
        head = "a,b,c,kind\n"
        path, test = self.plain(head=head), self.plain(head=head, name="test.csv")
        expected = self.content("import-csv", path, "--test-from", test)
        self.assertEqual(self.content("import-csv", path, "--test-from", self.plain(name="test.csv")), expected)  # without a header
        for text, words in (("a,c,b,kind\n1,2,3,iris\n", ("column 2 is 'c' in line 1", "but 'b'")), ("a,b,c\n1,2,iris\n", ("missing",)),
                            ("1,2,iris\n", ("3 fields", "has 4")), ("1,2,3,tulip\n", ("label 'tulip'", "classes", "iris, rose")), ("", ("no records",)), (head, ("no records",)),
                            ("1,2,x,iris\n", ("line 1", "'x', which is not a number")), ("1,2,3,NA\n", ("--missing-labels",))):
            with self.subTest(test=text):
                self.refused("import-csv", path, *words, more=("--test-from", self.table(text, "test.csv")))
        self.refused("import-csv", path, "leave out --test", more=("--test-from", self.plain(name="test.csv"), "--test", 2))
        self.refused("import-csv", path, "nowhere.csv", more=("--test-from", self.own / "nowhere.csv"))
        numbers = self.plain(kinds=[1, 0] * 4)
        self.assertIn("2 classes", self.imported("import-csv", numbers, "--test-from", self.plain(kinds=["1.0", "0.0"] * 4, name="test.csv")).stdout)


class Arrays(ImportTest):
    def arrays(self, **arrays: bytes):
        write_npz(self.own / "own.npz", arrays)
        return self.own / "own.npz"

    X = npy((8, 3), struct.pack("<24d", *(x for row in ROWS for x in row)), "<f8")

    def test_labels_that_are_texts(self):
        table = self.own / "own.csv"
        table.write_text("".join(f"{a},{b},{c},{kind}\n" for (a, b, c), kind in zip(ROWS, KINDS)))
        expected = self.content("import-csv", table)
        for descr, data in (("<U4", "".join(KINDS).encode("utf-32-le")), (">U4", "".join(KINDS).encode("utf-32-be")), ("|S4", "".join(KINDS).encode()),
                            ("<U6", b"".join(kind.ljust(6, "\0").encode("utf-32-le") for kind in KINDS)), ("|S9", b"".join(kind.encode().ljust(9, b"\0") for kind in KINDS))):
            with self.subTest(descr=descr):
                self.assertEqual(self.content("import-numpy", self.arrays(x=self.X, y=npy((8,), data, descr))), expected)
        names = ["kühn", "中文", "🌹", "o"]
        self.content("import-numpy", self.arrays(x=self.X, y=npy((8,), b"".join(name.ljust(5, "\0").encode("utf-32-le") for name in names * 2), "<U5")))
        self.assertIn("kühn (2)", self.imported("import-numpy", self.own / "own.npz").stdout)
        text = lambda *labels: npy((len(labels),), b"".join(label.ljust(4, "\0").encode("utf-32-le") for label in labels), "<U4")
        two = npy((2, 3), struct.pack("<6d", *range(6)), "<f8")
        self.refused("import-numpy", self.arrays(x=self.X, y=text(*KINDS), x_test=two, y_test=text("iris", "lily")), "y_test[1] is the label 'lily'", "iris, rose")
        self.refused("import-numpy", self.arrays(x=self.X, y=text(*KINDS), x_test=two, y_test=npy((2,), bytes(2))), "'y_test' are uint8", "texts")
        self.refused("import-numpy", self.arrays(x=self.X, y=text(*KINDS[:7], "NA")), "y[7]", "missing")
        self.refused("import-numpy", self.arrays(x=self.X, y=text(*KINDS)), "--classes", more=("--classes", 2))
        self.refused("import-numpy", self.arrays(x=npy((8, 1), "".join(KINDS).encode(), "|S4"), y=text(*KINDS)), "texts, not numbers")
        self.refused("import-numpy", self.arrays(x=self.X, y=npy((8,), b"", "|S0")), "type")
        self.refused("import-numpy", self.arrays(x=self.X, y=npy((8,), b"", "|O")), "objects", "astype(str)")

    def test_one_hot_labels(self):
        labels = [i * 5 % 3 for i in range(8)]
        expected = self.content("import-numpy", self.arrays(x=self.X, y=npy((8,), bytes(labels))))
        rows = [[int(c == label) for c in range(3)] for label in labels]
        flat = [value for row in rows for value in row]
        for descr, data in (("|u1", bytes(flat)), ("|b1", bytes(flat)), ("<i8", struct.pack("<24q", *flat)), (">i4", struct.pack(">24i", *flat))):
            with self.subTest(descr=descr):
                self.assertEqual(self.content("import-numpy", self.arrays(x=self.X, y=npy((8, 3), data, descr))), expected)
        self.assertIn("y: one-hot labels of 3 classes\n", self.imported("import-numpy", self.own / "own.npz").stdout)
        self.assertEqual(self.content("import-numpy", self.arrays(x=self.X, y=npy((8, 4), bytes(v for row in rows for v in [*row, 0])))),
                         self.content("import-numpy", self.arrays(x=self.X, y=npy((8,), bytes(labels))), "--classes", 4))
        for wrong in ([1, 1, 0], [0, 0, 0], [2, 0, 0], [1, 2, 0]):
            with self.subTest(wrong=wrong):
                self.refused("import-numpy", self.arrays(x=self.X, y=npy((8, 3), bytes(flat[:-3] + wrong))), "row 7 of 'y'", "is not one-hot")
        test = {"x_test": self.X, "y_test": npy((8, 2), bytes([1, 0] * 8))}
        self.refused("import-numpy", self.arrays(x=self.X, y=npy((8, 3), bytes(flat)), **test), "'y_test' holds one-hot labels of 2 classes", "unlike the training set")
        self.refused("import-numpy", self.arrays(x=self.X, y=npy((8,), struct.pack("<8d", *labels), "<f8"), **test), "'y_test'", "unlike the training set")

    def test_sequences_x_frames_x_features(self):
        values = [float(i * 7 % 11) for i in range(4 * 5 * 2)]
        labels = [i * 3 % 4 for i in range(4 * 5)]
        lengths = [5, 3, 1, 4]
        kept = [s * 5 + t for s in range(4) for t in range(lengths[s])]
        x = npy((4, 5, 2), struct.pack("<40d", *values), "<f8")
        first_fastest = [values[(s * 5 + t) * 2 + f] for f in range(2) for t in range(5) for s in range(4)]
        fortran = npy((4, 5, 2), struct.pack("<40d", *first_fastest), header="{'descr': '<f8', 'fortran_order': True, 'shape': (4, 5, 2), }")
        flat = lambda rows: npy((len(rows), 2), struct.pack(f"<{2 * len(rows)}d", *(values[2 * r + f] for r in rows for f in range(2))), "<f8")
        sequences = lambda path: self.content("import-numpy", path, "--layout", "sequences")
        whole = self.content("import-numpy", self.arrays(x=flat(range(20)), y=npy((20,), bytes(labels)), lengths=npy((4,), bytes([5] * 4))))
        some = self.content("import-numpy", self.arrays(x=flat(kept), y=npy((13,), bytes(labels[r] for r in kept)), lengths=npy((4,), bytes(lengths))))
        each = self.content("import-numpy", self.arrays(x=flat(kept), y=npy((13,), bytes(r // 5 % 2 for r in kept)), lengths=npy((4,), bytes(lengths))))
        for features in (x, fortran):
            self.assertEqual(sequences(self.arrays(x=features, y=npy((4, 5), bytes(labels)))), whole)
            self.assertEqual(sequences(self.arrays(x=features, y=npy((4, 5), bytes(labels)), lengths=npy((4,), bytes(lengths)))), some)
            self.assertEqual(sequences(self.arrays(x=features, y=npy((4,), bytes([0, 1, 0, 1])), lengths=npy((4,), bytes(lengths)))), each)
        self.assertIn("y: of each sequence, the same for all of its frames\n", self.imported("import-numpy", self.own / "own.npz", "--layout", "sequences").stdout)
        targets = npy((4, 5), struct.pack("<20d", *labels), "<f8")
        self.assertEqual(sequences(self.arrays(x=x, y=targets)), self.content("import-numpy", self.arrays(
            x=flat(range(20)), y=npy((20,), struct.pack("<20d", *labels), "<f8"), lengths=npy((4,), bytes([5] * 4)))))
        trained = run("train", "--data", self.own / "out.h5", "--model", "2-lstm4-1", "--loss", "squared_error", "--learning-rate", "0.01", "--epochs", 1, "--blocks", 2)
        self.assertEqual(trained.returncode, 0, trained.stderr)
        self.refused("import-numpy", self.arrays(x=x, y=npy((4, 5), bytes(labels)), lengths=npy((4,), bytes([6, 3, 1, 4]))), "do not fit", "4 sequences of 5 frames", more=("--layout", "sequences"))
        self.refused("import-numpy", self.arrays(x=x, y=npy((5, 4), bytes(labels))), "5x4", "a value for each frame", more=("--layout", "sequences"))
        self.refused("import-numpy", self.arrays(x=flat(range(20)), y=npy((20,), bytes(labels))), "sequences x frames x features", more=("--layout", "sequences"))
        self.refused("import-numpy", self.arrays(x=x, y=npy((4, 5), bytes(labels)), lengths=npy((4,), bytes(lengths))), "--layout sequences")


class Images(ImportTest):
    def folders(self, *below: str) -> None:
        write_folders(self.own / "own", [(f"{folder}{name}/{i}.png", png(2, 2, 1, bytes(range(i, i + 4))))
                                         for folder in below for name in ("cats", "dogs") for i in range(6)])

    def test_a_test_set_drawn_from_the_training_images(self):
        self.folders("train/", "test/")
        arrays = {"x_train": npy((12, 2, 2), bytes(i % 6 + k for i in range(12) for k in range(4))), "y_train": npy((12,), bytes(i // 6 for i in range(12)))}
        write_npz(self.own / "own.npz", arrays)
        drawn = self.imported("import-images", self.own / "own", "--test", 3, "--valid", 2, "--seed", 5)
        self.assertEqual(drawn.returncode, 0, drawn.stderr)
        self.assertIn("7 training, 2 validation, 3 test samples", drawn.stdout)
        self.assertIn("train for training, 3 images of the training set for the test", drawn.stdout)
        content = drawn.stdout.splitlines()[1]
        self.assertEqual(self.content("import-images", self.own / "own", "--test", 3, "--valid", 2, "--seed", 5), content)

    def test_classes_directly_in_the_folder(self):
        self.folders("train/")
        expected = self.content("import-images", self.own / "own", "--test", 4)
        (self.own / "own/train").rename(self.own / "flat")
        (self.own / "flat/LICENSE.txt").write_text("free")
        for more in ((), ("--train", ".")):
            done = self.imported("import-images", self.own / "flat", "--test", 4, *more)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout.splitlines()[1], expected)
            self.assertIn("the class folders for training, 4 images of the training set for the test", done.stdout)
            self.assertIn(f"left out of '{self.own / 'flat'}', where only CLASS/*.png and *.jpg are read: 1 .txt", done.stdout)
        self.refused("import-images", self.own / "flat", "flat/test' is not a folder", "--test", "how many images")
        self.assertIn("folders: the class folders for training, none for the test\n", self.imported("import-images", self.own / "flat", "--test", 0).stdout)
        self.refused("import-images", self.own / "flat", "uses up all 12", more=("--test", 12))
        write_folders(self.own / "flat", [("val/cats/1.png", png(2, 2, 1, bytes(4)))])
        self.refused("import-images", self.own / "flat", "flat/val' lies among the class folders", more=("--test", 4))


def idx(shape: tuple, values, kind: int = 8, form: str = "B") -> bytes:
    return struct.pack(f">BBBB{len(shape)}I", 0, 0, kind, len(shape), *shape) + struct.pack(f">{len(values)}{form}", *values)


class Idx(ImportTest):
    LABELS = {"train": [3, 0, 2, 1, 3, 1], "test": [0, 3, 1]}

    def write(self, name: str, labels=lambda values: ("labels-idx1-ubyte", idx((len(values),), values)), prefix: str = "", test: str = "t10k", zipped: bool = False):
        folder = self.own / name
        folder.mkdir(exist_ok=True)
        for half, values in self.LABELS.items():
            pixels = [i * 13 % 256 for i in range(4 * len(values))]
            for ending, content in (("images-idx3-ubyte", idx((len(values), 2, 2), pixels)), labels(values)):
                path = folder / f"{prefix}{test if half == 'test' else half}-{ending}{'.gz' if zipped else ''}"
                path.write_bytes(gzip.compress(content) if zipped else content)
        return folder

    def test_files_of_qmnist_and_emnist(self):
        expected = self.content("import-idx", self.write("mnist"))
        qmnist = lambda values: ("labels-idx2-int", idx((len(values), 8), [x for v in values for x in (v, 7, 99, -1, 100000, 0, 0, 5)], 0x0c, "i"))
        from_one = lambda values: ("labels-idx1-ubyte", idx((len(values),), [v + 1 for v in values]))
        self.assertEqual(self.content("import-idx", self.write("qmnist", qmnist, "qmnist-", "test", zipped=True)), expected)
        self.assertIn("labels: the first of 8 columns\n", self.imported("import-idx", self.own / "qmnist").stdout)
        letters = self.write("emnist", from_one, "emnist-letters-", "test")
        self.assertEqual(self.content("import-idx", letters, "--first-class", 1), expected)
        self.assertIn("warning: no label is 0: if the files number the classes from 1 on, give `first-class` 1".replace("`first-class`", "--first-class"),
                      self.imported("import-idx", letters).stdout)
        self.write("emnist", prefix="emnist-digits-", test="test")
        self.refused("import-idx", letters, "emnist-digits-train", "emnist-letters-train", "--prefix")
        self.assertEqual(self.content("import-idx", letters, "--prefix", "emnist-digits-"), expected)
        self.assertEqual(self.content("import-idx", self.write("emnist")), expected)  # MNIST's own names come first
        self.refused("import-idx", self.own / "mnist", "label 0", "from 1 on", more=("--first-class", 1))
        self.refused("import-idx", self.own / "mnist", "qmnist-train-images", more=("--prefix", "qmnist-"))
        self.refused("import-idx", self.own / "nowhere", "nowhere' is not a folder")

    def test_labels_of_every_type_of_integers(self):
        expected = self.content("import-idx", self.write("mnist"))
        for name, kind, form in (("int8", 9, "b"), ("int16", 0x0b, "h"), ("int32", 0x0c, "i")):
            with self.subTest(type=name):
                self.assertEqual(self.content("import-idx", self.write(name, lambda v, kind=kind, form=form: ("labels-idx1-ubyte", idx((len(v),), v, kind, form)))), expected)
                negative = self.write(f"negative-{name}", lambda v, kind=kind, form=form: ("labels-idx1-ubyte", idx((len(v),), [-1, *v[1:]], kind, form)))
                self.refused("import-idx", negative, "label -1")
        for kind, form in ((0x0d, "f"), (0x0e, "d")):
            self.refused("import-idx", self.write(f"real-{form}", lambda v, kind=kind, form=form: ("labels-idx1-ubyte", idx((len(v),), v, kind, form))), "floating-point numbers")
        wide = self.write("wide", lambda v: ("labels-idx1-ubyte", idx((len(v),), [2_000_000_000, *v[1:]], 0x0c, "i")))
        self.refused("import-idx", wide, "classes")
        flat = self.write("flat", lambda v: ("labels-idx1-ubyte", idx((len(v), 2), [*v, *v])))
        self.refused("import-idx", flat, "does not contain labels", "8 columns of QMNIST")


@unittest.skipUnless(hdf5_tampering.HDF5, "needs HDF5 as a shared library")
class Hdf5(CliTest):
    def changed(self, change) -> str:
        path = self.folder / "changed.h5"
        shutil.copy(self.data, path)
        with hdf5_tampering.File(path) as file:
            change(file)
        return str(path)

    def test_foreign_types_and_filters_are_named(self):
        for array, wanted in (("train/features", "uint8 or float32"), ("train/labels", "int32"), ("test/labels", "int32")):
            for constant, name in (("H5T_NATIVE_DOUBLE", "float64"), ("H5T_NATIVE_INT16", "int16"), ("H5T_NATIVE_UINT16", "uint16"), ("H5T_NATIVE_INT64", "int64"),
                                   ("H5T_NATIVE_INT8", "int8"), ("H5T_C_S1", "text")):
                with self.subTest(array=array, type=name):
                    path = self.changed(lambda file, array=array, constant=constant: file.of_type(array, constant))
                    for command in (["data", "info", path], ["data", "verify", path], ["train", *[path if word == self.data else word for word in self.task]]):
                        self.assert_refused(run(*command), f"'/{array}' in data file '{path}' has type {name}, not {wanted}: write it with that type")
            path = self.changed(lambda file, array=array: file.filtered(array, 32099))
            self.assert_refused(run("train", *[path if word == self.data else word for word in self.task]), f"'/{array}'", "the filter 32099", "gzip")


if __name__ == "__main__":
    unittest.main()
