"""Runs an experiment and records its values in expected.json."""

from __future__ import annotations

import math
from typing import Any

from config import ROOT, Experiment
from paragrad.runs import MACHINE
from plan import Job
from records import CORE_S, Record, options_digest, recorded_metrics
from results import result_in
from runner import Runner, locked
from verdicts import value_of


def record(runner: Runner, only_missing: bool) -> None:
    """Records each run as soon as it is over. only_missing: leaves out those that are recorded with their metrics and the same options."""
    experiment, file = runner.experiment, Record(runner.experiment.expected_file)
    forget_unknown(experiment, file)
    keys_of: dict[str, tuple[str, ...]] = {}
    jobs = []
    for data in runner.data_sets():
        for seed in experiment.seeds:
            for run in experiment.runs:
                job, keys = runner.job(data, run, seed), (experiment.size, data.name, run.name, str(seed))
                if not (only_missing and file.has(keys, options_digest(runner, job), recorded_metrics(experiment, run.name))):
                    keys_of[job.label] = keys
                    jobs.append(job)

    def finished(job: Job, _: str) -> None:
        keys = keys_of[job.label]
        file.put(keys, options_digest(runner, job), known_metrics(result_in(job.folder), recorded_metrics(experiment, keys[2])))

    with locked(experiment):
        runner.run_initial(sorted({int(keys[-1]) for keys in keys_of.values()}))
        runner.run_jobs(jobs, finished=finished)
    total = len(runner.data_sets()) * len(experiment.seeds) * len(experiment.runs)
    print(f"wrote {len(jobs)} of {total} runs to {experiment.expected_file.relative_to(ROOT)}")


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
