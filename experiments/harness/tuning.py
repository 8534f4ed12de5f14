"""Chooses one option per run on the validation set: [tune] in config.toml, results in tuned.toml."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
from typing import Any

from config import ROOT, DataSet, Run, UserError, tuned_by
from plan import Job
from results import result_of
from runner import Runner, locked


def trial(runner: Runner, data: DataSet, run: Run, value: Any, seed: int) -> Job:
    option = runner.experiment.tune["option"]
    job = runner.job(data, replace(run, options=run.options | {option: value}), seed)
    folder = runner.experiment.runs_folder / "tune" / data.name / f"{run.name}-{value}-s{seed}"
    return Job(f"{data.name} {run.name} {option} {value} seed {seed}", job.options, folder)


def tune(runner: Runner) -> None:
    settings = runner.experiment.tune
    if not settings:
        raise UserError(f"{runner.experiment.name} has nothing to tune: no [tune] in its config.toml")
    seeds = settings["seeds"]
    data_sets = [data for data in runner.data_sets() if data.tuned_on == data.name]
    runs = [run for run in runner.experiment.runs if settings["option"] not in run.options]
    if not data_sets or not runs:
        raise UserError(f"{runner.experiment.name} has nothing to tune in size {runner.experiment.size}: "
                        + (f"all runs set {settings['option']} themselves" if not runs else
                           "all data sets use values tuned on others"))
    with locked(runner.experiment):
        runner.run_initial(seeds)
        trials = {(data.name, run.name, value): [trial(runner, data, run, value, seed) for seed in seeds]
                  for data in data_sets for run in runs for value in grid(settings, run)}
        complaints = runner.run_jobs([job for jobs in trials.values() for job in jobs], failures_allowed=True)
        scores = {key: score(jobs, settings["measure"], complaints) for key, jobs in trials.items()}
    for data in data_sets:
        for run in runs:
            of_run = {value: scores[data.name, run.name, value] for value in grid(settings, run)}
            runner.tuned.setdefault(data.name, {})[run.name] = choose(f"{data.name} {run.name}", of_run)
    write(runner)


def grid(settings: dict[str, Any], run: Run) -> list[Any]:
    prefix = tuned_by(settings["grid"], run.name)
    if prefix is None:
        raise UserError(f"[tune.grid] has no entry for the run '{run.name}'")
    return list(settings["grid"][prefix])


def score(jobs: list[Job], measure: str, complaints: dict[str, str]) -> float:
    """A diverged run gets the worst score."""
    if any(job.label in complaints for job in jobs):
        return math.inf
    results = [result_of(job.folder) for job in jobs]
    if any(measure not in result for result in results):
        raise UserError(f"[tune] has the unknown measure '{measure}'; known: {', '.join(sorted(results[0]))}")
    return statistics.fmean(result[measure] for result in results)


def choose(label: str, scores: dict[Any, float]) -> Any:
    best = min(scores, key=lambda value: scores[value])
    edge = " (edge of the grid)" if best in (min(scores), max(scores)) else ""
    print(f"{label}: {', '.join(f'{value}: {100 * found:.2f} %' for value, found in scores.items())} -> {best}{edge}")
    return best


def write(runner: Runner) -> None:
    lines = [f"# Written by `make tune-{runner.experiment.name}`: {runner.experiment.tune['option']} with the least "
             f"{runner.experiment.tune['measure']}."]
    for data, chosen in sorted(runner.tuned.items()):
        lines += ["", f"[{data}]", *(f"{name} = {value!r}" for name, value in chosen.items())]
    runner.experiment.tuned_file.write_text("\n".join(lines) + "\n")
    print(f"wrote {runner.experiment.tuned_file.relative_to(ROOT)}")
