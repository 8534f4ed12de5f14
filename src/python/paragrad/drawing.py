"""How figures look: colours, markers and dashes, bands, axes and their units, a legend below, files. The same figure gives the same bytes.

Okabe and Ito's colours, which colour-blind readers can tell apart, with a marker and a dash of its own for each curve; orange and
sky blue are darker, for white paper.
"""

from __future__ import annotations

import base64
import contextlib
import io
import math
import os
import secrets
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import matplotlib.style
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.ticker import Formatter, FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from .runs import Error

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#c28400", "#3a96cf", "#7f7f7f")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))
INK, MUTED, GRID, PAPER = "#1c2126", "#5f6b76", "#dfe4e8", "#ffffff"
WIDTH, HEIGHT = 6.25, 3.6  # inches, of a figure without legend and notes
DPI = 192  # of a PNG, which has twice as many pixels as the SVG at 96 per inch
STYLE = {  # also for figures of one's own: matplotlib.pyplot.style.use(STYLE)
    "svg.fonttype": "none", "pdf.fonttype": 42, "svg.hashsalt": "paragrad", "font.size": 10, "axes.titlesize": 10, "axes.titleweight": "bold",
    "axes.titlelocation": "left", "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "axes.axisbelow": True,
    "grid.linewidth": 0.6, "axes.linewidth": 0.6, "xtick.major.size": 2.5, "ytick.major.size": 2.5, "xtick.major.width": 0.6,
    "ytick.major.width": 0.6, "text.color": INK, "axes.labelcolor": INK, "axes.titlecolor": INK, "xtick.color": MUTED,
    "ytick.color": MUTED, "xtick.labelcolor": INK, "ytick.labelcolor": INK, "axes.edgecolor": MUTED, "grid.color": GRID,
    "figure.facecolor": PAPER, "axes.facecolor": "none", "legend.frameon": False, "lines.linewidth": 1.5, "lines.markersize": 4.5,
    "axes.prop_cycle": cycler(color=COLOURS), "figure.figsize": (WIDTH, HEIGHT),
}
METADATA = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}, "pdf": {"CreationDate": None, "Creator": None, "Producer": None}}
UNITS = {"s": {"µs": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600}, "B": {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12},
         "%": {"%": 0.01}, "": {"": 1}}

Points = list[tuple[float, ...]]  # x, y and, of several seeds, the lowest and the highest y


class Picture(Figure):
    """A figure that a notebook shows as a PNG file would look, in half the size."""

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, str], dict[str, Any]]:
        png = io.BytesIO()
        write(self, png, "png")
        return ({"image/png": base64.b64encode(png.getvalue()).decode(), "text/plain": repr(self)},
                {"image/png": {"width": round(DPI / 2 * self.get_figwidth())}})


def styled() -> contextlib.AbstractContextManager:
    """matplotlib's own defaults and STYLE, whatever the user has configured. Names are drawn as they are written, with their dollar signs."""
    return matplotlib.style.context(["default", STYLE, {"text.parse_math": False}])


def look(index: int) -> dict:
    return {"color": COLOURS[index % len(COLOURS)], "marker": MARKERS[index % len(MARKERS)],
            "linestyle": DASHES[index % len(DASHES)]}


def draw_curve(axes: Axes, points: Points, how: dict, name: str | None = None) -> None:
    """A line with at most sixteen markers, and a band where the lowest and the highest y differ. name: ends the ids of both in an SVG."""
    xs, ys, *extent = zip(*points)
    band = {"color": how["color"], "gid": name and f"band-{name}"}
    if extent and extent[0] != extent[1]:
        if len(xs) > 1:
            axes.fill_between(xs, *extent, alpha=0.2, linewidth=0, **band)
        else:
            axes.vlines(xs, *extent, alpha=0.4, linewidth=4, **band)
    axes.plot(xs, ys, markevery=max(1, len(xs) // 8), gid=name and f"curve-{name}", **how)


def unit_for(kind: str, largest: float) -> tuple[str, float]:
    """Name and size of the largest unit of UNITS[kind] of which there is at least one, or two of a minute or an hour."""
    units = list(UNITS[kind].items())
    return next(((unit, size) for unit, size in reversed(units) if largest >= (2 if unit in ("min", "h") else 1) * size), units[0])


class Plain(Formatter):
    """Numbers with as many decimals as the axis needs, the same for all of its ticks."""

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        decimals = next((digits for digits in range(8) if all(abs(round(tick, digits) - tick) < 1e-9 for tick in values)), 8)
        return [f"{value:,.{decimals}f}" for value in values]

    def __call__(self, value: float, pos: int | None = None) -> str:
        return self.format_ticks([value])[0]


def prefixed(value: float, unit: str) -> str:
    """1 kB, 20 µs; without a unit 2,000 or 0.5."""
    if not unit:
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    step = min(max(math.floor(math.log10(value) / 3 + 1e-9), -3), 4) if value > 0 else 0
    return f"{value / 1000.0**step:.3g} {('', 'k', 'M', 'G', 'T', 'n', 'µ', 'm')[step]}{unit}"


def set_scale(axes: Axes, name: str, log: bool, values: Sequence[float], unit: str = "", few: bool = False) -> None:
    """The ticks of the axis "x" or "y". unit: of the ticks' numbers, with prefixes; few: ticks of a narrow axis."""
    axis: Axis = axes.xaxis if name == "x" else axes.yaxis
    if log:
        twos = name == "x" and not unit and max(values) < 4096 and all(math.log2(value).is_integer() for value in values if value > 0)
        wide = twos or max(values) >= (20 if few else 200) * min(values)
        (axes.set_xscale if name == "x" else axes.set_yscale)("log", base=2 if twos else 10)
        axis.set_major_locator(LogLocator(2 if twos else 10, subs=(1.0,) if wide else (1.0, 2.0, 5.0), numticks=9))
        axis.set_minor_locator(NullLocator())
        axis.set_minor_formatter(NullFormatter())
    else:
        axis.set_major_locator(MaxNLocator(3 if few else 6, steps=[1, 2, 5, 10], integer=all(float(value).is_integer() for value in values)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: prefixed(value, unit)) if log or unit else Plain())


def lay_out(figure: Figure, width: float, height: float, handles: Sequence[Line2D], notes: Sequence[str] = ()) -> None:
    """Inches; the height is that of the axes. Below them: the legend, in as many columns as fit, and the notes."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    for handle in handles:
        label = textwrap.fill(handle.get_label(), int(10.5 * width), break_long_words=False, break_on_hyphens=False)
        handle.set_label("\N{ZERO WIDTH SPACE}" + label if label.startswith("_") else label)  # matplotlib would leave it out
    text = figure.text(0.02, 0, "\n".join(line for note in notes for line in textwrap.wrap(note, int(15 * width))), fontsize=8,
                       color=MUTED, va="bottom")
    below = text.get_window_extent(renderer).height / figure.dpi + 0.08 if notes else 0.03
    form = {"handles": handles, "labels": [handle.get_label() for handle in handles], "loc": "lower center", "handlelength": 2.6,
            "columnspacing": 1.2, "borderaxespad": 0}
    extent, gap = Legend(figure, **form).get_window_extent(renderer), 12 * figure.dpi / 72
    columns = max(1, min(len(handles), int(((width - 0.1) * figure.dpi + gap) / (extent.width + gap))))
    legend_height = Legend(figure, ncol=columns, **form).get_window_extent(renderer).height / figure.dpi
    whole = height + below + legend_height
    figure.set_size_inches(width, whole)
    figure.legend(ncol=columns, bbox_to_anchor=(0.5, below / whole), **form)
    text.set_y(0.03 / whole)
    figure.set_layout_engine("constrained", rect=(0, 1 - height / whole, 1, height / whole))


def kind_of(path: Path | str) -> str:
    kind = Path(path).suffix.lower().removeprefix(".")
    if kind not in METADATA:
        raise Error(f"'{path}' is not the name of a figure: it has to end in .svg, .pdf or .png")
    return kind


def write(figure: Figure, file: BinaryIO, kind: str) -> None:
    with styled():
        figure.savefig(file, format=kind, dpi=DPI if kind == "png" else "figure", metadata=METADATA[kind])


def save(figure: Figure, path: Path | str) -> None:
    """Writes an SVG, a PDF or a PNG; a file of this name is replaced when the new one is complete."""
    path, kind = Path(path), kind_of(path)
    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}")  # a name that nobody can put a link under beforehand
    try:
        try:
            with part.open("xb") as file:
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
