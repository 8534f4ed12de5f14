"""Reads experiments/<name>/config.toml into plain objects. README.md in this folder describes the keys."""

from __future__ import annotations

import fnmatch
import itertools
import json
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
EXPERIMENTS = ROOT / "experiments"
sys.path.insert(0, str(ROOT / "src" / "python"))  # of the package paragrad, which reads run folders
SIZES = ("smoke", "laptop", "full")

Options = dict[str, Any]


class UserError(Exception):
    """A one-sentence message for the user; the exit status is then 2."""


@dataclass(frozen=True)
class DataSet:
    name: str
    file: str  # relative to the root; "" in an experiment without data
    optional: bool
    tuned_on: str  # the data set whose tuned values it uses, usually its own name
    instead_of: str = ""  # an earlier data set: this one is used only if that file is missing; "": always
    options: Options = field(default_factory=dict)  # for the runs on it that do not set them
    at: float | None = None  # its place on the axis of the tables with `along`
    tune: dict[str, Any] = field(default_factory=dict)  # what differs from [tune] on this data set


NO_DATA = DataSet("predicted", "", False, "predicted")  # timing only


@dataclass(frozen=True)
class Run:
    """One line of the table, repeated for each seed."""

    name: str
    options: Options
    command: str = "simulate"  # of the program
    baseline: str = ""         # the run that its speed-up is relative to
    own: Options = field(default_factory=dict)  # the options that the [[run]] sets itself
    series: str = ""           # nbm-*: the runs that differ only in the number of workers
    family: str = ""           # nbm: the common prefix of the names of its kind


@dataclass
class Experiment:
    name: str
    size: str
    seeds: list[int]
    data: list[DataSet]
    runs: list[Run]
    initial: Options | None  # the run whose checkpoint all others start from
    claims: list[dict[str, Any]]
    repeats: list[dict[str, Any]]
    published: list[dict[str, Any]] = field(default_factory=list)
    tables: list[dict[str, Any]] = field(default_factory=list)
    tune: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Options] = field(default_factory=dict)  # by command of paragrad.runs.AFTER: its options
    stale: list[dict[str, Any]] = field(default_factory=list)  # [[stale]] of this size

    @property
    def folder(self) -> Path:
        return EXPERIMENTS / self.name

    @property
    def baselines(self) -> dict[str, str]:
        return {run.name: run.baseline for run in self.runs}

    @property
    def runs_folder(self) -> Path:
        return self.folder / "runs" / self.size

    @property
    def tuned_file(self) -> Path:
        return self.folder / "tuned.toml"

    @property
    def trials_file(self) -> Path:
        return self.folder / "trials.json"

    @property
    def expected_file(self) -> Path:
        return self.folder / "expected.json"

    def run_folder(self, data: str, run: str, seed: int) -> Path:
        return self.runs_folder / data / f"{run}-s{seed}"

    def marks_on(self, data: str, run: str) -> tuple[str, ...]:
        """The reasons for which earlier records of the run are wrong, oldest first."""
        return tuple(mark["why"] for mark in self.stale
                     if any_of(mark.get("data", ["*"]), data) and any_of(mark.get("runs", ["*"]), run))

    def claims_of(self, data: str) -> list[dict[str, Any]]:
        return [claim for entry in self.claims if any_of(entry.get("data", ["*"]), data) for claim in spelled_out(entry)]

    def run(self, name: str) -> Run:
        for run in self.runs:
            if run.name == name:
                return run
        known = ", ".join(run.name for run in self.runs)
        raise UserError(f"{self.name} has no run '{name}' in size {self.size}; known: {known}")


BOUNDS = ("within", "within_points", "mean_within")  # of a [[published]]
STATED = {"before": "", "after": "stated after a result", "reversed": "stated after a result, contradicting an earlier claim"}


def when_stated(entry: dict[str, Any]) -> str:
    """A remark on a claim or a bound that was not stated before its runs."""
    remark = STATED[entry.get("stated", "before")]
    return f" ({remark})" if remark else ""


def is_judged(entry: dict[str, Any]) -> bool:
    """Whether a [[published]] has a bound."""
    return any(bound in entry for bound in BOUNDS)


def filled(template: str, values: Options) -> str:
    """The text with the value of {workers}, for example, in its place. A KeyError if it is not among the values."""
    try:
        return template.format(**values)
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        raise UserError(f"'{template}' has braces that are not around a name such as {{workers}}") from error


def spelled_out(claim: dict[str, Any]) -> list[dict[str, Any]]:
    """Expands a claim with `each` to one claim per position of its lists."""
    each = claim.get("each", {})
    if not each:
        return [claim]
    rows = [dict(zip(each, row)) for row in zip(*each.values())]
    return [{key: filled(value, row) if isinstance(value, str) else value for key, value in claim.items()} for row in rows]


def tuned_by(grid: dict[str, Any], run: str) -> str | None:
    """The key of [tune.grid] for the run, a prefix of its name such as ma in ma-16; None if there is none."""
    return next((prefix for prefix in grid if run == prefix or run.startswith(prefix + "-")), None)


def git(folder: Path, *words: str) -> bytes | None:
    """What Git prints; None if there is no Git, no repository, or an error."""
    try:
        done = subprocess.run(["git", "-C", folder, *words], capture_output=True, check=False)
    except FileNotFoundError:
        return None
    return done.stdout if done.returncode == 0 else None


def names() -> list[str]:
    return sorted(path.parent.name for path in EXPERIMENTS.glob("*/config.toml"))


def read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except ValueError as error:  # of the encoding, too
        raise UserError(f"{path.relative_to(ROOT)} is not valid TOML: {error}") from error


RESTORE = "restore it from the history"


def parse_json(text: bytes, what: str, remedy: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise UserError(f"{what} is not valid JSON: {error}; {remedy}") from error


def read_json(path: Path, remedy: str) -> Any:
    """remedy: what to do about a damaged file."""
    return parse_json(path.read_bytes(), str(path.relative_to(ROOT)), remedy)


def series_of(template: str, options: Options, varied: set[str]) -> str:
    """A run's name with * for the parts that vary along a series: nbm-* for nbm-8 and nbm-16 of nbm-{workers}."""
    return filled(template, {key: "*" if key in varied else value for key, value in options.items()})


def family_of(template: str) -> str:
    """wire-small for wire-small-{minibatch}-{workers}; for the name of a single run, the part before the first dash."""
    return template.split("{")[0].rstrip("-") if "{" in template else template.split("-")[0]


def expand(entry: dict[str, Any], shared: Options, command: str, baseline: str) -> list[Run]:
    """A [[run]] is one run; with `each` one per position of its lists (zip); with `grid` one per combination of its lists."""
    options = {key: value for key, value in entry.items() if key not in ("name", "each", "grid", "command", "baseline")}
    each: dict[str, list[Any]] = entry.get("each", {})
    grid: dict[str, list[Any]] = entry.get("grid", {})
    if len({len(values) for values in each.values()}) > 1:
        raise UserError(f"run '{entry['name']}': the lists of `each` differ in length")
    rows = [dict(zip(each, values)) for values in zip(*each.values())] if each else [{}]
    cells = [dict(zip(grid, values)) for values in itertools.product(*grid.values())]
    runs = []
    for row, cell in itertools.product(rows, cells):
        own = options | row | cell
        named = shared | own
        runs.append(Run(filled(entry["name"], named), named, entry.get("command", command),
                        filled(entry.get("baseline", baseline), named), own,
                        series_of(entry["name"], named, {"workers", *each}), family_of(entry["name"])))
    return runs


def all_runs(config: dict[str, Any], size: str) -> list[Run]:
    """All runs with their options in this size, including runs that do not belong to it."""
    shared = config.get("options", {}) | config["size"][size].get("options", {})
    command, baseline = config.get("command", "simulate"), config.get("baseline", "")
    return [run for entry in config["run"] for run in expand(entry, shared, command, baseline)]


def runs_of_size(config: dict[str, Any], size: str) -> list[Run]:
    patterns = config["size"][size].get("runs", ["*"])
    return [run for run in all_runs(config, size) if any_of(patterns, run.name)]


def any_of(patterns: list[str], name: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def applies(entry: dict[str, Any], size: str) -> bool:
    return size in entry.get("sizes", SIZES)
