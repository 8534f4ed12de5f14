"""The options of commands as keywords, from the program's descriptions: for help(), inspect.signature() and type checkers.

`python -m paragrad.keywords FILE` writes the types of the keywords, as `paragrad/_options.pyi`.
"""

from __future__ import annotations

import inspect
import json
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from . import _core

Function = TypeVar("Function", bound=Callable[..., Any])
TRAININGS = ("simulate", "train")
KINDS = {"BOOLEAN": "bool", "INT": "Whole", "UINT": "Whole", "FLOAT": "Real", "TEXT": "Text", "PATH": "Text"}
GIVEN = {"data", "model", "on_epoch", "out", "platform", "progress", "strategy"}  # parameters of their own, in both or one of the functions
PARAMETERS = {"simulate": GIVEN | {"workers"}, "train": GIVEN - {"platform"}}
HEAD = '''"""Written by paragrad.keywords: the options of the commands that train, as keywords."""

from collections.abc import Sequence
from os import PathLike
from typing import Any, TypeAlias, TypedDict

import numpy as np

Whole: TypeAlias = int | np.integer[Any]
Real: TypeAlias = float | np.floating[Any] | np.integer[Any]
Text: TypeAlias = str | PathLike[str]
Array: TypeAlias = np.ndarray[Any, Any]
'''


def options_of(command: str) -> dict[str, dict[str, Any]]:
    """What `paragrad help COMMAND --format json` says of each option, by its keyword."""
    _, printed = _core.run(["help", command, "--format", "json"], None)
    return {option["name"].replace("-", "_"): option for option in json.loads(printed)[-1]["options"] if option["name"] != "help"}


def type_of(option: dict[str, Any]) -> str:
    """As a type checker sees it. Every option may be None, which leaves it out."""
    name = KINDS[option["kind"].removesuffix(",...")]
    types = [name] if not option["kind"].endswith(",...") else [name, f"Sequence[{name}]", "Array", "str"]
    if name in ("Whole", "Real") and not is_number(option["default"]) and "str" not in types:
        types.append("str")  # such as "auto"
    return " | ".join([*types, "None"])


def is_number(text: str) -> bool:
    try:
        float(text or "0")
        return True
    except ValueError:
        return False


def default_of(option: dict[str, Any]) -> Any:
    text = option["default"]
    if option["kind"] == "BOOLEAN":
        return text == "true"
    if option["kind"] in ("INT", "UINT", "FLOAT") and text and is_number(text):
        return float(text) if option["kind"] == "FLOAT" else int(text)
    return text or None


def documented(command: str) -> Callable[[Function], Function]:
    """Adds the command's options to a function's docstring and signature."""
    def add(function: Function) -> Function:
        own = inspect.signature(function)
        parameters = [one for one in own.parameters.values() if one.kind is not one.VAR_KEYWORD]
        lines = []
        for name, option in options_of(command).items():
            if name in own.parameters:
                continue
            limits = option["range"] or (", ".join(option["values"]) if option["kind"] != "BOOLEAN" else "")
            kind = f"{option['kind']} {limits}".strip()
            lines.append(textwrap.fill(f"{name} ({kind}): {option['help']}" + (f"; default: {option['default']}" if option["default"] else ""),
                                       120, initial_indent="    ", subsequent_indent="        ", break_on_hyphens=False))
            parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default_of(option)))
        function.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        function.__doc__ = inspect.cleandoc(function.__doc__ or "") + "\n\nOptions:\n\n" + "\n".join(lines) + "\n"
        return function
    return add


def stub() -> str:
    """The text of _options.pyi."""
    text = HEAD
    for command in TRAININGS:
        text += f"\n\nclass {command.capitalize()}Options(TypedDict, total=False):\n"
        for name, option in options_of(command).items():
            if name not in PARAMETERS[command]:
                text += f"    {name}: {type_of(option)}\n    {json.dumps(option['help'], ensure_ascii=False)}\n"
    return text


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(stub(), encoding="utf-8")
