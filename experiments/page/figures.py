"""Which figures an experiment has depends on the contents of its runs and on the [[table]] entries of its config.toml.

* learning curves over epochs, over simulated time and over bytes sent, if runs were validated more than once
* time to the runs' target error, or otherwise to an error that most of them reach
* speed-up over workers, if there is a run of one worker to compare with, and published speed-ups
* staleness, if gradients were stale
* the error over what it costs, for each [[table]] with `costs`
* differences of errors over a property of the data sets, for each [[table]] with `along`
* a chart for each [[table]] with `rows` and `columns`
* a map for each [[table]] with `map`

By records (Study.by_records) there are no curves and no staleness. A label looks the same in all figures of an experiment.
"""

from __future__ import annotations

import functools
import math
import re
import statistics
from dataclasses import dataclass
from typing import Any, Callable, Iterator

import charts
import matplotlib.figure
from cells import draw_map
from charts import Axes, Line, Looks
from config import Experiment, Run, any_of
from derived import number_in
from intervals import half_width
from maps import lines_of, map_of
from paragrad.drawing import Points
from paragrad.plotting import X, Column, in_units, mean_of, points_of
from paragrad_runs import Study
from published import rows_of
from results import Results, values
from tables import trends

MOST_IN_A_PANEL = 7
LABELS = {"time_s": "time", "training_s": "simulated time", "aggregate_s": "exchange time that is not hidden",
          "samples_per_s": "samples per second", "speed_up": "speed-up", "efficiency": "speed-up per worker",
          "sooner": "speed-up in time to the target", "bytes": "size of the array", "sent_bytes": "sent per worker",
          "exposed": "share of exposed communication"}


@dataclass(frozen=True)
class Figure:
    title: str
    caption: str
    svg: Callable[[], str]  # draws it
    runs: list[str]  # names of the runs it shows


def figures_of(study: Study, looks: Looks) -> Iterator[Figure]:
    for maker in (learning_curves, time_to_error, speed_up, staleness, costs, trends_along, crossed_tables, maps_of_winners):
        if not (study.is_by_records and maker in (learning_curves, time_to_error, staleness)):
            yield from maker(study, looks)


def groups(study: Study) -> Iterator[tuple[str, list[Run]]]:
    """Title and runs of each [[table]] that lists runs; without any, all runs as one group."""
    listed = [entry for entry in study.experiment.tables if "runs" in entry and not {"rows", "against", "costs", "map"} & set(entry)] or [{}]
    for entry in listed:
        runs = [run for run in study.experiment.runs if any_of(entry.get("runs", ["*"]), run.name)]
        if runs:
            yield entry.get("title", "") if "runs" in entry else "", runs


def seed_curves(study: Study, run: Run, data: str, x: str) -> list[Points]:
    """Validation error in % over `x`, for each seed."""
    return [in_units(points_of(seed, x, "valid_error"), 1, 0.01) for seed in study.runs(run.name)[data]]


def over_seeds(study: Study, extent: str) -> str:
    """What lines and their extents show."""
    seeds = len(study.experiment.seeds)
    return f"mean of {seeds} seeds, {extent}" if seeds > 1 else "a single seed"


def of(study: Study, data: str) -> str:
    return f" ({data})" if len(study.results) > 1 else ""


def placed(study: Study, points: dict[str, Points], families: dict[str, str]) -> list[Line]:
    """One panel if it can hold all lines, otherwise one per family with the baselines in each."""
    if len(points) <= MOST_IN_A_PANEL:
        return [Line(name, line) for name, line in points.items()]
    compared = {name for name in points if name in study.experiment.baselines.values()}
    if 2 * len(set(families.values())) > len(families):
        families = {name: name.split("-")[0] for name in families}
    lone = len({families[name] for name in points if name not in compared}) < 2
    return [Line(name, line, "*") if name in compared and not lone else
            Line(name.removeprefix(families[name]).strip("-") or name, line, "" if lone else families[name])
            for name, line in points.items()]


def learning_curves(study: Study, looks: Looks) -> Iterator[Figure]:
    band = over_seeds(study, "in a band from the lowest to the highest")
    for data in study.results:
        for title, runs in groups(study):
            families = {run.name: run.family for run in runs}
            for x in X.values():
                # A single worker sends nothing. What a library sends is unknown, and so are the bytes of runs of earlier versions.
                curves = {run.name: [point for point in mean_of(seed_curves(study, run, data, x)) if point[0] > 0] for run in runs}
                if all(len(points) < 2 for points in curves.values()):
                    continue
                ends, errors = ([points[-1][0] for points in curves.values() if points],
                                [y for points in curves.values() for _, y, *_ in points])
                words, size = Column(x).title("simulated", max(ends))
                scale = Axes(words, "validation error (%)", x_log=x != "epochs" and max(ends) > 8 * min(ends),
                             y_log=min(errors) > 0 and max(errors) > 4 * min(errors))  # diverged runs would flatten the others
                yield figure(study, f"curves-{words}-{data}-{title}", f"Learning curves over {words}{of(study, data)}",
                             "; ".join(filter(None, (title, band))),
                             placed(study, {name: in_units(points, size, 1) for name, points in curves.items()}, families), scale,
                             [name for name, points in curves.items() if points], looks)


def time_to_error(study: Study, looks: Looks) -> Iterator[Figure]:
    for data in study.results:
        curves = {run.name: seed_curves(study, run, data, "time_s") for run in study.experiment.runs}
        trained = [run for run in study.experiment.runs if all(curves[run.name])]
        aimed = [run for run in trained if run.options.get("target-error", -1) > 0]
        runs = aimed if len(aimed) > 1 else trained
        if len(runs) < 3 or all(len(curves[run.name][0]) < 2 for run in runs):
            continue
        target = 100 * runs[0].options["target-error"] if runs is aimed else reached_by_most([curves[run.name] for run in runs])
        dots = [(run.name, mean_time(study, run, curves[run.name], target), run.name if run.name in looks.places else run.family)
                for run in runs]
        known = [seconds for _, seconds, _ in dots if seconds is not None]
        if not known:
            continue
        words, size = Column("time_s").title("simulated", max(known))
        label = f"{words} to a validation error of {target:g} %"
        scaled = [(name, None if seconds is None else seconds / size, looked_up) for name, seconds, looked_up in dots]
        alt = f"Dot chart of {label}: " + ", ".join(
            f"{name} {'not reached' if value is None else f'{value:.3g}'}" for name, value, _ in scaled)
        chosen = "the runs' target" if runs is aimed else "an error that three of four runs reach"
        yield Figure(f"Time to accuracy{of(study, data)}", f"{target:g} % is {chosen}; checked at each validation.",
                     svg(study, f"time-{data}", lambda: charts.draw_dots(scaled, label, looks), alt), [run.name for run in runs])


def reached_by_most(curves: list[list[Points]]) -> float:
    """The third quartile of the runs' smallest errors, rounded up to a tenth of a point."""
    least = [max(min(y for _, y in seed) for seed in seeds) for seeds in curves]
    return math.ceil(10 * statistics.quantiles(least, n=4, method="inclusive")[2]) / 10


def mean_time(study: Study, run: Run, seeds: list[Points], target: float) -> float | None:
    """Including pretraining; None if a seed does not reach the target."""
    firsts = [next((x for x, y in points if y <= target), None) for points in seeds]
    return None if None in firsts else statistics.fmean(firsts) + (study.mean(run.name, "pretraining_s") or 0)


def one_worker_speed(study: Study, run: Run) -> float | None:
    """Samples per second of the run's baseline, or of its own series with one worker."""
    alone = [other for other in study.experiment.runs if other.options.get("workers") == 1
             and (other.name == run.baseline or (not run.baseline and other.series == run.series))]
    return study.mean(alone[0].name, "samples_per_s") if alone else None


def speed_up(study: Study, looks: Looks) -> Iterator[Figure]:
    points: dict[str, dict[float, float]] = {}
    runs, families, doubled = [], {}, set()
    for run in study.experiment.runs:
        alone, speed, workers = one_worker_speed(study, run), study.mean(run.name, "samples_per_s"), run.options.get("workers", 1)
        if not alone or not speed:
            continue
        line = points.setdefault(run.series, {1: 1.0})
        doubled |= {run.series} if workers in line and workers > 1 else set()
        line[workers] = speed / alone
        families[run.series] = run.family
        runs.append(run)
    grown = {series: sorted(line.items()) for series, line in points.items() if len(line) > 1 and series not in doubled}
    if len({workers for line in grown.values() for workers, _ in line}) < 3:
        return
    runs = [run for run in runs if run.series in grown]
    labels = {series: series if series.removesuffix("-*") in grown else series.removesuffix("-*") for series in grown}
    lines = placed(study, {labels[series]: line for series, line in grown.items()},
                   {labels[series]: families[series] for series in grown})
    lines += [Line(line.label, published, line.panel, published=True) for line, series in zip(lines, grown)
              if (published := published_speed_ups(study, [run for run in runs if run.series == series]))]
    yield figure(study, "speed-up", "Speed-up over workers", "ratio of samples per second to one worker's",
                 lines, Axes("workers", "speed-up", x_log=True, y_log=True, ideal=True), [run.name for run in runs], looks)


def published_speed_ups(study: Study, runs: list[Run]) -> Points:
    """Published speed-ups of these runs, from a [[published]] on speed-up, or on samples per second including one worker."""
    for entry in study.whole.published:
        values = rows_of(study.whole, entry)
        if entry["metric"] == "speed_up":
            alone = 1.0
        elif entry["metric"] == "samples_per_s":
            alone = next((values[run.name] for run in runs if run.options["workers"] == 1 and run.name in values), 0)
        else:
            continue
        found = sorted((run.options["workers"], values[run.name] / alone) for run in runs if alone and run.name in values)
        if any(workers > 1 for workers, _ in found):
            return [(workers, value) for workers, value in found if workers > 1]
    return []


def staleness(study: Study, looks: Looks) -> Iterator[Figure]:
    for title, runs in groups(study):
        shares = {run.name: of_run for run in runs if (of_run := mean_staleness(study, run.name))}
        if not shares:
            continue
        classes = max(shares.values(), key=len).keys()
        places = {name: place for place, name in enumerate(classes)}
        points = {run: [(places[name], 100 * share) for name, share in of_run.items()] for run, of_run in shares.items()}
        lines = placed(study, points, {run.name: run.family for run in runs})
        yield figure(study, f"staleness-{title}", "Staleness of gradients", title, lines,
                     Axes("updates between fetch and push", "share of the gradients (%)", x_names=list(classes)), list(shares), looks)


def mean_staleness(study: Study, run: str) -> dict[str, float]:
    """Share by class, the mean over data sets and seeds; empty if no gradient was counted."""
    histograms = [{row["updates"]: row["share"] for row in seed.staleness} for seeds in study.runs(run).values() for seed in seeds]
    classes = max(histograms, key=len)
    return {name: statistics.fmean(histogram.get(name, 0) for histogram in histograms) for name in classes}


def costs(study: Study, looks: Looks) -> Iterator[Figure]:
    for index, table in enumerate(entry for entry in study.experiment.tables if "costs" in entry):
        for data, of_data in study.results.items():
            if panels := cost_panels(study.experiment, of_data, table):
                yield side_by_side(study, f"costs-{index}-{data}", f"{sentence(table['title'])}{of(study, data)}", panels, table, looks)


def cost_panels(experiment: Experiment, of_data: dict[str, Any], table: dict[str, Any]) -> list[tuple[Axes, list[Line]]]:
    """A panel for each metric in the `costs` of a [[table]], a line per family of runs, in the order of config.toml. Points that
    cost nothing, or without the metric, are left out."""
    runs = [run for run in experiment.runs if run.name in of_data and any_of(table.get("runs", ["*"]), run.name)]
    panels = []
    for metric in table["costs"]:
        points: dict[str, list[tuple[float, ...]]] = {run.family: [] for run in runs}
        for run in runs:
            known = all(metric in result for result in of_data[run.name].values())
            x = statistics.fmean(values(of_data, experiment.baselines, run.name, metric)) if known else 0
            if x > 0:
                errors = [100 * error for error in values(of_data, experiment.baselines, run.name, "test_error")]
                points[run.family].append((x, *interval(errors)))
        if xs := [x for of_family in points.values() for x, *_ in of_family]:
            scale = Axes(LABELS.get(metric, metric), "test error (%)", x_log=max(xs) > 8 * min(xs), x_unit=unit_of(metric))
            panels.append((scale, [Line(family, sorted(of_family)) for family, of_family in points.items()]))
    return panels


def trends_along(study: Study, looks: Looks) -> Iterator[Figure]:
    for index, table in enumerate(entry for entry in study.experiment.tables if "along" in entry):
        if panel := trend_panel(study.experiment, study.results, table):
            yield side_by_side(study, f"along-{index}", sentence(table["title"]), [panel], table, looks)


def trend_panel(experiment: Experiment, results: Results, table: dict[str, Any]) -> tuple[Axes, list[Line]] | None:
    """Differences of test errors over the data sets' places, a line per run; None if there are results for fewer than two places."""
    found = trends(experiment, results, table)
    places = {at for of_run in found.values() for at in of_run}
    if len(places) < 2:
        return None
    lines = [Line(run, [(at, *interval(points)) for at, points in of_run.items()])
             for (run, _), of_run in found.items()]
    others = list(dict.fromkeys(other for _, other in found))
    return Axes(table["along"], f"test error minus that of {others[0]} (points)" if len(others) == 1 else "difference of test errors (points)",
                x_log=max(places) > 8 * min(places), x_places=sorted(places)), lines


def interval(sample: list[float]) -> tuple[float, float, float]:
    """The mean, and the ends of its 95 % confidence interval."""
    mean, half = statistics.fmean(sample), half_width(sample)
    return mean, mean - half, mean + half


def side_by_side(study: Study, name: str, title: str, panels: list[tuple[Axes, list[Line]]], table: dict[str, Any], looks: Looks) -> Figure:
    labels = dict.fromkeys(line.label for _, lines in panels for line in lines if line.points)
    alt = f"Line charts of {panels[0][0].y} over {' and over '.join(scale.x for scale, _ in panels)}: {', '.join(labels)}"
    return Figure(title, over_seeds(study, "with its 95 % confidence interval"),
                  svg(study, name, lambda: charts.draw_side_by_side(panels, looks), alt),
                  [run.name for run in study.experiment.runs if any_of(table.get("runs", ["*"]), run.name)])


def unit_of(metric: str) -> str:
    return "B" if metric.endswith("_bytes") else "s" if metric.endswith("_s") and metric != "samples_per_s" else ""


def crossed_tables(study: Study, looks: Looks) -> Iterator[Figure]:
    for index, table in enumerate(study.experiment.tables):
        if "rows" not in table:
            continue
        runs = [run for run in study.experiment.runs
                if any_of(table.get("runs", ["*"]), run.name) and study.mean(run.name, table["value"]) is not None]
        if runs:
            yield from (winners if "least" in table else crossed)(study, f"table-{index}", table, runs, looks)


def crossed(study: Study, name: str, table: dict[str, Any], runs: list[Run], looks: Looks) -> Iterator[Figure]:
    """Lines over the numeric option (over workers if both are numeric); a line per value of the other option."""
    options, value = [table["rows"], table["columns"]], table["value"]
    numeric = [option for option in options if all(number_in(run.options[option]) is not None for run in runs)]
    along = "workers" if "workers" in numeric else numeric[0] if numeric else ""
    if not along or len({run.options[along] for run in runs}) < 2:
        return
    other = options[1 - options.index(along)]
    per_worker = value == "samples_per_s" and along == "workers"  # totals would hide the differences
    lines: dict[str, Points] = {}
    for run in sorted(runs, key=lambda run: number_in(run.options[other])) if other in numeric else runs:
        label = f"{other} {run.options[other]}" if other in numeric else str(run.options[other])
        found = study.mean(run.name, value) / (run.options["workers"] if per_worker else 1)
        lines.setdefault(label, []).append((number_in(run.options[along]), found))
    ys = [y for points in lines.values() for _, y in points]
    scale = Axes(LABELS.get(along, along), LABELS.get(value, value) + (" per worker" if per_worker else ""), x_log=True,
                 y_log=min(ys) > 0 and max(ys) > 20 * min(ys), x_unit="B" if along == "bytes" else "",
                 y_unit=unit_of(value))
    yield figure(study, name, sentence(table["title"]), "drawn per worker" if per_worker else "",
                 [Line(label, sorted(points)) for label, points in lines.items()], scale, [run.name for run in runs], looks)


def winners(study: Study, name: str, table: dict[str, Any], runs: list[Run], looks: Looks) -> Iterator[Figure]:
    rows, columns = (list(dict.fromkeys(run.options[table[axis]] for run in runs)) for axis in ("rows", "columns"))

    def least(row: Any, column: Any) -> str:
        here = [run for run in runs if (run.options[table["rows"]], run.options[table["columns"]]) == (row, column)]
        return str(min(here, key=lambda run: study.mean(run.name, table["value"])).options[table["least"]]) if here else "-"

    cells = [[least(row, column) for column in columns] for row in rows]
    alt = "Map of winners: " + "; ".join(f"{table['rows']} {row}: {', '.join(line)}" for row, line in zip(rows, cells))
    names = [str(row) for row in rows], [str(column) for column in columns]
    known = list(dict.fromkeys(str(run.options[table["least"]]) for run in runs))
    labels = LABELS.get(table["rows"], table["rows"]), LABELS.get(table["columns"], table["columns"])
    yield Figure(sentence(table["title"]), "", svg(study, name, lambda: charts.draw_winners(*names, cells, known, labels, looks), alt),
                 [run.name for run in runs])


def maps_of_winners(study: Study, looks: Looks) -> Iterator[Figure]:
    for index, table in enumerate(study.experiment.tables):
        if "map" not in table:
            continue
        for data, of_data in study.results.items():
            runs = [run for run in study.experiment.runs if any_of(table.get("runs", ["*"]), run.name)]
            found = map_of(study.experiment, of_data, table)
            if any(place for line in found.places for place in line):
                alt = "Map of winners: " + "; ".join(", ".join(line) for line in lines_of(found)[1:])
                draw = functools.partial(draw_map, found, runs, looks)
                yield Figure(sentence(table["title"]) + of(study, data), "", svg(study, f"map-{index}-{data}", draw, alt), [run.name for run in runs])


def figure(study: Study, name: str, title: str, caption: str, lines: list[Line], scale: Axes, runs: list[str],
           looks: Looks) -> Figure:
    lines = [line for line in lines if line.points]
    if any(line.panel not in ("", "*") for line in lines):
        caption = "; ".join(filter(None, (caption, "a panel for each beginning of the runs' names, the legend has the ends")))
    drawn = list(dict.fromkeys(f"{line.panel} {line.label}".strip("* ") for line in lines))
    alt = f"Line chart of {scale.y} over {scale.x}: {', '.join(drawn)}"
    return Figure(title, caption, svg(study, name, lambda: charts.draw_lines(lines, scale, looks), alt), runs)


def svg(study: Study, name: str, draw: Callable[[], matplotlib.figure.Figure], alt: str) -> Callable[[], str]:
    return lambda: charts.svg_of(draw(), re.sub(r"\W+", "-", f"{study.name}-{name}").strip("-"), alt)


def sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
