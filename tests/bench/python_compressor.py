#!/usr/bin/env python3
"""What compressors in Python cost: their own NumPy, and everything else next to a built-in compression that sends about as much.

Usage: PYTHONPATH=build/python build/venv/bin/python tests/bench/python_compressor.py [--rounds N]
"""

import argparse
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/python"))

import models  # noqa: E402
import paragrad as pg  # noqa: E402


def timed(kind: type[pg.Compressor]) -> tuple[pg.Compressor, list[float]]:
    """Such a compressor, and the seconds that each call took in it."""
    spent: list[float] = []

    def of(function):
        def call(self, *arguments):
            begin = time.perf_counter()
            result = function(self, *arguments)
            spent.append(time.perf_counter() - begin)
            return result
        return call
    return type(kind.__name__, (kind,), {"encode": of(kind.encode), "decode": of(kind.decode)})(), spent


def train(**compression: object) -> tuple[float, float]:
    """Seconds of the training, and megabytes that each worker sent."""
    run = pg.train(data=ROOT / "data/fashion-mnist.h5", model="784-512-256-10:relu", learning_rate=0.05, epochs=1, blocks=32, max_blocks=4,
                   minibatch=256, workers=4, strategy="data_parallel", **compression)
    return run.result["training_s"], run.result["sent_bytes"] / 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    print(f"4 workers of one process, 784-512-256-10, codes sent to all; the fastest of {rounds} rounds")
    for kind, built_in in ((models.Sign, "bits:1"), (models.LowRank, "top_k:0.01")):
        best: dict[str, float] = {}
        for _ in range(rounds):
            compressor, spent = timed(kind)
            mine, sent = train(compression=compressor, gather_codes=True)
            theirs, sent_by_it = train(compression=built_in, gather_codes=True)
            for name, seconds in (("mine", mine), ("NumPy", sum(spent)), ("rest", mine - sum(spent)), ("theirs", theirs)):
                best[name] = min(best.get(name, seconds), seconds)
        print(f"{kind.__name__} ({sent:.1f} MB sent): {best['mine']:.2f} s, {best['NumPy']:.2f} s of that in its NumPy; {built_in} ({sent_by_it:.1f} MB): "
              f"{best['theirs']:.2f} s; a call costs {1e6 * (best['rest'] - best['theirs']) / len(spent):.0f} µs besides its NumPy ({len(spent)} calls)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
