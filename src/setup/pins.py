#!/usr/bin/env python3
"""Raises every pinned version, NAME==VERSION, to the newest that pip finds, and prints what changes: `make pins`. Then run `make test`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES = ("pyproject.toml", "src/setup/python_tools.txt", "src/setup/docs_tools.txt", "tests/bench/peers.txt")
PIN = re.compile(r"\b([A-Za-z][\w.-]*)==([\w.]+)")


def newest(name: str) -> str:
    done = subprocess.run([sys.executable, "-m", "pip", "index", "versions", name], capture_output=True, text=True)
    found = re.match(r"\S+ \((\S+)\)", done.stdout)
    if done.returncode or not found:
        sys.exit(f"pins: pip finds no version of {name}: {done.stderr.strip().splitlines()[-1:]}")
    return found[1]


def main() -> None:
    texts = {file: (ROOT / file).read_text() for file in FILES}
    versions = {name: newest(name) for name in sorted({name for text in texts.values() for name, _ in PIN.findall(text)})}
    for file, text in texts.items():
        for name, version in PIN.findall(text):
            if versions[name] != version:
                print(f"{file}: {name} {version} -> {versions[name]}")
        (ROOT / file).write_text(PIN.sub(lambda pin: f"{pin[1]}=={versions[pin[1]]}", text))
    print("newest:", ", ".join(f"{name} {version}" for name, version in versions.items()))


if __name__ == "__main__":
    main()
