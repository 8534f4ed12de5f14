#!/usr/bin/env python3
"""Options are described by the struct that has them (core/options.hpp); one file hands the descriptions to CLI11."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ADDS_TO_PARSER = re.compile(r"\badd_(?:option|flag)(?:_function|_callback)?\(")
ONLY_IN = "src/cli/described_options.cpp"


def main() -> int:
    found = []
    for path in sorted((ROOT / "src").rglob("*.[ch]pp")):
        name = path.relative_to(ROOT).as_posix()
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if ADDS_TO_PARSER.search(line) and name != ONLY_IN:
                found.append(f"{name}:{number}: describe the option in the struct that has it (core/options.hpp)")
    print("\n".join(found) or "all options are described by the structs that have them")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
