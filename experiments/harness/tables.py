"""The tables of an experiment: one line per run, mean and spread over the seeds; or the [[table]] entries of config.toml."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import Any, Iterator

from config import DataSet, Experiment, Run, UserError, any_of
from intervals import half_width
from maps import lines_of, map_of
from paragrad.runs import validations
from plan import Plan
from results import Results, mean_of, values

Lines = list[list[str]]  # the first line holds the column names
TIES = "~: another run's 95 % interval of the difference includes zero"


@dataclass(frozen=True)
class Table:
    title: str
    lines: Lines
    of_training: bool = False
    note: str = ""  # below the lines


def tables_of(plan: Plan, results: Results) -> Iterator[Table]:
    """All tables, for the runs that the experiment has in this size."""
    experiment = plan.experiment
    for entry in experiment.tables or [{}]:
        runs = [run for run in experiment.runs if any_of(entry.get("runs", ["*"]), run.name)]
        if not runs:
            continue
        title = f"{experiment.name}, {experiment.size}: {entry.get('title', '')}"
        if "rows" in entry:
            yield Table(title, crossed(plan, results, entry, runs))
        elif "map" in entry:
            for data, of_data in results.items():
                yield Table(title + (f", {data}" if len(results) > 1 else ""), lines_of(map_of(experiment, of_data, entry)),
                            note=TIES if len(experiment.seeds) > 1 else "A single seed: what differs by chance is not marked")
        elif "against" in entry:
            along = entry.get("along", "")
            if len(lines := (trend if along else paired)(experiment, results, entry)) > 1:
                yield Table(title, lines, note=f"Columns: {along}" if along else "")
        elif "curves" in entry:
            yield Table(title, curves(plan, results, entry, runs))
        elif "costs" in entry:
            for data, of_data in results.items():
                yield Table(title + (f", {data}" if len(results) > 1 else ""), error_and_costs(plan, data, of_data, entry, runs))
        elif "columns" in entry:
            yield Table(title, listed(plan, results, entry, runs))
        else:
            yield from (training(plan, results, data, runs) for data in experiment.data if data.name in results)


def print_tables(plan: Plan, results: Results) -> None:
    for table in tables_of(plan, results):
        print(f"\n{table.title}")
        names = max(10, *(len(line[0]) for line in table.lines))
        for line in table.lines:
            print(training_line(line, names) if table.of_training else aligned(line, table.lines))
        if table.note:
            print(table.note)


def aligned(line: list[str], lines: Lines) -> str:
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "  ".join([line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:]))])


def listed(plan: Plan, results: Results, table: dict[str, Any], runs: list[Run]) -> Lines:
    """One line per run, one column per metric in `columns`."""
    return [["run", *table["columns"]]] + [[run.name, *cells(plan, results, run, runs, table["columns"])] for run in runs]


def cells(plan: Plan, results: Results, run: Run, runs: list[Run], metrics: list[str]) -> Iterator[str]:
    """The run's means; "-" if it lacks a metric that other runs have."""
    for metric in metrics:
        having = {each.name for of_data in results.values() for each in runs
                  for result in of_data[each.name].values() if metric in result}
        yield "-" if having and run.name not in having else f"{mean_of(plan.experiment, results, run.name, metric):.5g}"


def curves(plan: Plan, results: Results, table: dict[str, Any], runs: list[Run]) -> Lines:
    """Learning curves: a line per run, a column per validation, named by the samples processed: validation error in %, the
    mean over the seeds. `curves` = n shows every n-th validation."""
    experiment, step = plan.experiment, table["curves"]
    lines, places = [], []
    for data in results:
        for run in runs:
            of_seeds = [validations(experiment.run_folder(data, run.name, seed)) for seed in experiment.seeds]
            means = [statistics.fmean(record["valid_error"] for record in records) for records in zip(*of_seeds)]
            lines.append([run.name, *(f"{100 * mean:.2f}" for mean in means[step - 1::step])])
            places = [f"{record['samples']:.3g}" for record in of_seeds[0][step - 1::step]]
    return [["samples", *places], *lines]


def interval(differences: list[float]) -> str:
    """The mean and half of its 95 % confidence interval, or the mean alone of a single seed."""
    half = f" ± {half_width(differences):.2f}" if len(differences) > 1 else ""
    return f"{statistics.fmean(differences):+.2f}{half}"


def differences(experiment: Experiment, of_data: dict[str, Any], table: dict[str, Any]) -> Iterator[tuple[Run, str, list[float]]]:
    """Each run of the table, the run `against` which it is compared, and the differences of their test errors, seed by seed, in
    points. The name in `against` may contain options: {workers}. Runs without results are left out."""
    for run in experiment.runs:
        if any_of(table.get("runs", ["*"]), run.name):
            other = table["against"].format(**run.options)
            if other != run.name and {run.name, other} <= of_data.keys():
                ours, theirs = (values(of_data, experiment.baselines, name, "test_error") for name in (run.name, other))
                yield run, other, [100 * (left - right) for left, right in zip(ours, theirs)]


def paired(experiment: Experiment, results: Results, table: dict[str, Any]) -> Lines:
    """A line per data set and run."""
    lines = [[*([data] if len(results) > 1 else []), run.name, other, interval(found)]
             for data, of_data in results.items() for run, other, found in differences(experiment, of_data, table)]
    return [[*(["data"] if len(results) > 1 else []), "run", "minus", "points"], *lines]


def trends(experiment: Experiment, results: Results, table: dict[str, Any]) -> dict[tuple[str, str], dict[float, list[float]]]:
    """The differences of a table with `along`: for each run and the one it is compared with, by the data set's place."""
    places = sorted((data.at, data.name) for data in experiment.data if data.at is not None and data.name in results)
    found: dict[tuple[str, str], dict[float, list[float]]] = {}
    for at, data in places:
        for run, other, points in differences(experiment, results[data], table):
            found.setdefault((run.name, other), {})[at] = points
    return found


def trend(experiment: Experiment, results: Results, table: dict[str, Any]) -> Lines:
    """A line per run, a column per data set with a place."""
    found = trends(experiment, results, table)
    places = sorted({at for of_run in found.values() for at in of_run})
    return [["run", "minus", *(f"{at:,g}" for at in places)],
            *([run, other, *(interval(of_run[at]) if at in of_run else "-" for at in places)] for (run, other), of_run in found.items())]


def error_and_costs(plan: Plan, data: str, of_data: dict[str, Any], table: dict[str, Any], runs: list[Run]) -> Lines:
    """The mean test error in % with half of its 95 % confidence interval, and the metrics in `costs`."""
    def error(run: str) -> str:
        errors = [100 * value for value in values(of_data, plan.experiment.baselines, run, "test_error")]
        half = f" ± {half_width(errors):.2f}" if len(errors) > 1 else ""
        return f"{statistics.fmean(errors):.2f}{half}"

    return [["run", "test %", *table["costs"]]] + [
        [run.name, error(run.name), *cells(plan, {data: of_data}, run, runs, table["costs"])] for run in runs]


def crossed(plan: Plan, results: Results, table: dict[str, Any], runs: list[Run]) -> Lines:
    """Rows and columns are options. A cell shows `value` of its run, or `least`, an option, of the run with the smallest value."""
    row, column, value = table["rows"], table["columns"], table["value"]

    def choices(option: str) -> list[Any]:
        return list(dict.fromkeys(run.options[option] for run in runs))

    def cell(row_value: Any, column_value: Any) -> str:
        here = {run.name: run for run in runs if (run.options[row], run.options[column]) == (row_value, column_value)}
        if not here:
            return "-"
        if "least" not in table and len(here) > 1:
            raise UserError(f"[[table]] '{table.get('title', '')}': {', '.join(here)} share a cell; add runs or least to the table")
        best = min(here, key=lambda name: mean_of(plan.experiment, results, name, value))
        return (str(here[best].options[table["least"]]) if "least" in table
                else f"{mean_of(plan.experiment, results, best, value):.4g}")

    return [[f"{row} \\ {column}", *(str(choice) for choice in choices(column))]] + [
        [str(choice), *(cell(choice, other) for other in choices(column))] for choice in choices(row)]


def spread(numbers: list[float]) -> str:
    deviation = f" ± {100 * statistics.stdev(numbers):.2f}" if len(numbers) > 1 else ""
    return f"{100 * statistics.fmean(numbers):.2f}{deviation}"


def megabytes(counts: list[float]) -> str:
    mean = statistics.fmean(counts) / 1e6
    return "-" if math.isnan(mean) else f"{mean:.4g}" if mean < 1e4 else f"{mean:.0f}"


def test_set_note(runs: list[dict[int, dict[str, Any]]]) -> str:
    """What the ± over seeds leaves out: the test set is a sample, too. Binomial, at the median of the runs' errors."""
    known = [result for seeds in runs for result in seeds.values() if "test_samples" in result and not math.isnan(result["test_error"])]
    if not known:
        return ""
    error, samples = statistics.median(result["test_error"] for result in known), known[0]["test_samples"]
    half = 1.96 * math.sqrt(error * (1 - error) / samples)
    return (f"With {samples:,} test samples, every test error is uncertain by at least ± {100 * half:.2f} points (95 %), most of it common to "
            "all runs.")


def training(plan: Plan, results: Results, data: DataSet, runs: list[Run]) -> Table:
    experiment, of_data = plan.experiment, results[data.name]
    option = experiment.tune.get("option", "")
    decoded = all("word_error" in result for seeds in of_data.values() for result in seeds.values())
    errors = ["valid_error", "test_error", *(["word_error"] if decoded else [])]
    lines = [["run", "NxM", option, "valid %", "test %", *(["words %"] if decoded else []),
              "simulated s", "aggregate", "sent MB", "speed-up", "per worker"]]
    for run in runs:
        first = of_data[run.name][experiment.seeds[0]]
        used = plan.job(data, run, experiment.seeds[0]).options.get(option, "")

        def numbers(metric: str) -> list[float]:
            return values(of_data, experiment.baselines, run.name, metric)

        sent = [result.get("sent_bytes", math.nan) for result in of_data[run.name].values()]  # earlier versions did not count
        training_s, aggregate_s, speed_up, efficiency = (
            statistics.fmean(numbers(metric)) for metric in ("training_s", "aggregate_s", "speed_up", "efficiency"))
        lines.append([run.name, f"{first['splits']:>4}x{first['blocks']:<3}", str(used),
                      *(spread(numbers(metric)) for metric in errors),
                      f"{training_s:.4g}", f"{100 * aggregate_s / training_s:.1f} %",
                      megabytes(sent), f"{speed_up:.2f}", f"{efficiency:.2f}"])
    seeds = ", ".join(str(seed) for seed in experiment.seeds)
    return Table(f"{experiment.name}, {experiment.size}, {data.name}, seeds {seeds}", lines, of_training=True,
                 note=test_set_note([of_data[run.name] for run in runs if run.options.get("loss") != "ctc"]))  # whose errors are of tokens


def training_line(line: list[str], names: int) -> str:
    """Formats a line; all these tables have the same columns at the same positions, unless the names of the runs need more room."""
    run, partition, option, valid, test, *words, training_s, aggregate, sent, speed_up, per_worker = line
    return (f"{run:<{names}} {partition.rjust(7):<8}{option:>14}  {valid:>14} {test:>14}  {''.join(f'{word:>14}  ' for word in words)}"
            f"{training_s:>11} {aggregate:>9} {sent:>8} {speed_up:>8} {per_worker:>10}")
