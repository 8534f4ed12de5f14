"""Commits what is recorded in expected.json as it comes, nothing else; a note next to the runs names what a killed harness left uncommitted."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from config import EXPERIMENTS, git, names

EVERY_S = 60           # short runs share a commit
LOCKED = "index.lock"  # in Git's complaint while another Git is at work
TRIES, PAUSE_S = 20, 0.5


def note_of(name: str) -> Path:
    """The labels of the runs whose records wait for a commit."""
    return EXPERIMENTS / name / "runs" / "uncommitted"


class Committer:
    """Of one experiment. Without Git it does nothing."""

    def __init__(self, name: str) -> None:
        self.name, self.folder = name, EXPERIMENTS / name
        self.in_git = git(self.folder, "rev-parse", "--is-inside-work-tree") is not None
        self.last_s = time.monotonic()

    def expect(self, label: str) -> None:
        """Call it before a record is written. label: of the run."""
        if self.in_git:
            note = note_of(self.name)
            note.parent.mkdir(exist_ok=True)
            with note.open("a") as file:
                file.write(label + "\n")

    def is_due(self) -> bool:
        return time.monotonic() > self.last_s + EVERY_S

    def commit(self) -> str:
        """Commits expected.json if there is anything to commit; returns Git's complaint, or ""."""
        note = note_of(self.name)
        if not self.in_git or not note.exists():
            return ""
        self.last_s = time.monotonic()
        if git(self.folder, "status", "--porcelain", "--", "expected.json"):
            labels = list(dict.fromkeys(note.read_text().splitlines()))
            for command in (["add", "--", "expected.json"], ["commit", "--quiet", "--only", "-m", subject(self.name, labels), "--", "expected.json"]):
                if complaint := patiently(self.folder, command):
                    return f"experiments/{self.name}/expected.json is not committed: {complaint}"
        note.unlink()
        return ""


def subject(name: str, labels: list[str]) -> str:
    one = f"{name}: record {labels[0]}" if labels else ""
    return one if len(labels) == 1 and len(one) <= 72 else f"{name}: record {len(labels)} run{'' if len(labels) == 1 else 's'}"


def patiently(folder: Path, command: list[str]) -> str:
    """Runs Git, again and again while another one holds the index; returns its complaint, or "". Git gets a session of its own, so that
    killing this harness with its process group does not leave Git's lock."""
    for _ in range(TRIES):
        done = subprocess.run(["git", "-C", folder, *command], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                              start_new_session=True)
        if done.returncode == 0:
            return ""
        if LOCKED not in done.stderr:
            break
        time.sleep(PAUSE_S)
    return " ".join((done.stderr.strip() or done.stdout.strip()).split())


def commit_leftovers() -> list[str]:
    """What earlier harnesses recorded and did not commit; returns Git's complaints."""
    return [complaint for name in names() if (complaint := Committer(name).commit())]
