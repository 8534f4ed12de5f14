"""Writes report/index.html: all experiments on one self-contained page. Usage: python3 experiments/page [FILE]"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "notebooks"))

import paragrad_runs  # noqa: E402, F401  (brings the harness along)
import readme  # noqa: E402
from config import UserError  # noqa: E402
from document import document  # noqa: E402
from sections import page_of  # noqa: E402


def main() -> int:
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "report" / "index.html"
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
