"""Shows how far a training is while it runs."""

from __future__ import annotations

import contextlib
import sys
import threading
import tomllib
from pathlib import Path
from typing import Any

from .runs import Error, read, records_of

PERIOD_S = 0.2


def is_interactive() -> bool:
    """Whether a person enters the code, at Python's prompt, in IPython or in a notebook."""
    return hasattr(sys, "ps1")


@contextlib.contextmanager
def progress_of(folder: Path):
    """Follows the records of the run folder that this process writes meanwhile: a line on stderr, replaced by that of the next
    record and deleted in the end."""
    ended = threading.Event()
    shows = threading.Thread(target=follow, args=(folder, changed(folder), ended), daemon=True)
    shows.start()
    try:
        yield
    finally:
        ended.set()
        shows.join()


def follow(folder: Path, before: int, ended: threading.Event) -> None:
    """before: when the records of an earlier run were written, which are not shown."""
    shown = ""
    while not ended.wait(PERIOD_S):
        if (now := changed(folder)) == before:
            continue
        before = now
        with contextlib.suppress(Error, OSError, LookupError, TypeError, ValueError):  # a file that is being written
            latest = [record for record in records_of(folder) if "epoch" in record][-1]  # the last one of all is the result
            line = line_of(latest, read(folder / "config.toml", tomllib.loads).get("epochs"))
            replace(shown, line)
            shown = line
    replace(shown, "")


def changed(folder: Path) -> int:
    try:
        return (folder / "metrics.jsonl").stat().st_mtime_ns
    except OSError:
        return 0


def line_of(record: dict[str, Any], epochs: int | None) -> str:
    if record.get("phase") == "pretrain":
        return f"pretraining: layer {record['layer']}, epoch {record['epoch']}"
    parts = [f"epoch {record['epoch']}{f' of {epochs}' if epochs else ''}"]
    parts += [f"{name} error {100 * record[key]:.2f} %" for name, key in (("training", "train_error"), ("validation", "valid_error"))
              if record.get(key) is not None]
    return ", ".join(parts)


def replace(old: str, new: str) -> None:
    """Without escape sequences, which not all notebooks know."""
    if old or new:
        sys.stderr.write("\r" + new.ljust(len(old)) + ("" if new else "\r"))
        sys.stderr.flush()
