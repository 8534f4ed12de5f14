"""Compressors written in Python."""

from __future__ import annotations

import numpy as np

from .given import attributes_of
from .runs import Error
from .source import fingerprint
from .user_objects import Calls, identity_of


class Compressor:
    """How a gradient, or a displacement of models, travels. Derive from it and give an object as `compression` or `outer_compression`.

    Arrays are encoded one by one: a layer's weights as a matrix [inputs][outputs], or some of its rows where the gradient is cut,
    biases as a vector. Codes of arrays of one shape have equal lengths. The error of a code is kept and added to the next array, as
    for Paragrad's own compressions (`error_feedback`, `error_decay`); `gather_codes` sends each code to all workers.
    One object serves all workers of a process: it keeps nothing between calls, and draws from no global generator of random numbers.
    """

    def encode(self, x: np.ndarray) -> bytes | np.ndarray:
        """The code of a float32 array."""
        raise NotImplementedError

    def decode(self, code: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """The array that a code, uint8, stands for."""
        raise NotImplementedError


class GivenCompressor:
    """The compressor of a call: what the program asks of it."""

    def __init__(self, compressor: Compressor) -> None:
        kind = type(compressor)
        self.name = kind.__qualname__.rpartition(".")[2]
        sha256, self.record = identity_of(kind, {"object": fingerprint(attributes_of(compressor))})
        self.text = f"{self.name}@{sha256[:16]}"
        self.called = Calls(compressor, self.name, "draw from one of a fixed seed, as numpy.random.default_rng(1)")

    def bytes(self, rows: int, columns: int) -> int:
        return len(self.coded(np.zeros(rows * columns, np.float32), rows, columns))

    def encode(self, x: np.ndarray, rows: int, columns: int, length: int) -> np.ndarray:
        code = self.coded(x, rows, columns)
        if len(code) != length:
            raise Error(f"{self.name}.encode must return as many bytes for every array of the shape {shape_of(rows, columns)}: {length}, not {len(code)}")
        return code

    def coded(self, x: np.ndarray, rows: int, columns: int) -> np.ndarray:
        code = self.called("encode", x.reshape(shape_of(rows, columns)))
        if isinstance(code, (bytes, bytearray)):
            return np.frombuffer(bytes(code), np.uint8)
        if not isinstance(code, np.ndarray) or code.dtype.hasobject:
            raise Error(f"{self.name}.encode must return bytes or an array, not {type(code).__name__}")
        return np.ascontiguousarray(code).reshape(-1).view(np.uint8)

    def decode(self, code: np.ndarray, rows: int, columns: int) -> np.ndarray:
        shape = shape_of(rows, columns)
        x = np.asarray(self.called("decode", code, shape))
        if x.dtype.kind != "f" or x.shape != shape:
            raise Error(f"{self.name}.decode must return an array of numbers of the shape {shape}, not {x.dtype} of the shape {x.shape}")
        return np.ascontiguousarray(x, np.float32).reshape(-1)


def shape_of(rows: int, columns: int) -> tuple[int, ...]:
    return (columns, rows) if columns > 1 else (rows,)
