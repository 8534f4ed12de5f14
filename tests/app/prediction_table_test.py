#!/usr/bin/env python3
"""The table of prediction errors in sim/README.md is what the recorded values (expected.json) and the published ones give."""

import csv
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "experiments/harness"))

from loading import load  # noqa: E402
from records import fully_recorded  # noqa: E402

Errors = tuple[list[float], list[float]]  # of our predictions, of a straight line


def published(name: str) -> list[dict[str, str]]:
    lines = (ROOT / "experiments" / name / "published.csv").read_text().splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def recorded(name: str, metric: str, data: str = "predicted") -> dict[str, float]:
    """Of the records that can be used."""
    runs = fully_recorded(load(name, "full"))[data]
    return {run: sum(seed[metric] for seed in seeds.values()) / len(seeds) for run, seeds in runs.items() if metric in seeds[1]}


def column(name: str, key: str) -> dict[str, float]:
    return {row["run"]: float(row[key]) for row in published(name)}


def error(value: float, truth: float) -> float:
    return abs(value / truth - 1)


def bmuf_elapsed() -> Errors:
    ours, theirs = recorded("bmuf_elapsed", "training_s"), column("bmuf_elapsed", "sum_min")
    rows = [run for run in theirs if run.endswith(("-16", "-32", "-64"))]
    line = {run: theirs[run.split("-")[0] + "-8"] * 8 / int(run.split("-")[1]) for run in rows}
    return [error(ours[run] / 60, theirs[run]) for run in rows], [error(line[run], theirs[run]) for run in rows]


def cntk_speedup() -> Errors:
    ours, theirs = recorded("cntk_speedup", "training_s"), column("cntk_speedup", "speed_up_average")
    gpus = [8, 16, 32, 64]
    return ([error(ours["sgd"] / ours[f"bmuf-{n}"], theirs[f"bmuf-{n}"]) for n in gpus],
            [error(theirs["bmuf-4"] * n / 4, theirs[f"bmuf-{n}"]) for n in gpus])


def collectives() -> Errors:
    """P100. Instead of a line: the times of the M40, to which the constants were fitted."""
    ours = recorded("collectives", "time_s")
    rows = [row for row in published("collectives") if row["p100_ms"]]
    return ([error(ours[row["run"]] * 1000, float(row["p100_ms"])) for row in rows],
            [error(float(row["m40_ms"]), float(row["p100_ms"])) for row in rows])


def dbn_mnist() -> Errors:
    ours, theirs = recorded("dbn_mnist", "total_s", "mnist"), column("dbn_mnist", "time_s")
    rows = [run for run in theirs if run.startswith("table")]
    cores = {run: int(run.split("-")[1].split("x")[0]) * int(run.split("x")[1]) for run in rows}
    return ([error(ours[run], theirs[run]) for run in rows],
            [error(theirs["one-0.3"] / cores[run], theirs[run]) for run in rows])


def horovod_scaling() -> Errors:
    """A run trains the same number of minibatches on any number of GPUs, so its rate is in proportion to GPUs over time."""
    ours, theirs = recorded("horovod_scaling", "training_s"), column("horovod_scaling", "images_per_s")
    errors, line = [], []
    for run, truth in theirs.items():
        kind, gpus = run.rsplit("-", 1)
        if gpus != "1" and not run.startswith("after-"):
            scaled = theirs[f"{kind}-1"] * int(gpus)
            errors.append(error(scaled * ours[f"{kind}-1"] / ours[run], truth))
            line.append(error(scaled, truth))
    return errors, line


def one_bit_speedup() -> Errors:
    """Every run trains 40 minibatches."""
    ours, theirs = recorded("one_bit_speedup", "training_s"), column("one_bit_speedup", "kfps")
    rows = [run for run in theirs if not run.startswith("farm-8-")]
    size = {run: int(run.split("-")[2]) for run in rows}
    line = {run: theirs[f"farm-8-{size[run]}"] * int(run.split("-")[1]) / 8 for run in rows}
    return ([error(40 * size[run] / ours[run] / 1000, theirs[run]) for run in rows],
            [error(line[run], theirs[run]) for run in rows])


class PredictionTable(unittest.TestCase):
    def test_all_rows_and_the_straight_line_are_those_of_the_records(self):
        text = (ROOT / "sim/README.md").read_text().split("## How accurate are the predictions?")[1].split("\n## ")[0]
        table = {cells[0]: cells[1:] for cells in re.findall(r"^\| \[(\w+)\].*?\|.*?\|.*?\| ([\d.]+) % \| ([\d.]+) %", text, re.MULTILINE)}
        experiments = [bmuf_elapsed, cntk_speedup, collectives, dbn_mnist, horovod_scaling, one_bit_speedup]
        self.assertEqual(sorted(table), sorted(e.__name__ for e in experiments))
        for experiment in experiments:
            with self.subTest(experiment=experiment.__name__):
                printed = tuple(f"{100 * sum(errors) / len(errors):.1f}" for errors in experiment())
                self.assertEqual(table[experiment.__name__], printed)


if __name__ == "__main__":
    unittest.main()
