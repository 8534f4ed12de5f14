"""Draws a map of winners: a cell per place in the colour of the winner's family, with what it takes; hatched where the seeds cannot tell
it from another run."""

from __future__ import annotations

from charts import WIDTH, Looks
from config import Run
from maps import Map, Place
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from paragrad.drawing import INK, MUTED, PAPER, lay_out, unit_for
from paragrad.plotting import Column


def shown(value: float, kind: str) -> str:
    """kind: of its unit, in drawing.UNITS."""
    unit, size = unit_for(kind, value)
    return f"{value / size:.3g} {unit}".strip()


def short(run: str, family: str) -> str:
    """What the name adds to its family's."""
    return run.removeprefix(family).strip("-")


def draw_map(found: Map, runs: list[Run], of_labels: Looks) -> Figure:
    kind = Column(found.metric).kind
    families = {run.name: run.family if short(run.name, run.family)[:1].isdigit() else run.name for run in runs}
    places = [place for line in found.places for place in line if place]
    winning = list(dict.fromkeys(families[place.best] for place in places))
    colours = {family: how["color"] for family, how in of_labels.of(winning).items()}
    figure = Figure()
    axes = figure.add_subplot()
    handles = [Patch(facecolor=colours[family], label=family) for family in winning]
    if any(place.rivals for place in places):
        handles.append(Patch(facecolor=MUTED, edgecolor=PAPER, hatch="////", label="not told from another by the seeds"))
    lay_out(figure, WIDTH, 0.6 + 0.42 * len(found.rows), handles)

    def cell(place: Place, column: int, row: int) -> None:
        family = families[place.best]
        axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=colours[family], edgecolor=PAPER, linewidth=1.5,
                                 hatch="////" if place.rivals else None))
        words = "\n".join(filter(None, (short(place.best, family), shown(place.value, kind))))
        axes.text(column, row, words, ha="center", va="center", fontsize=8, color=INK,
                  bbox={"facecolor": PAPER, "edgecolor": "none", "alpha": 0.75, "pad": 1.5})

    for row, line in enumerate(found.places):
        for column, place in enumerate(line):
            if place:
                cell(place, column, row)
    axes.set_xticks(range(len(found.columns)), found.columns)
    axes.set_yticks(range(len(found.rows)), found.rows)
    axes.set_xlim(-0.5, len(found.columns) - 0.5)
    axes.set_ylim(len(found.rows) - 0.5, -0.5)
    axes.tick_params(length=0)
    axes.grid(False)
    axes.set_xlabel(found.axes[1])
    axes.set_ylabel(found.axes[0])
    return figure
