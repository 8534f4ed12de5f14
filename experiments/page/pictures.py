"""Draws the pictures that READMEs show, each as a file of its own: src/setup/python.sh matplotlib -- experiments/page/pictures.py
NAME [--size SIZE] [FILE]. NAME is bmuf_images, for the main README, which needs the runs (make verify-bmuf_images), or an
experiment whose config.toml has a [[table]] with `costs`, `along` or `map`, which is drawn from expected.json."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, Callable

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "notebooks"))

from paragrad_runs import Error, Study, UserError, records  # noqa: E402

import charts  # noqa: E402
import figures  # noqa: E402
from cells import draw_map  # noqa: E402
from maps import map_of  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from paragrad.drawing import save  # noqa: E402
from paragrad.plotting import plot  # noqa: E402

NAMES = {"sgd": "one worker", "ma-16": "16 workers, model averaging", "nbm-16": "16, block momentum", "nbm-64": "64, block momentum"}


def learning_curves(study: Study) -> Figure:
    missing = [name for name in NAMES if name not in [run.name for run in study.experiment.runs]]
    if missing:
        raise UserError(f"{study.name} has no run {missing[0]} of size {study.size}: make run-{study.name} SIZE={study.size}")
    data = next(iter(study.results))
    return plot({label: study.runs(name)[data] for name, label in NAMES.items()}, x="time", log_x=True)


def first_table(study: Study, key: str) -> dict[str, Any] | None:
    return next((entry for entry in study.whole.tables if key in entry), None)


def costs(study: Study) -> Figure:
    table = first_table(study, "costs")
    if table is None or len(study.whole.data) > 1:
        raise UserError(f"{study.name} has no [[table]] with costs, or more than one data set")
    recorded = records.fully_recorded(study.whole)
    panels = [panel for of_data in recorded.values() for panel in figures.cost_panels(study.whole, of_data, table)]
    if not panels:
        raise UserError(f"{study.name} has no run of size {study.size} that is recorded for all seeds: make record-{study.name}")
    return charts.draw_side_by_side(panels, charts.Looks())


def along(study: Study) -> Figure:
    panel = figures.trend_panel(study.whole, records.fully_recorded(study.whole), first_table(study, "along"))
    if panel is None:
        raise UserError(f"{study.name} has no run of size {study.size} that is recorded on two data sets: make record-{study.name}")
    return charts.draw_side_by_side([panel], charts.Looks())


def winners(study: Study) -> Figure:
    table, recorded = first_table(study, "map"), records.fully_recorded(study.whole)
    if len(recorded) != 1:
        raise UserError(f"{study.name} has runs of {len(recorded)} data sets that are recorded for all seeds, and a map is of one: make record-{study.name}")
    found = map_of(study.whole, next(iter(recorded.values())), table)
    return draw_map(found, study.whole.runs, charts.Looks())


def maker_of(study: Study) -> Callable[[Study], Figure]:
    if study.name == "bmuf_images":
        return learning_curves
    return next((maker for key, maker in (("along", along), ("map", winners)) if first_table(study, key)), costs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("--size", default="full")
    parser.add_argument("file", nargs="?", type=Path)
    arguments = parser.parse_intermixed_args()
    try:
        study = Study(arguments.name, arguments.size)
        draw = maker_of(study)
        save(draw(study), arguments.file or ROOT / f"experiments/{arguments.name}/{draw.__name__}.svg")
    except (Error, UserError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
