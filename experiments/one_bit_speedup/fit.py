#!/usr/bin/env python3
"""Prints the two fitted constants of this experiment, from the farm's two rows of eight GPUs in published.csv and nothing else.

One is a cost that does not depend on the minibatch's size (quantising: memory_efficiency), the other grows with it (waiting for
the slowest: step_sigma). They are used in farm.toml and server.toml, with the kernel times of the paper's Table 1, which `kernels`
prints.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "harness"))

from fitting import bisect, given_program, simulate  # noqa: E402
from loading import load  # noqa: E402
from published import read_rows  # noqa: E402

WIDTHS = [429, *[2048] * 7, 9304]
MILLISECONDS = {1: 59 - 30 * 255 / 256, 256: 59, 512: 89, 1024: 143}  # Table 1, by sub-batch; 1: the line through 256 and 512
UPDATE_MS = 18.2  # the same page: per minibatch of any size
SMALL, LARGE = "farm-8-2880", "farm-8-16384"


def kernels() -> None:
    """Times of a product with 64 weights, scaled for larger ones so that the products and the update add up to Table 1."""
    weights = [inputs * outputs for inputs, outputs in pairwise(WIDTHS)]
    of_products = 64 / (3 * sum(weights) - weights[0])  # the first layer has no input to derive
    of_update = 64 / sum(weights)
    for name, extra in (("product", 0), ("affine_descend", UPDATE_MS * of_update)):
        print(f"{name}  ", ", ".join(f"{1e6 * ((ms - UPDATE_MS) * of_products + extra):.4f}ns" for ms in MILLISECONDS.values()))


def main() -> None:
    program = given_program(__doc__)
    experiment = load("one_bit_speedup", "full")
    kfps = read_rows(HERE / "published.csv", "run", "kfps")

    def seconds_per_kframe(run: str, **constants: float) -> float:
        options = {key: value for key, value in experiment.run(run).options.items() if key != "platform"}
        result = simulate(program, options, HERE / "farm.toml", **constants)
        return 1e3 * result["training_s"] / result["samples"]

    sigma, inverse = 0.05, 5.0
    for _ in range(6):
        inverse = bisect(lambda x: seconds_per_kframe(SMALL, memory_efficiency=1 / x, step_sigma=sigma), 1 / kfps[SMALL], 1, 50)
        sigma = bisect(lambda x: seconds_per_kframe(LARGE, memory_efficiency=1 / inverse, step_sigma=x), 1 / kfps[LARGE], 0, 0.5)
    kernels()
    print(f"memory_efficiency  {1 / inverse:.4f}")
    print(f"step_sigma         {sigma:.4f}")


if __name__ == "__main__":
    main()
