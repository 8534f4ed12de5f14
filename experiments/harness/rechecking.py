"""Runs a few recorded runs of the larger sizes again, a different selection for each commit, so that a record that no longer repeats is
noticed."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator

from backlog import Backlog, backlog, hours, retiring
from config import ROOT, Experiment, UserError, git
from loading import all_sizes, load
from records import CORE_S, RecordedRun, State, recorded, recorded_runs
from results import result_in
from runner import Runner
from verdicts import print_repetitions, repetitions

PAST = {"merge": "merged into", "replace": "replaced by", "remove": "removed:"}


@dataclass(frozen=True)
class Candidate:
    """One seed of a run that is recorded."""

    experiment: Experiment
    one: RecordedRun

    @property
    def label(self) -> str:
        return f"{self.experiment.name} {self.experiment.size} {self.one.data.name} {self.one.run.name} seed {self.one.seed}"

    @property
    def core_s(self) -> float:
        return self.one.values[CORE_S]

    def obstacle(self, budget_s: float) -> str:
        """Why it cannot be run again and compared; "" if it can."""
        if self.one.state is not State.CURRENT:
            return self.one.why
        if CORE_S not in self.one.values:
            return "recorded without its costs"
        if self.one.data.file and not (ROOT / self.one.data.file).exists():
            return f"there is no {self.one.data.file}"
        return f"takes more than {budget_s:g} core-seconds" if self.core_s > budget_s else ""


def candidates(name: str) -> Iterator[Candidate]:
    for size in all_sizes(name):
        if size != "smoke":  # of which the tests run all
            experiment = load(name, size)
            yield from (Candidate(experiment, one) for one in recorded_runs(experiment) if one.values)


def in_turn(runs: list[Candidate]) -> list[Candidate]:
    """In an order that differs from commit to commit; the same one without Git."""
    commit = git(ROOT, "rev-parse", "HEAD") or b""
    return sorted(runs, key=lambda run: hashlib.sha256(commit + run.label.encode()).digest())


def within(runs: list[Candidate], budget_s: float) -> list[Candidate]:
    """The first ones that together, by their records, take no longer than the budget."""
    chosen, left_s = [], budget_s
    for run in runs:
        if run.core_s <= left_s:
            chosen.append(run)
            left_s -= run.core_s
    return chosen


def recheck(names: list[str], program: Path, jobs: int, budget_s: float) -> bool:
    """budget_s: core-seconds. Whether all values repeat."""
    of_all = [run for name in names for run in candidates(name)]
    chosen = within(in_turn([run for run in of_all if not run.obstacle(budget_s)]), budget_s)
    if not chosen:
        raise UserError(f"no recorded run can be run again: {'; '.join(obstacles(of_all, budget_s)) or 'nothing is recorded'}")
    for name in names:
        if found := list(obstacles([run for run in of_all if run.experiment.name == name], budget_s)):
            print(f"{name}: not covered: {', '.join(found)}")
    can = sum(not run.obstacle(budget_s) for run in of_all)
    print(f"{len(chosen)} of {can} recorded runs, which took {sum(run.core_s for run in chosen):.0f} core-seconds:", flush=True)
    good = True
    for name, size in dict.fromkeys((run.experiment.name, run.experiment.size) for run in chosen):
        here = [run for run in chosen if (run.experiment.name, run.experiment.size) == (name, size)]
        good &= repeats([run.one for run in here], Runner(here[0].experiment, program, jobs))
    return good


def obstacles(runs: list[Candidate], budget_s: float) -> Iterator[str]:
    counts = Counter(why for run in runs if (why := run.obstacle(budget_s)))
    yield from (f"{count} {'run' if count == 1 else 'runs'} ({why})" for why, count in counts.items())


def repeats(runs: list[RecordedRun], runner: Runner) -> bool:
    """Runs of one experiment and size again, and compares them with their records."""
    experiment = runner.experiment
    jobs = [runner.job(run.data, run.run, run.seed) for run in runs]
    initial = {job.label: job for run in runs if (job := runner.initial_job(run.data, run.seed)) is not None}
    with runner.locked():
        runner.run_jobs(list(initial.values()))
        runner.run_jobs(jobs)
    results: dict[str, dict[str, dict[int, dict[str, Any]]]] = {}
    for run, job in zip(runs, jobs):
        results.setdefault(run.data.name, {}).setdefault(run.run.name, {})[run.seed] = result_in(job.folder)
    return print_repetitions(repetitions(experiment, results, recorded(experiment), by_seeds=True), f"{experiment.name}, {experiment.size}: ")


def print_coverage(names: list[str], budget_s: float) -> None:
    """A line per experiment: covered, in the queue, or to be merged, replaced or removed."""
    waiting, fates = backlog(names), retiring()
    print(f"{'experiment':<24} {'recorded':>8} {'covered':>8}   status")
    for name in names:
        runs = list(candidates(name))
        covered = sum(not run.obstacle(budget_s) for run in runs)
        print(f"{name:<24} {len(runs):>8} {covered:>8}   {status(name, runs, waiting, fates, budget_s)}")


def status(name: str, runs: list[Candidate], waiting: Backlog, fates: dict[str, tuple[str, str]], budget_s: float) -> str:
    groups = [group for group in waiting.groups if group.tasks[0].experiment.name == name]
    count = sum(len(group.tasks) for group in groups)
    queued = f"{count} {'run' if count == 1 else 'runs'} in the queue, {hours(sum(group.core_s for group in groups))}" if count else ""
    if name in fates:
        fate, words = fates[name]
        return f"to be {PAST[fate]} {words}{f' ({queued})' if queued else ''}"
    left_out = sorted({why for what, why in waiting.left_out.items() if what.split(" ")[0] == name})
    cannot = f"cannot be recorded here: {'; '.join(left_out)}" if left_out else ""
    if count:
        return f"stale: {queued}{f'; others {cannot}' if cannot else ''}"
    found = "; ".join(obstacles(runs, budget_s))
    return cannot or (f"covered, but not by this call: {found}" if found else "covered")
