"""Prints what the recorded runs and trials of experiments took, in core-hours."""

from __future__ import annotations

from typing import Any, Iterator

from loading import all_sizes, load
from records import AT_LEAST, CORE_S, Record


def recorded_in(name: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The records of the runs by size, and those of the trials."""
    expected = Record(load(name, "").expected_file).read()
    for size in all_sizes(name):
        yield size, [values for data in expected.get(size, {}).values() for seeds in data.values() for values in seeds.values()]
    trials = Record(load(name, "").trials_file).read()
    yield "tune", [values for data in trials.values() for run in data.values() for seeds in run.values() for values in seeds.values()]


def print_costs(names: list[str]) -> None:
    """A line per experiment and size that has records. Records of earlier versions have no costs."""
    total_s, shortened = 0.0, 0
    print(f"{'experiment':<24} {'size':<8} {'runs':>5} {'core-hours':>11}")
    for name in names:
        for size, runs in recorded_in(name):
            if not runs:
                continue
            known = [values[CORE_S] for values in runs if CORE_S in values]
            killed = sum(values.get(AT_LEAST, False) for values in runs)
            total_s, shortened = total_s + sum(known), shortened + killed
            unknown = f"   unknown for {len(runs) - len(known)}" if len(known) < len(runs) else ""
            at_least = f"   at least: {killed} {'was' if killed == 1 else 'were'} killed and resumed" if killed else ""
            print(f"{name:<24} {size:<8} {len(runs):>5} {sum(known) / 3600:>11.3f}{unknown}{at_least}")
    print(f"{'all':<24} {'':<8} {'':>5} {total_s / 3600:>11.3f}")
    if shortened:
        print("what a run took before it was killed may be missing")
