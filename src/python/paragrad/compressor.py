"""Compressors written in Python."""

from __future__ import annotations

import hashlib
import json
import threading
from typing import Any

import numpy as np

from .runs import Error
from .source import fingerprint, parts_of


class Compressor:
    """How a gradient, or a displacement of models, travels. Derive from it and give an object as `compression` or `outer_compression`.

    Arrays are encoded one by one: a layer's weights as a matrix [inputs][outputs], or some of its rows where the gradient is cut,
    biases as a vector. Codes of arrays of one shape have equal lengths. The error of a code is kept and added to the next array, as
    for Paragrad's own compressions (`error_feedback`, `error_decay`); `gather_codes` sends each code to all workers.
    One object serves all workers of a process: it keeps nothing between calls.
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
        self.compressor = compressor
        self.name = kind.__qualname__.rpartition(".")[2]
        parts = parts_of(kind) | {"object": fingerprint(vars(compressor))}
        self.sha256 = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
        self.text = f"{self.name}@{self.sha256}"
        self._lock = threading.Lock()  # the workers' arithmetic runs on several threads

    def bytes(self, rows: int, columns: int) -> int:
        return len(self.coded(np.zeros(rows * columns, np.float32), rows, columns))

    def encode(self, x: np.ndarray, rows: int, columns: int, length: int) -> np.ndarray:
        code = self.coded(x, rows, columns)
        if len(code) != length:
            raise Error(f"{self.name}.encode must return as many bytes for every array of the shape {shape_of(rows, columns)}: {length}, not {len(code)}")
        return code

    def coded(self, x: np.ndarray, rows: int, columns: int) -> np.ndarray:
        with self._lock:
            code: Any = self.compressor.encode(x.reshape(shape_of(rows, columns)))
        if isinstance(code, (bytes, bytearray)):
            return np.frombuffer(bytes(code), np.uint8)
        if not isinstance(code, np.ndarray) or code.dtype.hasobject:
            raise Error(f"{self.name}.encode must return bytes or an array, not {type(code).__name__}")
        return np.ascontiguousarray(code).reshape(-1).view(np.uint8)

    def decode(self, code: np.ndarray, rows: int, columns: int) -> np.ndarray:
        shape = shape_of(rows, columns)
        with self._lock:
            x = np.asarray(self.compressor.decode(code, shape))
        if x.dtype.kind != "f" or x.shape != shape:
            raise Error(f"{self.name}.decode must return an array of numbers of the shape {shape}, not {x.dtype} of the shape {x.shape}")
        return np.ascontiguousarray(x, np.float32).reshape(-1)


def shape_of(rows: int, columns: int) -> tuple[int, ...]:
    return (columns, rows) if columns > 1 else (rows,)
