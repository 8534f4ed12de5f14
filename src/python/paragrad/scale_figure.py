"""What `paragrad scale --out` runs: the predicted rate over the number of workers, its interval, and what limits it."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from dataclasses import dataclass
from pathlib import Path

from .runs import Error


@dataclass(frozen=True)
class Point:
    """One number of workers."""

    workers: int
    rate: float  # samples per second
    lowest: float
    highest: float
    limit: str  # the resource


def draw(points: list[Point], title: str, out: list[Path | str]) -> None:
    from matplotlib.lines import Line2D

    from .drawing import HEIGHT, INK, MUTED, WIDTH, Picture, draw_curve, kind_of, lay_out, look, save, set_scale, styled
    for path in out:
        kind_of(path)
    workers, first = [point.workers for point in points], points[0]
    ideal = [first.rate * number / first.workers for number in workers]
    limits = list(dict.fromkeys(point.limit for point in points))
    with styled():
        figure = Picture(figsize=(WIDTH, HEIGHT))
        axes = figure.add_subplot()
        axes.plot(workers, ideal, color=MUTED, linestyle=":", gid="ideal")
        line = {"color": INK, "marker": "", "linestyle": "-"}
        draw_curve(axes, [(point.workers, point.rate, point.lowest, point.highest) for point in points], line, "predicted")
        for index, limit in enumerate(limits):
            some = [point for point in points if point.limit == limit]
            axes.plot([point.workers for point in some], [point.rate for point in some], gid=f"limited-by-{limit.replace(' ', '-')}",
                      **look(index) | {"linestyle": ""})
        set_scale(axes, "x", True, workers)
        set_scale(axes, "y", True, [value for point in points for value in (point.lowest, point.highest)] + ideal)
        axes.set(xlabel="workers", ylabel="samples per second")
        axes.set_title(title, parse_math=False)
        sure = any(point.lowest < point.highest for point in points)
        handles = [Line2D([], [], **line, label="predicted" + (", with 95 % interval" if sure else "")),
                   Line2D([], [], color=MUTED, linestyle=":", label="in proportion to the workers")]
        handles += [Line2D([], [], **look(index) | {"linestyle": ""}, label=f"limited by {limit}") for index, limit in enumerate(limits)]
        lay_out(figure, WIDTH, HEIGHT, handles)
    for path in out:
        save(figure, path)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--title", required=True)
    parser.add_argument("--out", action="append", required=True)
    parser.add_argument("points", nargs="+", help="the members of a Point, as a JSON list")
    arguments = parser.parse_args()
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # as it says where it keeps its list of fonts
    try:
        draw([Point(*json.loads(point)) for point in arguments.points], arguments.title, arguments.out)
    except Error as error:
        print(f"paragrad: {error}", file=sys.stderr)
        return 2
    print("\n".join(arguments.out), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
