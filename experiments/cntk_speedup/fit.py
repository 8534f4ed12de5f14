#!/usr/bin/env python3
"""Prints the two fitted constants of this experiment, each from a row of four GPUs in published.csv: the spread of computing
times from the row of block momentum, and with it the minibatch of 1-bit SGD from the other.

They are used in platform.toml and config.toml.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "harness"))

from config import Options  # noqa: E402
from fitting import bisect, given_program, simulate  # noqa: E402
from loading import load  # noqa: E402
from published import read_rows  # noqa: E402


def main() -> None:
    program = given_program(__doc__)
    experiment = load("cntk_speedup", "full")
    one, four = ({key: value for key, value in experiment.run(name).options.items() if key != "platform"}
                 for name in ("sgd", "bmuf-4"))

    def slow_down(sigma: float) -> float:
        times = [simulate(program, options, HERE / "platform.toml", step_sigma=sigma)["training_s"] for options in (one, four)]
        return times[1] / times[0]

    published = read_rows(HERE / "published.csv", "run", "speed_up_average")
    sigma = round(bisect(slow_down, 1 / published["bmuf-4"], 0, 0.5), 3)
    print(f"step_sigma  {sigma}")

    one_bit = {key: value for key, value in experiment.run("onebit-4").options.items() if key != "platform"}

    def rate(options: Options) -> float:
        result = simulate(program, options, HERE / "platform.toml", step_sigma=sigma)
        return result["samples"] / result["training_s"]

    alone = rate(one)
    minibatch = bisect(lambda frames: rate(one_bit | {"minibatch": round(frames)}) / alone, published["onebit-4"], 64, 2048)
    print(f"minibatch   {round(minibatch)}")


if __name__ == "__main__":
    main()
