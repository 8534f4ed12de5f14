"""The results of an experiment's runs, and the metrics derived from them."""

from __future__ import annotations

import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

from config import DataSet, Experiment, Run, UserError
from derived import derived
import paragrad.runs
from plan import Plan, key_in

Results = dict[str, dict[str, dict[int, dict[str, Any]]]]  # data set, run, seed


class NotRun(UserError):
    """A claim or row refers to a run that is not among the results."""


def result_in(folder: Path) -> dict[str, Any]:
    """The result of a run here."""
    try:
        return paragrad.runs.Run(folder).result
    except paragrad.runs.Error as error:
        raise UserError(f"{error}; remove the run's folder to run it again") from error


def collect(experiment: Experiment, data_sets: list[DataSet]) -> Results:
    return {data.name: {run.name: {seed: with_derived(run, data, result_in(experiment.run_folder(data.name, run.name, seed)))
                                   for seed in experiment.seeds} for run in experiment.runs} for data in data_sets}


def with_derived(run: Run, data: DataSet, result: dict[str, Any]) -> dict[str, Any]:
    """And what follows from the run's options and this result of it, measured or recorded."""
    return derived(run, run.options | data.options | run.own, result) | result


def has_run(plan: Plan, data: DataSet, run: Run) -> bool:
    """Whether every seed has run with the current options of config.toml, with any version of the program."""
    for seed in plan.experiment.seeds:
        if not (plan.experiment.run_folder(data.name, run.name, seed) / "manifest.json").exists():
            return False
        job = plan.job(data, run, seed)
        key = key_in(job.key_file)
        if key.get("options") != job.options or key.get("stale", []) != list(job.marks):
            return False
    return True


def what_has_run(experiment: Experiment) -> tuple[Experiment, Results]:
    """The experiment restricted to data sets with a finished run, and to runs finished on all of these, as their baselines are; their results."""
    plan = Plan(experiment)
    there = {data.name: {run.name for run in experiment.runs if has_run(plan, data, run)} for data in experiment.data}
    data_sets = [data for data in experiment.data if there[data.name]]
    runs = [run for run in experiment.runs
            if data_sets and all({run.name, run.baseline or run.name} <= there[data.name] for data in data_sets)]
    present = replace(experiment, data=data_sets, runs=runs)
    return present, collect(present, data_sets)


def values(runs: dict[str, dict[int, dict[str, Any]]], baselines: dict[str, str], run: str, metric: str) -> list[float]:
    """The metric for all seeds. Derived: speed_up over the run's baseline in samples per second, and peak_speed_up; efficiency, per worker;
    sooner: the baseline's total time over the run's; X_over_baseline: the run's X over the baseline's."""
    if run not in runs:
        raise NotRun(f"'{run}.{metric}': the run is not in this size")
    found, baseline = [], baselines[run]
    for seed, result in runs[run].items():
        known = result | relative_to(runs[baseline][seed], result) if baseline in runs else dict(result)
        plain = metric.removesuffix("_over_baseline")
        if baseline in runs and plain != metric and plain in result:
            known[metric] = result[plain] / runs[baseline][seed][plain]
        if metric not in known and baseline and baseline not in runs and is_relative(metric):
            raise NotRun(f"'{run}.{metric}': the baseline '{baseline}' is not in this size")
        if metric not in known:
            raise UserError(f"'{run}.{metric}': no such metric; known: {', '.join(sorted(known))}")
        found.append(known[metric])
    return found


def relative_to(baseline: dict[str, Any], result: dict[str, Any]) -> dict[str, float]:
    """speed_up, peak_speed_up, efficiency and sooner, each if both results have the values it needs: expected.json has only some metrics."""
    found = {}
    if "samples_per_s" in result and "samples_per_s" in baseline:
        found["speed_up"] = result["samples_per_s"] / baseline["samples_per_s"]
        if "peak_samples_per_s" in result:
            found["peak_speed_up"] = result["peak_samples_per_s"] / baseline["samples_per_s"]
    elif "epoch_s" in result and "epoch_s" in baseline:  # recorded; on the same data set
        found["speed_up"] = baseline["epoch_s"] / result["epoch_s"]
    if "speed_up" in found and "workers" in result:
        found["efficiency"] = found["speed_up"] / result["workers"]
    if "total_s" in result and "total_s" in baseline:
        found["sooner"] = baseline["total_s"] / result["total_s"]
    return found


def parts_of(metric: str) -> list[str]:
    """The metrics that this one is derived from; itself if it is not."""
    sources = {"speed_up": ["samples_per_s"], "peak_speed_up": ["peak_samples_per_s", "samples_per_s"],
               "efficiency": ["samples_per_s", "workers"], "sooner": ["total_s"], "at_once": [], "outer_gain": [],
               "aligned_gain": ["update_correlation"]}
    return sources.get(metric, [metric.removesuffix("_over_baseline")])


def is_relative(metric: str) -> bool:
    """Whether the metric is relative to a baseline."""
    return metric in ("speed_up", "peak_speed_up", "efficiency", "sooner") or metric.endswith("_over_baseline")


def mean_of(experiment: Experiment, results: Results, run: str, metric: str) -> float:
    """The mean over data sets and seeds."""
    return statistics.fmean(value for runs in results.values() for value in values(runs, experiment.baselines, run, metric))
