#!/usr/bin/env python3
"""Images from IDX and CIFAR's files, folders of PNG and JPEG files and NumPy's arrays: the same pixels make the same data set, and
what cannot be one is refused."""

import random
import struct
import unittest
import zipfile

from image_files import CMYK_JPEG, GREY_JPEG, RED_JPEG, npy, png, write_folders, write_npz
from import_case import ImportTest
from paragrad_cli import run

COUNTS = {"train": 30, "test": 12}
CLASSES = 3


class ImageImport(ImportTest):
    ALWAYS = ("--valid", 6)

    @staticmethod
    def drawn(pixels: int) -> dict[str, list[tuple[int, bytes]]]:
        """Images with their labels, class by class, as folders hold them."""
        draw = random.Random(1)
        return {subset: [(i * CLASSES // count, draw.randbytes(pixels)) for i in range(count)] for subset, count in COUNTS.items()}

    def write_folders(self, images, shape, folder: str = "folders"):
        write_folders(self.own / folder, [(f"{subset}/class{label}/{i:03}.PNG", png(*shape, pixels))
                                          for subset, all_of in images.items() for i, (label, pixels) in enumerate(all_of)])
        return self.own / folder

    def write_npz(self, images, shape, names=("x_train", "y_train", "x_test", "y_test"), labels="<i8", column=False, **more):
        arrays = {}
        code = {"|u1": "B", "<i8": "<{}q", ">i4": ">{}i", "<u2": "<{}H"}[labels]
        for subset, x, y in (("train", *names[:2]), ("test", *names[2:])):
            count = COUNTS[subset]
            arrays[x] = npy((count, *shape), b"".join(pixels for _, pixels in images[subset]))
            values = [label for label, _ in images[subset]]
            arrays[y] = npy((count, 1) if column else (count,),
                            bytes(values) if labels == "|u1" else struct.pack(code.format(count), *values), labels)
        path = self.own / "images.npz"
        write_npz(path, arrays, **more)
        return path

    def test_grey_images_from_three_formats(self):
        images = self.drawn(35)
        idx = self.own / "idx"
        idx.mkdir()
        for subset, name in (("train", "train"), ("test", "t10k")):
            for kind, shape, content in (("images-idx3", (COUNTS[subset], 5, 7), b"".join(p for _, p in images[subset])),
                                         ("labels-idx1", (COUNTS[subset],), bytes(label for label, _ in images[subset]))):
                (idx / f"{name}-{kind}-ubyte").write_bytes(struct.pack(f">BBBB{len(shape)}I", 0, 0, 8, len(shape), *shape) + content)
        hashes = {self.content("import-idx", idx)}
        self.assertEqual(self.info()["image"], {"height": 5, "width": 7, "channels": 1})
        hashes.add(self.content("import-images", self.write_folders(images, (5, 7, 1))))
        self.assertEqual(self.info()["class_names"], ["class0", "class1", "class2"])
        for labels in ("|u1", "<i8", ">i4", "<u2"):
            hashes.add(self.content("import-numpy", self.write_npz(images, (5, 7), labels=labels)))
        hashes.add(self.content("import-numpy", self.write_npz(images, (5, 7, 1), column=True, compression=zipfile.ZIP_STORED)))
        medical = ("train_images", "train_labels", "test_images", "test_labels")
        hashes.add(self.content("import-numpy", self.write_npz(images, (5, 7), names=medical)))
        hashes.add(self.content("import-numpy", self.write_npz(images, (5, 7), names=tuple("abcd")), "--arrays", "x_train=a,y_train=b,x_test=c,y_test=d"))
        self.assertEqual(len(hashes), 1, hashes)
        images["test"][0] = (0, bytes(35))
        self.assertNotIn(self.content("import-numpy", self.write_npz(images, (5, 7))), hashes)

    def test_coloured_images_from_three_formats(self):
        images = self.drawn(3072)
        cifar = self.own / "cifar"
        cifar.mkdir()

        def record(label: int, pixels: bytes) -> bytes:
            return bytes([label]) + b"".join(pixels[c::3] for c in range(3))

        for i in range(5):
            (cifar / f"data_batch_{i + 1}.bin").write_bytes(b"".join(record(*image) for image in images["train"][6 * i:6 * i + 6]))
        (cifar / "test_batch.bin").write_bytes(b"".join(record(*image) for image in images["test"]))
        expected = self.content("import-cifar", cifar)
        self.assertEqual(self.content("import-numpy", self.write_npz(images, (32, 32, 3)), "--classes", "10"), expected)
        folders = self.write_folders(images, (32, 32, 3))
        three = self.content("import-images", folders)  # of three classes, as its folders say
        self.assertEqual(self.content("import-numpy", self.write_npz(images, (32, 32, 3))), three)

    def test_grey_and_coloured_files(self):
        grey, red = bytes(range(64)), bytes((254, 0, 0)) * 64
        folder = self.own / "folder"
        write_folders(folder, [("train/a/1.png", png(8, 8, 3, red)), ("train/a/2.jpeg", GREY_JPEG), ("train/b/1.png", png(8, 8, 1, grey)),
                               ("train/b/notes.txt", b"ignored"), ("train/.hidden/1.png", b""), ("test/b/1.JPG", RED_JPEG)])
        mixed = self.content("import-images", folder, "--valid", 0)
        self.assertEqual(self.info()["image"], {"height": 8, "width": 8, "channels": 3})
        write_folders(folder, [("train/a/1.png", RED_JPEG), ("train/a/2.jpeg", png(8, 8, 3, bytes([128]) * 192)),
                               ("train/b/1.png", png(8, 8, 3, bytes(p for p in grey for _ in range(3))))])  # content decides, not names
        self.assertEqual(self.content("import-images", folder, "--valid", 0, "--channels", 3), mixed)
        opaque = b"".join(bytes((254, 0, 0, 255)) for _ in range(64))
        write_folders(folder, [("train/a/1.png", png(8, 8, 4, opaque))])
        self.assertEqual(self.content("import-images", folder, "--valid", 0), mixed)
        self.refused("import-images", folder, "a/1.png", "colour", "--channels", more=("--valid", 0, "--channels", 1))
        self.refused("import-images", folder, "1 or 3 channels", more=("--valid", 0, "--channels", 2))

    def test_folders_that_are_no_data_set(self):
        good = png(4, 4, 1, bytes(range(16)))
        short = bytearray(good)
        short[-20] ^= 1
        for name, files, words in (
            ("no-test", {"train/a/1.png": good}, ["test", "not a folder"]),
            ("no-train", {"test/a/1.png": good}, ["train", "not a folder"]),
            ("no-classes", {"train/1.png": good, "test/a/1.png": good}, ["contains no images"]),
            ("empty-class", {"train/a/1.png": good, "train/b/1.txt": b"", "test/a/1.png": good}, ["/b'", "no .png"]),
            ("new-class", {"train/a/1.png": good, "test/b/1.png": good}, ["test/b", "training set does not have"]),
            ("sizes", {"train/a/1.png": good, "train/a/2.png": png(4, 5, 1, bytes(20)), "test/a/1.png": good}, ["2.png", "4x5", "1.png", "4x4"]),
            ("test-size", {"train/a/1.png": good, "test/a/1.png": png(5, 4, 1, bytes(20))}, ["test/a/1.png", "5x4", "4x4"]),
            ("text", {"train/a/1.png": b"no image", "test/a/1.png": good}, ["1.png", "neither a PNG nor a JPEG"]),
            ("nothing", {"train/a/1.png": b"", "test/a/1.png": good}, ["1.png", "neither a PNG nor a JPEG"]),
            ("cut", {"train/a/1.png": good[:-16], "test/a/1.png": good}, ["1.png", "damaged"]),
            ("flipped", {"train/a/1.png": bytes(short), "test/a/1.png": good}, ["1.png", "damaged"]),
            ("no-pixels", {"train/a/1.png": png(0, 0, 1, b""), "test/a/1.png": good}, ["1.png"]),
            ("huge", {"train/a/1.png": png(0, 0, 1, b"").replace(bytes(8), struct.pack(">II", 60000, 60000), 1), "test/a/1.png": good}, ["1.png"]),
            ("cut-jpeg", {"train/a/1.jpg": RED_JPEG[:-12], "test/a/1.jpg": RED_JPEG}, ["1.jpg", "damaged"]),
            ("corrupt-jpeg", {"train/a/1.jpg": RED_JPEG.replace(bytes((0xff, 0xc4, 0, 0x14, 0, 1)), bytes((0xff, 0xc4, 0, 0x14, 0, 255))), "test/a/1.jpg": RED_JPEG}, ["1.jpg", "damaged"]),
            ("inks", {"train/a/1.jpg": CMYK_JPEG, "test/a/1.jpg": RED_JPEG}, ["1.jpg", "CMYK"]),
        ):
            with self.subTest(name):
                write_folders(self.own / name, list(files.items()))
                self.refused("import-images", self.own / name, *words, more=("--valid", 0))
        self.refused("import-images", self.own / "sizes" / "train", "not a folder")
        many = self.own / "many"
        write_folders(many, [(f"{s}/a/{i}.png", good) for s in ("train", "test") for i in range(3)])
        self.refused("import-images", many, "uses up all 3 training samples")

    def test_arrays_that_are_no_data_set(self):
        images = npy((4, 2, 2), bytes(16))
        labels = npy((4,), bytes((0, 1, 2, 1)))
        good = {"x_train": images, "y_train": labels, "x_test": images, "y_test": labels}
        path = self.own / "images.npz"
        for name, arrays, words in (
            ("float", {"x_train": npy((4, 2, 2), bytes(64), "<f4")}, ["x_test", "uint8", "same type"]),
            ("wide", {"x_test": npy((4, 2, 2), bytes(32), "<u2")}, ["x_test", "uint16", "same type"]),
            ("complex", {"x_train": npy((4, 2, 2), bytes(128), "<c8")}, ["x_train", "<c8"]),
            ("objects", {"y_train": npy((4,), bytes(32), "|O")}, ["y_train", "|O"]),
            ("records", {"y_train": npy((4,), bytes(4), header="{'descr': [('a', '|u1')], 'fortran_order': False, 'shape': (4,), }")}, ["records"]),
            ("no shape", {"x_train": npy((), bytes(16), header="{'descr': '|u1', 'fortran_order': False, }")}, ["lacks"]),
            ("twice", {"x_train": npy((), b"", header="{'descr': '|u1', 'descr': '|u1', 'fortran_order': False, 'shape': (4,)}")}, ["twice"]),
            ("code", {"x_train": npy((), b"", header="__import__('os').abort()")}, ["no NumPy header"]),
            ("short", {"x_train": npy((4, 2, 2), bytes(15))}, ["15 bytes", "16"]),
            ("long", {"x_train": npy((4, 2, 2), bytes(17))}, ["17 bytes"]),
            ("overflow", {"x_train": npy((1 << 32, 1 << 32, 1 << 32), bytes(16))}, ["16 bytes", "more"]),
            ("none", {"x_train": npy((0, 2, 2), b"")}, ["does not contain samples"]),
            ("rank", {"x_train": npy((16,), bytes(16))}, ["does not contain samples"]),
            ("count", {"y_train": npy((3,), bytes(3))}, ["y_train", "4 samples"]),
            ("one-hot", {"y_train": npy((4, 3), bytes(12))}, ["y_train", "4x3"]),
            ("negative", {"y_train": npy((4,), struct.pack("<4i", 0, 1, -1, 2), "<i4")}, ["label -1"]),
            ("label", {"y_test": npy((4,), bytes((0, 1, 3, 1)))}, ["label 3", "3 classes"]),
            ("test size", {"x_test": npy((4, 4), bytes(16))}, ["differ in size"]),
            ("magic", {"x_train": b"PK\x03\x04" * 8}, ["x_train", "no NumPy array"]),
            ("empty", {"x_train": b""}, ["x_train", "no NumPy array"]),
            ("version", {"x_train": npy((4, 2, 2), bytes(16), version=9)}, ["no NumPy array"]),
        ):
            with self.subTest(name):
                write_npz(path, {**good, **arrays})
                self.refused("import-numpy", path, *words, more=("--valid", 1))
        write_npz(path, good)
        self.refused("import-numpy", path, "'none'", more=("--arrays", "y_train=none"))
        for pairs in ("x_train,y_train", "x_train=x_train,x_train=x_test", "images=x_train", "=x_train"):
            self.refused("import-numpy", path, "--arrays", "pairs", more=("--arrays", pairs))
        self.refused("import-numpy", path, "label 2", "2 classes", more=("--classes", 2, "--valid", 1))
        self.refused("import-numpy", self.own / "missing.npz", "missing.npz")
        whole = path.read_bytes()
        for content in (b"", whole[:100], whole[:-30], b"\x93NUMPY"):
            path.write_bytes(content)
            self.refused("import-numpy", path, "images.npz")
        at = whole.index(b"\x93NUMPY") if b"\x93NUMPY" in whole else 60  # within the first array
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xff]) + whole[at + 1:])
        self.refused("import-numpy", path, "images.npz", "damaged", more=("--valid", 1))
        write_npz(path, {"other": images})
        self.refused("import-numpy", path, "x_train", "--arrays")


if __name__ == "__main__":
    unittest.main()
