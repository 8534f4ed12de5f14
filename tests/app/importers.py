"""A small good source for each importer, which tests then change."""

import random
import struct
from collections.abc import Callable
from pathlib import Path

from digit_sounds import record_digits
from image_files import npy, png, write_folders, write_npz

SAMPLES, TEST = 12, 6  # of the sources below


def idx(shape: tuple, content: bytes) -> bytes:
    return struct.pack(f">BBBB{len(shape)}I", 0, 0, 8, len(shape), *shape) + content


def pixels(count: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(count)


def numbers(values: list, code: str, descr: str, shape: tuple | None = None) -> bytes:
    """A .npy file of these values: code of struct, descr of NumPy."""
    return npy(shape or (len(values),), struct.pack(f"<{len(values)}{code}", *values), descr)


def labels(count: int, classes: int = 3) -> list[int]:
    return [i * 7 % classes for i in range(count)]


def write_idx(folder: Path) -> list:
    for name, count in (("train", SAMPLES), ("t10k", TEST)):
        (folder / f"{name}-images-idx3-ubyte").write_bytes(idx((count, 4, 4), pixels(16 * count)))
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(idx((count,), bytes(labels(count))))
    return ["--from", folder]


def write_cifar(folder: Path) -> list:
    for i, name in enumerate([*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"]):
        (folder / name).write_bytes(b"".join(bytes([label]) + pixels(3072, i) for label in labels(10, 10)))
    return ["--from", folder]


def write_images(folder: Path) -> list:
    write_folders(folder, [(f"{part}/{name}/{i}.png", png(4, 4, 1, pixels(16, i))) for part, count in (("train", 4), ("test", 2))
                           for name in ("cat", "dog") for i in range(count)])
    return ["--from", folder]


def arrays(**others: bytes) -> dict[str, bytes]:
    draw = random.Random(3)
    x = numbers([draw.gauss(0, 1) for _ in range(3 * SAMPLES)], "d", "<f8", (SAMPLES, 3))
    return {"x_train": x, "y_train": numbers(labels(SAMPLES), "q", "<i8"), **others}


def write_numpy(folder: Path) -> list:
    write_npz(folder / "arrays.npz", arrays())
    return ["--from", folder / "arrays.npz"]


def table(head: str = "a,b,c,species\n", label: Callable[[int], str] = lambda y: ("iris", "rose", "tulip")[y]) -> str:
    draw = random.Random(4)
    return head + "".join(",".join(f"{draw.gauss(0, 1):.4f}" for _ in range(3)) + f",{label(y)}\n" for y in labels(SAMPLES))


def write_csv(folder: Path) -> list:
    (folder / "table.csv").write_text(table())
    return ["--from", folder / "table.csv"]


def kaldi_text(frames: dict[str, list[list[float]]]) -> str:
    return "".join(f"{name} [\n" + "\n".join(" ".join(map(repr, row)) for row in rows) + " ]\n" for name, rows in frames.items())


def write_prose(folder: Path) -> list:
    (folder / "prose.txt").write_text("the cat sat on the mat, and the dog lay by the log. " * 4)
    return ["--from", folder]


def write_kaldi(folder: Path) -> list:
    draw = random.Random(5)
    (folder / "feats.ark").write_text(kaldi_text({f"u{u}": [[draw.gauss(0, 1) for _ in range(3)] for _ in range(6)] for u in range(4)}))
    (folder / "ali.ark").write_text("".join(f"u{u} 0 0 1 1 2 2\n" for u in range(4)))
    return ["--features", folder / "feats.ark", "--alignments", folder / "ali.ark"]


def write_fsdd(folder: Path) -> list:
    record_digits(folder / "recordings", 3)
    return ["--recordings", folder / "recordings", "--test", 1, "--valid", 1, "--bins", 23]


SOURCES: dict[str, Callable[[Path], list]] = {
    "import-text": write_prose,
    "import-idx": write_idx, "import-cifar": write_cifar, "import-images": write_images, "import-numpy": write_numpy,
    "import-csv": write_csv, "import-kaldi": write_kaldi, "import-fsdd": write_fsdd}
