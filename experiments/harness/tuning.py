"""Chooses one option per run on the validation set, by a `paragrad search` for each: [tune] in config.toml, the trials in trials.json,
the choice in tuned.toml."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import statistics
from dataclasses import dataclass, replace
from typing import Any

from config import ROOT, DataSet, Experiment, Run, UserError, tuned_by
from launching import Cost, cost_of, note, run_command
from plan import SEED, Job, key_in
from records import Record, options_digest, write_json
from runner import Runner, in_parallel, search_command

Trials = dict[tuple[str, ...], tuple[str, dict[str, Any]]]  # by keys: the digest of what decided the trial, and what to record of it
Settings = dict[str, Any]  # [tune]
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
    searches = [search_of(runner, settings_on(data, settings), data, run) for data in data_sets for run in runs]
    complaints = search_all(runner, file, [search.without_recorded(file) if only_missing else search for search in searches])
    for search in searches:
        runner.tuned.setdefault(search.data.name, {})[search.run.name] = choose(search, file, complaints.get(search.label, ""))
    write(runner)


def settings_on(data: DataSet, tune: Settings) -> Settings:
    """[tune], with what the data set has of its own instead; an empty list of rungs is none."""
    settings = tune | data.tune | {"grid": tune["grid"] | data.tune.get("grid", {})}
    return settings if settings.get("rungs") else {key: value for key, value in settings.items() if key not in ("rungs", "keep")}


@dataclass(frozen=True)
class Search:
    """The trials of one run."""

    runner: Runner
    settings: Settings
    data: DataSet
    run: Run
    grid: list[Any]    # of the run
    values: list[Any]  # of the grid, those to try now

    @property
    def label(self) -> str:
        return f"{self.data.name} {self.run.name}"

    def trial(self, value: Any, seed: int | str) -> Job:
        return self.runner.job(self.data, replace(self.run, options=self.run.options | {self.settings["option"]: value}), seed)

    def keys(self, value: Any, seed: int) -> tuple[str, ...]:
        return self.data.name, self.run.name, str(value), str(seed)

    def digest(self, value: Any, seed: int) -> str:
        """Of the trial's options; with rungs, which compare the trials, of all that decides the search."""
        digest = options_digest(self.runner, self.trial(value, seed))
        if "rungs" not in self.settings:
            return digest
        deciding = [digest, self.grid, *(self.settings.get(key) for key in ("seeds", "measure", "rungs", "keep"))]
        return hashlib.sha256(json.dumps(deciding).encode()).hexdigest()[:16]

    def without_recorded(self, file: Record) -> Search:
        left = [value for value in self.values
                if not all(file.has(self.keys(value, seed), self.digest(value, seed), [self.settings["measure"]])
                           for seed in self.settings["seeds"])]
        return replace(self, values=self.values if left and "rungs" in self.settings else left)

    def execute(self, jobs: int) -> tuple[Trials, str]:
        """Runs the trials, `jobs` at a time; an interrupted search goes on. Returns the error message, too, if all of them failed."""
        folder = self.runner.experiment.runs_folder / "tune" / self.data.name / self.run.name
        words = [f"--{key}={','.join(map(str, self.settings[key]))}" for key in ("seeds", "rungs") if key in self.settings]
        words += [f"--{key}={self.settings[key]}" for key in ("measure", "keep") if key in self.settings]
        identity = {"words": words, "trials": [self.runner.key(self.trial(value, seed)) for value in self.values for seed in self.settings["seeds"]]}
        identity_file = folder.with_name(folder.name + ".key.json")
        goes_on = key_in(identity_file) == identity
        if not goes_on:
            shutil.rmtree(folder, ignore_errors=True)
        before = cost_of(folder) if goes_on else Cost()
        folder.mkdir(parents=True, exist_ok=True)
        write_json(identity_file, identity)
        options = {key: value for key, value in self.trial(self.values, SEED).options.items() if key != "seed"}
        (folder / "results.json").unlink(missing_ok=True)
        words += [f"--host-threads={self.runner.host_threads}"] if self.run.command == "simulate" else []
        complaint, cost = run_command([*search_command(self.runner.program, options, folder), f"--command={self.run.command}",
                                       f"--jobs={jobs}", *words], folder, before, self.runner.held)
        note(folder, cost)
        if not (folder / "results.json").exists():
            raise UserError(f"{self.label}: {complaint}")
        return self.found(json.loads((folder / "results.json").read_text())["configurations"], cost), complaint

    def found(self, configurations: list[dict[str, Any]], cost: Cost) -> Trials:
        """Every trial gets the same share of the costs."""
        measure, seeds = self.settings["measure"], self.settings["seeds"]
        share = Cost(cost.core_s / len(configurations) / len(seeds), cost.at_least).values
        trials: Trials = {}
        for one in configurations:
            value = self.values[int(one["run"]) - 1]
            stopped = {} if one["to_the_end"] or None in one[measure] else {STOPPED_AFTER: one["epochs"]}
            for seed, score in zip(seeds, one[measure]):
                trials[self.keys(value, seed)] = (self.digest(value, seed), {measure: score} | share | stopped)
        return trials


def tuned_runs(experiment: Experiment) -> int:
    """How many runs its tuning makes if none stops at a rung: values of the grids times seeds."""
    tune, found = experiment.tune, 0
    for data in (data for data in experiment.data if tune and data.tuned_on == data.name and not data.optional):
        settings = settings_on(data, tune)
        grids = [settings["grid"].get(tuned_by(settings["grid"], run.name) or "", []) for run in experiment.runs if tune["option"] not in run.options]
        found += len(settings["seeds"]) * sum(map(len, grids))
    return found


def search_of(runner: Runner, settings: Settings, data: DataSet, run: Run) -> Search:
    prefix = tuned_by(settings["grid"], run.name)
    if prefix is None:
        raise UserError(f"[tune.grid] has no entry for the run '{run.name}'")
    grid = list(settings["grid"][prefix])
    return Search(runner, settings, data, run, grid, grid)


def search_all(runner: Runner, file: Record, searches: list[Search]) -> dict[str, str]:
    """Records the trials of each search as soon as it is over. Returns the error messages of those whose trials all failed, by label."""
    wanted = [search for search in searches if search.values]
    at_once, complaints = max(min(runner.jobs, len(wanted)), 1), {}
    with runner.locked():
        if wanted:
            runner.run_initial(runner.experiment.tune["seeds"])
        searched = in_parallel(at_once, lambda search: search.execute(runner.jobs // at_once), wanted)
        for count, (search, (trials, complaint)) in enumerate(searched, 1):
            for keys, (digest, values) in trials.items():
                file.put(keys, digest, values)
            if complaint:
                complaints[search.label] = complaint
            print(f"[{count}/{len(wanted)}] {search.label}", flush=True)
    return complaints


def choose(search: Search, file: Record, complaint: str) -> Any:
    """The value with the best mean score. One that failed or was stopped has none."""
    trials, measure = file.read()[search.data.name][search.run.name], search.settings["measure"]
    scores, shown = {}, []
    for value in search.values:
        of_seeds = [trials[str(value)][str(seed)] for seed in search.settings["seeds"]]
        if any(one[measure] is None for one in of_seeds):
            shown.append(f"{value}: failed")
        elif any(STOPPED_AFTER in one for one in of_seeds):
            shown.append(f"{value}: stopped")
        else:
            scores[value] = statistics.fmean(one[measure] for one in of_seeds)
            shown.append(f"{value}: {100 * scores[value]:.2f} %")
    if not scores:
        raise UserError(f"{search.label}: every {search.settings['option']} of its grid failed{': ' if complaint else ''}{complaint}")
    best = min(scores, key=lambda value: scores[value])
    edge = " (edge of the grid)" if best in (min(search.values), max(search.values)) else ""
    print(f"{search.label}: {', '.join(shown)} -> {best}{edge}")
    return best


def key(name: str) -> str:
    """In TOML: quoted if it has a dot, for example."""
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else json.dumps(name)


def write(runner: Runner) -> None:
    lines = [f"# Written by `make tune-{runner.experiment.name}`: {runner.experiment.tune['option']} with the least "
             f"{runner.experiment.tune['measure']}."]
    for data, chosen in sorted(runner.tuned.items()):
        lines += ["", f"[{key(data)}]", *(f"{key(name)} = {json.dumps(value)}" for name, value in chosen.items())]
    runner.experiment.tuned_file.write_text("\n".join(lines) + "\n")
    print(f"wrote {runner.experiment.tuned_file.relative_to(ROOT)}")
