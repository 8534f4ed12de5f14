"""NumPy arrays as data files."""

from __future__ import annotations

import atexit
import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import _core, training
from .runs import Error

ARRAYS = ["x", "y", *(f"{kind}_{subset}" for subset in ("train", "valid", "test") for kind in ("x", "y", "lengths"))]  # for messages; others are known, too
OPTIONS = ["out", "valid", "test", "name", "classes", "normalise", "seed"]  # of dataset()

_folder: tempfile.TemporaryDirectory | None = None  # of the files that simulate and train make from arrays; deleted when the process exits


def dataset(x: Any = None, y: Any = None, *, out: Path | str, valid: int = 0, test: int = 0, name: str = "arrays",
            classes: int = 0, normalise: bool = False, seed: int | None = None, **arrays: Any) -> Path:
    """Writes features x, [samples][features] or images, and y to the data file `out`: `paragrad data import-numpy`.

    y: integers, the classes, or floating-point numbers, the targets of a regression, [samples] or [samples][targets].
    valid, test: samples to draw for validation and test. classes: their number; 0: the largest in y + 1. Or give arrays by their
    names there: x_train=, y_train=, lengths_train= (of sequences), x_valid=, y_valid=, x_test=, y_test=.
    """
    given = arrays_of({"x": x, "y": y} | arrays, OPTIONS)
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
        x, y = array_of("x", data[0]), array_of("y", data[1])
        return _made({"x": x, "y": y}, valid=len(x) // 10, test=len(x) // 10)
    if isinstance(data, Mapping):
        return _made(arrays_of(data))
    raise Error("data must be a path, a pair (x, y) of arrays, or a dict of arrays such as x_train and y_train")


def arrays_of(given: Mapping[str, Any], options: Sequence[str] = ()) -> dict[str, np.ndarray]:
    """Those that are not None. options: what may be meant by an unknown name, too."""
    for name in given:
        if name not in _core.usual_array_names():
            raise Error(f"unknown array{' or option' if options else ''} '{name}'; {_core.suggestion(str(name), [*ARRAYS, *options])}")
    return {name: array_of(name, values) for name, values in given.items() if values is not None}


def array_of(name: str, values: Any) -> np.ndarray:
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise Error(f"{name} is not an array: its rows differ in length") from error
    if array.ndim == 0 or array.dtype.kind not in "biuf":
        raise Error(f"{name} must be an array of numbers, not {f'of {array.dtype}' if array.ndim else type(values).__name__}")
    return array


def _made(arrays: dict[str, np.ndarray], **drawn: int) -> Path:
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
