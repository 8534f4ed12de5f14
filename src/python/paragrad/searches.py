"""Searches over options: what their folders hold, and `search` itself."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from .runs import Error, Rows, Run, json_object, of_its_files, read, runs_in

FILE = "search.toml"
HEAD = "# The options of the runs, written by paragrad.search.\n"


class Search:
    """The folder of a search. `report`: what the command has printed."""

    def __init__(self, folder: Path | str, report: str = "") -> None:
        self.folder, self.report = Path(folder), report

    def __repr__(self) -> str:
        return f"Search('{self.folder}')"

    def __fspath__(self) -> str:
        return str(self.folder)

    @property
    def runs(self) -> list[Run]:
        """Those that have recorded anything, in the order of their names."""
        return runs_in(self.folder)

    @cached_property
    def results(self) -> dict[str, Any]:
        """The content of results.json."""
        path = self.folder / "results.json"
        if not path.exists():
            raise Error(f"'{self.folder}' is not a search, or it has not been ranked: wait for its end, or use --only-rank")
        return read(path, json_object)

    @property
    @of_its_files
    def table(self) -> Rows:
        """The configurations, best first: `run`, the `method`, `options` that vary and, of each seed, the measure, `test_error`,
        `sent_bytes`, `training_s` and `remarks`."""
        return [dict(configuration) for configuration in self.results["configurations"]]

    @cached_property
    @of_its_files
    def best(self) -> dict[str, list[Run]]:
        """The runs, one per seed, of each method's best configuration, best first; without methods, of the best configuration.
        A method whose runs all failed is left out."""
        measure, seeds = self.results["measure"], self.results["seeds"]
        first: dict[str, dict[str, Any]] = {}
        for configuration in self.table:
            if None not in configuration[measure]:
                first.setdefault(configuration.get("method", ""), configuration)
        return {method or f"configuration {one['run']}": [Run(self.folder / f"{one['run']}-s{seed}") for seed in seeds]
                for method, one in first.items()}


def search(runs: Sequence[Mapping[str, Any]] = (), *, out: str | Path, command: str = "simulate", seeds: Sequence[int] = (1,),
           draws: int | None = None, draw_seed: int | None = None, measure: str | None = None, rungs: Sequence[int] | None = None,
           keep: float | None = None, jobs: int | None = None, ranks: int | None = None, host_threads: int | None = None,
           groups: int | None = None, **options: Any) -> Search:
    """Trains with all combinations of options and ranks them: `paragrad search`. Runs are processes of the program, several at a time.

    options: of all runs, as for simulate. A list is a grid; "0.01..1 log" is a range to draw from, `draws` times.
    runs: methods to compare, each at its own best: a dict of each with its own options and, if you like, a `name`.
    out: the folder, in which the same call continues a search that was interrupted.

    Raises Error if a run was refused. A strategy, a model or a compressor in Python is a part of this process, which runs are not:
    call simulate for each instead, and give plot() a dict of the runs.
    """
    from .datasets import file_of  # which needs the compiled module
    from .training import command as execute
    for name in ("on_epoch", "progress"):
        if options.pop(name, None) is not None:
            raise Error(f"{name} is for one run in this process: leave it out")
    if isinstance(runs, str | Mapping) or not all(isinstance(method, Mapping) and all(isinstance(key, str) for key in method) for method in runs):
        raise Error("runs must be a list of dicts, one with the options of each method")
    if any(not isinstance(method.get("data", ""), str | os.PathLike) for method in runs):
        raise Error("the data of a method must be a data file: make one of arrays with paragrad.dataset")
    folder = Path(out)
    require_own(folder)
    data = file_of(options.pop("data", None), folder, None)
    try:
        text = HEAD + toml_of(({"data": data.given} if data.given is not None else {}) | options)
        text += "".join("\n[[run]]\n" + toml_of(method) for method in runs)
        begin(folder, text)
        report = execute("search", folder / FILE, out=folder, command=command, seeds=[seeds] if isinstance(seeds, int) else list(seeds),
                         draws=draws, draw_seed=draw_seed, measure=measure, rungs=rungs, keep=keep, jobs=jobs, ranks=ranks,
                         host_threads=host_threads, groups=groups)
    except BaseException:
        if not (folder / "search.json").exists():
            data.forget_unless_used_by(folder)
        raise
    return Search(folder, report)


def require_own(folder: Path) -> None:
    """Raises Error for a folder that holds something else than a search of this function."""
    if folder == Path():
        raise Error("give `out` a folder of its own, such as 'searches/one'")
    if (folder / "metrics.jsonl").exists():
        raise Error(f"'{folder}' contains a run; choose another `out`")
    file = folder / FILE
    if file.exists() and not file.read_text(encoding="utf-8", errors="replace").startswith(HEAD):
        raise Error(f"'{file}' was not written by paragrad.search: choose another `out`")


def begin(folder: Path, text: str) -> None:
    """Writes the file of the search, unless it is there."""
    file = folder / FILE
    try:
        if (folder / "search.json").exists():
            if not file.exists() or file.read_text(encoding="utf-8", errors="replace") != text:
                raise Error(f"'{folder}' holds another search: give the same options as before, or another `out`")
            return
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Error(f"cannot write '{file}': {error.strerror}") from error


def toml_of(options: Mapping[str, Any]) -> str:
    return "".join(f"{name.replace('_', '-')} = {value_of(name, value)}\n" for name, value in options.items() if value is not None)


def value_of(name: str, value: Any, in_list: bool = False) -> str:
    """As TOML: a truth value, a number, a text, or a list of these."""
    if hasattr(value, "tolist"):  # of NumPy
        value = value.tolist()
    if isinstance(value, Run):
        value = value.folder / "checkpoint.h5"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str | os.PathLike) and is_text(text := os.fspath(value)):
        return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple) and not in_list:
        return f"[{', '.join(value_of(name, one, True) for one in value)}]"
    kind = "a list within a list" if in_list and isinstance(value, list | tuple) else f"{value!r:.60}" if isinstance(value, str) else type(value).__name__
    raise Error(f"{name} must be a text, a number or a list of them, not {kind}: runs of a search are other processes")


def is_text(text: str | bytes) -> bool:
    """Of a file name, too, which may hold any bytes."""
    try:
        text.encode()  # type: ignore[union-attr]
    except (AttributeError, UnicodeEncodeError):
        return False
    return True
