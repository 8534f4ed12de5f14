#!/usr/bin/env python3
"""Times model averaging written in Python against the same in C++, on the demo's network, and prints the ratio.

Usage: PYTHONPATH=build/python build/venv/bin/python tests/bench/python_strategy.py [--pairs N]
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/python"))

import paragrad as pg  # noqa: E402
import strategies  # noqa: E402


def seconds(**options: object) -> tuple[float, str]:
    begin = time.perf_counter()
    run = pg.train(data=ROOT / "data/fashion-mnist.h5", model="784-512-256-10:relu", learning_rate=0.05, epochs=1, blocks=16,
                   max_blocks=8, **options)
    return time.perf_counter() - begin, run.weights_sha256


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=5)
    pairs = parser.parse_args().pairs
    for workers in (2, 8):
        ratios = []
        for _ in range(pairs):
            mine, weights = seconds(workers=workers, strategy=strategies.Averaging)
            built_in, same = seconds(workers=workers, strategy="model_averaging")
            ratios.append(mine / built_in)
        print(f"{workers} workers of one process: the strategy in Python takes {statistics.median(ratios):.3f} of the time of the one in C++ "
              f"(median of {pairs} pairs, {min(ratios):.3f} to {max(ratios):.3f}); {'the same' if weights == same else 'OTHER'} weights")
    return 0


if __name__ == "__main__":
    sys.exit(main())
