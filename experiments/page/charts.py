"""Draws charts as SVG for the page: Okabe and Ito's colours, and an individual marker and dash for each line.

Text stays text. Ink, grid and background are the page's CSS variables, so that a chart follows its light or dark scheme. The
output is reproducible: the same chart gives the same bytes.
"""

from __future__ import annotations

import html
import io
import itertools
import math
import re
from dataclasses import dataclass, field
from typing import Iterable, Sequence

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402
from matplotlib.ticker import Formatter, FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator  # noqa: E402

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))
INK, MUTED, GRID, PAPER = "#010203", "#020304", "#030405", "#040506"
VARIABLES = {INK: "var(--ink)", MUTED: "var(--muted)", GRID: "var(--line)", PAPER: "var(--paper)", "#0072b2": "var(--blue)",
             "#e69f00": "var(--amber)", "#56b4e9": "var(--sky)"}
WIDTH = 5.2  # inches of 72 units

plt.rcParams.update({
    "svg.fonttype": "none", "svg.hashsalt": "paragrad", "font.size": 10, "axes.titlesize": 10, "axes.titleweight": "bold",
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "axes.axisbelow": True, "grid.linewidth": 0.6,
    "text.color": INK, "axes.labelcolor": INK, "axes.titlecolor": INK, "xtick.color": MUTED, "ytick.color": MUTED,
    "xtick.labelcolor": INK, "ytick.labelcolor": INK, "axes.edgecolor": MUTED, "grid.color": GRID, "figure.facecolor": "none",
    "axes.facecolor": "none", "legend.frameon": False, "lines.linewidth": 1.5, "lines.markersize": 4.5})


@dataclass(frozen=True)
class Line:
    label: str                # in the legend; a label looks the same in all panels
    points: list[tuple[float, ...]]  # x, y and, if they have an extent, its lowest and highest y
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


def look(index: int) -> dict:
    return {"color": COLOURS[index % len(COLOURS)], "marker": MARKERS[index % len(MARKERS)],
            "linestyle": DASHES[index % len(DASHES)]}


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


class Plain(Formatter):
    """Numbers with as many decimals as the axis needs, the same for all of its ticks."""

    def __call__(self, value: float, pos: int | None = None) -> str:
        decimals = next((digits for digits in range(8) if all(abs(round(tick, digits) - tick) < 1e-9 for tick in self.locs)), 8)
        return f"{value:,.{decimals}f}"


def plain(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"


def prefixed(value: float, unit: str) -> str:
    """1 kB, 20 µs."""
    step = min(max(math.floor(math.log10(value) / 3 + 1e-9), -3), 4) if value > 0 else 0
    return f"{value / 1000.0**step:.3g} {('', 'k', 'M', 'G', 'T', 'n', 'µ', 'm')[step]}{unit}"


def set_scale(axes: plt.Axes, axis: str, log: bool, unit: str, values: Sequence[float], narrow: bool = False) -> None:
    of = axes.xaxis if axis == "x" else axes.yaxis
    if log:
        twos = unit == "" and axis == "x" and all(math.log2(value).is_integer() for value in values if value > 0)
        base = 2 if twos and max(values) < 4096 else 10
        (axes.set_xscale if axis == "x" else axes.set_yscale)("log", base=base)
        wide = max(values) >= (20 if narrow else 300) * min(values)
        of.set_major_locator(LogLocator(base, subs=(1.0,) if base == 2 or wide else (1.0, 2.0, 5.0), numticks=9))
        of.set_minor_locator(NullLocator())
        of.set_minor_formatter(NullFormatter())
    else:
        of.set_major_locator(MaxNLocator(3 if narrow else 6, steps=[1, 2, 5, 10], integer=all(float(value).is_integer() for value in values)))
    of.set_major_formatter(FuncFormatter(lambda value, _: prefixed(value, unit) if unit else plain(value)) if log or unit else Plain())


def legend_below(figure: plt.Figure, handles: list[Line2D]) -> float:
    """Adds the legend; returns its height in inches."""
    longest = max(len(handle.get_label()) for handle in handles)
    columns = max(1, min(len(handles), int((WIDTH - 0.1) / (0.64 + 0.079 * longest))))
    rows = math.ceil(len(handles) / columns)
    figure.legend(handles=handles, loc="lower center", ncol=columns, handlelength=2.6, columnspacing=1.2, borderaxespad=0.1)
    return 0.21 * rows + 0.16


def svg_of(figure: plt.Figure, name: str, alt: str) -> str:
    """`name` prefixes all ids, which would otherwise clash with those of the page's other charts."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    plt.close(figure)
    text = buffer.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text[text.index("<svg"):], flags=re.DOTALL)
    text = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{name}-", text)
    text = re.sub(r"(font: (?:\w+ )*[\d.]+px) [^;\"]*", r"\1 var(--sans)", text)
    for colour, variable in VARIABLES.items():
        text = text.replace(colour, variable)
    width, height = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text).groups()
    opening = f'<svg role="img" aria-label="{html.escape(alt)}" viewBox="0 0 {width} {height}" xmlns:xlink="http://www.w3.org/1999/xlink">'
    text = re.sub(r"<svg[^>]*>", lambda _: opening, text, count=1)
    return re.sub(r"\n\s*", "\n", re.sub(r"<!--.*?-->\s*", "", text)).strip()


def looks_of(lines: list[Line], looks: Looks) -> dict[str, dict]:
    """Looks by label, in the order of the legend. Lines shown in all panels have the colour of the ink."""
    compared = {line.label for line in lines if line.panel == "*"}
    labels = [label for label in dict.fromkeys(line.label for line in lines) if label not in compared]
    return (looks.of(labels)
            | {label: {"color": INK, "marker": ".", "linestyle": DASHES[2]} for label in compared})


def handles_of(looks: dict[str, dict], lines: list[Line], scale: Axes) -> list[Line2D]:
    handles = [Line2D([], [], label=label, **how) for label, how in looks.items()]
    if any(line.published for line in lines):
        handles.append(Line2D([], [], label="published", color=MUTED, marker="o", linestyle="none", markerfacecolor=PAPER))
    if scale.ideal:
        handles.append(Line2D([], [], label="ideal", color=MUTED, linewidth=1))
    return handles


def fit(figure: plt.Figure, height: float, below: float) -> None:
    """Leaves room for the legend below."""
    figure.set_size_inches(WIDTH, height + below)
    share = below / (height + below)
    figure.set_layout_engine("constrained", rect=(0, share, 1, 1 - share))


def draw_lines(name: str, lines: list[Line], scale: Axes, alt: str, of_labels: Looks) -> str:
    looks = looks_of(lines, of_labels)
    panels = list(dict.fromkeys(line.panel for line in lines if line.panel != "*"))
    columns = min(len(panels), 2)
    rows = math.ceil(len(panels) / columns)
    values = tuple(zip(*(point[:2] for line in lines for point in line.points)))
    figure, grid = plt.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    fit(figure, 2.7 if len(panels) == 1 else 0.25 + 1.55 * rows, legend_below(figure, handles_of(looks, lines, scale)))
    for index, axes in enumerate(grid.flat):
        if index >= len(panels):
            axes.set_visible(False)
            continue
        draw_panel(axes, [line for line in lines if line.panel in (panels[index], "*")], looks, scale, values, narrow=columns > 1)
        axes.set_title(panels[index], loc="left")
        axes.tick_params(labelbottom=index + columns >= len(panels), length=2.5, width=0.6)
        axes.set_xlabel(scale.x if index // columns == rows - 1 else "")
        axes.set_ylabel(scale.y if index % columns == 0 else "")
    return svg_of(figure, name, alt)


def draw_panel(axes: plt.Axes, lines: list[Line], looks: dict[str, dict], scale: Axes, values: tuple[Sequence[float], Sequence[float]],
               narrow: bool) -> None:
    """`values` covers all panels, which share their axes."""
    xs, ys = values
    if scale.ideal:
        ends = [min(xs), max(xs)]
        axes.plot(ends, ends, color=MUTED, linewidth=1)
    for line in lines:
        how = dict(looks[line.label])
        if line.published:
            how |= {"linestyle": "none", "markerfacecolor": PAPER, "markersize": 6, "zorder": 3}
        places, middles, *extent = zip(*line.points)
        if extent and extent[0] != extent[1]:
            axes.fill_between(places, *extent, color=how["color"], alpha=0.2, linewidth=0)
        axes.plot(places, middles, markevery=max(1, len(line.points) // 8),
                  drawstyle="steps-mid" if scale.x_names else "default", **how)
    set_scale(axes, "x", scale.x_log, scale.x_unit, xs, narrow)
    set_scale(axes, "y", scale.y_log, scale.y_unit, ys)
    if scale.x_names:
        axes.set_xticks(range(len(scale.x_names)), scale.x_names)


def draw_side_by_side(name: str, panels: list[tuple[Axes, list[Line]]], of_labels: Looks) -> str:
    """Panels side by side, which share the y axis: the same lines over different quantities, with error bars."""
    every = [line for _, lines in panels for line in lines]
    alt = (f"Line charts of {panels[0][0].y} over {' and over '.join(scale.x for scale, _ in panels)}: "
           f"{', '.join(dict.fromkeys(line.label for line in every if line.points))}")
    looks = {label: how for label, how in looks_of(every, of_labels).items() if any(line.points for line in every if line.label == label)}
    figure, grid = plt.subplots(1, len(panels), sharey=True, squeeze=False)
    fit(figure, 2.9, legend_below(figure, handles_of(looks, every, panels[0][0])))
    ys = [y for line in every for _, y, *_ in line.points]
    for axes, (scale, lines) in zip(grid.flat, panels):
        for line in filter(lambda line: line.points, lines):
            xs, middles, lows, highs = zip(*line.points)
            below, above = ([abs(end - middle) for end, middle in zip(ends, middles)] for ends in (lows, highs))
            axes.errorbar(xs, middles, yerr=(below, above), elinewidth=0.8, **looks[line.label])
        set_scale(axes, "x", scale.x_log, scale.x_unit, [x for line in lines for x, *_ in line.points], narrow=True)
        set_scale(axes, "y", scale.y_log, scale.y_unit, ys)
        if scale.x_places:
            axes.set_xticks(scale.x_places)
            axes.axhline(0, color=MUTED, linewidth=1)
        axes.tick_params(length=2.5, width=0.6)
        axes.set_xlabel(scale.x)
    grid.flat[0].set_ylabel(panels[0][0].y)
    return svg_of(figure, name, alt)


def draw_dots(name: str, dots: list[tuple[str, float | None, str]], x: str, alt: str, of_labels: Looks) -> str:
    """A row per run: its name, the value of its dot (None: no dot), and the label that determines its look."""
    looks = of_labels.of(label for _, _, label in dots)
    figure, axes = plt.subplots(figsize=(WIDTH, 0.7 + 0.2 * len(dots)), layout="constrained")
    known = [value for _, value, _ in dots if value is not None]
    for place, (_, value, label) in enumerate(dots):
        how = looks[label] | {"linestyle": "none"}
        if value is None:
            axes.text(0.01, place, "not reached", transform=axes.get_yaxis_transform(), va="center", color=MUTED, fontsize=9)
        else:
            axes.plot([value], [place], markersize=6, **how)
    set_scale(axes, "x", max(known) > 10 * min(known), "", known)
    axes.set_yticks(range(len(dots)), [label for label, _, _ in dots])
    axes.set_ylim(len(dots) - 0.4, -0.6)
    axes.tick_params(length=2.5, width=0.6)
    axes.set_xlabel(x)
    return svg_of(figure, name, alt)


def draw_winners(name: str, rows: list[str], columns: list[str], cells: list[list[str]], known: list[str], labels: tuple[str, str],
                 alt: str, of_labels: Looks) -> str:
    """A marker per cell for the winner among `known`, the smallest value; "-": none."""
    winning = {cell for line in cells for cell in line}
    looks = {winner: how | {"linestyle": "none", "markersize": 8} for winner, how in of_labels.of(known).items() if winner in winning}
    figure, axes = plt.subplots()
    fit(figure, 0.8 + 0.24 * len(rows), legend_below(figure, [Line2D([], [], label=label, **how) for label, how in looks.items()]))
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
    return svg_of(figure, name, alt)
