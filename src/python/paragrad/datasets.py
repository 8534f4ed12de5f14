"""NumPy arrays as data files."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import _core, training
from .runs import Error
from .temporary import TemporaryFolder

ARRAYS = ["x", "y", *(f"{kind}_{subset}" for subset in ("train", "valid", "test") for kind in ("x", "y", "lengths", "weights", "clients"))]  # for messages; others are known, too
OPTIONS = ["out", "valid", "test", "name", "classes", "normalise", "scale", "layout", "seed"]  # of dataset()

_folder: TemporaryFolder | None = None  # of the files that simulate and train make from arrays; deleted when the process exits
_made_by = 0                            # the process that has made it
_files: dict[str, Path] = {}            # all files that were made from arrays, by their content


def dataset(x: Any = None, y: Any = None, *, out: Path | str, valid: int = 0, test: int = 0, name: str = "arrays",
            classes: int = 0, normalise: bool = False, scale: str | None = None, layout: str | None = None, seed: int | None = None,
            **arrays: Any) -> Path:
    """Writes features x, [samples][features] or images, and y to the data file `out`: `paragrad data import-numpy`.

    y: integers or texts, the classes or their names, or one-hot integers [samples][classes]; or floating-point
    numbers, the targets of a regression, [samples] or [samples][targets].
    valid, test: samples to draw for validation and test. classes: their number; 0: the largest in y + 1. scale: of uint8, "bytes"
    (255 is seen as 1) or "none". layout: of images, "channels-last" or "channels-first"; "sequences" if x is sequences x frames x features,
    with y for each frame or for each sequence. Or give arrays by their names there:
    x_train=, y_train=, lengths_train= (of sequences), weights_train= (of samples, in the loss), clients_train= (of samples, numbers or
    names, for partition="grouped:client"), x_valid=, y_valid=, x_test=, y_test=. Warns of what is probably not meant.
    """
    given = arrays_of({"x": x, "y": y} | arrays, OPTIONS, layout)
    drawn = {key: count for key, count in (("valid", valid), ("test", test)) if count}
    printed = write(given, name=name, out=out, classes=classes, normalise=normalise or None, scale=scale, layout=layout, seed=seed, **drawn)
    for line in printed.splitlines():
        if line.startswith("warning: "):
            warnings.warn(line.removeprefix("warning: "), stacklevel=2)
    return Path(out)


def write(arrays: Mapping[str, np.ndarray], **options: Any) -> str:
    """Runs import-numpy on the arrays; returns what it prints."""
    with tempfile.TemporaryDirectory(prefix="paragrad-") as folder:
        for array, values in arrays.items():
            np.save(Path(folder) / array, values)
        return training.command("data", "import-numpy", **{"from": folder}, **options)


@dataclass(frozen=True)
class DataFile:
    """What `data` of a training is."""

    given: Any          # a path, or None
    made: bool = False  # from arrays, in the run's folder, for this run

    def remove_others(self, run: Path) -> None:
        """Those of arrays that an overwritten run was trained on."""
        for other in run.glob("data-*.h5"):
            if other.resolve() != Path(self.given or "").resolve():
                other.unlink()

    def forget_unless_used_by(self, run: Path) -> None:
        """After a training that was perhaps refused."""
        if not self.made:
            return
        config = run / "config.toml"
        if not config.exists() or str(self.given) not in config.read_text(errors="replace"):
            self.given.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # it holds something else
                run.rmdir()


def file_of(data: Any, run: Path | None = None, layout: str | None = None) -> DataFile:
    """The data file that `data` means: a path, (x, y), (table, "column"), or arrays by name as dataset() takes them. The same arrays give
    the same file; of (x, y) a tenth each is for validation and test. run: the folder that a file of arrays is saved in; None: a temporary one.
    layout: of images."""
    if isinstance(data, (str, Path)) or data is None:
        return DataFile(data)
    if isinstance(data, tuple) and len(data) == 2:
        if isinstance(data[1], str):
            data = columns_of(*data)
        x, y = array_of("x", data[0]), array_of("y", data[1])
        check_form("x", x)
        return _made({"x": x, "y": y}, run, layout if x.ndim == 4 else None, valid=len(x) // 10, test=len(x) // 10)
    if isinstance(data, Mapping):
        arrays = arrays_of(data)
        return _made(arrays, run, layout if any(array.ndim == 4 for array in arrays.values()) else None)
    raise Error("data must be a path, a pair (x, y) of arrays, a table and the name of a column, (table, 'label'), or a dict of arrays such as x_train "
                "and y_train")


def columns_of(table: Any, answer: str) -> tuple[np.ndarray, np.ndarray]:
    """All other columns of a table (pandas, Polars), which hold numbers, and the one that is to be predicted."""
    if (names := getattr(table, "columns", None)) is None:
        raise Error(f"data is a pair of {type(table).__name__} and the text '{answer}': give a table with a column of this name, or two arrays")
    names = list(names)
    if answer not in names:
        raise Error(f"the table has no column '{answer}'; {_core.suggestion(answer, [str(name) for name in names])}")
    if names.count(answer) > 1:
        raise Error(f"the table has several columns '{answer}'")
    features = {name: np.asarray(table[name]) for name in names if name != answer}
    for name, column in features.items():
        if column.dtype.kind == "O":  # as pandas gives its nullable numbers
            with contextlib.suppress(TypeError, ValueError):
                features[name] = column = column.astype(float)
        if column.dtype.kind == "O" and any(isinstance(value, (int, float)) for value in column):
            raise Error(f"column '{name}' of the table has missing values, or values that are no numbers: fill them in, or leave the rows out")
        if column.dtype.kind not in "biuf":
            raise Error(f"column '{name}' of the table does not hold numbers: leave it out, or encode it (as pandas.get_dummies does)")
    if not features:
        raise Error(f"the table has no column but '{answer}', and nothing to predict it from")
    return np.column_stack(list(features.values())), np.asarray(table[answer])


def arrays_of(given: Mapping[str, Any], options: Sequence[str] = (), layout: str | None = None) -> dict[str, np.ndarray]:
    """Those that are not None. options: what may be meant by an unknown name, too."""
    for name in given:
        if name not in _core.usual_array_names():
            raise Error(f"unknown array{' or option' if options else ''} '{name}'; {_core.suggestion(str(name), [*ARRAYS, *options])}")
    arrays = {name: array_of(name, values) for name, values in given.items() if values is not None}
    for name, array in arrays.items():
        if layout != "sequences" and (name[0] in "xX" or "features" in name):
            check_form(name, array)
    return arrays


def check_form(name: str, x: np.ndarray) -> None:
    """Raises Error for what may be grey images or sequences. Bytes are pixels."""
    if x.ndim == 3 and x.dtype != np.uint8:
        samples, steps, features = x.shape
        raise Error(f"{name} of the shape {x.shape} is either images or sequences: for images give {name}[..., None], which has channels; for sequences "
                    f"layout='sequences' to pg.dataset, or the frames {name}.reshape(-1, {features}), a label for each, and their number in each "
                    f"sequence, lengths_train=[{steps}] * {samples}")


def array_of(name: str, values: Any) -> np.ndarray:
    if is_masked(values):
        raise Error(f"{name} is a masked array, and some of its values are masked: leave these samples out, or fill the values in (filled)")
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise Error(f"{name} is not an array: its rows differ in length") from error
    if array.dtype.kind == "O" and array.size and all(isinstance(one, str) for one in array.flat):  # as pandas has them
        array = array.astype(str)
    if name.startswith("clients") and array.dtype.kind in "US":  # names, which nothing but a partition reads
        array = np.unique(array, return_inverse=True)[1]
    kinds = "biufUS" if name[0] in "yY" or "labels" in name else "biuf"
    if array.ndim == 0 or array.dtype.kind not in kinds:
        raise Error(f"{name} must be an array of numbers, not {f'of {array.dtype}' if array.ndim else type(values).__name__}")
    return array


def is_masked(values: Any) -> bool:
    """Whether a mask hides a value, which np.asarray would show, also in lists of masked arrays."""
    if isinstance(values, (list, tuple)):
        return any(is_masked(value) for value in values)
    mask = getattr(values, "mask", None)
    return isinstance(mask, (np.ndarray, np.bool_)) and bool(np.any(mask))


def _made(arrays: dict[str, np.ndarray], run: Path | None, layout: str | None, **drawn: int) -> DataFile:
    content = hashlib.sha256((repr(drawn) + (layout or "")).encode())
    for name, values in sorted(arrays.items()):
        values = np.ascontiguousarray(values)
        content.update(f"{name} {values.dtype} {values.shape}\n".encode())
        content.update(values.data)
    name = f"data-{content.hexdigest()[:16]}.h5"
    path = (run.resolve() if run else _temporary_folder()) / name
    if path.exists():
        return DataFile(path)
    if (known := _files.get(name)) and known.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(known, path)
        except OSError:  # another file system
            shutil.copyfile(known, path)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        dataset(**arrays, **drawn, layout=layout, out=path)
    _files[name] = path
    return DataFile(path, made=run is not None)


def _temporary_folder() -> Path:
    """A process that was forked has its own."""
    global _folder, _made_by
    if _folder is None or _made_by != os.getpid():
        _folder, _made_by = TemporaryFolder(), os.getpid()
    return _folder.path
