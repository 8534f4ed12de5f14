"""File-system faults injected by the preloaded library (fault_plan.hpp), and the programs that face them."""

from __future__ import annotations

import os
import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("PARAGRAD", str(ROOT / "build" / "paragrad"))
LIBRARY = os.environ.get("PARAGRAD_FAULTS", str(ROOT / "build" / "tests" / "faults" / "libparagrad_faults.so"))
MPIEXEC = os.environ.get("PARAGRAD_MPIEXEC", "")  # empty: no launcher for MPI ranks
PLATFORM = str(ROOT / "sim/platforms/k40m-fdr.toml")
TIMEOUT_S = 60


@dataclass(frozen=True)
class Call:
    """One line of the library's log."""

    number: int
    name: str
    writes: bool  # can fail on a full disk
    bytes: int    # transferred by the call
    path: str


@dataclass(frozen=True)
class Mode:
    """What can happen to a call, in the words of the library's plan."""

    name: str
    plan: str
    concerns: Callable[[Call], bool]


def any_call(_: Call) -> bool:
    return True


def writes(call: Call) -> bool:
    return call.writes


def transfers(call: Call) -> bool:
    return call.bytes > 1


def stores(call: Call) -> bool:
    return call.bytes > 1 and call.writes


def may_be_interrupted(call: Call) -> bool:
    return call.name in ("open", "openat", "fopen", "read", "pread", "write", "pwrite", "writev", "ftruncate", "fsync")


def changes_files(call: Call) -> bool:
    """Killing a process before any other call leaves the same state as killing it before the next of these."""
    return call.name in ("unlink", "unlinkat", "rmdir", "remove") or call.writes and call.name not in ("fsync", "fdatasync")


MODES = [
    Mode("EIO once", "do=fail errno=EIO", any_call),
    Mode("ENOSPC from then on", "do=fail_on errno=ENOSPC", writes),
    Mode("short", "do=short", transfers),
    Mode("killed", "do=kill", changes_files),
    Mode("killed halfway", "do=tear", stores),
]
# An ignored failure must not surface when a later kill leaves only the state that it damaged.
STATE_MODES = [
    *MODES,
    Mode("EIO once, killed after the next pointer", "do=fail errno=EIO then=after:rename:latest.json", writes),
    Mode("EIO once, killed at the next state", "do=fail errno=EIO then=before:mkdir:/state/", writes),
]
MORE_MODES = [
    Mode("ENOSPC once", "do=fail errno=ENOSPC", writes),
    Mode("EINTR once", "do=fail errno=EINTR", may_be_interrupted),
    Mode("EIO from then on", "do=fail_on errno=EIO", any_call),
    Mode("EROFS from then on", "do=fail_on errno=EROFS", writes),
    Mode("EMFILE once", "do=fail errno=EMFILE", lambda call: "open" in call.name),
    Mode("killed after", "do=kill_after", any_call),
]
MORE_STATE_MODES = [
    *MORE_MODES,
    Mode("ENOSPC once, killed after the next pointer", "do=fail errno=ENOSPC then=after:rename:latest.json", writes),
    Mode("ENOSPC once, killed at the next state", "do=fail errno=ENOSPC then=before:mkdir:/state/", writes),
    Mode("short, killed after the next pointer", "do=short then=after:rename:latest.json", transfers),
]

# After a kill, the clock is wrong from the beginning of the resumed run.
CLOCK_MODES = [
    *[Mode(f"clock {error}", f"clock={error}", any_call) for error in ("back", "leap", "zero")],
    *[Mode(f"clock {error}, killed", f"do=kill clock={error}", changes_files) for error in ("back", "zero")],
]


def plans(calls: list[Call], modes: list[Mode]) -> Iterator[tuple[Mode, str]]:
    for mode in modes:
        for call in calls:
            if mode.concerns(call):
                yield mode, f"at={call.number} {mode.plan}"


@dataclass(frozen=True)
class Ended:
    """How a process ended."""

    code: int  # 124: it did not end
    out: str
    err: str
    beyond: str = ""  # if the fault was never reached: a sentence on that

    @property
    def sentences(self) -> list[str]:
        return [line for line in self.err.splitlines() if line.startswith("paragrad: ")]

    def __str__(self) -> str:
        return f"exit {self.code}, {' / '.join(self.err.strip().splitlines()[:3]) or 'nothing on stderr'}"


def launch(command: list[str], folder: Path, plan: str = "") -> Ended:
    """Runs the command with this plan for the calls on files below the folder."""
    log = folder.with_name(f"{folder.name}.{threading.get_ident()}.log")
    log.unlink(missing_ok=True)
    at = int(found[1]) if (found := re.search(r"\bat=(\d+)", plan)) else 0
    environment = dict(os.environ, LD_PRELOAD=LIBRARY, PARAGRAD_FAULT=f"folder={folder} {f'log={log}' if at else ''} {plan}")
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return Ended(124, "", f"no end in {TIMEOUT_S} s")
    if at and (made := len(log.read_text(errors="replace").splitlines()) if log.exists() else 0) < at:
        return Ended(done.returncode, done.stdout, done.stderr, f"call {at} was to be hit, and there were {made}")
    return Ended(done.returncode, done.stdout, done.stderr)


def read_log(file: Path) -> list[Call]:
    calls = []
    for line in file.read_text(errors="replace").splitlines():
        number, name, kind, transferred, path = line.split("\t")
        calls.append(Call(int(number), name, kind == "w", int(transferred), path))
    return calls


def out_of_order(calls: list[Call]) -> list[str]:
    """Hazards of a power cut, as sentences: a file renamed before its bytes were on disk, and a file removed before the name of
    its replacement was."""
    wrong, unwritten, unnamed = [], set(), set()
    for call in calls:
        if call.name in ("write", "writev", "pwrite", "ftruncate", "copy_file_range"):
            unwritten.add(call.path)
        elif call.name in ("fsync", "fdatasync"):
            unwritten.discard(call.path)
            unnamed.discard(call.path)
        elif call.name == "rename":
            if call.path + ".tmp" in unwritten:
                wrong.append(f"call {call.number} names {call.path} before its bytes are synchronised")
            unnamed.add(os.path.dirname(call.path))
        elif call.name in ("unlink", "unlinkat", "remove") and unnamed and not call.path.endswith(".tmp"):
            wrong.append(f"call {call.number} removes {call.path} before the names in {', '.join(sorted(unnamed))} are synchronised")
    return wrong


def wrong_exit(ended: Ended, plan: str, launcher: bool) -> str:
    """One sentence on what is wrong with how a process with this plan ended; "" if nothing is. The number of a rank's calls
    varies, as the first rank to arrive creates a folder; a fault after the last call is a run without a fault."""
    if ended.beyond:
        return "" if launcher and ended.code == 0 else f"{ended.beyond}; {ended}"
    may_die = any(word in plan for word in ("do=kill", "do=tear", "then="))
    if ended.code == 0:
        return ""
    if ended.code == 2:
        others = [] if launcher else [line for line in ended.err.splitlines() if not line.startswith("paragrad: ")]
        if len(ended.sentences) != 1 or others:
            return f"not one sentence: {ended}"
        return f"without its reason: {ended}" if "no reason" in ended.err else ""
    if may_die and (launcher or ended.code == -9):
        return ""
    return str(ended)
