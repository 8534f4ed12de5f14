"""Applies trained networks to arrays."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from . import _core
from .datasets import dataset
from .runs import Error, Run


def predict(model: Run | Path | str, x: Any, lengths: Any = None) -> np.ndarray:
    """The probability of each class for samples x, [samples][classes], by a run's network or a checkpoint's.

    x: as in the training, before what import-numpy does to it; lengths: of the sequences, for recurrent networks. A data file
    that was made with `normalise` does not keep the means and variances, so normalise x yourself.
    """
    path = str(model.folder / "checkpoint.h5" if isinstance(model, Run) else model)
    inputs, outputs = (_core.read_checkpoint(path)[key] for key in ("inputs", "outputs"))
    x = np.asarray(x)
    if x.ndim < 2 or x[0].size != inputs:
        raise Error(f"'{path}' has {inputs} inputs, which arrays of the shape {x.shape} do not give: they must be samples x inputs")
    with tempfile.TemporaryDirectory(prefix="paragrad-") as folder:
        data = dataset(out=Path(folder) / "x.h5", x_train=x, y_train=np.zeros(len(x), int), lengths_train=lengths, classes=outputs)
        return np.exp(_core.log_posteriors(path, str(data), outputs))
