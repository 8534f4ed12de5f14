"""Models written in Python."""

from __future__ import annotations

import gc
import hashlib
import itertools
import json
import math
import platform
import random
import sys
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from .runs import Error
from .source import fingerprint, parts_of, text_of


class Model:
    """A model that every strategy trains in every world. Derive from it and give an object as `model`.

    One object computes for all workers of a process, whose parameters it is passed: it keeps nothing between calls, and draws random
    numbers from `seed` only. Arrays in `arrays` are a worker's memory, for reading; buffers may be changed in place while training.
    All arrays are float32. `loss` and the local optimiser are options of the training, as for other models.
    """

    inputs: int | tuple[int, ...]        # the shape of a sample
    outputs: int                         # per sample; per token of a text
    tokens: tuple[int, int] | None = None  # of a model of texts: size of the vocabulary, tokens of a window; `inputs` is not needed
    layout: str | None = None            # of images: "channels-first" if `inputs` are channels x height x width; otherwise channels come last
    tables: tuple[str, ...] = ()         # layers that are embeddings, for optimisers that treat them differently

    def parameters(self) -> dict[str, np.ndarray]:
        """Names and initial values, from the input to the output. `LAYER.NAME` belongs to a layer: the unit of buckets and fragments."""
        raise NotImplementedError

    def buffers(self) -> dict[str, np.ndarray]:
        """Names and initial values of what is neither parameter nor activation, such as running means. Workers average them."""
        return {}

    def forward(self, arrays: dict[str, np.ndarray], x: np.ndarray, seed: int | None) -> tuple[np.ndarray, Any]:
        """The outputs [samples][outputs] of x [samples][inputs…], before any softmax, and what `backward` needs of this call.

        x: of a text, int32 [windows][tokens], with outputs [windows][tokens][outputs].
        seed: for random numbers; None when the model is scored, and `backward` does not follow.
        """
        raise NotImplementedError

    def backward(self, arrays: dict[str, np.ndarray], saved: Any, gradient: np.ndarray) -> dict[str, np.ndarray]:
        """The gradients of the parameters, by name. saved: what forward() returned; gradient: with respect to its outputs."""
        raise NotImplementedError

    loss: Any = None
    """A method loss(outputs, y) that returns the mean loss of the samples (of a text, tokens) and its gradient with respect to the
    outputs, or None: then `loss` is an option of the training. y: int32 labels [samples], or targets [samples][targets]; of a text
    labels [windows][tokens], negative where there is none: such tokens do not count."""

    def flops(self) -> dict[str, float]:
        """Operations of the forward pass by layer, per sample (of a text per token), from which simulated times follow. A layer that
        is not named takes two per parameter."""
        return {}


@dataclass
class Array:
    name: str
    shape: tuple[int, ...]
    initial: np.ndarray  # [size]

    @property
    def columns(self) -> int:
        """Of the matrix that it is to optimisers and compressions: of a vector one."""
        return self.shape[0] if len(self.shape) > 1 else 1

    @property
    def rows(self) -> int:
        return self.initial.size // self.columns


@dataclass
class Layer:
    name: str
    arrays: list[Array]
    is_table: bool
    flops: int  # of the forward pass, per row


@dataclass
class Buffer:
    name: str
    shape: tuple[int, ...]
    size: int
    initial: float


class GivenModel:
    """The model of a call: what the program asks of it."""

    def __init__(self, model: Model) -> None:
        kind = type(model)
        self.model = model
        self.name = kind.__qualname__
        self.tokens = model.tokens
        self.shape = (1,) if model.tokens else shape_of(model)
        self.inputs = math.prod(self.shape)
        self.layout = model.layout
        self.has_loss = model.loss is not None
        self.outputs = model.outputs
        flops, layers = model.flops(), layers_of(model)
        if unknown := flops.keys() - {name for name, _ in layers} or set(model.tables) - {name for name, _ in layers}:
            raise Error(f"{self.name} has no layer {min(unknown)!r}: its parameters name the layers {', '.join(name for name, _ in layers)}")
        self.layers = [Layer(name, arrays, name in model.tables, round(flops.get(name, 2 * sum(array.initial.size for array in arrays))))
                       for name, arrays in layers]
        self.buffers = [buffer_of(self.name, name, values) for name, values in model.buffers().items()]
        self.arrays = [array for layer in self.layers for array in layer.arrays]
        shapes = [(array.name, array.shape) for array in [*self.arrays, *self.buffers]]
        parts = parts_of(kind) | {"object": fingerprint(described(model)), "shapes": fingerprint(shapes)}
        self.sha256 = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
        self.record = json.dumps({"class": f"{kind.__module__}:{kind.__qualname__}", "sha256": self.sha256, "python": platform.python_version(),
                                  "numpy": np.__version__, "parts": parts, "source": text_of(kind)})
        initial = hashlib.sha256(b"".join(array.initial.tobytes() for array in self.arrays)).hexdigest()[:16]
        self.text = f"zoo:python:name={self.name},sha256={self.sha256},initial={initial}"
        self._lock = threading.Lock()  # the workers' arithmetic runs on several threads

    def forward(self, views: list[np.ndarray], x: np.ndarray, rows: int, seed: int | None) -> tuple[np.ndarray, Any]:
        x = self.samples(x, rows)
        with self._lock:
            before = drawn_globally()
            returned = self.model.forward(self.named(views, seed is None), x, seed)
            if drawn_globally() != before:
                raise Error(f"{self.name}.forward draws from a global generator of random numbers, which the order of the workers' calls "
                            "would change: make one from `seed`, as with numpy.random.default_rng(seed)")
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise Error(f"{self.name}.forward must return its outputs and what backward needs, not {type(returned).__name__}")
        outputs, saved = returned
        shape = (len(x), self.tokens[1], self.outputs) if self.tokens else (rows, self.outputs)
        outputs = self.in_rows(self.checked("forward", "outputs", outputs, shape))
        if seed is None:
            del returned, saved
            self.check_released(views)
            return outputs, None
        return outputs, [views, saved]

    def samples(self, x: np.ndarray, rows: int) -> np.ndarray:
        """As the model takes them. Data files have channels last."""
        if self.tokens:
            return self.in_windows(x)
        if self.layout != "channels-first" or len(self.shape) != 3:
            return x.reshape(rows, *self.shape)
        channels, height, width = self.shape
        return np.ascontiguousarray(x.reshape(rows, height, width, channels).transpose(0, 3, 1, 2))

    def in_windows(self, rows: np.ndarray, *width: int) -> np.ndarray:
        """[windows][tokens]… of rows, which are the first tokens of all windows, then the second ones, and so on."""
        return np.ascontiguousarray(rows.reshape(self.tokens[1], -1, *width).swapaxes(0, 1))

    def in_rows(self, outputs: np.ndarray) -> np.ndarray:
        return (np.ascontiguousarray(outputs.swapaxes(0, 1)) if self.tokens else outputs).reshape(-1)

    def backward(self, kept: list[Any], gradient: np.ndarray) -> list[np.ndarray]:
        views, saved = kept
        kept.clear()
        gradient = self.in_windows(gradient, self.outputs) if self.tokens else gradient.reshape(-1, self.outputs)
        with self._lock:
            gradients = self.model.backward(self.named(views, True), saved, gradient)
        if not isinstance(gradients, dict) or gradients.keys() != {array.name for array in self.arrays}:
            found = sorted(gradients) if isinstance(gradients, dict) else type(gradients).__name__
            raise Error(f"{self.name}.backward must return a dict of the gradients of {', '.join(array.name for array in self.arrays)}, not {found}")
        result = [self.checked("backward", f"gradient of {array.name}", gradients[array.name], array.shape).reshape(-1) for array in self.arrays]
        del saved, gradients
        self.check_released(views)
        return result

    def loss(self, outputs: np.ndarray, y: np.ndarray) -> tuple[float, int, np.ndarray]:
        """The sum over the rows, how many outputs are largest for another class than y, and the sum's gradient."""
        rows = scored = outputs.size // self.outputs
        labels = y if y.dtype.kind == "i" else None
        if labels is not None:
            scored = int((labels >= 0).sum())
            if scored == 0:
                return 0.0, 0, np.zeros(outputs.size, np.float32)
        if self.tokens:
            outputs, y = self.in_windows(outputs, self.outputs), self.in_windows(y)
        else:
            outputs, y = outputs.reshape(rows, self.outputs), y if labels is not None else y.reshape(rows, -1)
        with self._lock:
            returned = self.model.loss(outputs.copy(), y.copy())
        if not isinstance(returned, tuple) or len(returned) != 2 or np.ndim(returned[0]) != 0:
            raise Error(f"{self.name}.loss must return the mean loss, a number, and its gradient, not {type(returned).__name__}")
        gradient = self.checked("loss", "a gradient", returned[1], outputs.shape)
        errors = 0 if labels is None else int(((outputs.argmax(-1) != y) & (y >= 0)).sum())
        return float(returned[0]) * scored, errors, self.in_rows(gradient) * np.float32(scored)

    def named(self, views: list[np.ndarray], keeps_buffers: bool) -> dict[str, np.ndarray]:
        arrays = {}
        for view, of in zip(views, [*self.arrays, *self.buffers]):
            arrays[of.name] = view.reshape(of.shape)
            if not self.model_writes and (isinstance(of, Array) or keeps_buffers):
                arrays[of.name].flags.writeable = False
        return arrays

    @property
    def model_writes(self) -> bool:
        """It takes writable arrays for parameters, and does not change them."""
        return getattr(self.model, "_takes_writable", False)

    def checked(self, function: str, what: str, values: Any, shape: tuple[int, ...]) -> np.ndarray:
        array = np.asarray(values)
        if array.dtype.kind != "f" or array.shape != shape:
            raise Error(f"{self.name}.{function} must return {what} of the shape {shape}, not {array.dtype} of the shape {array.shape}")
        return np.ascontiguousarray(array, np.float32)

    def check_released(self, views: list[np.ndarray]) -> None:
        """Raises Error if Python still has arrays on the worker's memory, which ends before they do."""
        if self.kept_of(views) and (gc.collect(), self.kept_of(views))[1]:
            raise Error(f"{self.name} keeps {', '.join(self.kept_of(views))}, which is a worker's memory: copy what you want to keep")

    def kept_of(self, views: list[np.ndarray]) -> list[str]:
        names = [of.name for of in [*self.arrays, *self.buffers]]
        return [names[k] for k in range(len(views)) if sys.getrefcount(views[k]) > 2]


def shape_of(model: Model) -> tuple[int, ...]:
    shape = getattr(model, "inputs", None)
    if shape is None:
        raise Error(f"{type(model).__name__}.inputs, the shape of a sample, is missing")
    return tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)


def layers_of(model: Model) -> list[tuple[str, list[Array]]]:
    """Neighbours that share what is before the last dot of their names."""
    arrays = []
    for name, values in model.parameters().items():
        values = np.asarray(values)
        if values.dtype.kind != "f" or values.size == 0:
            raise Error(f"the parameter {name!r} of {type(model).__name__} must have floating-point numbers, not {values.dtype} of the shape {values.shape}")
        arrays.append(Array(name, values.shape, np.ascontiguousarray(values, np.float32).reshape(-1)))
    if not arrays:
        raise Error(f"{type(model).__name__}.parameters() must name at least one array")
    return [(name, list(layer)) for name, layer in itertools.groupby(arrays, lambda array: array.name.rpartition(".")[0] or array.name)]


def buffer_of(model: str, name: str, values: np.ndarray) -> Buffer:
    values = np.asarray(values, np.float32)
    if values.size == 0 or (values != values.flat[0]).any():
        raise Error(f"the buffer {name!r} of {model} must begin with one number in all elements")
    return Buffer(name, values.shape, values.size, float(values.flat[0]))


def described(model: Model) -> Any:
    """What decides what the object computes, without the values of its parameters."""
    describe = getattr(model, "_described", None)
    return describe() if describe else {name: value for name, value in vars(model).items() if not isinstance(value, np.ndarray) or value.dtype.kind != "f"}


def drawn_globally() -> tuple[Any, ...]:
    """Changes when somebody draws from Python's or NumPy's global generator."""
    state = np.random.get_state(legacy=False)
    return hash(random.getstate()), state["state"]["pos"], state["state"]["key"][0], state["has_gauss"]
