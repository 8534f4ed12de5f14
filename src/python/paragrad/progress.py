"""Shows how far a training is while it runs."""

from __future__ import annotations

import contextlib
import sys
import threading
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .runs import Error, read, records_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PERIOD_S = 0.2


def is_interactive() -> bool:
    """Whether a person enters the code, at Python's prompt, in IPython or in a notebook."""
    return hasattr(sys, "ps1")


@contextlib.contextmanager
def followed(folder: Path, shows: bool, on_epoch: Callable[[dict[str, Any]], Any] | None, resumes: bool = False) -> Iterator[None]:
    """Follows the records of epochs that this process writes to the run folder meanwhile. shows: a line on stderr, replaced by that of
    the next record and deleted in the end. on_epoch: called with each record, on a thread; what it raises is raised in the end.
    resumes: the records that are there belong to the same run."""
    if not shows and on_epoch is None:
        yield
        return
    follower = Follower(folder, shows, on_epoch, resumes)
    thread = threading.Thread(target=follower.run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        follower.ended.set()
        thread.join()
    if follower.raised is not None:
        raise follower.raised


class Follower:
    def __init__(self, folder: Path, shows: bool, on_epoch: Callable[[dict[str, Any]], Any] | None, resumes: bool) -> None:
        self.folder, self.shows, self.on_epoch = folder, shows, on_epoch
        self.ended = threading.Event()
        self.raised: BaseException | None = None
        self.before = changed(folder)        # when the records of an earlier run were written, which are not shown
        self.seen = len(self.records() or []) if resumes else 0
        self.line = ""

    def run(self) -> None:
        while not self.ended.wait(PERIOD_S):
            self.look()
        self.look()
        replace(self.line, "")

    def look(self) -> None:
        if (now := changed(self.folder)) == self.before:
            return
        if (records := self.records()) is None:
            return
        self.before = now
        if len(records) < self.seen:  # the run was begun again
            self.seen = 0
        new, self.seen = records[self.seen:], len(records)
        if new and self.shows:
            self.show(new[-1])
        for record in new:
            if self.on_epoch is None or self.raised is not None:
                break
            try:
                self.on_epoch(record)
            except BaseException as error:  # of the user's, for the thread that waits
                self.raised = error

    def records(self) -> list[dict[str, Any]] | None:
        """None: they are being written."""
        with contextlib.suppress(Error, OSError, LookupError, TypeError, ValueError):
            return [record for record in records_of(self.folder) if "epoch" in record]  # the last one of all is the result
        return None

    def show(self, record: dict[str, Any]) -> None:
        with contextlib.suppress(Error, OSError, LookupError, TypeError, ValueError):
            line = line_of(record, read(self.folder / "config.toml", tomllib.loads).get("epochs"))
            replace(self.line, line)
            self.line = line


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
