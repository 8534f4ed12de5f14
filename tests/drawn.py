#!/usr/bin/env python3
"""Prints the options with which ctest leaves out tests that a commit need not run: drawn.py BUILD

Runs a tenth of the smoke experiments, with what needs their runs, and a fifth of the slow tests and of the programs under sanitizers, which
every commit also runs without them. Drawn by the commit's number (`git rev-list --count HEAD`), so that each runs at least once in ten, or
five, consecutive commits; programs under sanitizers in ten, as `.ci/run` gives every fourth commit to ThreadSanitizer instead. What has
changed since the last commit that passed is run, too, and so are the experiments whose runs are needed. ALL=1 leaves out nothing. With
--targets, prints the programs under sanitizers that are needed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from history import ROOT, changed_since, git, last_passed

EVERY = 10
SLOW_EVERY, SANITIZED_EVERY = 5, 5
PROGRAM = "program:"  # the label that says which program a test under sanitizers runs
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
    of_tests = [file for file in files if file.parent.parent == ROOT / "tests"]
    return ({folder.replace("experiments/", "experiment_") for folder in folders if folder.startswith("experiments/")}
            | {test for folder, test in OTHERS.items() if any(one.startswith(folder) for one in folders)}
            | {f"unit_{file.parent.name}_{file.stem}" for file in of_tests}
            | {f"{file.parent.name}_{file.stem.removesuffix('_test')}" for file in of_tests})


def programs(tests: list[dict]) -> dict[str, str]:
    """The program of each test under sanitizers."""
    return {test["name"]: label.removeprefix(PROGRAM) for test in tests for label in values(test, "LABELS") if label.startswith(PROGRAM)}


def family(program: str) -> str:
    """Programs made of the same parts, which a commit builds together."""
    return program.removesuffix("_fake_gpu").removesuffix("_python")


def left_out(tests: list[dict], number: int, also: set[str]) -> list[str]:
    slow, program_of = sorted(test["name"] for test in tests if "slow" in values(test, "LABELS")), programs(tests)
    makers, users = fixtures(tests, "SETUP"), fixtures(tests, "REQUIRED")
    experiments = sorted(makers | users)
    drawn_programs = drawn(sorted({family(program) for program in program_of.values()}), SANITIZED_EVERY, number)
    kept = drawn(experiments, EVERY, number) | drawn(slow, SLOW_EVERY, number) | also
    kept |= {test for test, program in program_of.items() if family(program) in drawn_programs}
    needed = set().union(*(users[name] for name in kept if name in users))
    return [name for name in [*experiments, *slow, *program_of] if name not in kept and not makers.get(name, set()) & needed]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--targets", action="store_true")
    arguments = parser.parse_args()
    listed = ["ctest", "--test-dir", arguments.build, "--show-only=json-v1"]
    tests = json.loads(subprocess.run(listed, capture_output=True, text=True, check=True).stdout)["tests"]
    names = []
    try:
        if not os.environ.get("ALL"):
            names = left_out(tests, int(git("rev-list", "--count", "HEAD")), changed(changed_since(last_passed())))
    except (subprocess.CalledProcessError, FileNotFoundError):
        pass  # no checkout of git: all are run
    if arguments.targets:
        print(*sorted({program for test, program in programs(tests).items() if test not in names}))
    elif names:
        print(f"Left out of this commit's tests: {len(names)} of {len(tests)} (ALL=1 runs all)", file=sys.stderr)
        print("-E", f"^({'|'.join(names)})$")


if __name__ == "__main__":
    main()
