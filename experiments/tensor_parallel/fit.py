#!/usr/bin/env python3
"""Prints the fitted constant of each of the two models for published.csv's row of 8 machines and the small net: the computing
rate of a machine (wire.toml), or the cost of a message to its sender (messages.toml).

They are used in those files.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "harness"))

from config import ROOT  # noqa: E402
from fitting import bisect, given_program, simulate  # noqa: E402
from loading import load  # noqa: E402
from published import read_rows  # noqa: E402


def main() -> None:
    program = given_program(__doc__)
    experiment = load("tensor_parallel", "full")
    published = read_rows(HERE / "published.csv", "run", "speed_up")

    def share_of_time(account: str, **changes: float) -> float:
        """Time on 8 machines relative to one machine; it rises with either constant."""
        times = []
        for workers in (8, 1):
            options = dict(experiment.run(f"{account}-small-128-{workers}").options)
            platform = ROOT / options.pop("platform")
            times.append(simulate(program, options, platform, **changes)["training_s"])
        return times[0] / times[1]

    target = 1 / published["wire-small-128-8"]
    efficiency = bisect(lambda share: share_of_time("wire", gemm_efficiency=share), target, 0.05, 1)
    print(f"wire.toml      gemm_efficiency  {efficiency:.4f}")
    cost = bisect(lambda us: share_of_time("messages", send_overhead=us), target, 5, 2000)
    print(f"messages.toml  send_overhead    {cost:.1f} us")


if __name__ == "__main__":
    main()
