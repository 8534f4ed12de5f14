"""Maps: at each place of two axes, such as a bandwidth and a latency, the run with the smallest value of a metric that has the place in
its name."""

from __future__ import annotations

import math
import re
import statistics
from dataclasses import dataclass
from typing import Any

from config import Experiment, any_of, filled
from intervals import half_width
from results import values


@dataclass(frozen=True)
class Place:
    """The smallest mean over the seeds, and the runs whose 95 % interval of the difference from it includes zero: none of a single seed."""

    best: str
    value: float
    rivals: list[str]


@dataclass(frozen=True)
class Map:
    metric: str  # without the place
    axes: tuple[str, str]  # rows and columns
    rows: list[str]
    columns: list[str]
    places: list[list[Place | None]]  # None: no run has the value on every seed


def metric_in(name: str) -> str:
    """`reached_s` of `reached_s_wan_{bandwidth}`: up to the ending that names its unit."""
    found = re.match(r".*?_(?:s|bytes|error)(?=_|$)", name)
    return found[0] if found else name.partition("_{")[0]


def metrics_of(table: dict[str, Any]) -> list[list[str]]:
    """Of each place, by rows and columns."""
    row, column = table["places"]
    return [[filled(table["map"], {row: one, column: other}) for other in table["places"][column]] for one in table["places"][row]]


def map_of(experiment: Experiment, of_data: dict[str, dict[int, dict[str, Any]]], table: dict[str, Any]) -> Map:
    runs = [run.name for run in experiment.runs if any_of(table.get("runs", ["*"]), run.name) and run.name in of_data]
    row, column = table["places"]

    def place(metric: str) -> Place | None:
        known = [run for run in runs if all(metric in result for result in of_data[run].values())]
        found = {run: values(of_data, experiment.baselines, run, metric) for run in known}
        found = {run: of_seeds for run, of_seeds in found.items() if all(map(math.isfinite, of_seeds))}
        if not found:
            return None
        best = min(found, key=lambda run: statistics.fmean(found[run]))
        behind = {run: [other - one for one, other in zip(found[best], of_seeds)] for run, of_seeds in found.items() if run != best}
        rivals = [run for run, differences in behind.items() if statistics.fmean(differences) <= half_width(differences)]
        return Place(best, statistics.fmean(found[best]), rivals)

    return Map(metric_in(table["map"]), (row, column), table["places"][row], table["places"][column], [[place(metric) for metric in line] for line in metrics_of(table)])


def lines_of(found: Map) -> list[list[str]]:
    """A cell: the run and its value, with ~ if the seeds cannot tell it from another."""
    def cell(place: Place | None) -> str:
        return f"{place.best} {place.value:.3g}{' ~' if place.rivals else ''}" if place else "-"

    return [[" \\ ".join(found.axes), *found.columns],
            *([name, *map(cell, line)] for name, line in zip(found.rows, found.places))]
