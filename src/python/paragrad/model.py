"""Models written in Python."""

from __future__ import annotations

import gc
import hashlib
import itertools
import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from .given import attributes_of
from .runs import Error
from .source import fingerprint
from .user_objects import Calls, identity_of


class Model:
    """A model that every strategy trains in every world. Derive from it and give an object as `model`.

    One object computes for all workers of a process, whose parameters it is passed: it keeps nothing between calls, and draws random
    numbers from `seed` only. Arrays in `arrays` are a worker's memory, for reading; buffers may be changed in place in forward() of a
    training. All arrays are float32. `loss` and the local optimiser are options of the training, as for other models.
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
    def size(self) -> int:
        return self.initial.size

    @property
    def columns(self) -> int:
        """Of the matrix that it is to optimisers and compressions: of a vector one."""
        return self.shape[0] if len(self.shape) > 1 else 1

    @property
    def rows(self) -> int:
        return self.size // self.columns


@dataclass
class Layer:
    name: str
    arrays: list[Array]
    is_table: bool
    flops: int  # of the forward pass, per row


class GivenModel:
    """The model of a call: what the program asks of it. Raises Error for one that cannot be trained."""

    def __init__(self, model: Model) -> None:
        kind = getattr(model, "_kind", type(model))
        self.model = model
        self.name = kind.__qualname__
        self.tokens = pair_of(self.name, model.tokens)
        self.shape = (1,) if self.tokens else shape_of(self.name, getattr(model, "inputs", None))
        self.inputs = math.prod(self.shape)
        self.outputs = count_of(f"{self.name}.outputs", getattr(model, "outputs", None))
        self.layout = model.layout
        if self.layout not in (None, "channels-first"):
            raise Error(f"{self.name}.layout must be None or \"channels-first\", not {self.layout!r}")
        self.has_loss = model.loss is not None
        parameters, buffers = (given_arrays(self.name, function, self.asked(function)) for function in ("parameters", "buffers"))
        self.arrays, self.buffers = (as_arrays(given) for given in (parameters, buffers))
        if not self.arrays:
            raise Error(f"{self.name}.parameters() must name at least one array")
        if twice := parameters.keys() & buffers.keys():
            raise Error(f"{self.name} has both a parameter and a buffer {min(twice)!r}")
        self.layers = self.with_work(layers_of(self.arrays))
        shapes = [(array.name, array.shape) for array in [*self.arrays, *self.buffers]]
        trained = {id(array) for array in (parameters | buffers).values()}
        state = model._described() if hasattr(model, "_described") else attributes_of(model)
        sha256, self.record = identity_of(kind, {"object": fingerprint(state, trained), "shapes": fingerprint(shapes)})
        self.sha256 = sha256[:16]
        initial = hashlib.sha256(b"".join(array.initial.tobytes() for array in [*self.arrays, *self.buffers])).hexdigest()[:16]
        self.text = f"zoo:python:name={self.name},sha256={self.sha256},initial={initial}"
        self.called = Calls(model, self.name, "make one from forward's argument seed, as numpy.random.default_rng(seed)")

    def asked(self, function: str) -> Any:
        try:
            return getattr(self.model, function)()
        except Error:
            raise
        except Exception as error:  # whatever the class's own code raises
            raise Error(f"{self.name}.{function}: {type(error).__name__}: {error}") from error

    def with_work(self, layers: list[tuple[str, list[Array]]]) -> list[Layer]:
        names = [name for name, _ in layers]
        flops, tables = self.asked("flops"), self.model.tables
        if not isinstance(flops, dict) or not all(isinstance(count, (int, float)) and 0 <= count < 2**53 for count in flops.values()):
            raise Error(f"{self.name}.flops() must return a dict of counts by layer, not {flops!r}")
        if unknown := [name for name in [*flops, *tables] if name not in names]:
            raise Error(f"{self.name} has no layer {unknown[0]!r}: its parameters name the layers {', '.join(names)}")
        return [Layer(name, arrays, name in tables, round(flops.get(name, 2 * sum(array.size for array in arrays)))) for name, arrays in layers]

    def forward(self, views: list[np.ndarray], x: np.ndarray, rows: int, seed: int | None) -> tuple[np.ndarray, Any]:
        x = self.samples(x, rows)
        returned = self.called("forward", self.named(views, seed is None), x, seed)
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

    def backward(self, kept: list[Any], gradient: np.ndarray) -> list[np.ndarray]:
        views, saved = kept
        kept.clear()
        gradient = self.in_windows(gradient, self.outputs) if self.tokens else gradient.reshape(-1, self.outputs)
        gradients = self.called("backward", self.named(views, True), saved, gradient)
        if not isinstance(gradients, dict) or gradients.keys() != {array.name for array in self.arrays}:
            found = sorted(map(str, gradients)) if isinstance(gradients, dict) else type(gradients).__name__
            raise Error(f"{self.name}.backward must return a dict of the gradients of {', '.join(array.name for array in self.arrays)}, not {found}")
        result = [self.checked("backward", f"a gradient of {array.name}", gradients[array.name], array.shape).reshape(-1) for array in self.arrays]
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
        errors = 0 if labels is None else int(((outputs.argmax(-1) != y) & (y >= 0)).sum())
        shape = outputs.shape
        returned = self.called("loss", outputs, y)
        if not isinstance(returned, tuple) or len(returned) != 2 or np.ndim(returned[0]) != 0:
            raise Error(f"{self.name}.loss must return the mean loss, a number, and its gradient, not {type(returned).__name__}")
        gradient = self.checked("loss", "a gradient", returned[1], shape)
        return float(returned[0]) * scored, errors, self.in_rows(gradient) * np.float32(scored)

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

    def named(self, views: list[np.ndarray], keeps_buffers: bool) -> dict[str, np.ndarray]:
        arrays, writes = {}, getattr(self.model, "_takes_writable", False)
        for k, (view, of) in enumerate(zip(views, [*self.arrays, *self.buffers])):
            arrays[of.name] = view.reshape(of.shape)
            if not writes and (k < len(self.arrays) or keeps_buffers):
                arrays[of.name].flags.writeable = False
        return arrays

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


def count_of(what: str, value: Any) -> int:
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= 1:
        return int(value)
    raise Error(f"{what} is missing" if value is None else f"{what} must be a whole number of at least 1, not {value!r}")


def shape_of(model: str, inputs: Any) -> tuple[int, ...]:
    if inputs is None:
        raise Error(f"{model}.inputs, the shape of a sample, is missing")
    sizes = inputs if isinstance(inputs, (tuple, list)) and inputs else (inputs,)
    return tuple(count_of(f"{model}.inputs", size) for size in sizes)


def pair_of(model: str, tokens: Any) -> tuple[int, int] | None:
    if tokens is None:
        return None
    if not isinstance(tokens, (tuple, list)) or len(tokens) != 2:
        raise Error(f"{model}.tokens must be the size of the vocabulary and the tokens of a window, not {tokens!r}")
    return count_of(f"{model}.tokens", tokens[0]), count_of(f"{model}.tokens", tokens[1])


def given_arrays(model: str, function: str, returned: Any) -> dict[str, np.ndarray]:
    if not isinstance(returned, dict):
        raise Error(f"{model}.{function}() must return a dict of arrays, not {type(returned).__name__}")
    for name, values in returned.items():
        if not isinstance(name, str) or not name.isprintable() or not name:
            raise Error(f"the names in {model}.{function}() must be printable texts, not {name!r}")
        array = np.asarray(values)
        if array.dtype.kind != "f" or array.size == 0:
            raise Error(f"{name!r} of {model}.{function}() must have floating-point numbers, not {array.dtype} of the shape {array.shape}")
    return returned


def as_arrays(given: dict[str, Any]) -> list[Array]:
    return [Array(name, np.shape(values), np.ascontiguousarray(values, np.float32).reshape(-1)) for name, values in given.items()]


def layers_of(arrays: list[Array]) -> list[tuple[str, list[Array]]]:
    """Neighbours that share what is before the last dot of their names."""
    return [(name, list(layer)) for name, layer in itertools.groupby(arrays, lambda array: array.name.rpartition(".")[0] or array.name)]
