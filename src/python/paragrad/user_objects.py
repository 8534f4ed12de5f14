"""Models and compressors of the user's: what identifies them, and their calls."""

from __future__ import annotations

import hashlib
import json
import platform
import random
import sys
import threading
from typing import Any

import numpy as np

from .runs import Error
from .source import parts_of, text_of

WATCHED_CALLS = 20     # of an object's first ones, and every WATCHED_EVERY-th of the others
WATCHED_EVERY = 100


def identity_of(kind: type, more: dict[str, str]) -> tuple[str, str]:
    """A hash of what objects of a class do, and the record of it for a run's manifest, as JSON. more: parts besides those of the class."""
    parts = parts_of(kind) | more
    sha256 = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    record = {"class": f"{kind.__module__}:{kind.__qualname__}", "sha256": sha256, "python": platform.python_version(), "numpy": np.__version__,
              "parts": parts, "source": text_of(kind)}
    return sha256, json.dumps(record)


class Calls:
    """Calls of an object that serves all workers, one at a time, though their arithmetic runs on several threads. Their order is not
    the same in all runs, so what they draw from a global generator would not be, either."""

    def __init__(self, of: Any, name: str, advice: str) -> None:
        self.of, self.name, self.advice = of, name, advice
        self._lock = threading.Lock()
        self._count = 0

    def __call__(self, function: str, *arguments: Any) -> Any:
        """Raises Error for a call that is seen to draw from a global generator."""
        with self._lock:
            self._count += 1
            before = drawn_globally() if self._count < WATCHED_CALLS or self._count % WATCHED_EVERY == 0 else None
            returned = getattr(self.of, function)(*arguments)
            after = drawn_globally() if before is not None else None
        if after is not None and before != after:
            raise Error(f"{self.name}.{function} draws from a global generator of random numbers, which the order of the workers' calls would change: "
                        + self.advice)
        return returned


def drawn_globally() -> tuple[Any, ...] | None:
    """Changes when somebody draws from a global generator. None: other threads may do so."""
    if threading.active_count() > 1:
        return None
    numpys = np.random.get_state(legacy=False)
    torch = sys.modules.get("torch")
    of_torch = hash(torch.get_rng_state().numpy().tobytes()) if torch is not None and hasattr(torch, "get_rng_state") else 0
    return hash(random.getstate()), numpys["state"]["pos"], numpys["state"]["key"][0], numpys["has_gauss"], of_torch
