"""Searches over options: what their folders hold, and `search` itself."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from .runs import Error, Rows, Run, json_object, read, runs_in


class Search:
    """The folder of a search. `report`: what the command has printed."""

    def __init__(self, folder: Path | str, report: str = "") -> None:
        self.folder, self.report = Path(folder), report

    def __repr__(self) -> str:
        return f"Search('{self.folder}')"

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
    def table(self) -> Rows:
        """The configurations, best first: `run`, the `method`, `options` that vary and, of each seed, the measure, `test_error`,
        `sent_bytes`, `training_s` and `remarks`."""
        return self.results["configurations"]

    @cached_property
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
           keep: float | None = None, jobs: int | None = None, ranks: int | None = None, **options: Any) -> Search:
    """Trains with all combinations of options and ranks them: `paragrad search`. Runs are processes of the program, several at a time.

    options: of all runs, as for simulate. A list is a grid; "0.01..1 log" is a range to draw from, `draws` times.
    runs: methods to compare, each at its own best: a dict of each with its own options and, if you like, a `name`.
    out: the folder, in which the same call continues a search that was interrupted.

    Raises Error if a run was refused. A strategy, a model or a compressor in Python is a part of this process, which runs are not:
    call simulate for each instead, and give plot() a dict of the runs.
    """
    from .datasets import file_of  # which needs the compiled module
    from .training import command as execute
    for name, value in {"out": out, **options}.items():
        if name in ("on_epoch", "progress"):
            raise Error(f"{name} is for one run in this process: leave it out")
    folder = Path(out)
    data = file_of(options.pop("data", None), folder, None)
    try:
        text = toml_of(({"data": data.given} if data.given is not None else {}) | options)
        text += "".join("\n[[run]]\n" + toml_of(dict(method)) for method in runs)
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "search.toml"
        if (folder / "search.json").exists() and (not file.exists() or file.read_text() != text):
            raise Error(f"'{folder}' holds another search: give the same options as before, or another `out`")
        file.write_text(text)
        report = execute("search", file, out=folder, command=command, seeds=list(seeds), draws=draws, draw_seed=draw_seed, measure=measure,
                         rungs=rungs, keep=keep, jobs=jobs, ranks=ranks)
    except OSError as error:
        raise Error(f"cannot write '{folder}': {error.strerror}") from error
    return Search(folder, report)


def toml_of(options: Mapping[str, Any]) -> str:
    return "".join(f"{name.replace('_', '-')} = {value_of(name, value)}\n" for name, value in options.items() if value is not None)


def value_of(name: str, value: Any) -> str:
    """As TOML: a truth value, a number, a text, or a list of these."""
    if hasattr(value, "tolist"):  # of NumPy
        value = value.tolist()
    if isinstance(value, Run):
        value = value.folder / "checkpoint.h5"
    if isinstance(value, bool | int | float):
        return json.dumps(value).lower() if isinstance(value, bool) else repr(value)
    if isinstance(value, str | os.PathLike):
        return json.dumps(os.fspath(value), ensure_ascii=False)
    if isinstance(value, list | tuple):
        return f"[{', '.join(value_of(name, one) for one in value)}]"
    raise Error(f"{name} must be a text, a number or a list of them, not {type(value).__name__}: runs of a search are other processes")
