#!/usr/bin/env python3
"""A campaign of damaged inputs: every [fuzz] test under sanitizers, on all cores, with a table at the end.

Usage: fuzz.py FOLDER [--inputs N] [--jobs N], where FOLDER holds the test programs and N is the number of inputs of a fast reader; slow
ones get a fixed share of it (tests/fuzz.hpp)."""

import argparse
import collections
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LINE = re.compile(r"^fuzz: (.+): (\d+) inputs, (\d+) read, (\d+) refused, ([\d.]+) s$", re.MULTILINE)
SLICES = 20


class Slice:
    """A program's [fuzz] tests on the inputs from `first` up to `end`."""

    def __init__(self, program: Path, first: int, end: int):
        self.program, self.inputs = program, f"{first}:{end}"
        with tempfile.TemporaryDirectory(prefix="paragrad-fuzz-") as folder:
            environment = {**os.environ, "PARAGRAD_FUZZ": self.inputs, "TMPDIR": folder,
                           "ASAN_OPTIONS": "quarantine_size_mb=8:" + os.environ.get("ASAN_OPTIONS", "")}
            ended = subprocess.run([program, "[fuzz]"], env=environment, capture_output=True, text=True, errors="replace")
        self.code, self.output = ended.returncode, ended.stdout + ended.stderr
        self.counts = {name: [int(inputs), int(read), int(refused), float(seconds)]
                       for name, inputs, read, refused, seconds in LINE.findall(self.output)}

    def complaint(self, readers: set[str]) -> str:
        """Empty if every reader has come to the end of its inputs."""
        if self.code == 0 and self.counts.keys() == readers:
            return ""
        lines = LINE.sub("", self.output).strip().splitlines()
        return "\n".join([f"PARAGRAD_FUZZ={self.inputs} {self.program} \"[fuzz]\" ended with code {self.code}:", *lines[-60:], ""])


def table(sums: dict[str, list[float]], failures: int, wall_s: float) -> str:
    width = max(map(len, sums), default=0)
    rows = [f"{'reader':<{width}}  {'inputs':>9}  {'read':>9}  {'refused':>9}  {'seconds':>8}"]
    rows += [f"{name:<{width}}  {inputs:>9,}  {read:>9,}  {refused:>9,}  {seconds:>8,.0f}"
             for name, (inputs, read, refused, seconds) in sorted(sums.items())]
    inputs, read, refused, seconds = (sum(column) for column in zip(*sums.values())) if sums else (0, 0, 0, 0)
    rows.append(f"{'all':<{width}}  {inputs:>9,}  {read:>9,}  {refused:>9,}  {seconds:>8,.0f}")
    return "\n".join([*rows, f"{failures} failures in {wall_s:,.0f} s"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--inputs", type=int, default=60_000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    programs = [path for path in sorted(arguments.folder.glob("test_*"))
                if os.access(path, os.X_OK) and "[fuzz]" in subprocess.run([path, "--list-tags"], capture_output=True, text=True).stdout]
    if os.access("/dev/shm", os.W_OK):
        tempfile.tempdir = "/dev/shm"  # the readers' files are small and many
    bounds = [arguments.inputs * i // SLICES for i in range(SLICES + 1)]
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        slices = list(pool.map(lambda part: Slice(*part), [(program, first, end) for first, end in zip(bounds, bounds[1:])
                                                           for program in programs]))
    sums: dict[str, list[float]] = collections.defaultdict(lambda: [0, 0, 0, 0])
    for part in slices:
        for name, counts in part.counts.items():
            sums[name] = [a + b for a, b in zip(sums[name], counts)]
    few = [f"{name}: {read} read and {refused} refused of {inputs} inputs, fewer than 1 %\n"
           for name, (inputs, read, refused, _) in sums.items() if 100 * min(read, refused) < inputs]
    readers = {program: {name for part in slices if part.program == program for name in part.counts} for program in programs}
    complaints = [text for part in slices if (text := part.complaint(readers[part.program]))] + few
    print("\n".join([*complaints, table(sums, len(complaints), time.monotonic() - begin)]))
    return 0 if sums and not complaints else 1


if __name__ == "__main__":
    sys.exit(main())
