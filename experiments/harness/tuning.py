"""Chooses one option per run on the validation set, by a `paragrad search` for each: [tune] in config.toml, the trials in trials.json,
the choice in tuned.toml."""

from __future__ import annotations

import json
import math
import shutil
import statistics
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from config import ROOT, DataSet, Options, Run, UserError, tuned_by
from plan import SEED, Job
from records import CORE_S, Record, options_digest, write_json
from runner import Runner, cost_of, locked, run_command

STOPPED_AFTER = "stopped_after"  # in trials.json: the epoch of the rung at which the search stopped the trial


def tune(runner: Runner, only_missing: bool) -> None:
    """only_missing: leaves out the trials that are recorded with the same options. With rungs, which compare the trials of a run, it
    leaves out runs whose trials all are."""
    settings = runner.experiment.tune
    if not settings:
        raise UserError(f"{runner.experiment.name} has nothing to tune: no [tune] in its config.toml")
    data_sets = [data for data in runner.data_sets() if data.tuned_on == data.name]
    runs = [run for run in runner.experiment.runs if settings["option"] not in run.options]
    if not data_sets or not runs:
        raise UserError(f"{runner.experiment.name} has nothing to tune in size {runner.experiment.size}: "
                        + (f"all runs set {settings['option']} themselves" if not runs else
                           "all data sets use values tuned on others"))
    file = Record(runner.experiment.trials_file)
    searches = [Search(runner, data, run, grid(settings, run)) for data in data_sets for run in runs]
    search_all(runner, file, [search.without_recorded(file) if only_missing else search for search in searches])
    for search in searches:
        runner.tuned.setdefault(search.data.name, {})[search.run.name] = choose(search, file)
    write(runner)


def grid(settings: dict[str, Any], run: Run) -> list[Any]:
    prefix = tuned_by(settings["grid"], run.name)
    if prefix is None:
        raise UserError(f"[tune.grid] has no entry for the run '{run.name}'")
    return list(settings["grid"][prefix])


@dataclass(frozen=True)
class Search:
    """The trials of one run."""

    runner: Runner
    data: DataSet
    run: Run
    values: list[Any]  # to try

    @property
    def settings(self) -> dict[str, Any]:
        return self.runner.experiment.tune

    @property
    def label(self) -> str:
        return f"{self.data.name} {self.run.name}"

    def trial(self, value: Any, seed: int | str) -> Job:
        return self.runner.job(self.data, replace(self.run, options=self.run.options | {self.settings["option"]: value}), seed)

    def keys(self, value: Any, seed: int) -> tuple[str, ...]:
        return self.data.name, self.run.name, str(value), str(seed)

    def without_recorded(self, file: Record) -> Search:
        left = [value for value in self.values
                if not all(file.has(self.keys(value, seed), options_digest(self.runner, self.trial(value, seed)), [self.settings["measure"]])
                           for seed in self.settings["seeds"])]
        return replace(self, values=self.values if left and self.settings.get("rungs") else left)

    def options(self) -> Options:
        """Of the file for `paragrad search`."""
        options = self.trial(self.values, SEED).options
        threads = {"host-threads": self.runner.host_threads} if self.run.command == "simulate" else {}
        return {key: value for key, value in options.items() if key != "seed"} | threads

    def execute(self, jobs: int) -> dict[tuple[str, ...], tuple[str, dict[str, Any]]]:
        """Runs the trials, `jobs` at a time; an interrupted search goes on. Returns the digests of their options, and what to record of
        them, by keys."""
        folder = self.runner.experiment.runs_folder / "tune" / self.data.name / self.run.name
        text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in self.options().items())
        words = [f"--{key}={','.join(map(str, self.settings[key]))}" for key in ("seeds", "rungs") if key in self.settings]
        words += [f"--{key}={self.settings[key]}" for key in ("measure", "keep") if key in self.settings]
        key = {"words": words, "trials": [self.runner.key(self.trial(value, seed)) for value in self.values for seed in self.settings["seeds"]]}
        key_file = folder.with_name(folder.name + ".key.json")
        if not key_file.exists() or json.loads(key_file.read_text()) != key:
            shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        write_json(key_file, key)
        options_file = folder.with_name(folder.name + ".toml")
        options_file.write_text(text)
        complaint, core_s = run_command([self.runner.program, "search", options_file, f"--out={folder.relative_to(ROOT)}",
                                         f"--command={self.run.command}", f"--jobs={jobs}", *words])
        core_s += cost_of(folder)
        if folder.exists():
            write_json(folder / "cost.json", {CORE_S: core_s})
        return self.found(json.loads(self.results(folder, complaint).read_text())["configurations"], core_s)

    def results(self, folder: Path, complaint: str) -> Path:
        """The file of the results, which is there even if every trial failed."""
        if complaint and "every configuration failed" not in complaint:
            raise UserError(f"{self.label}: {complaint}")
        return folder / "results.json"

    def found(self, configurations: list[dict[str, Any]], core_s: float) -> dict[tuple[str, ...], tuple[str, dict[str, Any]]]:
        """Every trial gets the same share of the costs."""
        measure, seeds = self.settings["measure"], self.settings["seeds"]
        share = float(f"{core_s / len(configurations) / len(seeds):.3g}")
        records = {}
        for one in configurations:
            value = self.values[int(one["run"]) - 1]
            stopped = {} if one["to_the_end"] else {STOPPED_AFTER: one["epochs"]}
            for seed, score in zip(seeds, one[measure]):
                records[self.keys(value, seed)] = (options_digest(self.runner, self.trial(value, seed)), {measure: score, CORE_S: share} | stopped)
        return records


def search_all(runner: Runner, file: Record, searches: list[Search]) -> None:
    """Records the trials of each search as soon as it is over."""
    wanted = [search for search in searches if search.values]
    at_once = max(min(runner.jobs, len(wanted)), 1)
    with locked(runner.experiment):
        if wanted:
            runner.run_initial(runner.experiment.tune["seeds"])
        with ThreadPoolExecutor(at_once) as pool:
            running = {pool.submit(search.execute, runner.jobs // at_once): search for search in wanted}
            for count, done in enumerate(as_completed(running), 1):
                try:
                    trials = done.result()
                except UserError:
                    pool.shutdown(cancel_futures=True)
                    raise
                for keys, (digest, values) in trials.items():
                    file.put(keys, digest, values)
                print(f"[{count}/{len(wanted)}] {running[done].label}", flush=True)


def choose(search: Search, file: Record) -> Any:
    """The best of the trials that went to the end. A failed one has no score; one that diverged has failed."""
    trials, measure, seeds = file.read()[search.data.name][search.run.name], search.settings["measure"], search.settings["seeds"]
    scores, stopped = {}, {}
    for value in search.values:
        of_seeds = [trials[str(value)][str(seed)] for seed in seeds]
        found = [one[measure] for one in of_seeds]
        score = math.inf if None in found else statistics.fmean(found)
        (stopped if any(STOPPED_AFTER in one for one in of_seeds) else scores)[value] = score
    if not any(map(math.isfinite, scores.values())):
        raise UserError(f"{search.label}: every {search.settings['option']} of its grid failed; try smaller ones in [tune.grid]")
    best = min(scores, key=lambda value: scores[value])
    edge = " (edge of the grid)" if best in (min(search.values), max(search.values)) else ""
    shown = [f"{value}: {100 * scores[value]:.2f} %" if value in scores else f"{value}: stopped" for value in search.values]
    print(f"{search.label}: {', '.join(shown)} -> {best}{edge}")
    return best


def write(runner: Runner) -> None:
    lines = [f"# Written by `make tune-{runner.experiment.name}`: {runner.experiment.tune['option']} with the least "
             f"{runner.experiment.tune['measure']}."]
    for data, chosen in sorted(runner.tuned.items()):
        lines += ["", f"[{data}]", *(f"{name} = {value!r}" for name, value in chosen.items())]
    runner.experiment.tuned_file.write_text("\n".join(lines) + "\n")
    print(f"wrote {runner.experiment.tuned_file.relative_to(ROOT)}")
