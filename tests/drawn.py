#!/usr/bin/env python3
"""Prints the options with which ctest leaves out tests that a commit need not run: drawn.py BUILD

Of the smoke experiments, and of what needs their runs, nine tenths; of the slow tests, half; of the unit tests under sanitizers, which
every commit also runs without them, two thirds. Drawn by the commit's number (`git rev-list --count HEAD`), so that of ten, two, or three,
consecutive commits at least one runs each of them. What has changed since the last commit that passed is run, too, and so are the
experiments whose runs are needed. ALL=1 leaves out nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from history import ROOT, changed_since, git, last_passed

EVERY = 10
LABELS = {"slow": 2, "sanitized": 3}  # of tests/CMakeLists.txt, and of how many consecutive commits one runs a test with it
RUNS = "runs_of_"  # the fixtures of tests/CMakeLists.txt
OTHERS = {"experiments/harness": "experiments_recheck", "experiments/page": "report_browser", "notebooks": "notebooks_execute"}


def values(test: dict, name: str) -> set[str]:
    return {value for one in test.get("properties", []) if one["name"] == name for value in one["value"]}


def fixtures(tests: list[dict], kind: str) -> dict[str, set[str]]:
    """Experiments whose runs a test makes (kind: SETUP) or needs (REQUIRED), by test; only tests that have any."""
    found = {test["name"]: {name.removeprefix(RUNS) for name in values(test, f"FIXTURES_{kind}") if name.startswith(RUNS)}
             for test in tests}
    return {test: names for test, names in found.items() if names}


def drawn(names: list[str], every: int, number: int) -> set[str]:
    return {name for place, name in enumerate(names) if place % every == number % every}


def changed(files: set[Path]) -> set[str]:
    folders = {"/".join(file.relative_to(ROOT).parts[:2]) for file in files}
    return ({folder.replace("experiments/", "experiment_") for folder in folders if folder.startswith("experiments/")}
            | {test for folder, test in OTHERS.items() if any(one.startswith(folder) for one in folders)}
            | {f"unit_{file.parent.name}_{file.stem}" for file in files if file.parent.parent == ROOT / "tests"}
            | {f"{file.parent.name}_{file.stem.removesuffix('_test')}" for file in files if file.parent.parent == ROOT / "tests"})


def left_out(tests: list[dict], number: int, also: set[str]) -> list[str]:
    labelled = {label: sorted(test["name"] for test in tests if label in values(test, "LABELS")) for label in LABELS}
    makers, users = fixtures(tests, "SETUP"), fixtures(tests, "REQUIRED")
    experiments = sorted(makers | users)
    kept = drawn(experiments, EVERY, number).union(also, *(drawn(labelled[label], every, number) for label, every in LABELS.items()))
    needed = set().union(*(users[name] for name in kept if name in users))
    return [name for name in sum(labelled.values(), experiments) if name not in kept and not makers.get(name, set()) & needed]


def main() -> None:
    if os.environ.get("ALL"):
        return
    shown = subprocess.run(["ctest", "--test-dir", sys.argv[1], "--show-only=json-v1"], capture_output=True, text=True, check=True).stdout
    tests = json.loads(shown)["tests"]
    try:
        number, also = int(git("rev-list", "--count", "HEAD")), changed(changed_since(last_passed()))
    except (subprocess.CalledProcessError, FileNotFoundError):
        return  # no checkout of git: all are run
    names = left_out(tests, number, also)
    print(f"Left out of this commit's tests, number {number}: {len(names)} of {len(tests)} (ALL=1 runs all)", file=sys.stderr)
    print("-E", f"^({'|'.join(names)})$")


if __name__ == "__main__":
    main()
