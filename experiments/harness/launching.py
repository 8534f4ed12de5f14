"""Starts one command of the program, and keeps account of what it takes: also if this harness is killed meanwhile."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import tempfile
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator

from config import ROOT, read_json
from records import AT_LEAST, CORE_S, write_json

NOTED_EVERY_S = 5
INFO = Path("/proc/cpuinfo")
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Cost:
    """What a run has taken. `at_least`: it was killed, and part of what it took until then may be missing."""

    core_s: float = 0
    at_least: bool = False

    @property
    def values(self) -> dict[str, Any]:
        return {CORE_S: float(f"{self.core_s:.3g}")} | ({AT_LEAST: True} if self.at_least else {})


def file_of(folder: Path) -> Path:
    return folder / "cost.json"


def cost_of(folder: Path) -> Cost:
    """Of a run that was interrupted, as far as is known: a harness that is killed has noted it some seconds before."""
    if not file_of(folder).exists():
        return Cost(at_least=True)
    noted = read_json(file_of(folder), "remove it to resume without these costs")
    return Cost(noted[CORE_S], noted.get(AT_LEAST, False))


def note(folder: Path, cost: Cost) -> None:
    if folder.exists():
        write_json(file_of(folder), cost.values)


def run_command(command: list[Any], folder: Path, before: Cost, keep: tuple[int, ...] = ()) -> tuple[str, Cost]:
    """Runs the command; returns its error message, or "" if it succeeds, and `before` and what it took. folder: in which cost.json is
    kept up to date. keep: file descriptors that the command inherits, with the locks that they hold."""
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=errors, pass_fds=keep)
        with noting(process.pid, folder, before):
            core_s = ended(process)
        errors.seek(0)
        complaint = "" if process.returncode == 0 else errors.read().strip() or words_of(process.returncode)
    return complaint, Cost(before.core_s + core_s, before.at_least)


def ended(process: subprocess.Popen) -> float:
    """Waits for it; returns the core-seconds that it took."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_utime + used.ru_stime


def words_of(status: int) -> str:
    return f"exit status {status}" if status > 0 else f"killed by signal {-status}"


@contextmanager
def noting(pid: int, folder: Path, before: Cost) -> Iterator[None]:
    over = threading.Event()

    def watch() -> None:
        while not over.wait(NOTED_EVERY_S):
            note(folder, Cost(before.core_s + seconds_of(pid), at_least=True))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def seconds_of(pid: int) -> float:
    """The core-seconds of a running process and of its children that have ended; 0 where there is no /proc."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return TICK_S * sum(int(field) for field in fields[11:15])  # utime, stime, cutime, cstime


def processor() -> str:
    """The model of this machine's processor, by name and number: hypervisors often shorten the name."""
    if not INFO.exists():
        return platform.processor() or platform.machine()
    first = INFO.read_text().partition("\n\n")[0]
    facts = dict((part.strip() for part in line.split(":", 1)) for line in first.splitlines() if ":" in line)
    numbers = ", ".join(f"{name} {facts[name]}" for name in ("cpu family", "model", "stepping") if name in facts)
    return f"{facts.get('model name', platform.machine())} ({numbers})" if numbers else facts.get("model name", platform.machine())


def has_result(folder: Path) -> bool:
    """Whether a run is over: the program writes its manifest with the result last."""
    try:
        return "result" in json.loads((folder / "manifest.json").read_bytes())
    except (OSError, ValueError, TypeError):
        return False
