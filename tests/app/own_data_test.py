#!/usr/bin/env python3
"""Data of one's own: features and labels from NumPy's arrays and from text tables make the same data set, what cannot be one is
refused where it is wrong, and a file in another format is refused with the command that imports it."""

import gzip
import random
import re
import struct
import unittest
from pathlib import Path

from image_files import npy, png, write_npz
from import_case import ImportTest
from paragrad_cli import run

CODES = {"<f2": "<{}e", "<f4": "<{}f", "<f8": "<{}d", ">f4": ">{}f", "<i2": "<{}h", ">i8": ">{}q", "|u1": "{}B", "|b1": "{}?", "<i8": "<{}q"}


def array(values: list, descr: str, shape: tuple | None = None, fortran: bool = False) -> bytes:
    shape = shape or (len(values),)
    header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}"
    return npy(shape, struct.pack(CODES[descr].format(len(values)), *values), descr, header=header)


class OwnData(ImportTest):
    SAMPLES, FEATURES = 24, 3

    def setUp(self) -> None:
        super().setUp()
        draw = random.Random(1)
        self.x = [[draw.randrange(-8, 8) for _ in range(self.FEATURES)] for _ in range(self.SAMPLES)]  # exact in every type
        self.y = [i * 7 % 3 for i in range(self.SAMPLES)]

    def npz(self, **arrays: bytes) -> Path:
        path = self.own / "own.npz"
        write_npz(path, arrays)
        return path

    def features(self, descr: str = "<f4", rows: slice = slice(None), fortran: bool = False) -> bytes:
        rows = self.x[rows]
        values = [row[d] for d in range(self.FEATURES) for row in rows] if fortran else [value for row in rows for value in row]
        return array(values, descr, (len(rows), self.FEATURES), fortran)

    def labels(self, descr: str = "<i8", rows: slice = slice(None)) -> bytes:
        return array(self.y[rows], descr)

    def csv(self, text: str, name: str = "own.csv") -> Path:
        (self.own / name).write_bytes(text.encode())
        return self.own / name

    def table(self, separator: str = ",", end: str = "\n", head: str = "", label: str = "{}") -> str:
        return head + "".join(separator.join([*map(str, row), label.format(y)]) + end for row, y in zip(self.x, self.y))

    def test_all_types_of_numbers_and_all_usual_names_make_the_same_data_set(self):
        hashes = {self.content("import-numpy", self.npz(x_train=self.features(descr), y_train=self.labels()))
                  for descr in ("<f2", "<f4", "<f8", ">f4", "<i2", ">i8")}
        hashes.add(self.content("import-numpy", self.npz(X_train=self.features(fortran=True), y_train=self.labels(">i8"))))
        hashes.add(self.content("import-numpy", self.npz(train_features=self.features(), train_labels=self.labels("|u1"))))
        hashes.add(self.content("import-numpy", self.npz(a=self.features(), b=self.labels()), "--arrays", "x_train=a,y_train=b"))
        for name, content in (("X", self.features()), ("y", self.labels())):
            (self.own / f"{name}.npy").write_bytes(content)
        hashes.add(self.content("import-numpy", self.own))
        for text, more in ((self.table(), ()), (self.table(";", "\r\n"), ()), (self.table("\t", "\r"), ("--separator", "tab")),
                           (self.table(head="a,b,c,class\n"), ("--label", "class")), (self.table(head="\ufeff\"a\"\"\n\",b,c,0\n\n"), ("--header", "yes")),
                           (self.table(", ", label='"{}"'), ()), (self.table(label="{}.0"), ("--label", 4, "--header", "no"))):
            hashes.add(self.content("import-csv", self.csv(text), *more))
        (self.own / "own.csv.gz").write_bytes(gzip.compress(self.table().encode()))
        hashes.add(self.content("import-csv", self.own / "own.csv.gz"))
        self.assertEqual(len(hashes), 1, hashes)
        self.y[-1] = 0
        self.assertNotIn(self.content("import-csv", self.csv(self.table())), hashes)

    def test_half_precision_has_its_values_down_to_the_smallest(self):
        words = [0x0001, 0x03ff, 0x0400, 0x3c00, 0x8001, 0x7bff, 0xc000, 0x0000]

        def value(word: int) -> float:
            sign, exponent, fraction = -1 if word >> 15 else 1, word >> 10 & 31, (word & 1023) / 1024
            return sign * (fraction * 2.0**-14 if exponent == 0 else (1 + fraction) * 2.0**(exponent - 15))

        labels, shape = array([i % 2 for i in range(len(words))], "<i8"), (len(words), 1)
        halves = npy(shape, struct.pack(f"<{len(words)}H", *words), "<f2")
        singles = array([value(word) for word in words], "<f4", shape)
        self.assertEqual(self.content("import-numpy", self.npz(x_train=halves, y_train=labels)),
                         self.content("import-numpy", self.npz(x_train=singles, y_train=labels)))

    def test_sets_of_their_own_and_sets_drawn_from_the_training_set(self):
        train, valid, test = slice(0, 12), slice(12, 18), slice(18, 24)
        own = {"x_train": self.features(rows=train), "y_train": self.labels(rows=train)}
        counts = lambda: [self.info()[name]["samples"] for name in ("train", "valid", "test")]
        hashes = set()
        for x_valid, y_valid, x_test, y_test in (("x_valid", "y_valid", "x_test", "y_test"), ("X_val", "y_val", "X_test", "y_test"),
                                                 ("validation_images", "validation_labels", "test_images", "test_labels")):
            hashes.add(self.content("import-numpy", self.npz(**own, **{
                x_valid: self.features(rows=valid), y_valid: self.labels(rows=valid), x_test: self.features(rows=test), y_test: self.labels(rows=test)})))
            self.assertEqual(counts(), [12, 6, 6])
        self.assertEqual(len(hashes), 1)
        self.content("import-numpy", self.npz(**own, x_test=self.features(rows=test), y_test=self.labels(rows=test)), "--valid", 2)
        self.assertEqual(counts(), [10, 2, 6])
        self.refused("import-numpy", self.own / "own.npz", "test set of its own", "--test", more=("--test", 2))
        drawn = self.content("import-numpy", self.npz(**own), "--valid", 2, "--test", 3)
        self.assertEqual(counts(), [7, 2, 3])
        self.assertEqual(self.content("import-numpy", self.npz(**own), "--valid", 2, "--test", 3, "--seed", 1), drawn)
        self.assertNotEqual(self.content("import-numpy", self.npz(**own), "--valid", 2, "--test", 3, "--seed", 2), drawn)
        self.refused("import-numpy", self.own / "own.npz", "uses up all 12", more=("--valid", 6, "--test", 6))
        self.refused("import-numpy", self.own / "own.npz", "--seed", more=("--seed", 2))
        self.refused("import-numpy", self.npz(**own, x_val=self.features(rows=valid)), "'x_val' but no labels")
        self.refused("import-numpy", self.npz(**own, X_train=self.features()), "both 'x_train' and 'X_train'")

    def test_each_feature_is_normalised_by_itself_over_the_training_set(self):
        scaled = [[100 + 3 * row[0], row[1] / 64, 5] for row in self.x]
        hashes = {self.content("import-csv", self.csv("".join(f"{a},{b},{c},{y}\n" for (a, b, c), y in zip(table, self.y))),
                               "--valid", 6, "--normalise") for table in (scaled, [[100 + 3 * a, b / 64, 0] for a, b, _ in self.x])}
        self.assertEqual(len(hashes), 1, "a constant feature becomes 0")
        trained = run("train", "--data", self.own / "out.h5", "--model", "3-4-3", "--learning-rate", 0.1, "--epochs", 1, "--blocks", 1, "--out", self.own / "run")
        self.assertEqual(trained.returncode, 0, trained.stderr)

    def test_lengths_make_sequences_that_a_recurrent_network_trains_on(self):
        lengths = array([5, 1, 6, 4, 8], "<i8")
        frames = {"x_train": self.features(), "y_train": self.labels(), "lengths_train": lengths}
        self.content("import-numpy", self.npz(**frames), "--valid", 1, "--test", 1)
        info = self.info()
        self.assertEqual([info[name]["sequences"] for name in ("train", "valid", "test")], [3, 1, 1])
        self.assertEqual(sum(info[name]["samples"] for name in ("train", "valid", "test")), self.SAMPLES)
        trained = run("train", "--data", self.own / "out.h5", "--model", "3-lstm4-3", "--learning-rate", 0.1, "--epochs", 1, "--blocks", 1, "--out", self.own / "run")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        for name, more, words in (("short", {"lengths_train": array([5, 1], "<i8")}, ["add up to 6", "24 samples"]),
                                  ("long", {"lengths_train": array([1 << 62] * 9, "<i8")}, ["add up to more"]),
                                  ("none", {"lengths_train": array([24, 0], "<i8")}, ["lengths_train[1] is 0"]),
                                  ("test", {"x_test": self.features(), "y_test": self.labels()}, ["lengths_test", "missing"]),
                                  ("images", {"x_train": array([0] * 96, "<f4", (24, 2, 2))}, ["images"])):
            with self.subTest(name):
                self.refused("import-numpy", self.npz(**{**frames, **more}), *words)

    def test_numbers_that_no_network_can_use_are_refused_where_they_are(self):
        nan, infinity = float("nan"), float("inf")
        for value, descr, words in ((nan, "<f4", ["x_train[2, 1]", "nan"]), (-infinity, "<f2", ["x_train[2, 1]", "-inf"]),
                                    (1e300, "<f8", ["x_train[2, 1]", "1e+300", "float32"])):
            with self.subTest(value=value):
                self.x[2][1] = value
                for fortran in (False, True):
                    self.refused("import-numpy", self.npz(x_train=self.features(descr, fortran=fortran), y_train=self.labels()), *words)
        self.x[2][1] = 0
        self.refused("import-numpy", self.npz(x_train=self.features(), y_train=array([0.0] * 23 + [nan], "<f4")), "y_train[23]", "nan")
        self.refused("import-numpy", self.npz(x=self.features(), y=array([0] * 23 + [-1], "<i8")), "y[23]", "-1")

    def test_tables_that_are_no_data_set(self):
        for name, text, more, words in (
            ("empty", "", (), ["empty"]),
            ("no records", "a,b,c\n", (), ["no records"]),
            ("missing", "a,b,c\n1,2,0\n1,,0\n", (), ["column 2 ('b') in line 3", "missing"]),
            ("missing label", "1,2,0\n1,2,\n", (), ["column 3 in line 2", "missing"]),
            ("unknown", "1,2,0\n1,?,0\n", (), ["column 2 in line 2", "'?'"]),
            ("nan", "1,2,0\n1,NaN,0\n", (), ["column 2 in line 2", "finite"]),
            ("nan label", "1,2,0\n1,2,nan\n", (), ["column 3 in line 2", "missing"]),
            ("infinite label", "1,2,0\n1,2,inf\n", (), ["column 3 in line 2", "no class"]),
            ("large", "1,2,0\n1,1e99,0\n", (), ["column 2 in line 2", "float32"]),
            ("after two lines", "\"a\n\",b,c\n1,2,0\n1,x,0\n", (), ["line 4", "'x'"]),
            ("decimal comma", "1;2,5;0\n", (), ["--header"]),
            ("short", "1,2,0\n1,2\n", (), ["line 2", "2 fields", "line 1 has 3"]),
            ("one column", "1\n2\n", (), ["only one column", "--separator"]),
            ("wrong separator", "1,2,0\n", ("--separator", "tab"), ["only one column"]),
            ("mixed", "1,x,0\n1,2,0\n", (), ["line 1", "--header"]),
            ("numbers as names", "0,1,species\n1,2,0\n1,2,1\n", (), ["species", "--header"]),
            ("no such column", "a,b,c\n1,2,0\n", ("--label", "d"), ["no column 'd'", "a, b, c"]),
            ("two such columns", "a,a,c\n1,2,0\n", ("--label", "a"), ["more than one column 'a'"]),
            ("column number", "a,b,c\n1,2,0\n", ("--label", "4"), ["3 columns"]),
            ("name without header", "1,2,0\n", ("--header", "no", "--label", "c"), ["number of a column"]),
            ("price", "1,2,3.5\n1,2,4\n", (), ["'3.5' in line 1", "decimals", "--targets"]),
            ("no such target", "a,b,c\n1,2,0\n", ("--targets", "b,d"), ["no column 'd'", "--targets"]),
            ("a target twice", "a,b,c\n1,2,0\n", ("--targets", "b,2"), ["--targets", "column 2 twice"]),
            ("no features", "1,2\n", ("--targets", "1,2"), ["--targets", "no features"]),
            ("a target that is no number", "a,b\n1,2\n1,x\n", ("--targets", "b"), ["column 2 ('b') in line 3", "'x'"]),
            ("open quotes", "a,b,c\n1,\"2,0\n", (), ["line 2", "not closed"]),
            ("a NUL byte", "1,2,0\n1,\0,0\n", (), ["line 2", "NUL byte", "UTF-16"]),
            ("after quotes", "a,b,c\n1,\"2\"3,0\n", (), ["line 2", "quotation mark"]),
        ):
            with self.subTest(name):
                self.refused("import-csv", self.csv(text), *words, more=more)
        self.refused("import-csv", self.own / "none.csv", "no such file")
        for encoding in ("utf-16-le", "utf-16-be"):
            (self.own / "own.csv").write_bytes(f"\ufeff{self.table()}".encode(encoding))
            self.refused("import-csv", self.own / "own.csv", "encoded in UTF-16", "convert it to UTF-8")

    def test_a_number_too_small_for_any_type_is_zero(self):
        zero = self.content("import-csv", self.csv("0,1,0\n2,3,1\n"))
        for text in ("1e-400", "1E-99999", "0." + "0" * 400 + "1"):
            with self.subTest(text[:10]):
                self.assertEqual(self.content("import-csv", self.csv(f"{text},1,0\n2,3,1\n")), zero)
        self.assertEqual(self.content("import-csv", self.csv("-1e-400,1,0\n2,3,1\n")), self.content("import-csv", self.csv("-0,1,0\n2,3,1\n")))
        for text in ("1e400", "1" + "0" * 400, "-1e+400"):
            self.refused("import-csv", self.csv(f"{text},1,0\n2,3,1\n"), "finite")

    def test_a_table_is_not_replaced_by_the_data_file(self):
        table = self.csv(self.table())
        self.assert_refused(run("data", "import-csv", "--from", table, "--out", table, "--name", "own"), "own.csv' exists and is not a data file")
        self.assertEqual(table.read_text(), self.table())

    def test_unsigned_numbers_of_64_bits(self):
        CODES["<u8"] = "<{}Q"
        large = array([1 << 63, (1 << 64) - 1] * 36, "<u8", (24, 3))
        self.assertEqual(self.content("import-numpy", self.npz(x_train=large, y_train=self.labels())),
                         self.content("import-numpy", self.npz(x_train=array([2.0**63, 2.0**64] * 36, "<f4", (24, 3)), y_train=self.labels())))
        self.refused("import-numpy", self.npz(x_train=self.features(), y_train=array([(1 << 64) - 1] * 24, "<u8")), str((1 << 64) - 1))

    def test_equal_numbers_have_no_contrast_to_normalise(self):
        for value in (0.1, 123.456, 12345.678):
            with self.subTest(value):
                images = {"x_train": array([value] * 2400, "<f4", (24, 10, 10)), "y_train": self.labels()}
                self.refused("import-numpy", self.npz(**images), "cannot be normalised", more=("--normalise",))

    def test_real_numbers_become_targets_that_a_network_is_trained_on(self):
        targets = [(row[0] + 2 * row[1] - row[2] / 2, row[2] / 4) for row in self.x]
        both = [value for pair in targets for value in pair]
        hashes = {self.content("import-numpy", self.npz(x_train=self.features(), y_train=array(both, descr, (self.SAMPLES, 2)))) for descr in ("<f4", "<f8")}
        names = "a,one,b,two,c\n"
        table = "".join(f"{a},{one},{b},{two},{c}\n" for (a, b, c), (one, two) in zip(self.x, targets))
        hashes |= {self.content("import-csv", self.csv(names + table), "--targets", "one,two"), self.content("import-csv", self.csv(table), "--targets", "2,4")}
        self.assertEqual(len(hashes), 1, hashes)
        self.assertEqual(self.info()["targets"], 2)
        swapped = self.content("import-csv", self.csv(table), "--targets", "4,2")
        self.assertNotIn(swapped, hashes)

        data = self.own / "out.h5"
        self.content("import-csv", self.csv(names + table), "--targets", "one,two", "--valid", 4, "--test", 4)
        train = lambda *more: run("train", "--data", data, "--model", "3-2", "--learning-rate", 0.01, "--epochs", 60, "--blocks", 1, "--minibatch", 4, "--quiet", *more)
        self.assert_refused(train("--out", self.own / "none"), "real-valued targets", "the loss is squared_error, not cross_entropy")
        trained = train("--loss", "squared_error", "--out", self.own / "run")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        self.assertRegex(trained.stdout, r"test error \d\.\d\d % of the targets' variance, loss 0\.\d+; validation error")
        checkpoint = self.own / "run/checkpoint.h5"
        scored = run("evaluate", checkpoint, "--data", data)
        self.assertIn(" % of the targets' variance, loss ", scored.stdout)
        self.assertEqual(scored.stdout.split("error ")[1].strip(), trained.stdout.split("error ")[1].split(";")[0])
        emulated = run("simulate", "--workers", 3, "--platform", "k40m-fdr", "--data", data, "--model", "3-2", "--learning-rate", 0.01, "--epochs", 2,
                       "--blocks", 2, "--loss", "squared_error", "--strategy", "bmuf", "--out", self.own / "emulated")
        several = run("train", "--workers", 3, "--data", data, "--model", "3-2", "--learning-rate", 0.01, "--epochs", 2, "--blocks", 2, "--loss",
                      "squared_error", "--strategy", "bmuf", "--out", self.own / "several")
        self.assertEqual(emulated.returncode, 0, emulated.stderr)
        weights = [re.search("weights sha256 ([0-9a-f]+)", ran.stdout)[1] for ran in (emulated, several)]
        self.assertEqual(weights[0], weights[1])
        diverged = run("train", "--data", data, "--model", "3-2", "--learning-rate", 1e-9, "--epochs", 1, "--blocks", 1, "--loss", "squared_error", "--out", self.own / "none")
        self.assertIn("a model with the targets' means as its outputs", diverged.stdout)
        self.assert_refused(run("align", checkpoint, "--data", data, "--out", self.own / "aligned.h5"), "real-valued targets")
        for more, words in (({"y_test": self.labels(), "x_test": self.features()}, ["'y_test'", "a label per sample", "1 target"]),
                            ({"y_test": array(both, "<f4", (self.SAMPLES, 2)), "x_test": self.features()}, ["'y_test'", "2 targets per sample", "has 1 target"]),
                            ({"y_train": array(both, "<f4", (48,))}, ["48", "24 samples"]), ({"y_train": array([1, 2] * 24, "<i8", (24, 2))}, ["24x2", "targets"])):
            self.refused("import-numpy", self.npz(**{"x_train": self.features(), "y_train": array([y / 2 for y in self.y], "<f4"), **more}), *words)
        self.refused("import-numpy", self.npz(x_train=self.features(), y_train=array([y / 2 for y in self.y], "<f4")), "--classes", more=("--classes", 3))

    def test_a_file_that_is_no_archive_is_named_with_the_reason(self):
        path = self.own / "text.npz"
        path.write_text("no archive")
        self.refused("import-numpy", path, f"cannot read '{path}' as an .npz file: Not a zip archive")

    def test_many_classes_of_many_samples_are_no_reason_to_ask(self):
        for samples, asks in ((60, False), (30, True)):
            text = "".join(f"{i * i % 17},{i % 5},{i % 20}\n" for i in range(samples))
            done = self.imported("import-csv", self.csv(text), "--valid", 1)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual("are these numbers of classes?" in done.stdout + done.stderr, asks, done.stdout + done.stderr)

    def test_text_labels_become_the_names_of_the_classes(self):
        self.content("import-csv", self.csv("species,width\nrose,1\n\"iris, blue\",2\nrose,3\n"), "--label", "species")
        self.assertEqual(self.info()["class_names"], ["iris, blue", "rose"])
        self.content("import-csv", self.csv("10,1\n-1,2\n-10,2\n"), "--label", 1)
        self.assertEqual(self.info()["class_names"], ["-10", "-1", "10"])

    def test_a_file_in_another_format_is_refused_with_the_command_that_imports_it(self):
        for name, content, command in (
            ("x.npy", self.features(), "import-numpy"), ("any", self.features(), "import-numpy"), ("x.npz", b"PK\x03\x04", "import-numpy"),
            ("x.csv", b"1,2\n", "import-csv"), ("x.TSV.gz", gzip.compress(b"1\t2\n"), "import-csv"),
            ("train-images-idx3-ubyte", b"\0\0\x08\x03", "import-idx"), ("t10k-labels-idx1-ubyte.gz", gzip.compress(b"\0\0\x08\x01"), "import-idx"),
            ("x.png", png(1, 1, 1, b"\0"), "import-images"), ("x.jpeg", b"\xff\xd8\xff\xe0", "import-images"),
            ("feats.ark", b"a \0B", "import-kaldi"), ("feats.scp", b"a feats.ark:2\n", "import-kaldi"),
            ("images/train/cats/1.png", b"", "import-images"), ("arrays/x.npy", b"", "import-numpy"), ("mnist/train-labels-idx1-ubyte", b"", "import-idx"),
            ("cifar/data_batch_1.bin", b"", "import-cifar")):
            with self.subTest(name):
                path = self.own / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
                path = self.own / name.split("/")[0]
                self.assert_refused(run("train", "--data", path, "--model", "3-4-3", "--learning-rate", 0.1, "--out", self.own / "run"), str(path),
                                    "not a data file", f"'paragrad data {command}'")
        (self.own / "notes").write_text("no data")
        self.assert_refused(run("train", "--data", self.own / "notes", "--model", "3-4-3", "--learning-rate", 0.1, "--out", self.own / "run"), "not an HDF5 file")


if __name__ == "__main__":
    unittest.main()
