"""Reads the results of an experiment's runs of one size (Study). One run's folder: src/python/paragrad/runs.py (Run).

    import paragrad_runs
    study = paragrad_runs.study("bmuf_images")     # the largest size that has runs
    study.rows("test_error", "speed_up")           # for pandas.DataFrame
    study.verdicts()                               # its claims

Tables are lists of dicts, one per row. Metrics, claims and published values come from experiments/harness (its README.md
describes the keys); nothing is computed a second time here. Python's standard library only.
"""

from __future__ import annotations

import copy
import json
import math
import statistics
import sys
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Iterator

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "experiments" / "harness"))

import judging  # noqa: E402
import published  # noqa: E402
import records  # noqa: E402
import results  # noqa: E402
import tables  # noqa: E402
from config import SIZES, Experiment, UserError, names, read_toml  # noqa: E402
from loading import load  # noqa: E402
from paragrad import Error, Run  # noqa: E402
from plan import Plan  # noqa: E402
from verdicts import Repetition, judge, repetitions  # noqa: E402

Rows = list[dict[str, Any]]


class NoRuns(Error):
    """A one-sentence message with the command that makes the runs."""


@dataclass(frozen=True)
class Verdict:
    """A claim of config.toml about the runs of one size."""

    claim: dict[str, Any]
    size: str
    data: str
    status: str         # "holds", "undecided", "FAILS" or "not run"
    numbers: str        # if nothing is known: why a record cannot be used; empty if there is none
    recorded: str = ""  # without runs here: "holds", "undecided" or "FAILS" by expected.json, then also the source of `numbers`

    @property
    def outcome(self) -> str:
        """The status, or without runs here the recorded one."""
        return self.recorded or self.status


@dataclass(frozen=True)
class Beside:
    """A [[published]] of config.toml and our values for it."""

    entry: dict[str, Any]
    size: str
    published: dict[str, float]  # by run, for all rows of the column
    comparison: published.Comparison | None  # None: neither run nor recorded
    recorded: bool = False                   # our values are those of expected.json


class Study:
    """An experiment in one size, with its finished runs. Only runs that config.toml describes now count."""

    def __init__(self, name: str, size: str) -> None:
        self.name, self.size = name, size
        self.whole: Experiment = load(name, size)
        self.experiment, self.results = results.what_has_run(self.whole)
        self.recorded: results.Results = records.recorded(self.whole)
        self.is_by_records = False

    def by_records(self) -> "Study":
        """The same with the values of expected.json in the place of the runs' own: of runs that are recorded on all data sets with
        all seeds, as their baselines are."""
        other, known = copy.copy(self), self._fully_recorded
        data = [data for data in self.whole.data if known.get(data.name)]
        runs = [run for run in self.whole.runs
                if data and all({run.name, run.baseline or run.name} <= known[of.name].keys() for of in data)]
        other.experiment, other.results = replace(self.whole, data=data, runs=runs), {of.name: known[of.name] for of in data}
        other.is_by_records = True
        return other

    @cached_property
    def _fully_recorded(self) -> results.Results:
        return records.fully_recorded(self.whole)

    @cached_property
    def _known(self) -> results.Results:
        return records.known(self.whole)

    @cached_property
    def _unused(self) -> dict[tuple[str, str], str]:
        return records.why_unused(self.whole)

    @property
    def has_runs(self) -> bool:
        return bool(self.experiment.runs)

    def runs(self, name: str) -> dict[str, list[Run]]:
        """The runs of one line of the table: by data set, in the order of the seeds."""
        self.experiment.run(name)
        return {data: [Run(self.experiment.run_folder(data, name, seed)) for seed in self.experiment.seeds]
                for data in self.results}

    def run(self, name: str) -> Run:
        """The first seed on the first data set."""
        return next(iter(self.runs(name).values()))[0]

    def mean(self, run: str, metric: str) -> float | None:
        """The mean over data sets and seeds; None if the run lacks the metric or has no number for it (scores of a timing run)."""
        try:
            found = results.mean_of(self.experiment, self.results, run, metric)
        except UserError:
            return None
        return None if math.isnan(found) else found

    def rows(self, *metrics: str) -> Rows:
        return [{"run": run.name} | {metric: self.mean(run.name, metric) for metric in metrics} for run in self.experiment.runs]

    def recorded_rows(self) -> Rows:
        """Means over the seeds of the values in expected.json, in the order of config.toml."""
        found, places = [], {run.name: place for place, run in enumerate(self.whole.runs)}
        for data, of_data in self.recorded.items():
            for run, seeds in sorted(of_data.items(), key=lambda item: places.get(item[0], len(places))):
                shared = [metric for metric in next(iter(seeds.values()))
                          if metric not in records.NO_METRICS and all(metric in result for result in seeds.values())]
                found.append({"run": run, "data": data} | {
                    metric: statistics.fmean(result[metric] for result in seeds.values()) for metric in shared})
        return found

    def tables(self) -> Iterator[tables.Table]:
        return tables.tables_of(Plan(self.experiment), self.results)

    def verdicts(self) -> list[Verdict]:
        """The verdicts on all claims of this size."""
        return [self._verdict(claim, data.name) for data in self.whole.data for claim in self.whole.claims_of(data.name)]

    def _verdict(self, claim: dict[str, Any], data: str) -> Verdict:
        for source in (self.results, self._fully_recorded):
            try:
                found = judge(claim, source.get(data, {}), self.whole.baselines)
            except results.NotRun:
                continue
            except UserError:  # not all metrics are recorded
                if source is self.results:
                    raise
                continue
            return (Verdict(claim, self.size, data, found.verdict, found.numbers) if source is self.results
                    else Verdict(claim, self.size, data, "not run", found.numbers, found.verdict))
        why = judging.why_open(self.whole, self._unused, data, claim)
        return Verdict(claim, self.size, data, "not run", why if any(state.value in why for state in records.REFUSED) else "")

    def repetitions(self) -> list[Repetition]:
        """Recorded values compared with those of the runs here; empty if nothing was run or recorded."""
        return repetitions(self.experiment, self.results, self.recorded) if self.has_runs and self.recorded else []

    def beside(self) -> list[Beside]:
        """Published values and ours, for all [[published]] of this size."""
        return [self._beside(entry) for entry in self.whole.published]

    def _beside(self, entry: dict[str, Any]) -> Beside:
        """By the runs here, or by the records if they have more of the rows."""
        recorded_values = self._known
        known = [run for run in self.whole.runs if recorded_values and all(run.name in runs for runs in recorded_values.values())]
        best, recorded = None, False
        for experiment, source in ((self.experiment, self.results), (replace(self.whole, runs=known), recorded_values)):
            try:
                found = published.compare(experiment, source, entry)
            except results.NotRun:
                continue
            except UserError:  # not all metrics are recorded
                if source is self.results:
                    raise
                continue
            if best is None or len(found.errors) > len(best.errors):
                best, recorded = found, source is recorded_values
        return Beside(entry, self.size, published.rows_of(self.whole, entry), best, recorded)


def experiments() -> list[str]:
    return names()


def sizes(name: str) -> list[str]:
    """The experiment's sizes, largest first."""
    there = read_toml(ROOT / "experiments" / name / "config.toml").get("size", {})
    return [size for size in reversed(SIZES) if size in there]


def studies(name: str) -> list[Study]:
    """One Study per size, largest first."""
    return [Study(name, size) for size in sizes(name)]


def study(name: str, size: str = "") -> Study:
    """The Study in this size, or in the largest size that has runs."""
    for found in [Study(name, size)] if size else studies(name):
        if found.has_runs:
            return found
    raise NoRuns(f"there are no runs of {name} here: `make run-{name} SIZE={size or sizes(name)[-1]}` makes them")


def published_table(name: str) -> tuple[str, Rows]:
    """The remarks in published.csv, which name its source, and its rows; both empty if there is no file."""
    path = ROOT / "experiments" / name / "published.csv"
    return published.read_table(path) if path.exists() else ("", [])


def verdicts(name: str) -> list[Verdict]:
    """The verdicts on all claims of an experiment, each from the largest size in which its values were run here or are recorded."""
    found: dict[str, Verdict] = {}
    for of_size in studies(name):
        for verdict in of_size.verdicts():
            key = json.dumps([verdict.claim, verdict.data])
            if key not in found or (found[key].outcome == "not run" and verdict.outcome != "not run"):
                found[key] = verdict
    return list(found.values())


def beside(name: str) -> list[Beside]:
    """All [[published]] of an experiment, each from the largest size in which its values were run here or are recorded."""
    found: dict[str, Beside] = {}
    for of_size in studies(name):
        for here in of_size.beside():
            key = json.dumps(here.entry)
            if key not in found or (found[key].comparison is None and here.comparison):
                found[key] = here
    return list(found.values())
