"""NumPy arrays as data files."""

from __future__ import annotations

import atexit
import hashlib
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from . import training
from .runs import Error

_folder: tempfile.TemporaryDirectory | None = None  # of the files that simulate and train make from arrays; deleted when the process exits


def dataset(x: Any = None, y: Any = None, *, out: Path | str, valid: int = 0, test: int = 0, name: str = "arrays",
            classes: int = 0, normalise: bool = False, seed: int | None = None, **arrays: Any) -> Path:
    """Writes features x, [samples][features] or images, and y to the data file `out`: `paragrad data import-numpy`.

    y: integers, the classes, or floating-point numbers, the targets of a regression, [samples] or [samples][targets].
    valid, test: samples to draw for validation and test. classes: their number; 0: the largest in y + 1. Or give arrays by their
    names there: x_train=, y_train=, lengths_train= (of sequences), x_valid=, y_valid=, x_test=, y_test=.
    """
    given = {"x": x, "y": y} | arrays
    given = {key: np.asarray(value) for key, value in given.items() if value is not None}
    with tempfile.TemporaryDirectory(prefix="paragrad-") as folder:
        np.savez(source := Path(folder) / "arrays.npz", **given)
        drawn = {key: count for key, count in (("valid", valid), ("test", test)) if count}
        training.command("data", "import-numpy", **{"from": source}, name=name, out=out, classes=classes,
                         normalise=normalise or None, seed=seed, **drawn)
    return Path(out)


def file_of(data: Any) -> Any:
    """The data file that `data` means: a path, (x, y), or arrays by name as dataset() takes them. The same arrays give the same
    file; of (x, y) a tenth each is for validation and test."""
    if isinstance(data, (str, Path)) or data is None:
        return data
    if isinstance(data, tuple) and len(data) == 2:
        tenth = len(data[0]) // 10
        return _made({"x": data[0], "y": data[1]}, valid=tenth, test=tenth)
    if isinstance(data, Mapping):
        return _made(dict(data))
    raise Error("data must be a path, a pair (x, y) of arrays, or a dict of arrays such as x_train and y_train")


def _made(arrays: dict[str, Any], **drawn: int) -> Path:
    global _folder
    if _folder is None:
        _folder = tempfile.TemporaryDirectory(prefix="paragrad-data-")
        atexit.register(_folder.cleanup)
    content = hashlib.sha256(repr(drawn).encode())
    for name, values in sorted(arrays.items()):
        values = np.ascontiguousarray(values)
        content.update(f"{name} {values.dtype} {values.shape}\n".encode())
        content.update(values.data)
    path = Path(_folder.name) / f"{content.hexdigest()[:16]}.h5"
    return path if path.exists() else dataset(**arrays, **drawn, out=path)
