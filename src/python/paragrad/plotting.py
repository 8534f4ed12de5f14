"""Draws learning curves of runs with matplotlib, without a display. The same runs give the same bytes.

Okabe and Ito's colours, which colour-blind readers can tell apart, with a marker and a dash of its own for each curve.
"""

from __future__ import annotations

import base64
import contextlib
import io
import math
import os
import statistics
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import matplotlib.style
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from .labels import Seeds, by_seed, labels_of
from .runs import Error, Run

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))
MUTED = "#555555"
WIDTH, HEIGHT = 6.25, 3.6  # inches; the height without legend and notes
DPI = 192                  # of a PNG: 1,200 pixels wide, twice as many as the SVG has at 96 per inch
STYLE = {  # also for figures of one's own: matplotlib.pyplot.style.use(STYLE)
    "svg.fonttype": "none", "svg.hashsalt": "paragrad", "font.size": 10, "legend.frameon": False, "legend.fontsize": 9,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "axes.axisbelow": True, "grid.color": "#dddddd",
    "grid.linewidth": 0.6, "axes.linewidth": 0.6, "xtick.labelsize": 9, "ytick.labelsize": 9, "lines.linewidth": 1.5,
    "lines.markersize": 4.5, "axes.prop_cycle": cycler(color=COLOURS), "figure.figsize": (WIDTH, HEIGHT),
}

Y = {"error": ("valid_error", "validation error (%)", 100), "loss": ("valid_loss", "validation loss", 1),
     "train_error": ("train_error", "training error (%)", 100), "train_loss": ("train_loss", "training loss", 1)}
X = {"epochs": "epochs", "time": "time_s", "bytes": "total_sent_bytes"}
UNITS = {"epochs": {"": 1}, "time": {"µs": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600},
         "bytes": {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}}


OneRun = Run | Path | str


@dataclass(frozen=True)
class Curve:
    """`points`: x, and y of the mean, of the lowest and of the highest seed."""

    label: str
    points: list[tuple[float, float, float, float]]
    seeds: int


class Picture(Figure):
    """A figure that a notebook shows as a PNG file would look, in half the size."""

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, str], dict[str, Any]]:
        png = io.BytesIO()
        write(self, png, "png")
        return ({"image/png": base64.b64encode(png.getvalue()).decode(), "text/plain": repr(self)},
                {"image/png": {"width": round(DPI / 2 * self.get_figwidth())}})


def plot(runs: OneRun | Sequence[OneRun] | Mapping[str, OneRun | Sequence[OneRun]], y: str = "error", x: str = "epochs",
         out: Path | str | Sequence[Path | str] = (), *, log_x: bool = False, log_y: bool = False) -> Figure:
    """Learning curves, in the order of the runs: y ("error", "loss", "train_error" or "train_loss") over x ("epochs", "time" or
    "bytes", those that a worker has sent). Runs that differ only in their seed are one curve, their mean up to the end of the
    shortest, with a band from the lowest to the highest. A curve is named after the options in which it differs from the others; in a
    dict, keys are names, and each value a run, or runs with different seeds. out: files to write, whose names end in .svg or .png."""
    known("y", y, Y)
    known("x", x, X)
    for path in as_list(out):
        kind_of(path)
    labels, groups = named(runs)
    runs = [run for group in groups for run in group.runs]
    if not all(group.runs for group in groups) or not runs:
        raise Error("there is no run to plot")
    check_distinct(runs)
    if x == "time":
        check_clocks(runs)
    curves = [curve_of(group, label, y, x) for group, label in zip(groups, labels)]
    notes = [f"unfinished: {run.folder}" for run in runs if not run.finished]
    if x == "bytes":
        notes += [f"sends nothing: {curve.label}" for curve in curves if sends_nothing(curve)]
        curves = [curve for curve in curves if not sends_nothing(curve)]
        if not curves:
            raise Error("no worker of these runs sends anything: plot them over epochs or time")
    if any(curve.seeds > 1 for curve in curves):
        notes.insert(0, "line: mean of the seeds; band: from the lowest to the highest")
    with matplotlib.style.context(["default", STYLE]):
        figure = draw(curves, y, x, runs[0].clock, notes, log_x, log_y)
    for path in as_list(out):
        save(figure, path)
    return figure


def as_list(some: object) -> list:
    return list(some) if isinstance(some, Sequence) and not isinstance(some, str) else [some]


def named(runs: OneRun | Sequence[OneRun] | Mapping[str, OneRun | Sequence[OneRun]]) -> tuple[list[str], list[Seeds]]:
    """The labels of the curves, and the runs of each."""
    if isinstance(runs, Mapping):
        return [str(name) for name in runs], [Seeds(opened(of), {}) for of in runs.values()]
    groups = by_seed(opened(runs))
    return labels_of(groups), groups


def opened(runs: OneRun | Sequence[OneRun]) -> list[Run]:
    return [run if isinstance(run, Run) else Run(run) for run in as_list(runs)]


def known(name: str, value: str, values: dict) -> None:
    if value not in values:
        raise Error(f"unknown {name} '{value}'; known: {', '.join(values)}")


def check_distinct(runs: Sequence[Run]) -> None:
    seen = set()
    for run in runs:
        if (folder := run.folder.resolve()) in seen:
            raise Error(f"'{run.folder}' is given twice")
        seen.add(folder)


def check_clocks(runs: Sequence[Run]) -> None:
    first = {run.clock: run.folder for run in reversed(runs)}
    if len(first) > 1:
        raise Error(f"the times of '{first['simulated']}' are simulated, those of '{first['wall']}' are not: "
                    "plot them in two figures, or over epochs or bytes")


def curve_of(group: Seeds, label: str, y: str, x: str) -> Curve:
    seeds = [points_of(run, y, x) for run in group.runs]
    points = [(statistics.fmean(at for at, _ in of_seeds), statistics.fmean(values := [value for _, value in of_seeds]),
               min(values), max(values)) for of_seeds in zip(*seeds)]
    return Curve(label, points, len(seeds))


def points_of(run: Run, y: str, x: str) -> list[tuple[float, float]]:
    field, title, factor = Y[y]
    points = [(record[X[x]], factor * record[field]) for record in run.progress if record.get(field) is not None]
    if not points:
        raise Error(f"'{run.folder}' has no {title.removesuffix(' (%)')}{'' if run.finished else ' yet'}")
    if any(math.isnan(at) for at, _ in points):
        raise Error(f"'{run.folder}' does not know how many bytes its workers sent, as a library sent them: "
                    "plot it over epochs or time")
    return points


def sends_nothing(curve: Curve) -> bool:
    return curve.points[-1][0] == 0


def draw(curves: Sequence[Curve], y: str, x: str, clock: str, notes: Sequence[str], log_x: bool, log_y: bool) -> Figure:
    unit, size = unit_of(x, max(curve.points[-1][0] for curve in curves))
    title = {"epochs": "epochs", "time": f"{'simulated' if clock == 'simulated' else 'wall-clock'} time ({unit})",
             "bytes": f"data sent per worker ({unit})"}[x]
    figure = Picture(figsize=(WIDTH, HEIGHT))
    axes = figure.add_subplot()
    handles = [draw_curve(axes, curve, index, size) for index, curve in enumerate(curves)]
    set_scale(axes, "x", log_x, [at / size for curve in curves for at, *_ in curve.points], whole=x == "epochs")
    set_scale(axes, "y", log_y, [value for curve in curves for _, *values in curve.points for value in values])
    if not log_x:
        axes.set_xlim(left=0)
    axes.set_xlabel(title)
    axes.set_ylabel(Y[y][1])
    axes.tick_params(length=2.5, width=0.6)
    add_below(figure, handles, notes)
    return figure


def unit_of(x: str, largest: float) -> tuple[str, float]:
    """The largest unit of which there are at least two."""
    units = list(UNITS[x].items())
    return next(((unit, size) for unit, size in reversed(units) if largest >= 2 * size), units[0])


def draw_curve(axes: Axes, curve: Curve, index: int, size: float) -> object:
    """Returns the handle for the legend."""
    at, middle, low, high = zip(*curve.points)
    at = [value / size for value in at]
    colour = COLOURS[index % len(COLOURS)]
    if curve.seeds > 1:
        if len(at) > 1:
            axes.fill_between(at, low, high, color=colour, alpha=0.2, linewidth=0, gid=f"band-{index + 1}")
        else:
            axes.vlines(at, low, high, color=colour, alpha=0.4, linewidth=4, gid=f"band-{index + 1}")
    (line,) = axes.plot(at, middle, color=colour, marker=MARKERS[index % len(MARKERS)], linestyle=DASHES[index % len(DASHES)],
                        markevery=max(1, len(at) // 8), gid=f"curve-{index + 1}",
                        label=f"{curve.label} ({curve.seeds} seeds)" if curve.seeds > 1 else curve.label)
    line.set_label(textwrap.fill(line.get_label(), 76, break_long_words=False, break_on_hyphens=False))
    return line


def set_scale(axes: Axes, name: str, log: bool, values: Sequence[float], whole: bool = False) -> None:
    axis = axes.xaxis if name == "x" else axes.yaxis
    if not log:
        axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10], integer=whole))
        axis.get_major_formatter().set_useOffset(False)
        axis.get_major_formatter().set_scientific(False)
    else:
        positive = [value for value in values if value > 0]
        if len(positive) < len(values):
            raise Error(f"{name} has values that are not above 0, which a logarithmic axis cannot show")
        (axes.set_xscale if name == "x" else axes.set_yscale)("log")
        wide = max(positive) >= 300 * min(positive)
        axis.set_major_locator(LogLocator(subs=(1.0,) if wide else (1.0, 2.0, 5.0), numticks=9))
        axis.set_minor_locator(NullLocator())
        axis.set_minor_formatter(NullFormatter())
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}" if value >= 1000 else f"{value:.4g}"))


def add_below(figure: Figure, handles: Sequence, notes: Sequence[str]) -> None:
    """Adds the legend, in as many columns as fit, and the notes, and makes room for both."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    text = figure.text(0.02, 0, "\n".join(line for note in notes for line in textwrap.wrap(note, 100)), fontsize=8, color=MUTED,
                       va="bottom")
    below = text.get_window_extent(renderer).height / figure.dpi + 0.08 if notes else 0.03
    for columns in range(len(handles), 0, -1):
        legend = Legend(figure, handles, [handle.get_label() for handle in handles], loc="lower center", ncol=columns,
                        handlelength=2.6, columnspacing=1.4, borderaxespad=0)
        extent = legend.get_window_extent(renderer)
        if extent.width <= (WIDTH - 0.1) * figure.dpi or columns == 1:
            break
    legend_height = extent.height / figure.dpi
    height = HEIGHT + below + legend_height
    figure.set_size_inches(WIDTH, height)
    legend.set_bbox_to_anchor((0.5, below / height), transform=figure.transFigure)
    figure.legends.append(legend)
    text.set_y(0.03 / height)
    figure.set_layout_engine("constrained", rect=(0, 1 - HEIGHT / height, 1, HEIGHT / height))


def kind_of(path: Path | str) -> str:
    kind = Path(path).suffix.lower().removeprefix(".")
    if kind not in ("svg", "png"):
        raise Error(f"'{path}' is not the name of a figure: it has to end in .svg or .png")
    return kind


def write(figure: Figure, file: BinaryIO, kind: str) -> None:
    metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    with matplotlib.style.context(["default", STYLE]):
        figure.savefig(file, format=kind, dpi=DPI if kind == "png" else "figure", metadata=metadata)


def save(figure: Figure, path: Path | str) -> None:
    """Writes an SVG or a PNG; a file of this name is replaced when the new one is complete."""
    path, kind = Path(path), kind_of(path)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        try:
            with part.open("wb") as file:
                write(figure, file, kind)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise Error(f"cannot write '{path}': {error.strerror}") from error
    folder = os.open(path.parent, os.O_RDONLY)
    with contextlib.suppress(OSError):  # some file systems refuse; the new name holds anyway
        os.fsync(folder)
    os.close(folder)
