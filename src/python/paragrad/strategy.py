"""Strategies written in Python."""

from __future__ import annotations

import dataclasses
import inspect
import json
import reprlib
from typing import TYPE_CHECKING, Any

from .runs import Error

if TYPE_CHECKING:
    import numpy

    from ._core import Replica, Worker


class Strategy:
    """How workers agree on one model. Derive from it, define what you need, and give the class as `strategy`.

    Every worker has an object of its own, and all make the same calls in the same order. They reach each other only through
    `worker`. A class with `step` exchanges the gradient of every minibatch; the workers of any other one train on their own
    between two calls of `synchronise`: define one of these. The fields of a dataclass are its options, which the run records as
    JSON: numbers, strings, and lists and dicts of these.

    `replica.parameters` and `replica.gradient` are NumPy arrays that share the worker's memory: change them in place.
    NumPy's arithmetic takes no simulated time; `worker.scale` and `worker.add` do.
    """

    def start(self, worker: Worker, replica: Replica) -> None:
        """Before the first epoch. The parameters are the same at all workers."""

    def begin_epoch(self, worker: Worker, replica: Replica, epoch: int) -> None:
        """Before an epoch, counted from 1."""

    def synchronise(self, worker: Worker, replica: Replica, samples: int) -> None:
        """At the end of a block, in which this worker has trained on `samples` samples."""

    def show_model(self, worker: Worker, replica: Replica) -> None:
        """Puts the model that is to be scored and saved into the parameters, the same at all workers."""

    def resume_work(self, worker: Worker, replica: Replica) -> None:
        """Undoes show_model."""

    def state(self) -> dict[str, numpy.ndarray]:
        """The float32 arrays, by name, that are saved with the model (`checkpoint_every`) and restored when the run is resumed.

        Return the same ones from `start` on, and the arrays themselves, not copies: a resumed run calls `start` on a new object
        and then overwrites them; so does `auto_minibatch` after each trial.
        """
        return {}


def options_of(strategy: type[Strategy] | Strategy) -> dict[str, str]:
    """The options of the command line for a strategy class, or for an object with other values of its fields."""
    kind = strategy if isinstance(strategy, type) else type(strategy)
    if not (inspect.isclass(kind) and issubclass(kind, Strategy)):
        raise Error(f"strategy must be a name, or a class derived from paragrad.Strategy, not {strategy!r}")
    if "<locals>" in kind.__qualname__:
        raise Error(f"the strategy {kind.__qualname__} is defined in a function: define it in a module or at the top of a notebook")
    if "." in kind.__qualname__:
        raise Error(f"the strategy {kind.__qualname__} is defined in a class: define it at the top of a module or notebook")
    check_that_it_exchanges(kind)
    values: dict[str, Any] = {}
    if not isinstance(strategy, type):
        if not dataclasses.is_dataclass(strategy):
            raise Error(f"give the class {kind.__qualname__} itself, or make it a dataclass: its fields are then its options")
        values = {field.name: recorded(f"{kind.__qualname__}.{field.name}", getattr(strategy, field.name))
                  for field in dataclasses.fields(strategy) if field.init}
    return {"strategy": "python_exchange" if hasattr(kind, "step") else "python",
            "python-class": f"{kind.__module__}:{kind.__qualname__}", "python-arguments": json.dumps(values)}


def check_that_it_exchanges(kind: type[Strategy]) -> None:
    if hasattr(kind, "step") or kind.synchronise is not Strategy.synchronise:
        return
    from ._core import nearest_name
    own = [name for name in dir(kind) if not hasattr(Strategy, name)]
    meant = [f"; did you mean {near} instead of {name}?" for name in own if (near := nearest_name(name, ["step", "synchronise"]))]
    raise Error(f"the strategy {kind.__qualname__} defines neither step nor synchronise, so its workers would exchange nothing"
                + (meant[0] if meant else ": define one of them (an empty synchronise, if they exchange in show_model only)"))


def recorded(name: str, value: Any) -> Any:
    """A field's value. Raises Error if it does not survive JSON unchanged."""
    import numpy
    if isinstance(value, numpy.generic):
        value = value.item()
    try:
        if repr(json.loads(json.dumps(value))) == repr(value):
            return value
    except (TypeError, ValueError):
        pass
    raise Error(f"{name} is {reprlib.repr(value)}, which JSON does not preserve: use numbers, strings, None, lists, and dicts whose keys "
                "are strings")
