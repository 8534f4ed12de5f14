#!/usr/bin/env python3
"""Makes kaldi_*.ark and the *.f32 beside them, by kaldiio 2.18.1 (PyPI): archives as another program than ours writes them, and
what it reads out of the compressed ones. Matrix u of an archive has 5 + 2u rows of 3 + u columns of (37 r + 11 c + 5 u) mod 101
eighths, less 50 eighths; kaldi_script.txt tells the offsets of kaldi_float.ark.

Usage: python3 make_kaldi.py"""

from pathlib import Path

import kaldiio
import numpy as np

FOLDER = Path(__file__).resolve().parent
COMPRESSED = {"cm": 2, "cm2": 3, "cm3": 5, "auto": 1, "cm2_signed": 4, "cm3_whole": 6, "cm3_unit": 7}


def matrix(u: int) -> np.ndarray:
    r, c = np.meshgrid(np.arange(5 + 2 * u), np.arange(3 + u), indexing="ij")
    return ((37 * r + 11 * c + 5 * u) % 101 - 50) / 8


def save(name: str, values: dict, **how) -> dict:
    path = FOLDER / f"kaldi_{name}.ark"
    kaldiio.save_ark(str(path), values, **how)
    return dict(kaldiio.load_ark(str(path)))


def main() -> None:
    keys = [f"speaker{u}-utt{u}" for u in range(3)]
    floats = {key: matrix(u).astype("f4") for u, key in enumerate(keys)}
    save("float", floats, scp=str(FOLDER / "kaldi_script.txt"))
    script = FOLDER / "kaldi_script.txt"
    script.write_text(script.read_text().replace(str(FOLDER) + "/", ""))
    save("double", {key: matrix(u) for u, key in enumerate(keys)})
    save("text", floats, text=True)
    for name, method in COMPRESSED.items():
        read = save(name, floats, compression_method=method)
        np.concatenate([read[key].ravel() for key in keys]).astype("<f4").tofile(FOLDER / f"kaldi_{name}.f32")
    whole = {key: np.arange(5 + 2 * u, dtype="i4") * (u + 1) * 1000 - 7 for u, key in enumerate(keys)}
    save("whole", whole)
    save("whole_text", whole, text=True)
    save("vector", {key: matrix(u)[:, 0].astype("f4") for u, key in enumerate(keys)})
    save("vector_double", {key: matrix(u)[:, 0] for u, key in enumerate(keys)})
    save("vector_text", {key: matrix(u)[:, 0].astype("f4") for u, key in enumerate(keys)}, text=True)


if __name__ == "__main__":
    main()
