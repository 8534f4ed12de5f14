#!/usr/bin/env python3
"""Measures what compiling the program costs, in several ways: `make build-times` (20 minutes of one core; leave the machine idle)."""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OFF = "-DPARAGRAD_CCACHE="
WAYS = {"one by one": ["-DPARAGRAD_BATCH=1", "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON", OFF],
        "one by one, precompiled header": ["-DPARAGRAD_BATCH=1", OFF],
        "batches of 10": ["-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON", OFF],
        "batches of 10, precompiled header": [OFF],
        "batches of 40, precompiled header": ["-DPARAGRAD_BATCH=40", OFF],
        "the default, ccache without entries": [],
        "the default, ccache with all entries": []}


def measured(options: list[str], cache: str) -> tuple[float, float]:
    """Seconds of processors and of the clock."""
    with tempfile.TemporaryDirectory(prefix="paragrad-build-") as build:
        environment = os.environ | {"CCACHE_DIR": cache}
        configure = ["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", *options]
        subprocess.run(configure, check=True, stdout=subprocess.DEVNULL, env=environment)
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        subprocess.run(["cmake", "--build", build, "--target", "paragrad"], check=True, stdout=subprocess.DEVNULL, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.monotonic() - begin


def main() -> None:
    model = next((line.split(": ")[1] for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")), "?")
    print(f"{os.cpu_count()} cores of {model}\n{'the program, compiled':<40} {'processor s':>12} {'clock s':>8}")
    with tempfile.TemporaryDirectory(prefix="paragrad-ccache-") as cache:
        for way, options in WAYS.items():
            processor, clock = measured(options, cache)
            print(f"{way:<40} {processor:>12.0f} {clock:>8.0f}", flush=True)


if __name__ == "__main__":
    main()
