#!/usr/bin/env python3
"""Prints the options with which ctest leaves out nine tenths of the smoke experiments, and of what needs their runs (`make test`).

Drawn by the commit's number (`git rev-list --count HEAD`), so that of ten consecutive commits at least one runs each of them. What has
changed since the last commit that passed is run, too.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from history import ROOT, changed_since, git, last_passed

EVERY = 10
NEED_RUNS = ["experiments_recheck", "notebooks_execute", "report_browser"]  # ctest then runs the experiments that they need


def candidates() -> list[str]:
    return [f"experiment_{path.parent.name}" for path in sorted((ROOT / "experiments").glob("*/config.toml"))] + NEED_RUNS


def drawn(names: list[str], number: int) -> set[str]:
    return {name for place, name in enumerate(names) if place % EVERY == number % EVERY}


def changed(files: set[Path]) -> set[str]:
    folders = {"/".join(file.relative_to(ROOT).parts[:2]) for file in files}
    others = {"experiments/harness": "experiments_recheck", "experiments/page": "report_browser", "notebooks": "notebooks_execute"}
    return ({folder.replace("experiments/", "experiment_") for folder in folders if folder.startswith("experiments/")}
            | {test for folder, test in others.items() if any(one.startswith(folder) for one in folders)})


def main() -> None:
    names = candidates()
    try:
        kept = drawn(names, int(git("rev-list", "--count", "HEAD"))) | (changed(changed_since(last_passed())) & set(names))
    except (subprocess.CalledProcessError, FileNotFoundError):
        return  # no checkout of git: all are run
    print(f"Of {len(names)} smoke experiments and tests of their runs, this commit's are {', '.join(sorted(kept))}; "
          "ALL=1 runs all", file=sys.stderr)
    print("-E", f"^({'|'.join(name for name in names if name not in kept)})$")


if __name__ == "__main__":
    main()
