"""The keys of a config.toml and what their values are. README.md in this folder describes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from config import BOUNDS, SIZES
from paragrad.runs import AFTER


@dataclass(frozen=True)
class Kind:
    """What a value is; of a table, or of several tables, also what its keys are."""

    words: str  # for the message "has to be …"; {key} stands for the value's key
    fits: Callable[[Any], bool]
    keys: dict[str, Kind] = field(default_factory=dict)
    needed: tuple[str, ...] = ()
    others: Kind | None = None  # what all other keys are; None: there are none


def list_of(kind: Kind, words: str = "") -> Kind:
    return Kind(words, lambda value: isinstance(value, list) and value != [] and all(map(kind.fits, value)))


def table(keys: dict[str, Kind], needed: tuple[str, ...] = (), others: Kind | None = None) -> Kind:
    return Kind("a table, in single brackets or as {key} = {{ … }}", lambda value: isinstance(value, dict), keys, needed, others)


def tables(keys: dict[str, Kind], needed: tuple[str, ...] = (), others: Kind | None = None) -> Kind:
    return Kind("tables in double brackets, [[{key}]]",
                lambda value: isinstance(value, list) and all(isinstance(one, dict) for one in value), keys, needed, others)


TEXT = Kind("a string", lambda value: isinstance(value, str))
NUMBER = Kind("a number", lambda value: type(value) in (int, float))
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
WHOLE = Kind("an integer", lambda value: type(value) is int)
COUNT = Kind("an integer of at least 1", lambda value: type(value) is int and value > 0)
TEXTS = list_of(TEXT, "a list of strings")
TEXT_OR_TEXTS = Kind("a string or a list of strings", lambda value: TEXT.fits(value) or TEXTS.fits(value))
NUMBER_OR_RUN = Kind("a number or run.metric", lambda value: NUMBER.fits(value) or TEXT.fits(value))
SEEDS = Kind("a list of different integers", lambda value: list_of(WHOLE).fits(value) and len(set(value)) == len(value))
RUNGS = Kind("a list of integers of at least 1", lambda value: isinstance(value, list) and all(map(COUNT.fits, value)))
OPTION = Kind("a string, a number, true or false, or in a search a list of these",
              lambda value: isinstance(value, (str, int, float)) or isinstance(value, list) and all(map(OPTION.fits, value)))
VALUES = list_of(OPTION, "a list with at least one value")
TRIED = Kind("a list of numbers, of strings, or of true and false",
             lambda value: any(list_of(kind).fits(value) for kind in (NUMBER, TEXT, FLAG)))

NAMES = table({}, others=list_of(TEXT, "a list of strings"))
OPTIONS, LISTS, GRID = table({}, others=OPTION), table({}, others=VALUES), table({}, others=TRIED)
SIZE = table({"seeds": SEEDS, "runs": TEXTS, "data": TEXTS, "options": OPTIONS})
TUNE = {"rungs": RUNGS, "keep": NUMBER, "grid": GRID}  # what may differ on a data set
CONFIG = table({
    "command": TEXT,
    "baseline": TEXT,
    "options": OPTIONS,
    "size": table(dict.fromkeys(SIZES, SIZE)),
    "data": tables({"name": TEXT, "file": TEXT, "optional": FLAG, "tuned_on": TEXT, "instead_of": TEXT, "options": OPTIONS, "at": NUMBER,
                    "tune": table(TUNE)}, ("name", "file")),
    **dict.fromkeys(AFTER, OPTIONS),
    "initial": OPTIONS,
    "run": tables({"name": TEXT, "command": TEXT, "baseline": TEXT, "each": LISTS, "grid": LISTS}, ("name",), others=OPTION),
    "tune": table({"option": TEXT, "measure": TEXT, "seeds": SEEDS, **TUNE}, ("option", "measure", "seeds", "grid")),
    "claim": tables({"text": TEXT, "left": NUMBER_OR_RUN, "op": TEXT, "right": NUMBER_OR_RUN, "stated": TEXT, "margin": NUMBER,
                     "sizes": TEXTS, "data": TEXTS, "each": LISTS}, ("text", "left", "op", "right", "stated")),
    "published": tables({"text": TEXT, "column": TEXT, "metric": TEXT, "scale": NUMBER, "rows": TEXTS, **dict.fromkeys(BOUNDS, NUMBER),
                         "stated": TEXT, "sizes": TEXTS, "file": TEXT, "key": TEXT}, ("text", "column", "metric")),
    "table": tables({"title": TEXT, "runs": TEXTS, "curves": COUNT, "against": TEXT, "along": TEXT, "costs": TEXTS, "rows": TEXT,
                     "columns": TEXT_OR_TEXTS, "value": TEXT, "least": TEXT, "map": TEXT, "places": NAMES}),
    "stale": tables({"why": TEXT, "sizes": TEXTS, "runs": TEXTS, "data": TEXTS}, ("why",)),
    "repeats": tables({"metric": TEXT, "absolute": NUMBER, "relative": NUMBER, "deviations": NUMBER, "sizes": TEXTS, "runs": TEXTS},
                      ("metric",)),
})
