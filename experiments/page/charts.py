"""The page's charts, in the package's style (src/python/paragrad/drawing.py): panels, published values, error bars, dots and winners."""

from __future__ import annotations

import html
import io
import itertools
import math
import re
from dataclasses import dataclass, field
from typing import Iterable, Sequence

import matplotlib.axes
import matplotlib.style
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from paragrad.drawing import COLOURS, DASHES, GRID, INK, METADATA, MUTED, PAPER, STYLE, Points, draw_curve, lay_out, look, set_scale

# Those of page.css, which has others for its dark scheme.
VARIABLES = {INK: "--ink", MUTED: "--muted", GRID: "--line", PAPER: "--paper", COLOURS[0]: "--blue", COLOURS[4]: "--amber", COLOURS[5]: "--sky"}
WIDTH = 5.2  # inches of 72 units

matplotlib.style.use(["default", STYLE])


@dataclass(frozen=True)
class Line:
    label: str                # in the legend; a label looks the same in all panels
    points: Points
    panel: str = ""           # its title; "*": shown in all panels, as the reference
    published: bool = False   # hollow markers, not joined


@dataclass(frozen=True)
class Axes:
    x: str
    y: str
    x_log: bool = False
    y_log: bool = False
    ideal: bool = False       # the line y = x
    x_names: list[str] = field(default_factory=list)  # a histogram's classes, at positions 0, 1, 2 …
    x_places: list[float] = field(default_factory=list)  # of the ticks, if not chosen from the range; then the line y = 0, too
    x_unit: str = ""          # "B": sizes with their prefixes
    y_unit: str = ""          # "s"


class Looks:
    """The look of each label: the same in all figures that share this object. Within a figure, colours differ as far as there are enough."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}

    def of(self, labels: Iterable[str]) -> dict[str, dict]:
        labels = list(dict.fromkeys(labels))
        for label in labels:
            if label not in self.places:
                near = {self.places[other] % len(COLOURS) for other in labels if other in self.places}
                free = (place for place in itertools.count() if place not in self.places.values())
                self.places[label] = next(place for place in free if len(near) == len(COLOURS) or place % len(COLOURS) not in near)
        return {label: look(self.places[label]) for label in labels}

    def of_lines(self, lines: Sequence[Line]) -> dict[str, dict]:
        """Of labels that have points, in the order of the legend. Lines shown in all panels have the colour of the ink."""
        everywhere = dict.fromkeys(line.label for line in lines if line.panel == "*")
        looks = (self.of(line.label for line in lines if line.label not in everywhere)
                 | {label: {"color": INK, "marker": ".", "linestyle": DASHES[2]} for label in everywhere})
        drawn = {line.label for line in lines if line.points}
        return {label: how for label, how in looks.items() if label in drawn}


def svg_of(figure: Figure, name: str, alt: str) -> str:
    """As part of the page, in its colours and font. `name` prefixes all ids, which would otherwise clash with those of other charts."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata=METADATA["svg"] | {"Format": None, "Type": None}, facecolor="none")
    text = buffer.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text[text.index("<svg"):], flags=re.DOTALL)
    text = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{name}-", text)
    text = re.sub(r"(font: (?:\w+ )*[\d.]+px) [^;\"]*", r"\1 var(--sans)", text)
    for colour, variable in VARIABLES.items():
        text = text.replace(colour, f"var({variable})")
    width, height = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text).groups()
    opening = f'<svg role="img" aria-label="{html.escape(alt)}" viewBox="0 0 {width} {height}" xmlns:xlink="http://www.w3.org/1999/xlink">'
    text = re.sub(r"<svg[^>]*>", lambda _: opening, text, count=1)
    return re.sub(r"\n\s*", "\n", re.sub(r"<!--.*?-->\s*", "", text)).strip()


def handles_of(looks: dict[str, dict]) -> list[Line2D]:
    return [Line2D([], [], label=label, **how) for label, how in looks.items()]


def draw_lines(lines: list[Line], scale: Axes, of_labels: Looks) -> Figure:
    looks = of_labels.of_lines(lines)
    panels = list(dict.fromkeys(line.panel for line in lines if line.panel != "*"))
    columns = min(len(panels), 2)
    rows = math.ceil(len(panels) / columns)
    values = tuple(zip(*(point[:2] for line in lines for point in line.points)))
    figure = Figure()
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    handles = handles_of(looks)
    if any(line.published for line in lines):
        handles.append(Line2D([], [], label="published", color=MUTED, marker="o", linestyle="none", markerfacecolor=PAPER))
    if scale.ideal:
        handles.append(Line2D([], [], label="ideal", color=MUTED, linewidth=1))
    lay_out(figure, WIDTH, 2.7 if len(panels) == 1 else 0.25 + 1.55 * rows, handles)
    for index, axes in enumerate(grid.flat):
        if index >= len(panels):
            axes.set_visible(False)
            continue
        draw_panel(axes, [line for line in lines if line.panel in (panels[index], "*")], looks, scale, values, few=columns > 1)
        axes.set_title(panels[index])
        axes.tick_params(labelbottom=index + columns >= len(panels))
        axes.set_xlabel(scale.x if index // columns == rows - 1 else "")
        axes.set_ylabel(scale.y if index % columns == 0 else "")
    return figure


def draw_panel(axes: matplotlib.axes.Axes, lines: list[Line], looks: dict[str, dict], scale: Axes,
               values: tuple[Sequence[float], Sequence[float]], few: bool) -> None:
    """`values` covers all panels, which share their axes."""
    xs, ys = values
    if scale.ideal:
        ends = [min(xs), max(xs)]
        axes.plot(ends, ends, color=MUTED, linewidth=1)
    for line in lines:
        how = looks[line.label] | ({"drawstyle": "steps-mid"} if scale.x_names else {})
        if line.published:
            how |= {"linestyle": "none", "markerfacecolor": PAPER, "markersize": 6, "zorder": 3}
        draw_curve(axes, line.points, how)
    set_scale(axes, "x", scale.x_log, xs, scale.x_unit, few)
    set_scale(axes, "y", scale.y_log, ys, scale.y_unit)
    if scale.x_names:
        axes.set_xticks(range(len(scale.x_names)), scale.x_names)


def draw_side_by_side(panels: list[tuple[Axes, list[Line]]], of_labels: Looks) -> Figure:
    """Panels side by side, which share the y axis: the same lines over different quantities, with error bars."""
    every = [line for _, lines in panels for line in lines]
    looks = of_labels.of_lines(every)
    figure = Figure()
    grid = figure.subplots(1, len(panels), sharey=True, squeeze=False)
    lay_out(figure, WIDTH, 2.9, handles_of(looks))
    ys = [y for line in every for _, y, *_ in line.points]
    for axes, (scale, lines) in zip(grid.flat, panels):
        for line in filter(lambda line: line.points, lines):
            xs, middles, lows, highs = zip(*line.points)
            below, above = ([abs(end - middle) for end, middle in zip(ends, middles)] for ends in (lows, highs))
            axes.errorbar(xs, middles, yerr=(below, above), elinewidth=0.8, **looks[line.label])
        set_scale(axes, "x", scale.x_log, [x for line in lines for x, *_ in line.points], scale.x_unit, few=True)
        set_scale(axes, "y", scale.y_log, ys, scale.y_unit)
        if scale.x_places:
            axes.set_xticks(scale.x_places)
            axes.axhline(0, color=MUTED, linewidth=1)
        axes.set_xlabel(scale.x)
    grid.flat[0].set_ylabel(panels[0][0].y)
    return figure


def draw_dots(dots: list[tuple[str, float | None, str]], x: str, of_labels: Looks) -> Figure:
    """A row per run: its name, the value of its dot (None: no dot), and the label that determines its look."""
    looks = of_labels.of(label for _, _, label in dots)
    figure = Figure(figsize=(WIDTH, 0.7 + 0.2 * len(dots)), layout="constrained")
    axes = figure.add_subplot()
    known = [value for _, value, _ in dots if value is not None]
    for place, (_, value, label) in enumerate(dots):
        if value is None:
            axes.text(0.01, place, "not reached", transform=axes.get_yaxis_transform(), va="center", color=MUTED, fontsize=9)
        else:
            axes.plot([value], [place], **looks[label] | {"linestyle": "none", "markersize": 6})
    set_scale(axes, "x", max(known) > 10 * min(known), known)
    axes.set_yticks(range(len(dots)), [name for name, _, _ in dots])
    axes.set_ylim(len(dots) - 0.4, -0.6)
    axes.set_xlabel(x)
    return figure


def draw_winners(rows: list[str], columns: list[str], cells: list[list[str]], known: list[str], labels: tuple[str, str],
                 of_labels: Looks) -> Figure:
    """A marker per cell for the winner among `known`, the smallest value; "-": none."""
    winning = {cell for line in cells for cell in line}
    looks = {winner: how | {"linestyle": "none", "markersize": 8} for winner, how in of_labels.of(known).items() if winner in winning}
    figure = Figure()
    axes = figure.add_subplot()
    lay_out(figure, WIDTH, 0.8 + 0.24 * len(rows), handles_of(looks))
    for place, line in enumerate(cells):
        for column, cell in enumerate(line):
            if cell != "-":
                axes.plot([column], [place], **looks[cell])
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.tick_params(length=0)
    axes.set_ylabel(labels[0])
    axes.set_xlabel(labels[1])
    return figure
