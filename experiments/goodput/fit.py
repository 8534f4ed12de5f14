#!/usr/bin/env python3
"""Prints the constants of elastic.toml and restarted.toml that are fitted to published.csv, and the largest difference in points.

elastic.toml is fitted to the rows of one group, restarted.toml to its five rows. Of a grid of constants the one is taken whose
largest difference is smallest.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "harness"))

from fitting import given_program, simulate  # noqa: E402
from published import read_rows  # noqa: E402

NODES = (9375, 18750, 37500, 75000, 150000)
GRIDS = {
    ("elastic", "groups-1"): {"restart": range(14, 23), "rejoin": range(10, 21, 2), "rejoin_every": (100, 200, 300, 400)},
    ("restarted", "restarted"): {"restart": range(44, 69, 4), "rejoin": range(10, 51, 10), "rejoin_every": (20, 40, 80, 160)},
}


def main() -> None:
    program = given_program(__doc__)
    rows = read_rows(HERE / "published.csv", "run", "goodput")
    options = {"nodes": ",".join(map(str, NODES)), "failures": 40000}
    for (platform, run), grid in GRIDS.items():
        def difference(constants: dict[str, float]) -> float:
            table = simulate(program, options, HERE / f"{platform}.toml", command="goodput", **constants)["measurements"]
            return max(abs(100 * row["goodput"] - rows[f"{run}-{row['nodes']}"]) for row in table)

        tried = [dict(zip(grid, values)) for values in itertools.product(*grid.values())]
        differences = [difference(constants) for constants in tried]
        best = min(range(len(tried)), key=differences.__getitem__)
        print(f"{platform}: " + ", ".join(f"{key} {value} s" for key, value in tried[best].items())
              + f": at most {differences[best]:.1f} points off")


if __name__ == "__main__":
    main()
