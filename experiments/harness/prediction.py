"""Predicted times of an experiment's runs on a platform, and measured ones."""

from __future__ import annotations

import subprocess
from pathlib import Path

from config import ROOT, UserError, read_json
from plan import Job
from runner import Runner
from worlds import mpi_folder, mpi_jobs

NEEDS_RESULTS = ("init", "keep-best", "shuffle")  # options that a timing run cannot have; times do not depend on them
SAVES = "checkpoint-every"  # a timing run has no state to save


def predicted(job: Job, platform: str) -> Job:
    options = {key: value for key, value in job.options.items() if key not in (*NEEDS_RESULTS, SAVES)} | {"device": "meta"}
    if platform:
        options["platform"] = platform
    return Job(f"{job.label} predicted", options, job.folder.with_name(job.folder.name + "-predicted"))


def is_finished(folder: Path) -> bool:
    manifest = folder / "manifest.json"
    return manifest.exists() and "result" in read_json(manifest, "remove the run's folder to run it again")


def predict(runner: Runner, platform: str) -> bool:
    """For the first seed only: times do not depend on the seed."""
    if platform and not (ROOT / platform).is_file():
        raise UserError(f"there is no platform file {platform}: write one with paragrad calibrate")
    experiment, seed = runner.experiment, runner.experiment.seeds[0]
    mpi_jobs(runner, experiment.data)  # if there are none, that is said before data files are made
    if not (data_sets := runner.data_sets()):
        raise UserError(f"{experiment.name} has no data set in size {experiment.size} whose file is here")
    runs = [(job, predicted(job, platform)) for job, initial in mpi_jobs(runner, data_sets)
            if job != initial and job.options["seed"] == seed]
    if any(SAVES in job.options for job, _ in runs):
        print(f"{SAVES} is left out: the predicted times do not include saving states")
    with runner.locked():
        complaints = runner.run_jobs([prediction for _, prediction in runs], failures_allowed=True)
    pairs = [(prediction.folder, mpi_folder(job, None)) for job, prediction in runs if prediction.label not in complaints]
    folders = [folder for pair in pairs for folder in pair if is_finished(folder)]
    return bool(folders) and subprocess.run([runner.program, "compare", *(folder.relative_to(ROOT) for folder in folders)],
                                            cwd=ROOT, check=False).returncode == 0
