"""Queries of git's history for tests and lints."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "paragrad")  # kept between runs of CI, like ccache's
PASSED = CACHE / "passed"  # the last commit that passed `.ci/run release` with this cache, which writes it


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def commit_of(name: str) -> str:
    """Its hash, or empty if there is no such commit here."""
    done = subprocess.run(["git", "rev-parse", "--quiet", "--verify", f"{name}^{{commit}}"], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip()


def last_passed() -> str:
    """$PARAGRAD_PASSED, or what PASSED says, or the newest commit that is 6 hours older than HEAD; empty if there is none."""
    recorded = PASSED.read_text().strip() if PASSED.exists() else ""
    for name in (os.environ.get("PARAGRAD_PASSED", ""), recorded):
        if name and (commit := commit_of(name)):
            return commit
    head = int(git("log", "-1", "--format=%ct"))
    return git("rev-list", "-1", f"--before={head - 6 * 3600}", "HEAD")


def changed_since(commit: str) -> set[Path]:
    """Files that differ from the commit's, in the working tree, too."""
    names = git("diff", "--name-only", commit).splitlines() + git("ls-files", "--others", "--exclude-standard").splitlines()
    return {ROOT / name for name in names}
