"""Runs jobs and records their values: those of an experiment in expected.json, trials for tuning.py."""

from __future__ import annotations

import math
from typing import Any, Callable

from config import ROOT, Experiment
from plan import Job
from records import CORE_S, Record, options_digest, recorded_metrics
from results import MACHINE, result_of
from runner import Runner, locked
from verdicts import value_of


Keys = tuple[str, ...]


def record_each(runner: Runner, file: Record, jobs: dict[Keys, Job], metrics_of: Callable[[Keys], list[str]],
                values_of: Callable[[Keys, Job, str], dict[str, Any]], only_missing: bool, failures_allowed: bool = False) -> int:
    """Executes the jobs and records values_of(keys, job, error message or "") as soon as each is over. only_missing: leaves out those
    that are recorded with their metrics and the same options. The last key of a job is its seed. Returns the number of jobs recorded."""
    keys_of = {job.label: keys for keys, job in jobs.items()
               if not (only_missing and file.has(keys, options_digest(runner, job), metrics_of(keys)))}

    def finished(job: Job, complaint: str) -> None:
        keys = keys_of[job.label]
        file.put(keys, options_digest(runner, job), values_of(keys, job, complaint))

    with locked(runner.experiment):
        runner.run_initial(sorted({int(keys[-1]) for keys in keys_of.values()}))
        runner.run_jobs([job for job in jobs.values() if job.label in keys_of], failures_allowed, finished)
    return len(keys_of)


def record(runner: Runner, only_missing: bool) -> None:
    experiment, file = runner.experiment, Record(runner.experiment.expected_file)

    def metrics_of(keys: Keys) -> list[str]:
        return recorded_metrics(experiment, keys[2])

    forget_unknown(experiment, file)
    jobs = {(experiment.size, data.name, run.name, str(seed)): runner.job(data, run, seed)
            for data in runner.data_sets() for seed in experiment.seeds for run in experiment.runs}
    count = record_each(runner, file, jobs, metrics_of, lambda keys, job, _: known_metrics(result_of(job.folder), metrics_of(keys)),
                        only_missing)
    print(f"wrote {count} of {len(jobs)} runs to {experiment.expected_file.relative_to(ROOT)}")


def known_metrics(result: dict[str, Any], metrics: list[str]) -> dict[str, Any]:
    """The metrics that the run has (a timing run has no scores), what they were computed on, and its costs if known."""
    about = {key: result[key] for key in (MACHINE, CORE_S) if key in result}
    return about | {metric: result[metric] for metric in metrics if not math.isnan(value_of(result, metric))}


def forget_unknown(experiment: Experiment, file: Record) -> None:
    """Removes values of this size that config.toml no longer names."""
    content = file.read()
    if experiment.size not in content:
        return
    runs, seeds, data_sets = ({run.name for run in experiment.runs}, {str(seed) for seed in experiment.seeds},
                              {data.name for data in experiment.data})
    content[experiment.size] = {
        data: {run: {seed: values for seed, values in of_run.items() if seed in seeds} for run, of_run in of_data.items() if run in runs}
        for data, of_data in content[experiment.size].items() if data in data_sets}
    file.write(content)
