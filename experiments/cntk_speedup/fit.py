#!/usr/bin/env python3
"""The fitted constant of this experiment, the spread of computing times, from the row of four GPUs in published.csv.

Prints it; it stands in platform.toml. Usage: python3 experiments/cntk_speedup/fit.py [PROGRAM]
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "harness"))

from config import ROOT, load  # noqa: E402
from fitting import bisect, simulate  # noqa: E402
from published import read_rows  # noqa: E402


def main() -> None:
    program = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build" / "paragrad")
    experiment = load("cntk_speedup", "full")
    one, four = ({key: value for key, value in experiment.run(name).options.items() if key != "platform"}
                 for name in ("sgd", "bmuf-4"))

    def slow_down(sigma: float) -> float:
        times = [simulate(program, options, HERE / "platform.toml", step_sigma=sigma)["training_s"] for options in (one, four)]
        return times[1] / times[0]

    speed_up = read_rows(HERE / "published.csv", "run", "speed_up_average")["bmuf-4"]
    print(f"step_sigma  {bisect(slow_down, 1 / speed_up, 0, 0.5):.4f}")


if __name__ == "__main__":
    main()
