"""What `paragrad plot` runs: python3 -m paragrad.plot_command. A message on stderr and status 2 where the user can mend something."""

from __future__ import annotations

import argparse
import logging
import sys

from .runs import Error


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--y", required=True)
    parser.add_argument("--x", required=True)
    parser.add_argument("--out", action="append", required=True)
    parser.add_argument("--defaults", required=True)
    parser.add_argument("--title", default="")
    parser.add_argument("--names", action="append", default=[])
    parser.add_argument("--best", action="store_true")
    parser.add_argument("--log-x", action="store_true")
    parser.add_argument("--log-y", action="store_true")
    arguments = parser.parse_args()
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # as it says where it keeps its list of fonts
    from .plotting import plot
    try:
        plot(**vars(arguments))
    except Error as error:
        print(f"paragrad: {error}", file=sys.stderr)
        return 2
    print("\n".join(arguments.out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
