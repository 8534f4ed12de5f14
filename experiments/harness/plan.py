"""The runs of an experiment: the options and the folder of each."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from config import ROOT, DataSet, Experiment, Options, Run, UserError, read_toml


SEED = "{seed}"  # stands for a run's seed in the options of a search


@dataclass(frozen=True)
class Job:
    """One run of the program."""

    label: str
    options: Options
    folder: Path
    command: str = "simulate"
    after: dict[str, Options] = field(default_factory=dict)  # the commands that follow with its model, and their options
    marks: tuple[str, ...] = ()  # why earlier records of it are wrong: [[stale]]

    @property
    def key_file(self) -> Path:
        return self.folder.with_name(self.folder.name + ".key.json")

    @property
    def begun_file(self) -> Path:
        """The key of a run that has begun and not ended."""
        return self.folder.with_name(self.folder.name + ".begun.json")


def key_in(file: Path) -> dict[str, Any]:
    """What identifies a run; {} if there is no file, or a damaged one: then the run is made again."""
    try:
        return json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}


class Plan:
    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.tuned = read_toml(experiment.tuned_file) if experiment.tuned_file.exists() else {}

    def initial_job(self, data: DataSet, seed: int | str) -> Job | None:
        if self.experiment.initial is None:
            return None
        options = self.experiment.initial | {"data": data.file, "seed": seed}
        return Job(f"{data.name} initial model seed {seed}", options, self.experiment.run_folder(data.name, "initial", seed))

    def job(self, data: DataSet, run: Run, seed: int | str) -> Job:
        """seed: a number or SEED."""
        options = run.options | data.options | run.own
        if data.file:
            options["data"] = data.file
        if run.command in ("simulate", "train"):
            options["seed"] = seed
        if run.command == "search":  # whose runs are of `simulate`
            options |= {"seeds": seed} | ({"draw-seed": seed} if "draws" in options else {})
        tuned_option = self.experiment.tune.get("option")
        if tuned_option and tuned_option not in run.options:
            options[tuned_option] = self.tuned_value(data, run)
        initial = self.initial_job(data, seed)
        if initial is not None:
            options["init"] = str((initial.folder / "checkpoint.h5").relative_to(ROOT))
        folder = self.experiment.run_folder(data.name, run.name, seed)
        return Job(f"{data.name} {run.name} seed {seed}", options, folder, run.command, self.experiment.after,
                   self.experiment.marks_on(data.name, run.name))

    def tuned_value(self, data: DataSet, run: Run) -> Any:
        try:
            return self.tuned[data.tuned_on][run.name]
        except KeyError as error:
            raise UserError(f"{self.experiment.tuned_file.relative_to(ROOT)} has no value for {data.tuned_on} {run.name}: "
                            f"make tune-{self.experiment.name}") from error
