"""What earlier runs gave, in expected.json and trials.json: written run by run, so that an experiment can be continued on another
machine that has only the source."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Iterator

from config import RESTORE, ROOT, DataSet, Experiment, Run, UserError, any_of, read_json, spelled_out
from maps import metrics_of
from paragrad.runs import MACHINE
from plan import Job, Plan
from published import runs_with_rows
from results import Results, is_relative, parts_of, with_derived
from terms import terms_of

# Among a run's values, next to paragrad.runs.MACHINE:
OPTIONS = "options"    # the digest of its options
CORE_S = "core_s"      # the core-seconds that it took
AT_LEAST = "at_least"  # true if it was killed, so that part of what it took may be missing in core_s
ABOUT = (MACHINE, CORE_S, AT_LEAST)
NO_METRICS = (OPTIONS, *ABOUT)

DEPTH = 4  # of expected.json: size, data set, run, seed; of trials.json: data set, run, value, seed


class State(Enum):
    """What a record is worth, from the most useless to the best."""

    STALE = "marked as stale"  # by a [[stale]] that is newer: known to be wrong
    MISSING = "not recorded"
    OTHER = "recorded with other options"
    UNNAMED = "recorded without its options"  # by an early version
    CURRENT = "recorded with these options"

    @property
    def is_used(self) -> bool:
        return self in (State.UNNAMED, State.CURRENT)


REFUSED = (State.STALE, State.OTHER)  # there are values, but of something else


def options_digest(plan: Plan, job: Job) -> str:
    """Identifies the run's options, those of the run whose model it starts from, and the [[stale]] that apply to it. Not the program,
    nor the data's content."""
    return digest_of(plan, job, job.marks)


def digest_of(plan: Plan, job: Job, marks: tuple[str, ...]) -> str:
    others = {command: options for command, options in job.after.items() if command != "decode"}  # decode came before them
    text = json.dumps([job.command, job.options, job.after.get("decode"), plan.experiment.initial, *([others] if others else []),
                       *([marks] if marks else [])], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def newer_marks(plan: Plan, job: Job, values: dict[str, Any]) -> tuple[str, ...]:
    """The reasons of the [[stale]] that are newer than the record of the run: all of them if it has no digest, which is older."""
    if not values:
        return ()
    if OPTIONS not in values:
        return job.marks
    return next((job.marks[count:] for count in range(len(job.marks)) if values[OPTIONS] == digest_of(plan, job, job.marks[:count])), ())


def state_of(plan: Plan, data: DataSet, run: Run, seed: int, values: dict[str, Any]) -> tuple[State, tuple[str, ...]]:
    """And the reasons if it is stale. values: the record of the run; {} if there is none."""
    if not values:
        return State.MISSING, ()
    try:
        job = plan.job(data, run, seed)
    except UserError:  # its tuned value is not known, so the record is not of it
        return State.OTHER if OPTIONS in values else State.UNNAMED, ()
    if marks := newer_marks(plan, job, values):
        return State.STALE, marks
    if OPTIONS not in values:
        return State.UNNAMED, ()
    return State.CURRENT if values[OPTIONS] == options_digest(plan, job) else State.OTHER, ()


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Replaces the file; one that an interruption leaves is the old one or the new one."""
    new = path.with_name(path.name + ".new")
    new.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n")
    os.replace(new, path)


def is_nested(content: Any, depth: int) -> bool:
    """Whether there are objects within objects, this deep."""
    return isinstance(content, dict) and (depth == 0 or all(is_nested(one, depth - 1) for one in content.values()))


@dataclass(frozen=True)
class Record:
    """A JSON file with the values of runs, each under a path of keys."""

    path: Path

    def read(self) -> dict[str, Any]:
        content = read_json(self.path, RESTORE) if self.path.exists() else {}
        if not is_nested(content, DEPTH):
            raise UserError(f"{self.path.relative_to(ROOT)} is not a file of records, with values under {DEPTH} keys each; {RESTORE}")
        return content

    def write(self, content: dict[str, Any]) -> None:
        write_json(self.path, content)

    def has(self, keys: tuple[str, ...], digest: str, metrics: list[str]) -> bool:
        """Whether there are all these metrics of a run with these options."""
        found: Any = self.read()
        for key in keys:
            found = found.get(key, {})
        return found.get(OPTIONS) == digest and all(metric in found for metric in metrics)

    def put(self, keys: tuple[str, ...], digest: str, values: dict[str, Any]) -> None:
        with self.alone():
            content = self.read()
            place = content
            for key in keys[:-1]:
                place = place.setdefault(key, {})
            place[keys[-1]] = {OPTIONS: digest} | values
            self.write(content)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keeps other harnesses from replacing the file between reading and writing: they may record other sizes."""
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)


def recorded_metrics(experiment: Experiment) -> dict[str, list[str]]:
    """What is recorded of each run: what is to repeat, and what the claims and published values about it, or relative to it, are judged by."""
    found = {run.name: [entry["metric"] for entry in experiment.repeats if any_of(entry.get("runs", ["*"]), run.name)] for run in experiment.runs}
    used = [(run, metric) for entry in experiment.claims for claim in spelled_out(entry) for term in terms_of(claim)
            for run in term.among(found) for metric in term.metrics]
    used += [(run.name, entry["metric"]) for entry in experiment.published for run in runs_with_rows(experiment, entry)]
    used += [(run, metric) for entry in experiment.tables if "map" in entry for run in found if any_of(entry.get("runs", ["*"]), run)
             for line in metrics_of(entry) for metric in line]
    for run, metric in used:
        for of in (run, experiment.baselines.get(run, "") if is_relative(metric) else ""):
            if of in found:
                found[of] += [one for one in parts_of(metric) if of == run or one not in ("workers", "peak_samples_per_s")]
    return {run: list(dict.fromkeys(metrics)) for run, metrics in found.items()}


@dataclass(frozen=True)
class RecordedRun:
    """One seed of a run, and its record."""

    data: DataSet
    run: Run
    seed: int
    values: dict[str, Any]  # {} if there is none
    state: State
    marks: tuple[str, ...]  # why it is stale

    @property
    def why(self) -> str:
        """Its state in words, with the reasons if it is stale."""
        return f"{self.state.value} ({' '.join(self.marks)})" if self.marks else self.state.value


def recorded_runs(experiment: Experiment) -> Iterator[RecordedRun]:
    """Every seed of every run of this size, recorded or not."""
    plan, of_size = Plan(experiment), Record(experiment.expected_file).read().get(experiment.size, {})
    for data in experiment.data:
        for run in experiment.runs:
            for seed in experiment.seeds:
                values = of_size.get(data.name, {}).get(run.name, {}).get(str(seed), {})
                yield RecordedRun(data, run, seed, values, *state_of(plan, data, run, seed, values))


def recorded(experiment: Experiment) -> Results:
    """The values of expected.json, without those that were recorded with other options or are marked as stale. A run may lack seeds."""
    found: Results = {}
    for one in recorded_runs(experiment):
        if one.state.is_used:
            result = {metric: value for metric, value in one.values.items() if metric != OPTIONS}
            found.setdefault(one.data.name, {}).setdefault(one.run.name, {})[one.seed] = result
    return found


def known(experiment: Experiment) -> Results:
    """The same, and what follows from these values and from the options in config.toml."""
    data_sets, runs = {data.name: data for data in experiment.data}, {run.name: run for run in experiment.runs}
    return {data: {run: {seed: with_derived(runs[run], data_sets[data], result) for seed, result in seeds.items()}
                   for run, seeds in of_data.items()} for data, of_data in recorded(experiment).items()}


def lacking(one: RecordedRun, metrics: list[str]) -> list[str]:
    """Those of the metrics that its record neither has nor gives."""
    there = with_derived(one.run, one.data, one.values)
    return [metric for metric in metrics if metric not in there]


def fully_recorded(experiment: Experiment) -> Results:
    """The same without runs that lack a seed: what claims can be judged by."""
    found = {data: {run: seeds for run, seeds in runs.items() if seeds.keys() >= set(experiment.seeds)}
             for data, runs in known(experiment).items()}
    return {data: runs for data, runs in found.items() if runs}


def why_unused(experiment: Experiment) -> dict[tuple[str, str], str]:
    """By data set and run: why its record cannot be used, with the seeds in question if others can."""
    found: dict[tuple[str, str], str] = {}
    runs: dict[tuple[str, str], list[RecordedRun]] = {}
    for one in recorded_runs(experiment):
        runs.setdefault((one.data.name, one.run.name), []).append(one)
    for key, seeds in runs.items():
        if unused := [one for one in seeds if not one.state.is_used]:
            worst = min(unused, key=lambda one: list(State).index(one.state))
            of_seeds = [str(one.seed) for one in unused if one.state is worst.state]
            which = f" (seed{'s' if len(of_seeds) > 1 else ''} {', '.join(of_seeds)})" if len(of_seeds) < len(seeds) else ""
            found[key] = f"{worst.why}: {key[1]}{which}"
    return found
