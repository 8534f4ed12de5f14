"""Applies trained networks to arrays."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from . import _core
from .datasets import array_of, dataset
from .runs import Error, Run


def predict(model: Run | Path | str, x: Any, lengths: Any = None) -> np.ndarray:
    """The probability of each class for samples x, [samples][classes], by a run's network or a checkpoint's; if it was trained
    with loss="squared_error", its outputs, [samples][targets], or a score per class.

    x: as in the training, before what import-numpy does to it, and of the same type: uint8 is scaled to go from 0 to 1, other types
    are not. A data file that was made with `normalise` does not keep the means and variances, so normalise x yourself.
    lengths: of the sequences, for recurrent networks and those that were trained with `context`. A run knows its context; for a
    checkpoint, and if the data file has the context, the columns of x are the network's inputs, neighbouring frames included.
    """
    path = str(model.folder / "checkpoint.h5" if isinstance(model, Run) else model)
    inputs, outputs, loss = (_core.read_checkpoint(path)[key] for key in ("inputs", "outputs", "loss"))
    of_classes = loss != "squared_error"
    x = array_of("x", x)
    if len(x) == 0:
        raise Error("x has no samples")
    context = ""
    if isinstance(model, Run):
        check_type(model, x)
        if x[0].size != inputs:
            context = str(model.config.get("context", ""))
    if x.ndim < 2 or x[0].size * frames_in(context) != inputs:
        raise Error(f"'{path}' has {inputs} inputs, which arrays of the shape {x.shape} do not give: they must be samples x inputs")
    if context and lengths is None:
        raise Error(f"'{model.folder}' was trained with `context` {context}: give the lengths of the sequences")
    x = x[..., None] if x.ndim == 3 else x  # the network's inputs are the same
    with tempfile.TemporaryDirectory(prefix="paragrad-") as folder:
        unused = np.zeros(len(x), int) if of_classes else np.zeros((len(x), outputs))
        data = dataset(out=Path(folder) / "x.h5", x_train=x, y_train=unused, lengths_train=lengths, classes=outputs if of_classes else 0)
        found = _core.predict(path, str(data), outputs, context)
        return np.exp(found) if of_classes else found


def check_type(run: Run, x: np.ndarray) -> None:
    """Raises Error if x would be scaled and the training's features were not, or the other way round. Floating-point numbers may have
    been scaled already."""
    features = run.features
    if features == "uint8" and x.dtype.kind in "iu" and x.dtype != np.uint8:
        raise Error(f"'{run.folder}' was trained on uint8, which is scaled to go from 0 to 1: x must be uint8, too, not {x.dtype}")
    if features == "float32" and x.dtype == np.uint8:
        raise Error(f"'{run.folder}' was not trained on uint8, which is scaled to go from 0 to 1: convert x to the type of the training")


def frames_in(context: str) -> int:
    """Of the text `5+5`, or "" for one frame."""
    counts = context.split("+") if context else []
    if not all(count.isdecimal() for count in counts):
        raise Error(f"the `context` of the run is {context!r}, not two numbers such as 5+5")
    return 1 + sum(map(int, counts))
