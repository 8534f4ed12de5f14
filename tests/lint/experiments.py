#!/usr/bin/env python3
"""Every experiment has a README and a line on the page of all; every size of it can be loaded; its claims are those of claims.lock;
sources.md, the pages' lines on claims, pasted verdicts and counts of runs are what records and configurations say; and expected.json
and tuned.toml have values of nothing that its config.toml does not have."""

import sys
from pathlib import Path

ROOT = Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
ROOT = ROOT if ROOT.is_dir() else ROOT.parents[2]
sys.path[:0] = [str(ROOT / "experiments" / "harness"), str(ROOT / "experiments" / "page")]

import pages  # noqa: E402
import sources  # noqa: E402
from claim_lock import check_lock, unlocked_marks  # noqa: E402
from config import UserError, names  # noqa: E402
from leftovers import leftovers  # noqa: E402
from readme import undescribed  # noqa: E402


def main() -> int:
    mistakes = undescribed()
    for name in names():
        try:
            mistakes += leftovers(name)
            check_lock(name)
            mistakes += [f"experiments/{name}/config.toml: [[stale]] '{why}' is not in claims.lock: make lock-{name}" for why in unlocked_marks(name)]
        except UserError as error:
            mistakes.append(str(error))
    if sources.SPEC.exists() and sources.PAGE.read_text() != sources.page():
        mistakes.append("experiments/sources.md is not what the records say: make sources")
    mistakes += pages.mistakes()
    print("\n".join(mistakes) or f"{len(names())} experiments are described and whole")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
