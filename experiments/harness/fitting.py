"""For the fit.py of an experiment: one run of the simulator with a changed platform file, and bisection."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Callable

from config import ROOT, Options
from runner import arguments


def given_program(description: str | None) -> str:
    """The program that the command line of a fit.py names."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", default=str(ROOT / "build" / "paragrad"), help="program to simulate with (default: build/paragrad)")
    return parser.parse_args().program


def simulate(program: str, options: Options, platform: Path, *, command: str = "simulate", **changes: float) -> dict[str, Any]:
    """The result of a run. `changes`: numbers of the platform file by key, in the file's units."""
    text = platform.read_text()
    for key, value in changes.items():
        text, count = re.subn(rf'^({key} = "?)[\d.e+-]+', rf"\g<1>{value}", text, flags=re.MULTILINE)
        if count != 1:
            raise ValueError(f"{platform.name} has {count} lines '{key} = number'")
    with tempfile.TemporaryDirectory() as folder:
        changed = Path(folder) / platform.name
        changed.write_text(text)
        quiet = ["--quiet"] if command == "simulate" else []
        subprocess.run([program, command, *arguments(options), f"--platform={changed}", *quiet, f"--out={folder}/run"],
                       check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
        return json.loads((Path(folder) / "run" / "manifest.json").read_text())["result"]


def bisect(measure: Callable[[float], float], target: float, low: float, high: float, rounds: int = 12) -> float:
    """The argument at which a rising function reaches the target."""
    for _ in range(rounds):
        middle = (low + high) / 2
        low, high = (middle, high) if measure(middle) < target else (low, middle)
    return (low + high) / 2
