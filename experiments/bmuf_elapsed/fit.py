#!/usr/bin/env python3
"""Prints the four fitted constants of this experiment, from the rows of one and of eight GPUs in published.csv and nothing else.

They are used in config.toml and platform.toml.
"""

from __future__ import annotations

import math
import statistics
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "harness"))

from fitting import bisect, given_program, simulate  # noqa: E402
from loading import load  # noqa: E402
from published import read_rows  # noqa: E402

FITTED = ("ma-8", "cbm-8", "nbm-8")


def stretch(sigma: float) -> float:
    """Mean of exp(sigma |z|), by which noise slows a computation: Table 4's rates include it, --device-rate does not."""
    return 2 * math.exp(sigma * sigma / 2) * statistics.NormalDist().cdf(sigma)


def main() -> None:
    program = given_program(__doc__)
    optimise, aggregate, validate = (read_rows(HERE / "published.csv", "run", f"{phase}_min")
                                     for phase in ("optimise", "aggregate", "validate"))
    options = {key: value for key, value in load("bmuf_elapsed", "full").run("nbm-8").options.items() if key != "platform"}
    frames = options["train-samples"]
    rate_of_one = frames / (60 * optimise["sgd"])
    rate_of_eight = frames / 8 / (60 * statistics.fmean(optimise[run] for run in FITTED))

    def aggregate_min(sigma: float) -> float:
        own = options | {"device-rate": rate_of_eight * stretch(sigma), "valid-samples": 0}
        return simulate(program, own, HERE / "platform.toml", step_sigma=sigma)["aggregate_s"] / 60

    sigma = round(bisect(aggregate_min, statistics.fmean(aggregate[run] for run in FITTED), 0, 0.1), 4)
    print(f"step_sigma                  {sigma}")
    print(f"device-rate of one GPU      {rate_of_one * stretch(sigma):.1f} frames/s ({rate_of_one:.1f} with the noise)")
    print(f"device-rate of eight GPUs   {rate_of_eight * stretch(sigma):.1f} frames/s ({rate_of_eight:.1f} with the noise)")
    # A frame's forward pass is a third of its training.
    print(f"valid-samples               {round(frames * 3 * validate['sgd'] / optimise['sgd'])}")


if __name__ == "__main__":
    main()
