"""The strategy of a call: what workers' objects are made from, and what a run records of it."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import json
import reprlib
from typing import Any

import numpy as np

from ._core import nearest_name
from .runs import Error
from .source import fingerprint
from .strategy import Strategy
from .user_objects import identity_of


class Given:
    """The strategy of a call: a class derived from Strategy, or an object of one. Calling this makes a worker's object, which is
    like the one that was given."""

    def __init__(self, strategy: type[Strategy] | Strategy) -> None:
        self.kind = strategy if isinstance(strategy, type) else type(strategy)
        if not (inspect.isclass(self.kind) and issubclass(self.kind, Strategy)):
            raise Error(f"strategy must be a name, or a class derived from paragrad.Strategy, not {strategy!r}")
        check_that_it_exchanges(self.kind)
        if self.kind is strategy:
            self.values: dict[str, Any] = {}
            self.first: Strategy | None = self.made()
            values = {field.name: value for field in fields_of(self.first) if (value := recorded(getattr(self.first, field.name))) is not LOST}
        else:
            if not dataclasses.is_dataclass(strategy):
                raise Error(f"give the class {self.kind.__qualname__} itself, or make it a dataclass: its fields are then its options")
            values = self.values = {field.name: value_of(strategy, field.name) for field in fields_of(strategy)}
            self.first = self.made()
            check_likeness(strategy, self.first)
        self.name = f"{self.kind.__module__}:{self.kind.__qualname__}"
        self.arguments = json.dumps(values)
        self.source_sha256, self.record = identity_of(self.kind, {})

    @property
    def options(self) -> dict[str, str]:
        """Of the command line."""
        strategy = "python_exchange" if hasattr(self.kind, "step") else "python_meeting" if hasattr(self.kind, "meet") else "python"
        return {"strategy": strategy, "python-class": self.name, "python-arguments": self.arguments, "python-source-sha256": self.source_sha256}

    def made(self) -> Strategy:
        try:
            made = self.kind(**json.loads(json.dumps(self.values)))  # lists of its own
        except Exception as error:  # whatever the class's own code raises
            raise Error(f"{self.kind.__qualname__}.__init__: {type(error).__name__}: {error}"
                        " (each worker's object is made from the class and the values of the dataclass's fields)") from error
        if type(made) is not self.kind:
            raise Error(f"{self.kind.__qualname__} makes an object of the class {type(made).__qualname__}: give that")
        return made

    def __call__(self) -> Strategy:
        first, self.first = self.first, None
        return self.made() if first is None else first


def fields_of(strategy: Strategy) -> list[dataclasses.Field]:
    """The arguments of a dataclass."""
    return [field for field in dataclasses.fields(strategy) if field.init] if dataclasses.is_dataclass(strategy) else []


def attributes_of(given: Any) -> dict[str, Any]:
    slots = [vars(kind).get("__slots__", ()) for kind in type(given).__mro__]
    names = [name for some in slots for name in ([some] if isinstance(some, str) else some)]
    return {name: getattr(given, name) for name in names if name not in ("__dict__", "__weakref__") and hasattr(given, name)} | getattr(given, "__dict__", {})


def check_likeness(given: Strategy, made: Strategy) -> None:
    """Raises Error if the workers' objects, which are made from the fields, are not like the one that was given."""
    kind = type(given).__qualname__
    wanted, found = attributes_of(given), attributes_of(made)
    for field in dataclasses.fields(given):  # an init=False one may be the class's
        for of, strategy in ((wanted, given), (found, made)):
            if hasattr(strategy, field.name):
                of.setdefault(field.name, getattr(strategy, field.name))
    for name in wanted | found:
        if name not in found:
            raise Error(f"{kind}.{name} was set on the object that is given, and the workers' own objects, which are made from its fields, "
                        "do not have it: make it a field")
        if name not in wanted:
            raise Error(f"{kind}.{name} was deleted from the object that is given, but the workers' own objects, which are made from its fields, have it")
        if fingerprint(plain(wanted[name])) != fingerprint(plain(found[name])):
            raise Error(f"{kind}.{name} is {reprlib.repr(wanted[name])} in the object that is given, but {reprlib.repr(found[name])} in the workers' "
                        "own objects, which are made from its fields: __init__ and __post_init__ must make the same object again from these "
                        "(InitVar and random numbers do not)")


def check_that_it_exchanges(kind: type[Strategy]) -> None:
    if hasattr(kind, "step") and hasattr(kind, "meet"):
        raise Error(f"the strategy {kind.__qualname__} defines both step and meet: leave one out")
    if kind.next_meeting is not Strategy.next_meeting and not hasattr(kind, "meet"):
        raise Error(f"the strategy {kind.__qualname__} defines next_meeting, but not meet: define meet too, or leave next_meeting out")
    if hasattr(kind, "step") or hasattr(kind, "meet") or kind.synchronise is not Strategy.synchronise:
        return
    own = [name for name in dir(kind) if not hasattr(Strategy, name)]
    meant = [f"; did you mean {near} instead of {name}?" for name in own if (near := nearest_name(name, ["step", "synchronise", "meet"]))]
    raise Error(f"the strategy {kind.__qualname__} defines none of step, meet and synchronise, so its workers would exchange nothing"
                + (meant[0] if meant else ": define one of them (an empty synchronise, if they exchange in show_model only)"))


LOST = object()


def plain(value: Any) -> Any:
    """A number of NumPy as one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def recorded(value: Any) -> Any:
    """The value as JSON preserves it, or LOST."""
    value = plain(value)
    with contextlib.suppress(TypeError, ValueError):
        if repr(json.loads(json.dumps(value))) == repr(value):
            return value
    return LOST


def value_of(strategy: Strategy, field: str) -> Any:
    if (value := recorded(getattr(strategy, field))) is not LOST:
        return value
    raise Error(f"{type(strategy).__qualname__}.{field} is {reprlib.repr(getattr(strategy, field))}, which JSON does not preserve: use numbers, strings, "
                "None, lists, and dicts whose keys are strings")
