"""Compares predictions with published values ([[published]] in config.toml): prints and judges the error of every row."""

from __future__ import annotations

import csv
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator

from config import ROOT, Experiment, Run, UserError, any_of, is_judged, when_stated
from results import NotRun, Results, mean_of


def read_table(path: Path) -> tuple[str, list[dict[str, str]]]:
    """The remarks (lines that begin with #) and the rows."""
    if not path.exists():
        raise UserError(f"there is no {path.relative_to(ROOT)}, the file of a [[published]]")
    lines = path.read_text().splitlines()
    remarks = " ".join(line.lstrip("# ") for line in lines if line.startswith("#"))
    return remarks, list(csv.DictReader(line for line in lines if not line.startswith("#")))


def read_rows(path: Path, key: str, column: str) -> dict[str, float]:
    """Published values by run; empty cells are left out."""
    try:
        return {row[key]: float(row[column]) for row in read_table(path)[1] if row[column]}
    except (OSError, KeyError, ValueError) as error:
        raise UserError(f"{path.relative_to(ROOT)}: no usable columns '{key}' and '{column}' ({error!r})") from error


def judge(entry: dict[str, Any], errors: dict[str, float], differences: dict[str, float]) -> list[str]:
    """The failures: rows outside `within` or `within_points`, a mean absolute error above `mean_within`."""
    wrong = [f"{run} is off by {100 * error:+.1f} %, allowed {100 * entry['within']:g} %" for run, error in errors.items()
             if "within" in entry and abs(error) > entry["within"]]
    wrong += [f"{run} is off by {difference:+.1f}, allowed {entry['within_points']:g}" for run, difference in differences.items()
              if abs(difference) > entry.get("within_points", abs(difference))]
    mean = statistics.fmean(map(abs, errors.values()))
    if mean > entry.get("mean_within", mean):
        wrong.append(f"the mean absolute error is {100 * mean:.1f} %, allowed {100 * entry['mean_within']:g} %")
    return wrong


@dataclass(frozen=True)
class Comparison:
    """One [[published]] with the runs that exist for its rows."""

    text: str
    column: str
    published: dict[str, float]  # by run
    predicted: dict[str, float]
    errors: dict[str, float]     # relative
    judged: bool
    wrong: list[str]             # the failures

    @property
    def verdict(self) -> str:
        return ("FAILS" if self.wrong else "holds") if self.judged else "shown"

    @property
    def mean_error(self) -> float:
        return statistics.fmean(map(abs, self.errors.values()))


def rows_of(experiment: Experiment, entry: dict[str, Any]) -> dict[str, float]:
    return read_rows(experiment.folder / entry.get("file", "published.csv"), entry.get("key", "run"), entry["column"])


def runs_with_rows(experiment: Experiment, entry: dict[str, Any]) -> list[Run]:
    rows = rows_of(experiment, entry)
    return [run for run in experiment.runs if run.name in rows and any_of(entry.get("rows", ["*"]), run.name)]


def compare(experiment: Experiment, results: Results, entry: dict[str, Any]) -> Comparison:
    column, metric, scale = entry["column"], entry["metric"], entry.get("scale", 1)
    rows, here = rows_of(experiment, entry), [run.name for run in runs_with_rows(experiment, entry)]
    if not here:
        raise NotRun(f"[[published]] '{entry['text']}': no published row is a run of this size")
    predicted = {run: scale * mean_of(experiment, results, run, metric) for run in here}
    errors = {run: predicted[run] / rows[run] - 1 for run in here}
    differences = {run: predicted[run] - rows[run] for run in here}
    return Comparison(entry["text"], column, {run: rows[run] for run in here}, predicted, errors,
                      is_judged(entry), judge(entry, errors, differences))


def lines_of(entry: dict[str, Any], found: Comparison) -> Iterator[str]:
    yield f"{found.verdict}  {found.text}{when_stated(entry)}: mean absolute error {100 * found.mean_error:.1f} % over {len(found.errors)} values"
    width = max(map(len, found.errors))
    yield f"         {'':<{width}}  {'published':>10}  {'predicted':>10}  {'error':>8}   ({found.column})"
    for run, error in found.errors.items():
        yield f"         {run:<{width}}  {found.published[run]:>10.5g}  {found.predicted[run]:>10.5g}  {100 * error:>+6.1f} %"
    yield from (f"         {line}" for line in found.wrong)


def check_published(experiment: Experiment, results: Results) -> bool:
    compared = [(entry, compare(experiment, results, entry)) for entry in experiment.published]
    print("\n".join(line for entry, found in compared for line in lines_of(entry, found)))
    return not any(found.wrong for _, found in compared)
