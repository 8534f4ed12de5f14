"""Runs a few recorded runs of the larger sizes again, a different selection for each commit, so that no record ages unnoticed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator

from config import ROOT, DataSet, Experiment, Run, UserError, git
from loading import all_sizes, load
from plan import Plan
from records import CORE_S, Record, options_digest, recorded
from results import result_in
from runner import Runner, locked
from verdicts import print_repetitions, repetitions


@dataclass(frozen=True)
class RecordedRun:
    """One seed of a run whose record has its costs and was made with the options that config.toml has now."""

    experiment: Experiment
    data: DataSet
    run: Run
    seed: int
    core_s: float

    @property
    def label(self) -> str:
        return f"{self.experiment.name} {self.experiment.size} {self.data.name} {self.run.name} seed {self.seed}"


def recorded_runs(name: str) -> Iterator[RecordedRun]:
    for size in all_sizes(name):
        if size == "smoke":  # the tests run all of it
            continue
        experiment = load(name, size)
        plan, known = Plan(experiment), Record(experiment.expected_file).read().get(size, {})
        for data in experiment.data:
            if data.file and not (ROOT / data.file).exists():
                continue
            for run in experiment.runs:
                for seed in experiment.seeds:
                    values = known.get(data.name, {}).get(run.name, {}).get(str(seed), {})
                    if CORE_S in values and Record.is_of(values, options_digest(plan, plan.job(data, run, seed))):
                        yield RecordedRun(experiment, data, run, seed, values[CORE_S])


def in_turn(runs: list[RecordedRun]) -> list[RecordedRun]:
    """In an order that differs from commit to commit; the same one without Git."""
    commit = git(ROOT, "rev-parse", "HEAD") or b""
    return sorted(runs, key=lambda run: hashlib.sha256(commit + run.label.encode()).digest())


def within(runs: list[RecordedRun], budget_s: float) -> list[RecordedRun]:
    """The first ones that together, by their records, take no longer than the budget."""
    chosen, left_s = [], budget_s
    for run in runs:
        if run.core_s <= left_s:
            chosen.append(run)
            left_s -= run.core_s
    return chosen


def recheck(names: list[str], program: Path, jobs: int, budget_s: float) -> bool:
    """budget_s: core-seconds. Whether all values repeat."""
    known = in_turn([run for name in names for run in recorded_runs(name)])
    chosen = within(known, budget_s)
    if not chosen:
        raise UserError(f"no recorded run takes at most {budget_s:g} core-seconds and has its data file here: raise --budget")
    cost_s = sum(run.core_s for run in chosen)
    print(f"{len(chosen)} of {len(known)} recorded runs, which took {cost_s:.0f} core-seconds:", flush=True)
    good = True
    for name, size in dict.fromkeys((run.experiment.name, run.experiment.size) for run in chosen):
        here = [run for run in chosen if (run.experiment.name, run.experiment.size) == (name, size)]
        good &= repeats(here, Runner(here[0].experiment, program, jobs))
    return good


def repeats(runs: list[RecordedRun], runner: Runner) -> bool:
    """Runs of one experiment and size again, and compares them with their records."""
    experiment = runner.experiment
    jobs = [runner.job(run.data, run.run, run.seed) for run in runs]
    initial = {job.label: job for run in runs if (job := runner.initial_job(run.data, run.seed)) is not None}
    with locked(experiment):
        runner.run_jobs(list(initial.values()))
        runner.run_jobs(jobs)
    results: dict[str, dict[str, dict[int, dict[str, Any]]]] = {}
    for run, job in zip(runs, jobs):
        results.setdefault(run.data.name, {}).setdefault(run.run.name, {})[run.seed] = result_in(job.folder)
    return print_repetitions(repetitions(experiment, results, recorded(experiment)), f"{experiment.name}, {experiment.size}: ")
