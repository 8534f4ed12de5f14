#!/usr/bin/env python3
"""Images from IDX and CIFAR's files, folders of PNG and JPEG files and NumPy's arrays: the same pixels make the same data set, and
what cannot be one is refused."""

import random
import struct
import unittest
import zipfile
import zlib
from pathlib import Path

from image_files import CMYK_JPEG, GREY_JPEG, RED_JPEG, chunk, npy, png, write_folders, write_npz
from import_case import ImportTest
from paragrad_cli import run, run_with_peak

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

    def assert_pixels(self, expected: bytes, file: bytes, shape: tuple) -> None:
        """That the file gives the pixels that an array has."""
        array, label = npy((1, *shape), expected), npy((1,), b"\0")
        write_npz(self.own / "pixels.npz", {"x_train": array, "y_train": label, "x_test": array, "y_test": label})
        self.assertEqual(self.content("import-images", self.one_image(file), "--valid", 0),
                         self.content("import-numpy", self.own / "pixels.npz", "--valid", 0))

    def one_image(self, content: bytes) -> Path:
        write_folders(self.own / "one", [("train/a/0.jpg", content), ("test/a/0.jpg", content)])
        return self.own / "one"

    def test_pixels_pass_unchanged_whatever_colours_the_file_says_it_has(self):
        grey = bytes(random.Random(2).sample(range(256), 256))
        colours = random.Random(3).randbytes(768)
        profile = bytearray(200)
        profile[0:4], profile[8:12], profile[12:24], profile[36:40] = struct.pack(">I", 200), bytes((2, 0, 0, 0)), b"mntrRGB XYZ ", b"acsp"
        gamma = [chunk(b"gAMA", struct.pack(">I", value)) for value in (100000, 45455, 1, 0xffffffff)]
        for name, chunks in {"none": b"", "sRGB": chunk(b"sRGB", b"\0"), "linear": gamma[0], "usual": gamma[1], "odd": gamma[2], "huge": gamma[3],
                             "two gammas": gamma[0] + gamma[1], "sRGB and gamma": chunk(b"sRGB", b"\0") + gamma[0],
                             "profile": chunk(b"iCCP", b"icc\0\0" + zlib.compress(bytes(profile))), "no profile": chunk(b"iCCP", b"icc\0\0abc"),
                             "chromaticities": chunk(b"cHRM", struct.pack(">8I", *range(8))), "too many bits": chunk(b"sBIT", b"\x09" * 3),
                             "unknown": chunk(b"quXx", b"123"), "text": chunk(b"tEXt", b"no keyword"), "time": chunk(b"tIME", b"\0")}.items():
            with self.subTest(name):
                deep_grey, deep_colours = (b"".join(struct.pack(">H", 257 * value) for value in values) for values in (grey, colours))
                self.assert_pixels(grey, png(16, 16, 1, grey, before=chunks), (16, 16))
                self.assert_pixels(grey, png(16, 16, 1, deep_grey, bits=16, before=chunks), (16, 16))
                self.assert_pixels(colours, png(16, 16, 3, colours, before=chunks), (16, 16, 3))
                self.assert_pixels(colours, png(16, 16, 3, deep_colours, bits=16, before=chunks), (16, 16, 3))

    def test_pixels_of_every_depth(self):
        self.assert_pixels(bytes((0, 0, 0, 255, 255, 0, 255, 255)), png(1, 8, 1, bytes([0b00011011]), bits=1), (1, 8))
        self.assert_pixels(bytes((0, 85, 170, 255)), png(1, 4, 1, bytes([0b00011011]), bits=2), (1, 4))
        self.assert_pixels(bytes(17 * i for i in range(16)), png(4, 4, 1, bytes.fromhex("0123456789abcdef"), bits=4), (4, 4))
        depths = range(0, 65536, 409)[:144]
        self.assert_pixels(bytes(round(v / 257) for v in depths),
                           png(12, 12, 1, b"".join(struct.pack(">H", v) for v in depths), bits=16), (12, 12))
        palette = bytes((1, 2, 3, 4, 5, 6, 7, 8, 9))
        self.assert_pixels(palette + palette[:3], png(1, 4, 1, bytes([0b00011000]), bits=2, palette=palette), (1, 4, 3))
        self.assert_pixels(palette + palette[:3], png(1, 4, 1, bytes((0, 1, 2, 0)), palette=palette), (1, 4, 3))

    def test_transparent_pixels_lie_on_black(self):
        pairs = ((200, 255), (200, 0), (200, 128), (255, 1))
        expected = bytes((value * alpha + 127) // 255 for value, alpha in pairs)
        grey, coloured = bytes(x for pair in pairs for x in pair), bytes(x for value, alpha in pairs for x in (*[value] * 3, alpha))
        for before in (b"", chunk(b"tRNS", b"\0\0"), chunk(b"gAMA", struct.pack(">I", 100000))):
            self.assert_pixels(expected, png(2, 2, 2, grey, before=before), (2, 2))
            self.assert_pixels(bytes(x for x in expected for _ in range(3)), png(2, 2, 4, coloured, before=before), (2, 2, 3))
        self.assert_pixels(bytes((0, 9, 8, 7)), png(2, 2, 1, bytes((200, 9, 8, 7)), before=chunk(b"tRNS", struct.pack(">H", 200))), (2, 2))

    def test_bytes_after_the_last_pixel_change_nothing(self):
        grey = bytes(range(256))
        for after in (bytes(8), b"x" * 1000, zlib.compress(b"more")):
            self.assert_pixels(grey, png(16, 16, 1, grey, after_last=after), (16, 16))
        end = b"\xff\xd9"
        for jpeg in (GREY_JPEG, RED_JPEG):
            clean = self.content("import-images", self.one_image(jpeg), "--valid", 0)
            whole = jpeg[:-2]
            scan = jpeg.index(b"\xff\xda")
            for changed in (whole + b"\x11" * 99 + end, whole + bytes(1000) + end, jpeg + b"appended", whole + b"\xff" * 5 + end,
                            jpeg[:scan] + b"\x11" * 7 + jpeg[scan:], jpeg.replace(b"JFIF\0\1", b"JFIF\0\7", 1)):
                self.assertEqual(self.content("import-images", self.one_image(changed), "--valid", 0), clean)

    def test_damage_among_the_pixels_is_refused_also_where_libraries_only_warn(self):
        jpeg = RED_JPEG
        for content in (jpeg[:-2], jpeg[:-3] + b"\xff\xd9", jpeg[:-4] + b"\xff\xd9", jpeg[:-2] + b"\x11" * 99):
            self.refused("import-images", self.one_image(content), "0.jpg", "damaged", more=("--valid", 0))
        rows = b"".join(b"\0" + bytes(range(16 * y, 16 * y + 16)) for y in range(16))
        wrong_sum = zlib.compress(rows)[:-1] + b"?"
        header = chunk(b"IHDR", struct.pack(">IIBBBBB", 16, 16, 8, 0, 0, 0, 0))
        flipped = bytearray(chunk(b"tEXt", b"key\0value"))
        flipped[-1] ^= 1
        for content in (chunk(b"IDAT", wrong_sum), chunk(b"IDAT", zlib.compress(rows)[:-9]), bytes(flipped) + chunk(b"IDAT", zlib.compress(rows)),
                        chunk(b"IDAT", zlib.compress(rows[:-17]))):
            file = b"\x89PNG\r\n\x1a\n" + header + content + chunk(b"IEND", b"")
            self.refused("import-images", self.one_image(file), "0.jpg", "damaged", more=("--valid", 0))

    def test_scans_without_end_are_refused(self):
        at = GREY_JPEG.index(b"\xff\xda")
        head, scan = GREY_JPEG[:at].replace(b"\xff\xc0", b"\xff\xc2"), b"\xff\xda\x00\x08\x01\x01\x00\x00\x00\x00\x7f"
        few, many = head + 20 * scan + b"\xff\xd9", head + 3000 * scan + b"\xff\xd9"
        self.assert_pixels(bytes([128]) * 64, few, (8, 8))
        self.refused("import-images", self.one_image(many), "more than 100 scans", more=("--valid", 0))

    def test_a_file_may_be_much_smaller_or_longer_than_its_image(self):
        blank = png(4000, 4000, 1, bytes(2_000_000), bits=1)
        self.assertLess(len(blank), 8000)
        self.content("import-images", self.one_image(blank), "--valid", 0)
        for content in (b"", png(4, 4, 1, bytes(16))):  # nothing, or an image, and then 5 GB of zeros that take no disk
            folder = self.one_image(content)
            with (folder / "train/a/0.jpg").open("r+b") as file:
                file.truncate(5_000_000_000 if not content else 500_000_000)
            code, peak = self.peak("import-images", folder, "--valid", 0)
            self.assertEqual(code, 0 if content else 2)
            self.assertLess(peak, 150_000_000)

    def peak(self, command: str, source, *more) -> tuple[int, int]:
        """Exit code of an import and the bytes of memory that it took."""
        return run_with_peak("data", command, "--from", source, "--out", self.own / "out.h5", "--name", "own", *more)

    def test_damaged_files_can_be_skipped_and_are_counted(self):
        good = [png(4, 4, 1, bytes((i,)) * 16) for i in range(4)]
        folder = self.own / "some"
        write_folders(folder, [("train/a/0.png", good[0]), ("train/a/1.png", b"no image"), ("train/a/2.png", good[1]),
                               ("train/b/0.png", good[2]), ("train/b/1.png", good[2][:-30]), ("test/a/0.png", good[3]), ("test/b/1.png", b"")])
        self.refused("import-images", folder, "1.png", more=("--valid", 0))
        done = self.imported("import-images", folder, "--valid", 0, "--skip-damaged")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("skipped 3 damaged files; the first: ", done.stdout)
        self.assertIn("train/a/1.png", done.stdout)
        self.assertIn("3 damaged", self.info()["source"])
        kept = self.info()
        for name in ("train/a/1.png", "train/b/1.png", "test/b/1.png"):
            (folder / name).unlink()
        (folder / "test/b").rmdir()
        done = self.imported("import-images", folder, "--valid", 0, "--skip-damaged")
        self.assertEqual(self.info()["content_sha256"], kept["content_sha256"])
        self.assertNotIn("damaged files", done.stdout)

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


    def test_headers_that_numpy_reads(self):
        images, labels = bytes(range(16)), npy((4,), bytes((0, 1, 2, 1)))

        def hash_with(header: str) -> str:
            array = npy((), images, header=header)
            write_npz(self.own / "images.npz", {"x_train": array, "y_train": labels, "x_test": array, "y_test": labels})
            return self.content("import-numpy", self.own / "images.npz", "--valid", 1)

        plain = hash_with("{'descr': '|u1', 'fortran_order': False, 'shape': (4, 2, 2), }")
        for header in ("{'descr': '|u1', 'fortran_order': False, 'shape': (4L, 2L, 2L), }",  # Python 2 on Windows
                       "{u'descr': u'|u1', u'fortran_order': False, u'shape': (4, 2, 2)}", "{'descr':\t'|u1',\t'fortran_order':\tFalse,'shape':(4,2,2)}",
                       "{'descr': 'u1', 'fortran_order': False, 'shape': (4, 2, 2), }", "{'descr': 'uint8', 'fortran_order': False, 'shape': (4, 2, 2), }",
                       "{'descr': '<B', 'fortran_order': False, 'shape': (4, 2, 2), }", "{'shape' : ( 4 , 2 , 2 ) ,\r\n'descr':\"|u1\",'fortran_order':False}"):
            with self.subTest(header):
                self.assertEqual(hash_with(header), plain)

    def test_archives_that_claim_more_than_they_hold(self):
        good = npy((4, 2, 2), bytes(16))
        path = self.own / "images.npz"
        write_npz(path, {"x_train": npy((3_000_000_000,), b""), "y_train": good, "x_test": good, "y_test": good}, compression=zipfile.ZIP_STORED)
        content = bytearray(path.read_bytes())
        for signature, at in ((b"PK\1\2", 20), (b"PK\3\4", 18)):  # compressed and whole size, in the directory and before the array
            place = content.index(signature) + at
            content[place:place + 8] = struct.pack("<II", 3_000_000_000, 3_000_000_128)
        path.write_bytes(content)
        code, peak = self.peak("import-numpy", path)
        self.assertEqual(code, 2)
        self.assertLess(peak, 100_000_000)
        self.refused("import-numpy", path, "x_train", "its size is impossible")
        write_npz(path, {"x_train": good, "y_train": good, "x_test": good, "y_test": good}, compression=zipfile.ZIP_LZMA)
        done = self.imported("import-numpy", path)
        if done.returncode == 2 and "y_train" not in done.stderr:
            self.assert_refused(done, "x_train", "numpy.savez_compressed")

    def test_a_long_file_of_one_small_array_takes_no_memory(self):
        folder = self.own / "arrays"
        write_folders(folder, [("x_train.npy", npy((4, 2), bytes(8))), ("y_train.npy", npy((4,), bytes(4)))])
        with (folder / "x_train.npy").open("r+b") as file:
            file.truncate(3_000_000_000)
        code, peak = self.peak("import-numpy", folder, "--valid", 1)
        self.assertEqual(code, 2)
        self.assertLess(peak, 100_000_000)


if __name__ == "__main__":
    unittest.main()
