#!/usr/bin/env python3
"""Prints the options with which ctest leaves out nine tenths of the smoke experiments, and of what needs their runs: drawn.py BUILD

Drawn by the commit's number (`git rev-list --count HEAD`), so that of ten consecutive commits at least one runs each of them. What has
changed since the last commit that passed is run, too, and so are the experiments whose runs are needed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from history import ROOT, changed_since, git, last_passed

EVERY = 10
RUNS = "runs_of_"  # the fixtures of tests/CMakeLists.txt
OTHERS = {"experiments/harness": "experiments_recheck", "experiments/page": "report_browser", "notebooks": "notebooks_execute"}


def fixtures(tests: list[dict], kind: str) -> dict[str, set[str]]:
    """Experiments whose runs a test makes (kind: SETUP) or needs (REQUIRED), by test; only tests that have any."""
    found = {test["name"]: {name.removeprefix(RUNS) for one in test.get("properties", []) if one["name"] == f"FIXTURES_{kind}"
                            for name in one["value"] if name.startswith(RUNS)} for test in tests}
    return {test: names for test, names in found.items() if names}


def drawn(names: list[str], number: int) -> set[str]:
    return {name for place, name in enumerate(names) if place % EVERY == number % EVERY}


def changed(files: set[Path]) -> set[str]:
    folders = {"/".join(file.relative_to(ROOT).parts[:2]) for file in files}
    return ({folder.replace("experiments/", "experiment_") for folder in folders if folder.startswith("experiments/")}
            | {test for folder, test in OTHERS.items() if any(one.startswith(folder) for one in folders)})


def left_out(tests: list[dict], number: int, also: set[str]) -> list[str]:
    makers, users = fixtures(tests, "SETUP"), fixtures(tests, "REQUIRED")
    names = sorted(makers | users)
    kept = drawn(names, number) | also
    needed = set().union(*(users[name] for name in kept if name in users))
    return [name for name in names if name not in kept and not makers.get(name, set()) & needed]


def main() -> None:
    shown = subprocess.run(["ctest", "--test-dir", sys.argv[1], "--show-only=json-v1"], capture_output=True, text=True, check=True).stdout
    tests = json.loads(shown)["tests"]
    try:
        number, also = int(git("rev-list", "--count", "HEAD")), changed(changed_since(last_passed()))
    except (subprocess.CalledProcessError, FileNotFoundError):
        return  # no checkout of git: all are run
    names = left_out(tests, number, also)
    print(f"Left out of this commit's tests, number {number}: {len(names)} smoke experiments and tests of their runs (ALL=1 runs all)",
          file=sys.stderr)
    print("-E", f"^({'|'.join(names)})$")


if __name__ == "__main__":
    main()
