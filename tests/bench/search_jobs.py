#!/usr/bin/env python3
"""A search of 24 runs, two at a time on two cores, next to what two independent processes reach on them.

Usage: search_jobs.py PROGRAM [ROUNDS]. Each run has one thread. Searches with one run at a time, with two, and two searches with one run at a
time side by side alternate, and the fastest of each counts. All must find the same table. Needs two cores of an otherwise idle machine; ends
with 1 if the ratio to the independent processes is below the target."""

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TARGET = 0.9
SPACE = """data = "{folder}/task.h5"
model = "64-256-256-10:relu"
epochs = 6
minibatch = 64
workers = 2
blocks = 4
platform = "k40m-fdr"
strategy = ["model_averaging", "bmuf", "slowmo"]
learning-rate = [0.01, 0.02, 0.05, 0.1]
"""


def run(program: str, *words: object) -> str:
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"})
    if done.returncode != 0:
        sys.exit(f"paragrad {' '.join(map(str, words))} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def search(program: str, folder: Path, out: Path, jobs: int) -> tuple[float, str]:
    """Seconds, and the results of all runs."""
    begin = time.monotonic()
    run(program, "search", folder / "space.toml", "--out", out, "--seeds", "1,2", "--host-threads", 1, "--jobs", jobs)
    return time.monotonic() - begin, (out / "results.json").read_text()


def main() -> int:
    program, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 2
    if len(os.sched_getaffinity(0)) < 2:
        print("left out: needs two cores")
        return 0
    best = {1: float("inf"), 2: float("inf")}
    side_by_side = float("inf")
    results = set()
    with tempfile.TemporaryDirectory(prefix="paragrad-") as name:
        folder = Path(name)
        run(program, "data", "generate", "--out", folder / "task.h5", "--samples", 10000, "--valid", 1000, "--test", 1000, "--dim", 64,
            "--classes", 10)
        (folder / "space.toml").write_text(SPACE.format(folder=folder))
        for number in range(rounds):
            for jobs in best:
                seconds, found = search(program, folder, folder / f"{number}-{jobs}", jobs)
                best[jobs] = min(best[jobs], seconds)
                results.add(found)
            begin = time.monotonic()
            with ThreadPoolExecutor(2) as pool:
                results.update(found for _, found in pool.map(lambda side: search(program, folder, folder / f"{number}-{side}", 1), "ab"))
            side_by_side = min(side_by_side, time.monotonic() - begin)
    ratio = side_by_side / 2 / best[2]
    print(f"a search of 24 runs: {best[1]:.2f} s one at a time, {best[2]:.2f} s two at a time; two such searches side by side, as independent "
          f"processes: {side_by_side:.2f} s; ratio of runs per second {ratio:.2f} (target {TARGET})")
    if len(results) > 1:
        print("FAILS: the searches found different results")
    return 1 if ratio < TARGET or len(results) > 1 else 0


if __name__ == "__main__":
    sys.exit(main())
