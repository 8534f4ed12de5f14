"""The tables of an experiment: one line per run, mean and spread over the seeds; or those of [[table]] in config.toml."""

from __future__ import annotations

import statistics
from typing import Any

from config import UserError, any_of
from runner import Runner, learning_curve
from verdicts import Results, values


def spread(numbers: list[float]) -> str:
    deviation = f" ± {100 * statistics.stdev(numbers):.2f}" if len(numbers) > 1 else ""
    return f"{100 * statistics.fmean(numbers):.2f}{deviation}"


def print_tables(runner: Runner, results: Results) -> None:
    if not runner.experiment.tables:
        return print_training_table(runner, results, {})
    for table in runner.experiment.tables:
        if not any(any_of(table.get("runs", ["*"]), run.name) for run in runner.experiment.runs):
            continue  # not in this size
        if not {"rows", "columns", "curves"} & table.keys():
            print_training_table(runner, results, table)
            continue
        print(f"\n{runner.experiment.name}, {runner.experiment.size}: {table.get('title', '')}")
        lines = (crossed if "rows" in table else curves if "curves" in table else listed)(runner, results, table)
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        for line in lines:
            print("  ".join([line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:]))]))


def mean_of(runner: Runner, results: Results, run: str, metric: str) -> float:
    """Over data sets and seeds."""
    return statistics.fmean(value for runs in results.values()
                            for value in values(runs, runner.experiment.baselines, run, metric))


def listed(runner: Runner, results: Results, table: dict[str, Any]) -> list[list[str]]:
    """One line per run that matches `runs`, one column per metric in `columns`: "-" where others have it and the run has not."""
    runs = [run.name for run in runner.experiment.runs if any_of(table.get("runs", ["*"]), run.name)]
    shown = [result for of_data in results.values() for run in runs for result in of_data[run].values()]

    def cell(run: str, metric: str) -> str:
        missing = all(metric not in result for of_data in results.values() for result in of_data[run].values())
        if missing and any(metric in result for result in shown):
            return "-"
        return f"{mean_of(runner, results, run, metric):.5g}"

    return [["run", *table["columns"]]] + [[run, *(cell(run, metric) for metric in table["columns"])] for run in runs]


def curves(runner: Runner, results: Results, table: dict[str, Any]) -> list[list[str]]:
    """Learning curves: a line per run, a column per validation, named by the samples processed: validation error in %, the
    mean over the seeds. `curves`: every so many of the validations."""
    experiment, step = runner.experiment, table["curves"]
    lines, places = [], []
    for data in runner.data_sets():
        for run in experiment.runs:
            if not any_of(table.get("runs", ["*"]), run.name):
                continue
            of_seeds = [learning_curve(runner.job(data, run, seed).folder) for seed in experiment.seeds]
            means = [statistics.fmean(error for _, error in points) for points in zip(*of_seeds)]
            lines.append([run.name, *(f"{100 * mean:.2f}" for mean in means[step - 1::step])])
            places = [f"{samples:.3g}" for samples, _ in of_seeds[0][step - 1::step]]
    return [["samples", *places], *lines]


def crossed(runner: Runner, results: Results, table: dict[str, Any]) -> list[list[str]]:
    """Rows and columns are options. A cell shows `value` of its run, or with `least` that option of the run with the least."""
    runs = [run for run in runner.experiment.runs if any_of(table.get("runs", ["*"]), run.name)]
    row, column, value = table["rows"], table["columns"], table["value"]

    def choices(option: str) -> list[Any]:
        return list(dict.fromkeys(run.options[option] for run in runs))

    def cell(row_value: Any, column_value: Any) -> str:
        here = {run.name: run for run in runs if (run.options[row], run.options[column]) == (row_value, column_value)}
        if not here:
            return "-"
        if "least" not in table and len(here) > 1:
            raise UserError(f"[[table]] '{table.get('title', '')}': {', '.join(here)} share a cell; add runs or least")
        best = min(here, key=lambda name: mean_of(runner, results, name, value))
        return str(here[best].options[table["least"]]) if "least" in table else f"{mean_of(runner, results, best, value):.4g}"

    return [[f"{row} \\ {column}", *(str(choice) for choice in choices(column))]] + [
        [str(choice), *(cell(choice, other) for other in choices(column))] for choice in choices(row)]


def print_training_table(runner: Runner, results: Results, table: dict[str, Any]) -> None:
    experiment = runner.experiment
    option = experiment.tune.get("option", "")
    for data in runner.data_sets():
        runs = results[data.name]
        seeds = ", ".join(str(seed) for seed in experiment.seeds)
        print(f"\n{experiment.name}, {experiment.size}, {data.name}, seeds {seeds}")
        decoded = all("word_error" in result for seeds in runs.values() for result in seeds.values())
        print(f"{'run':<10} {'NxM':>7} {option:>14}  {'valid %':>14} {'test %':>14}  "
              f"{'words %' if decoded else '':>{16 * decoded}}{'virtual s':>9} {'aggregate':>9} {'speed-up':>8} {'per worker':>10}")
        for run in experiment.runs:
            if not any_of(table.get("runs", ["*"]), run.name):
                continue
            first = runs[run.name][experiment.seeds[0]]
            used = runner.job(data, run, experiment.seeds[0]).options.get(option, "")

            def mean(metric: str) -> float:
                return statistics.fmean(values(runs, experiment.baselines, run.name, metric))

            valid, test = (spread(values(runs, experiment.baselines, run.name, metric))
                           for metric in ("valid_error", "test_error"))
            words = f"{spread(values(runs, experiment.baselines, run.name, 'word_error')):>14}  " if decoded else ""
            print(f"{run.name:<10} {first['splits']:>4}x{first['blocks']:<3}{used:>14}  {valid:>14} {test:>14}  {words}"
                  f"{mean('training_s'):>9.4g} {100 * mean('aggregate_s') / mean('training_s'):>7.1f} % "
                  f"{mean('speed_up'):>8.2f} {mean('efficiency'):>10.2f}")
