"""Draws learning curves of runs with matplotlib, without a display."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from .drawing import HEIGHT, WIDTH, Picture, Points, draw_curve, kind_of, lay_out, look, save, set_scale, styled, unit_for
from .labels import Seeds, by_seed, default_options, labels_of
from .runs import Error, Run, runs_in
from .searches import Search

Y = {"error": "valid_error", "loss": "valid_loss", "accuracy": "valid_accuracy", "train_error": "train_error", "train_loss": "train_loss"}
X = {"epochs": "epochs", "time": "time_s", "bytes": "total_sent_bytes"}
TITLES = {"valid_error": "validation error", "valid_loss": "validation loss", "valid_accuracy": "validation accuracy", "train_error": "training error",
          "train_loss": "training loss", "total_sent_bytes": "data sent per worker"}

ACCURACY = Y["accuracy"]  # a column of no run

OneRun = Run | Search | Path | str


@dataclass(frozen=True)
class Column:
    """A column of Run.progress as an axis."""

    name: str

    @property
    def kind(self) -> str:
        """Of its unit, in drawing.UNITS."""
        endings = {"_error": "%", "_accuracy": "%", "_bytes": "B", "_s": "s"}
        return "" if self.name.endswith("_per_s") else next((kind for end, kind in endings.items() if self.name.endswith(end)), "")

    def words(self, clock: str) -> str:
        """What it holds. clock: that of the runs, "simulated" or "wall"."""
        if self.name == "time_s":
            return f"{'simulated' if clock == 'simulated' else 'wall-clock'} time"
        plain = self.name if self.name.endswith("_per_s") else self.name.removesuffix("_s").removesuffix("_bytes")
        return TITLES.get(self.name, plain.replace("_", " "))

    def title(self, clock: str, largest: float) -> tuple[str, float]:
        """The axis's title for values up to the largest, and the size of the unit that it names."""
        unit, size = unit_for(self.kind, largest)
        return self.words(clock) + (f" ({unit})" if unit else ""), size


@dataclass(frozen=True)
class Curve:
    label: str
    points: Points
    seeds: int


def plot(runs: OneRun | Sequence[OneRun] | Mapping[str, OneRun | Sequence[OneRun]], y: str = "error", x: str = "epochs",
         out: Path | str | Sequence[Path | str] = (), *, title: str = "", names: Sequence[str] = (), best: bool = False,
         log_x: bool = False, log_y: bool = False, defaults: str | None = None) -> Figure:
    """Learning curves, in the order of the runs: y ("error", "loss", "accuracy", "train_error" or "train_loss") over x ("epochs", "time" or
    "bytes", those that a worker has sent), or any columns of Run.progress. The folder of a search stands for its runs. Runs that
    differ only in their seed are one curve, their mean up to the end of the shortest, with a band from the lowest to the highest. A
    curve is named after the options in which it differs from the others; in a dict, keys are names, and each value a run, or runs
    that differ only in their seed. names: of the curves, in their order. best: of a search only the best configuration of each method,
    with its name. out: files to write, whose names end in .svg, .pdf or .png. defaults: the options that nobody gives, as text of a
    config.toml; otherwise those of the compiled module."""
    for path in as_list(out):
        kind_of(path)
    if best:
        runs = best_of(runs)
    groups, labels = named(runs, defaults)
    names = as_list(names)
    if not all(isinstance(name, str) and name for name in names):
        raise Error("names must be texts, none of them empty")
    if names and len(names) != len(groups):
        raise Error(f"give a name for each curve, {len(groups)} in all, not {len(names)}: {'; '.join(labels)}")
    labels = names or labels
    runs = [run for group in groups for run in group.runs]
    if not runs:
        raise Error("there is no run to plot")
    column_x, column_y = column_of("x", x, X, runs), column_of("y", y, Y, runs)
    if "time_s" in (column_x.name, column_y.name):
        check_clocks(runs)
    curves = [curve_of(group, label, column_x, column_y) for group, label in zip(groups, labels)]
    notes = [f"unfinished: {run.folder}" for run in runs if not run.finished]
    if column_x.name == "total_sent_bytes":
        notes += [f"sends nothing: {curve.label}" for curve in curves if sends_nothing(curve)]
        curves = [curve for curve in curves if not sends_nothing(curve)]
        if not curves:
            raise Error("no worker of these runs sends anything: plot them over epochs or time")
    if any(curve.seeds > 1 for curve in curves):
        notes.insert(0, "line: mean of the seeds; band: from the lowest to the highest")
    with styled():
        figure = draw(curves, column_x, column_y, runs[0].clock, notes, title, log_x, log_y)
    for path in as_list(out):
        save(figure, path)
    return figure


def as_list(some: object) -> list:
    return list(some) if isinstance(some, Sequence) and not isinstance(some, str) else [some]


def best_of(runs: OneRun | Sequence[OneRun] | Mapping[str, OneRun | Sequence[OneRun]]) -> dict[str, list[Run]]:
    """Of the folders of searches."""
    if isinstance(runs, Mapping):
        raise Error("best names the curves after the methods of a search: give its folder, not a dict")
    found: dict[str, list[Run]] = {}
    for folder in as_list(runs):
        if isinstance(folder, Run) or not (Path(folder) / "search.json").exists():
            raise Error(f"'{folder.folder if isinstance(folder, Run) else folder}' is not the folder of a search; only a search has a best configuration")
        for name, of in Search(folder).best.items():
            if name in found:
                raise Error(f"two searches have the method '{name}': draw them in two figures")
            found[name] = of
    if not found:
        raise Error("every configuration of the search failed")
    return found


def named(runs: OneRun | Sequence[OneRun] | Mapping[str, OneRun | Sequence[OneRun]],
          defaults: str | None = None) -> tuple[list[Seeds], list[str]]:
    """The runs of each curve, and its name."""
    names = [str(name) for name in runs] if isinstance(runs, Mapping) else []
    given = [opened(of) for of in (runs.values() if isinstance(runs, Mapping) else [runs])]
    check_distinct([run for of in given for run in of])
    if names:
        return [one_curve(of, name) for of, name in zip(given, names)], names
    groups = [group for of in given for group in by_seed(of)]
    return groups, labels_of(groups, default_options(defaults))


def opened(runs: OneRun | Sequence[OneRun]) -> list[Run]:
    """The runs, without the files next to those of a search, which SEARCH/* names, too."""
    return [run for one in as_list(runs) if isinstance(one, Run) or not is_file_of_search(Path(one))
            for run in ([one] if isinstance(one, Run) else runs_in(one))]


def is_file_of_search(path: Path) -> bool:
    return path.is_file() and (path.parent / "search.json").exists()


def one_curve(runs: Sequence[Run], name: str) -> Seeds:
    groups = by_seed(runs)
    if not groups:
        raise Error(f"there is no run to plot as '{name}'")
    if len(groups) > 1:
        raise Error(f"'{groups[0].runs[0].folder}' and '{groups[1].runs[0].folder}' are both named '{name}', "
                    "but their seed is not the only difference")
    return groups[0]


def column_of(axis: str, name: str, known: dict[str, str], runs: Sequence[Run]) -> Column:
    """The column that the name stands for, or of that name."""
    columns = {key: None for run in runs for record in run.progress for key, value in record.items() if isinstance(value, int | float)}
    if name not in known and name not in columns:
        raise Error(f"unknown {axis} '{name}'; known: {', '.join(known)}; columns of these runs: {', '.join(columns) or 'none'}")
    return Column(known.get(name, name))


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


def curve_of(group: Seeds, label: str, x: Column, y: Column) -> Curve:
    seeds = [points_of(run, x.name, y.name) for run in group.runs]
    for run, points in zip(group.runs, seeds):
        if not points:
            raise Error(f"'{run.folder}' has no {y.words(run.clock)}{'' if run.finished else ' yet'}")
        if x.name == "total_sent_bytes" and any(math.isnan(at) for at, _ in points):
            raise Error(f"'{run.folder}' does not know how many bytes its workers sent, as a library sent them: "
                        "plot it over epochs or time")
    return Curve(label, mean_of(seeds), len(seeds))


def points_of(run: Run, x: str, y: str) -> Points:
    """Two columns of Run.progress, where it has both."""
    if y == ACCURACY:
        if run.config.get("loss") == "squared_error":
            raise Error(f"the loss of '{run.folder}' is squared_error, for targets whose error is a share of their variance: plot the error instead")
        return [(at, 1 - error) for at, error in points_of(run, x, "valid_error")]
    points = [(record[x], record[y]) for record in run.progress if record.get(x) is not None and record.get(y) is not None]
    if not all(isinstance(value, int | float) for point in points for value in point):
        raise Error(f"'{run.folder}' is damaged: its {x} or {y} is not always a number")
    return points


def mean_of(seeds: Sequence[Points]) -> Points:
    """The mean over the seeds, with the lowest and the highest y, up to the end of the shortest."""
    return [(statistics.fmean(at for at, _ in points), statistics.fmean(ys := [y for _, y in points]), min(ys), max(ys))
            for points in zip(*seeds)]


def sends_nothing(curve: Curve) -> bool:
    return curve.points[-1][0] == 0


def in_units(points: Points, x_size: float, y_size: float) -> Points:
    return [(at / x_size, *(value / y_size for value in values)) for at, *values in points]


def draw(curves: Sequence[Curve], x: Column, y: Column, clock: str, notes: Sequence[str], title: str, log_x: bool, log_y: bool) -> Figure:
    x_title, x_size = x.title(clock, max(at for curve in curves for at, *_ in curve.points))
    y_title, y_size = y.title(clock, max(value for curve in curves for _, *values in curve.points for value in values))
    curves = [replace(curve, points=in_units(curve.points, x_size, y_size)) for curve in curves]
    figure = Picture(figsize=(WIDTH, HEIGHT))
    axes = figure.add_subplot()
    for index, curve in enumerate(curves):
        draw_curve(axes, curve.points, look(index), str(index + 1))
    for axis, log, values in (("x", log_x, [at for curve in curves for at, *_ in curve.points]),
                              ("y", log_y, [value for curve in curves for _, *values in curve.points for value in values])):
        if log and min(values) <= 0:
            raise Error(f"{axis} has values that are not above 0, which a logarithmic axis cannot show")
        set_scale(axes, axis, log, values)
    if not log_x:
        axes.set_xlim(left=0)
    axes.set(xlabel=x_title, ylabel=y_title, title=title)
    handles = [Line2D([], [], label=f"{curve.label} ({curve.seeds} seeds)" if curve.seeds > 1 else curve.label, **look(index))
               for index, curve in enumerate(curves)]
    lay_out(figure, WIDTH, HEIGHT, handles, notes)
    return figure
