"""The table of an experiment: one line per run, mean and spread over the seeds."""

from __future__ import annotations

import statistics

from runner import Runner
from verdicts import Results, values


def spread(numbers: list[float]) -> str:
    deviation = f" ± {100 * statistics.stdev(numbers):.2f}" if len(numbers) > 1 else ""
    return f"{100 * statistics.fmean(numbers):.2f}{deviation}"


def print_table(runner: Runner, results: Results) -> None:
    experiment = runner.experiment
    option = experiment.tune.get("option", "")
    for data in runner.data_sets():
        runs = results[data.name]
        seeds = ", ".join(str(seed) for seed in experiment.seeds)
        print(f"\n{experiment.name}, {experiment.size}, {data.name}, seeds {seeds}")
        print(f"{'run':<10} {'NxM':>7} {option:>14}  {'valid %':>14} {'test %':>14}  {'virtual s':>9} {'aggregate':>9} "
              f"{'speed-up':>8} {'per worker':>10}")
        for run in experiment.runs:
            first = runs[run.name][experiment.seeds[0]]
            used = runner.job(data, run, experiment.seeds[0]).options.get(option, "")

            def mean(metric: str) -> float:
                return statistics.fmean(values(runs, experiment.baseline, run.name, metric))

            valid, test = (spread(values(runs, experiment.baseline, run.name, metric))
                           for metric in ("valid_error", "test_error"))
            print(f"{run.name:<10} {first['splits']:>4}x{first['blocks']:<3}{used:>14}  {valid:>14} {test:>14}  "
                  f"{mean('training_s'):>9.4g} {100 * mean('aggregate_s') / mean('training_s'):>7.1f} % "
                  f"{mean('speed_up'):>8.2f} {mean('efficiency'):>10.2f}")
