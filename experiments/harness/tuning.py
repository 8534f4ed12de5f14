"""Chooses one option per run on the validation set: [tune] in config.toml, the trials in trials.json, the choice in tuned.toml."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
from typing import Any

from config import ROOT, DataSet, Run, UserError, tuned_by
from plan import Job
from recording import record_each
from records import Record
from results import result_of
from runner import Runner


def trial(runner: Runner, data: DataSet, run: Run, value: Any, seed: int) -> Job:
    option = runner.experiment.tune["option"]
    job = runner.job(data, replace(run, options=run.options | {option: value}), seed)
    folder = runner.experiment.runs_folder / "tune" / data.name / f"{run.name}-{value}-s{seed}"
    return Job(f"{data.name} {run.name} {option} {value} seed {seed}", job.options, folder)


def tune(runner: Runner, only_missing: bool) -> None:
    """only_missing: leaves out the trials that are recorded with the same options."""
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
    file, measure = Record(runner.experiment.trials_file), settings["measure"]
    trials = {(data.name, run.name, str(value), str(seed)): trial(runner, data, run, value, seed)
              for data in data_sets for run in runs for value in grid(settings, run) for seed in seeds}
    record_each(runner, file, trials, lambda keys: [measure], lambda keys, job, complaint: {measure: None if complaint else score(job, measure)},
                only_missing, failures_allowed=True)
    recorded = file.read()
    for data in data_sets:
        for run in runs:
            scores = {value: mean_score([recorded[data.name][run.name][str(value)][str(seed)][measure] for seed in seeds])
                      for value in grid(settings, run)}
            runner.tuned.setdefault(data.name, {})[run.name] = choose(f"{data.name} {run.name}", scores)
    write(runner)


def grid(settings: dict[str, Any], run: Run) -> list[Any]:
    prefix = tuned_by(settings["grid"], run.name)
    if prefix is None:
        raise UserError(f"[tune.grid] has no entry for the run '{run.name}'")
    return list(settings["grid"][prefix])


def score(job: Job, measure: str) -> float:
    result = result_of(job.folder)
    if measure not in result:
        raise UserError(f"[tune] has the unknown measure '{measure}'; known: {', '.join(sorted(result))}")
    return result[measure]


def mean_score(scores: list[float | None]) -> float:
    """A diverged run (None) gets the worst score."""
    return math.inf if None in scores else statistics.fmean(scores)


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
