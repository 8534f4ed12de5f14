"""What earlier runs gave, in expected.json and trials.json: written run by run, so that an experiment can be continued on another
machine that has only the source."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from config import RESTORE, ROOT, Experiment, UserError, any_of, read_json, spelled_out
from derived import derived
from paragrad.runs import MACHINE
from plan import Job, Plan
from results import Results, is_relative, parts_of

# Among a run's values, next to paragrad.runs.MACHINE:
OPTIONS = "options"  # the digest of its options
CORE_S = "core_s"    # the core-seconds that it took
NO_METRICS = (OPTIONS, MACHINE, CORE_S)

DEPTH = 4  # of expected.json: size, data set, run, seed; of trials.json: data set, run, value, seed


def options_digest(plan: Plan, job: Job) -> str:
    """Identifies the run's options, and those of the run whose model it starts from. Not the program, nor the data's content."""
    others = {command: options for command, options in job.after.items() if command != "decode"}  # decode came before them
    text = json.dumps([job.command, job.options, job.after.get("decode"), plan.experiment.initial, *([others] if others else [])],
                      sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


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
        return self.is_of(found, digest) and all(metric in found for metric in metrics)

    @staticmethod
    def is_of(values: dict[str, Any], digest: str) -> bool:
        """Whether a run with these options gave the values."""
        return values.get(OPTIONS) == digest

    def put(self, keys: tuple[str, ...], digest: str, values: dict[str, Any]) -> None:
        content = self.read()
        place = content
        for key in keys[:-1]:
            place = place.setdefault(key, {})
        place[keys[-1]] = {OPTIONS: digest} | values
        self.write(content)


def recorded_metrics(experiment: Experiment, run: str) -> list[str]:
    """What is recorded of the run: what is to repeat, and what the claims about it, or relative to it, are judged by."""
    metrics = [entry["metric"] for entry in experiment.repeats if any_of(entry.get("runs", ["*"]), run)]
    for claim in (claim for entry in experiment.claims for claim in spelled_out(entry)):
        for side in (claim["left"], claim["right"]):
            if isinstance(side, str):
                other, _, metric = side.rpartition(".")
                if run in (other, experiment.baselines.get(other) if is_relative(metric) else other):
                    metrics += [one for one in parts_of(metric) if run == other or one not in ("workers", "peak_samples_per_s")]
    return list(dict.fromkeys(metrics))


def recorded(experiment: Experiment) -> Results:
    """The values of expected.json. A run may lack seeds."""
    of_size = Record(experiment.expected_file).read().get(experiment.size, {})
    return {data: {run: {int(seed): {metric: value for metric, value in result.items() if metric != OPTIONS}
                         for seed, result in seeds.items()} for run, seeds in runs.items()}
            for data, runs in of_size.items()}


def known(experiment: Experiment) -> Results:
    """The values of expected.json, and what follows from them and from the options in config.toml."""
    data_sets, described = {data.name: data for data in experiment.data}, {run.name: run for run in experiment.runs}
    found = recorded(experiment)
    for data, runs in found.items():
        for run in (described[name] for name in runs.keys() & described.keys() if data in data_sets):
            options = run.options | data_sets[data].options | run.own
            runs[run.name] = {seed: derived(run, options, result) | result for seed, result in runs[run.name].items()}
    return found


def fully_recorded(experiment: Experiment) -> Results:
    """The same without runs that lack a seed: what claims can be judged by."""
    return {data: {run: seeds for run, seeds in runs.items() if seeds.keys() >= set(experiment.seeds)}
            for data, runs in known(experiment).items()}
