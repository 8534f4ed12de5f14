"""Writes all experiments on one self-contained page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "notebooks"))


def main() -> int:
    parser = argparse.ArgumentParser(prog="experiments/page", description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=ROOT / "report" / "index.html",
                        help="file to write (default: report/index.html)")
    out = parser.parse_args().file

    import paragrad_runs  # noqa: F401  (brings the harness along)
    import readme
    from config import UserError
    from document import document  # which needs matplotlib
    from sections import page_of
    try:
        text = document([page_of(name) for name in readme.all_experiments()])
    except UserError as error:
        print(f"report: {error}", file=sys.stderr)
        return 2
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text)
    counts = f"{text.count('<section ')} experiments, {text.count('<figure>')} figures"
    print(f"wrote {out}: {counts}, {len(text.encode()) / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
