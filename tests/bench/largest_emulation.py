#!/usr/bin/env python3
"""Runs the largest simulation of sim/README.md as it stands there, and prints its processor time and memory: in all, and per
worker.

Usage: largest_emulation.py PROGRAM [DIVISOR ...]. Runs it with 1/DIVISOR of the workers for each DIVISOR (default: 16 and 1).
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "sim" / "README.md"
SCALED = ("--train-samples", "--minibatch", "--workers", "--nodes")  # options that are proportional to the number of workers


def command_of_page() -> list[str]:
    found = re.search(r"`paragrad (simulate [^`]*--workers 131072[^`]*)`", PAGE.read_text())
    if found is None:
        sys.exit(f"{PAGE.relative_to(ROOT)} has no such command")
    return shlex.split(found[1])


def scaled(command: list[str], divisor: int) -> list[str]:
    return [str(int(word) // divisor) if before in SCALED else word for before, word in zip(["", *command], command)]


def measure(program: str, command: list[str]) -> None:
    process = subprocess.Popen([program, *command, "--quiet"], cwd=ROOT, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"paragrad {shlex.join(command)} ended with {process.returncode}")
    workers, processor_s = int(command[command.index("--workers") + 1]), used.ru_utime + used.ru_stime
    print(f"one step of ResNet-50 on {workers} emulated workers: {processor_s:.2f} s of processor time, {used.ru_maxrss / 1e6:.2f} GB; "
          f"per worker {1e6 * processor_s / workers:.0f} us, {1024 * used.ru_maxrss / workers / 1e3:.1f} kB", flush=True)


def main() -> int:
    program, command = os.path.abspath(sys.argv[1]), command_of_page()
    for divisor in sys.argv[2:] or (16, 1):
        measure(program, scaled(command, int(divisor)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
