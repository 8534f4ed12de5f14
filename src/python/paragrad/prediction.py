"""Applies trained networks to arrays."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from . import _core
from .datasets import array_of, write
from .model import Model
from .runs import Error, Run
from .training import _alone, model_of


def predict(model: Run | Path | str, x: Any, lengths: Any = None, layout: str | None = None,
            network: Model | None = None) -> np.ndarray:
    """The probability of each class for samples x, [samples][classes], by a run's network or a checkpoint's; if it was trained
    with loss="squared_error", its outputs, [samples][targets], or a score per class.

    x: as in the training, before what import-numpy does to it, and of the same type. A run knows how its training scaled uint8; for
    a checkpoint, uint8 is scaled to go from 0 to 1. A data file of another type that was made with `normalise` does not keep the means
    and variances, so normalise x yourself. layout: of images, as for dataset().
    lengths: of the sequences, for recurrent networks and those that were trained with `context`. A run knows its context; for a
    checkpoint, and if the data file has the context, the columns of x are the network's inputs, neighbouring frames included.
    network: the model in Python that was trained; a run of this process knows it.
    """
    path = str(model.folder / "checkpoint.h5" if isinstance(model, Run) else model)
    given = model_of(network, (x, None)) if network is not None else model._model if isinstance(model, Run) else None
    with _alone():
        checkpoint = _core.describe_checkpoint(path, given)
    layout = layout or (given.layout if given and np.ndim(x) == 4 else None)
    inputs, outputs = checkpoint["inputs"], checkpoint["outputs"]
    gives_probabilities = checkpoint["gives_probabilities"]
    of_classes = gives_probabilities or checkpoint["classes"] > 0
    x = array_of("x", x)
    if len(x) == 0:
        raise Error("x has no samples")
    context = ""
    if isinstance(model, Run):
        check_type(model, x)
        x = scaled(model, x)
        if x[0].size != inputs:
            context = str(model.config.get("context", ""))
    if x.ndim < 2 or x[0].size * frames_in(context) != inputs:
        raise Error(f"'{path}' has {inputs} inputs, which arrays of the shape {x.shape} do not give: they must be samples x inputs")
    if context and lengths is None:
        raise Error(f"'{model.folder}' was trained with `context` {context}: give the lengths of the sequences")
    x = x[..., None] if x.ndim == 3 else x  # the network's inputs are the same
    with tempfile.TemporaryDirectory(prefix="paragrad-") as folder:
        arrays = {"x_train": x, "y_train": np.zeros(len(x), int) if of_classes else np.zeros((len(x), outputs))}
        if lengths is not None:
            arrays["lengths_train"] = array_of("lengths", lengths)
        data = Path(folder) / "x.h5"
        write(arrays, name="x", out=data, classes=outputs if of_classes else 0, layout=layout, scale="bytes" if x.dtype == np.uint8 else None)
        with _alone():
            found = _core.predict(path, str(data), outputs, context, given)
        return np.exp(found) if gives_probabilities else found


def check_type(run: Run, x: np.ndarray) -> None:
    """Raises Error if x would be scaled and the training's features were not, or the other way round. Floating-point numbers may have
    been scaled already."""
    features = run.features
    if features == "uint8" and x.dtype.kind in "iu" and x.dtype != np.uint8:
        raise Error(f"'{run.folder}' was trained on uint8, which is scaled to go from 0 to 1: x must be uint8, too, not {x.dtype}")
    if features == "float32" and x.dtype == np.uint8:
        raise Error(f"'{run.folder}' was not trained on uint8, which is scaled to go from 0 to 1: convert x to the type of the training")


def scaled(run: Run, x: np.ndarray) -> np.ndarray:
    """uint8 as the network saw it in the run's training, if the run records that; other types as they are."""
    data = run.manifest.get("data", {})
    if x.dtype != np.uint8 or "feature_scale" not in data:
        return x
    return x.astype(np.float32) * np.float32(data["feature_scale"]) + np.float32(data["feature_offset"])


def frames_in(context: str) -> int:
    """Of the text `5+5`, or "" for one frame."""
    counts = context.split("+") if context else []
    if not all(count.isdecimal() for count in counts):
        raise Error(f"the `context` of the run is {context!r}, not two numbers such as 5+5")
    return 1 + sum(map(int, counts))
