"""Finds values in expected.json, tuned.toml and trials.json that no run of config.toml has any more, so that nothing uses them."""

from __future__ import annotations

from typing import Any, Iterator

from config import EXPERIMENTS, ROOT, read_toml
from loading import all_sizes, load
from records import NO_METRICS, Record, recorded_metrics


def leftovers(name: str) -> list[str]:
    """One sentence per leftover, over all sizes."""
    folder = EXPERIMENTS / name
    sizes, tuned = all_sizes(name), folder / "tuned.toml"
    found = list(in_expected(name, sizes, Record(folder / "expected.json").read()))
    found += in_tuned(name, sizes, read_toml(tuned), "tuned.toml") if tuned.exists() else []
    found += in_tuned(name, sizes, Record(folder / "trials.json").read(), "trials.json")
    return [f"{(folder / file).relative_to(ROOT)} has {text}" for file, text in found]


def in_expected(name: str, sizes: list[str], expected: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for size, of_size in expected.items():
        if size not in sizes:
            yield "expected.json", f"values of size '{size}', which config.toml does not have"
            continue
        experiment = load(name, size)
        metrics = {*NO_METRICS, *(entry["metric"] for entry in experiment.repeats),
                   *(metric for metrics in recorded_metrics(experiment).values() for metric in metrics)}
        known = {data.name: {run.name: {str(seed): metrics for seed in experiment.seeds} for run in experiment.runs}
                 for data in experiment.data}
        for path in unknown_paths(known, of_size):
            yield "expected.json", f"values of {' '.join(path)} in size {size}, which no run or [[repeats]] of config.toml has"


def unknown_paths(known: Any, found: Any) -> Iterator[list[str]]:
    """Data set, run, seed and metric, up to the first unknown one."""
    for key in found:
        if key not in known:
            yield [key]
        elif isinstance(known, dict):
            yield from ([key, *rest] for rest in unknown_paths(known[key], found[key]))


def in_tuned(name: str, sizes: list[str], tuned: dict[str, Any], file: str) -> Iterator[tuple[str, str]]:
    experiments = [load(name, size) for size in sizes]
    option = experiments[0].tune.get("option", "")
    data = {data.tuned_on for experiment in experiments for data in experiment.data}
    runs = {run.name for experiment in experiments for run in experiment.runs if option not in run.options}
    for data_set, values in tuned.items():
        if data_set not in data:
            yield file, f"values of the data set '{data_set}', on which nothing is tuned"
            continue
        for run in values:
            if run not in runs or not option:
                yield file, f"a value of the run '{run}', which is not tuned"
