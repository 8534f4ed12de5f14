"""Predictions beside published values ([[published]] in config.toml): every row's error, printed and judged."""

from __future__ import annotations

import csv
import statistics
from pathlib import Path
from typing import Any

from config import ROOT, UserError, any_of
from report import mean_of
from runner import Runner
from verdicts import Results


def read_rows(path: Path, key: str, column: str) -> dict[str, float]:
    """Published values by run. Lines that begin with # are remarks, empty cells are no values."""
    try:
        lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
        return {row[key]: float(row[column]) for row in csv.DictReader(lines) if row[column]}
    except (OSError, KeyError, ValueError) as error:
        raise UserError(f"{path.relative_to(ROOT)}: no usable columns '{key}' and '{column}' ({error!r})") from error


def judge(entry: dict[str, Any], errors: dict[str, float]) -> list[str]:
    """What fails: rows outside `within`, a mean absolute error above `mean_within`."""
    wrong = [f"{run} is off by {100 * error:+.1f} %, allowed {100 * entry['within']:g} %" for run, error in errors.items()
             if "within" in entry and abs(error) > entry["within"]]
    mean = statistics.fmean(map(abs, errors.values()))
    if mean > entry.get("mean_within", mean):
        wrong.append(f"the mean absolute error is {100 * mean:.1f} %, allowed {100 * entry['mean_within']:g} %")
    return wrong


def check_entry(runner: Runner, results: Results, entry: dict[str, Any]) -> bool:
    column, metric, scale = entry["column"], entry["metric"], entry.get("scale", 1)
    rows = read_rows(runner.experiment.folder / entry.get("file", "published.csv"), entry.get("key", "run"), column)
    here = [run.name for run in runner.experiment.runs
            if run.name in rows and any_of(entry.get("rows", ["*"]), run.name)]
    if not here:
        raise UserError(f"[[published]] '{entry['text']}': no published row is a run of this size")
    predicted = {run: scale * mean_of(runner, results, run, metric) for run in here}
    errors = {run: predicted[run] / rows[run] - 1 for run in here}
    wrong = judge(entry, errors)
    mean = statistics.fmean(map(abs, errors.values()))
    judged = "within" in entry or "mean_within" in entry
    verdict = ("FAILS" if wrong else "holds") if judged else "shown"
    print(f"{verdict}  {entry['text']}: mean absolute error {100 * mean:.1f} % over {len(here)} values")
    width = max(map(len, here))
    print(f"         {'':<{width}}  {'published':>10}  {'predicted':>10}  {'error':>8}   ({column})")
    for run in here:
        print(f"         {run:<{width}}  {rows[run]:>10.5g}  {predicted[run]:>10.5g}  {100 * errors[run]:>+6.1f} %")
    for line in wrong:
        print(f"         {line}")
    return not wrong


def check_published(runner: Runner, results: Results) -> bool:
    return all([check_entry(runner, results, entry) for entry in runner.experiment.published])
