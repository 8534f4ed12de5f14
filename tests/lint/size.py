#!/usr/bin/env python3
"""Prints the lines of each folder next to its budget, and fails above it: python3 tests/lint/size.py

Counted are the lines of .cpp, .hpp, .cu, .def and .py files in git's index. A change of a budget is a line in budget.toml, with its reason.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUDGET = Path(__file__).with_name("budget.toml")
COUNTED = (".cpp", ".hpp", ".cu", ".def", ".py")
DIVIDED = ("src", "experiments/harness", "experiments/page")  # counted per subfolder, or as a folder of its own


def folder_of(path: str) -> str:
    parts = Path(path).parts
    folder = "/".join(parts[:2])
    return folder if len(parts) > 2 and (parts[0] in DIVIDED or folder in DIVIDED) else parts[0]


def lines_by_folder(root: Path) -> Counter[str]:
    files = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=root, capture_output=True, text=True).stdout.splitlines()
    lines: Counter[str] = Counter()
    for file in files:
        if file.endswith(COUNTED) and (root / file).is_file():
            lines[folder_of(file)] += (root / file).read_bytes().count(b"\n")
    return lines


def rows(lines: Counter[str], budget: dict[str, int]) -> list[tuple[str, int, int]]:
    """With a folder that has no budget or no lines left."""
    return [(folder, lines[folder], budget.get(folder, 0)) for folder in sorted(lines | budget)]


def main(root: Path = ROOT, budget_file: Path = BUDGET) -> int:
    budget, counted = tomllib.loads(budget_file.read_text()), lines_by_folder(root)
    if not counted:
        print("LEFT OUT: this is no checkout of git")
        return 0
    table = rows(counted, budget)
    print(f"{'folder':<24} {'lines':>7} {'budget':>7}")
    for folder, lines, limit in table:
        print(f"{folder:<24} {lines:>7} {limit:>7}{'  above its budget' if lines > limit else ''}")
    print(f"{'all':<24} {sum(row[1] for row in table):>7} {sum(row[2] for row in table):>7}")
    above = [folder for folder, lines, limit in table if lines > limit]
    stale = [folder for folder, lines, _ in table if not lines]
    if above:
        print(f"{', '.join(above)}: remove lines, or raise the budget in {budget_file.name} and say there why")
    if stale:
        print(f"{', '.join(stale)}: nothing is left to count; remove the line from {budget_file.name}")
    return 1 if above or stale else 0


if __name__ == "__main__":
    sys.exit(main())
