"""Draws the pictures that READMEs show, each as a file of its own: src/setup/python.sh matplotlib -- experiments/page/pictures.py
NAME [--size SIZE] [FILE]. NAME is bmuf_images, for the main README, which needs the runs (make verify-bmuf_images), or an
experiment whose config.toml has a [[table]] with `costs` or `along`, which is drawn from expected.json."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any, Callable

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "notebooks"))

from paragrad_runs import Study, UserError, records  # noqa: E402

import charts  # noqa: E402
import figures  # noqa: E402

NAMES = {"sgd": "one worker", "ma-16": "16 workers, model averaging", "nbm-16": "16, block momentum", "nbm-64": "64, block momentum"}


def learning_curves(study: Study) -> str:
    missing = [name for name in NAMES if name not in [run.name for run in study.experiment.runs]]
    if missing:
        raise UserError(f"{study.name} has no run {missing[0]} of size {study.size}: make run-{study.name} SIZE={study.size}")
    data = next(iter(study.results))
    lines = [charts.Line(label, figures.mean_curve(study, study.experiment.run(name), data, "time_s")) for name, label in NAMES.items()]
    ends = ", ".join(f"{line.label} {line.points[-1][1]:.2f} % after {line.points[-1][0]:.2g} s" for line in lines)
    scale = charts.Axes("simulated time (s)", "validation error (%)", x_log=True)
    return charts.draw_lines("front", lines, scale, f"Learning curves: {ends}", charts.Looks())


def first_table(study: Study, key: str) -> dict[str, Any] | None:
    return next((entry for entry in study.whole.tables if key in entry), None)


def costs(study: Study) -> str:
    table = first_table(study, "costs")
    if table is None or len(study.whole.data) > 1:
        raise UserError(f"{study.name} has no [[table]] with costs, or more than one data set")
    recorded = records.fully_recorded(study.whole)
    panels = [panel for of_data in recorded.values() for panel in figures.cost_panels(study.whole, of_data, table)]
    if not panels:
        raise UserError(f"{study.name} has no run of size {study.size} that is recorded for all seeds: make record-{study.name}")
    return charts.draw_side_by_side("costs", panels, charts.Looks())


def along(study: Study) -> str:
    panel = figures.trend_panel(study.whole, records.fully_recorded(study.whole), first_table(study, "along"))
    if panel is None:
        raise UserError(f"{study.name} has no run of size {study.size} that is recorded on two data sets: make record-{study.name}")
    return charts.draw_side_by_side("along", [panel], charts.Looks())


def maker_of(study: Study) -> Callable[[Study], str]:
    return learning_curves if study.name == "bmuf_images" else along if first_table(study, "along") else costs


def standalone(svg: str) -> str:
    """A stand-alone image, always on white."""
    light = (ROOT / "experiments/page/page.css").read_text().split("@media")[0]
    values = dict(re.findall(r"(--[\w-]+): (.*);", light))
    svg = re.sub(r"var\((--[\w-]+)\)", lambda use: values[use[1]].replace('"', "'"), svg)
    return re.sub(r"(<svg)([^>]*>)", r'\1 xmlns="http://www.w3.org/2000/svg"\2<rect width="100%" height="100%" fill="#ffffff"/>',
                  svg, count=1) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("--size", default="full")
    parser.add_argument("file", nargs="?", type=Path)
    arguments = parser.parse_intermixed_args()
    try:
        study = Study(arguments.name, arguments.size)
        draw = maker_of(study)
        file = arguments.file or ROOT / f"experiments/{arguments.name}/{draw.__name__}.svg"
        file.write_text(standalone(draw(study)))
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
