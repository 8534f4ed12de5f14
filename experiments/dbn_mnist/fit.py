#!/usr/bin/env python3
"""Prints the one fitted constant, the rate of a core: a single worker takes as long as T. Ma's, as his tables imply.

It is used in cluster.toml. It needs data/mnist.h5.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "harness"))

from config import ROOT  # noqa: E402
from fitting import bisect, given_program, simulate  # noqa: E402
from loading import load  # noqa: E402
from published import read_rows  # noqa: E402

TIMING = {"device": "meta", "target-error": -1}


def main() -> None:
    program = given_program(__doc__)
    experiment = load("dbn_mnist", "full")
    options = experiment.run("one-0.3").options | {"data": "data/mnist.h5"}
    platform = ROOT / options.pop("platform")
    target = read_rows(HERE / "published.csv", "run", "time_s")["one-0.3"]
    epochs = [simulate(program, options | {"seed": seed}, platform)["epochs"] for seed in experiment.seeds]

    def rate_of_work(peak: float) -> float:
        """One over the mean time; it rises with the peak. The epochs do not depend on it."""
        results = [simulate(program, options | TIMING | {"epochs": count}, platform, peak=peak) for count in epochs]
        return 1 / statistics.fmean(result["pretraining_s"] + result["training_s"] for result in results)

    peak = bisect(rate_of_work, 1 / target, 0.01, 1, rounds=18)
    print(f"cluster.toml  peak  {peak:.4f} GFLOP/s (epochs {', '.join(map(str, epochs))})")


if __name__ == "__main__":
    main()
