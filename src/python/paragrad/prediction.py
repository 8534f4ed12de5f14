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

    x: as in the training, before what import-numpy does to it; lengths: of the sequences, for recurrent networks. A data file
    that was made with `normalise` does not keep the means and variances, so normalise x yourself.
    """
    path = str(model.folder / "checkpoint.h5" if isinstance(model, Run) else model)
    inputs, outputs, loss = (_core.read_checkpoint(path)[key] for key in ("inputs", "outputs", "loss"))
    of_classes = loss != "squared_error"
    x = array_of("x", x)
    if len(x) == 0:
        raise Error("x has no samples")
    if x.ndim < 2 or x[0].size != inputs:
        raise Error(f"'{path}' has {inputs} inputs, which arrays of the shape {x.shape} do not give: they must be samples x inputs")
    with tempfile.TemporaryDirectory(prefix="paragrad-") as folder:
        unused = np.zeros(len(x), int) if of_classes else np.zeros((len(x), outputs))
        data = dataset(out=Path(folder) / "x.h5", x_train=x, y_train=unused, lengths_train=lengths, classes=outputs if of_classes else 0)
        found = _core.predict(path, str(data), outputs)
        return np.exp(found) if of_classes else found
