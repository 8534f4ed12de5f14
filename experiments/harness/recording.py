"""Runs an experiment and records its values in expected.json."""

from __future__ import annotations

import math
from typing import Any

from config import ROOT, Experiment
from plan import Job
from records import ABOUT, Record, RecordedRun, State, lacking, options_digest, recorded_metrics, recorded_runs
from results import result_in
from runner import Runner
from verdicts import value_of


def record(runner: Runner, only_missing: bool) -> None:
    """Records each run as soon as it is over. only_missing: leaves out those that are recorded with their metrics and the same options."""
    experiment, file = runner.experiment, Record(runner.experiment.expected_file)
    forget_unknown(experiment, file)
    metrics, available = recorded_metrics(experiment), [data.name for data in runner.data_sets()]
    runs = [one for one in recorded_runs(experiment) if one.data.name in available]
    wanted = [one for one in runs if not (only_missing and one.state is State.CURRENT and not lacking(one, metrics[one.run.name]))]
    wanted.sort(key=lambda one: experiment.seeds.index(one.seed))
    jobs = [runner.job(one.data, one.run, one.seed) for one in wanted]
    by_label = {job.label: one for job, one in zip(jobs, wanted)}

    def finished(job: Job, _: str) -> None:
        one = by_label[job.label]
        put(runner, one, job, metrics[one.run.name])

    with runner.locked():
        runner.run_initial(sorted({one.seed for one in wanted}))
        runner.run_jobs(jobs, finished=finished)
    print(f"wrote {len(jobs)} of {len(runs)} runs to {experiment.expected_file.relative_to(ROOT)}")


def put(runner: Runner, one: RecordedRun, job: Job, metrics: list[str]) -> None:
    """Saves the values of a run that is over."""
    keys = (runner.experiment.size, one.data.name, one.run.name, str(one.seed))
    Record(runner.experiment.expected_file).put(keys, options_digest(runner, job), known_metrics(result_in(job.folder), metrics))


def known_metrics(result: dict[str, Any], metrics: list[str]) -> dict[str, Any]:
    """The metrics that the run has (a timing run has no scores), what they were computed on, and its costs if known."""
    about = {key: result[key] for key in ABOUT if key in result}
    return about | {metric: result[metric] for metric in metrics if not math.isnan(value_of(result, metric))}


def forget_unknown(experiment: Experiment, file: Record) -> None:
    """Removes values of this size that config.toml no longer names."""
    with file.alone():
        content = file.read()
        if experiment.size in content:
            file.write(content | {experiment.size: without_unknown(experiment, content[experiment.size])})


def without_unknown(experiment: Experiment, of_size: dict[str, Any]) -> dict[str, Any]:
    runs, seeds, data_sets = ({run.name for run in experiment.runs}, {str(seed) for seed in experiment.seeds},
                              {data.name for data in experiment.data})
    return {data: {run: {seed: values for seed, values in of_run.items() if seed in seeds} for run, of_run in of_data.items() if run in runs}
            for data, of_data in of_size.items() if data in data_sets}
