"""Runs of an experiment under mpiexec: as commands, or compared with the emulated ones, whose weights must be the same."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from config import ROOT, DataSet, UserError
from plan import Job
from results import result_in
from runner import SIMULATION_OPTIONS, Runner, arguments


def has_mpi(runner: Runner) -> bool:
    """Asks `train`, which reports a missing MPI or ranks that do not find each other; one worker alone would not show that."""
    if shutil.which("mpiexec") is None:
        return False
    asked = subprocess.run(["mpiexec", "-n", "2", runner.program, "train", "--data=none", "--model=1-1:relu",
                            "--learning-rate=1"], capture_output=True, text=True, check=False, timeout=60)
    return not any(reason in asked.stderr for reason in ("has no MPI", "finds itself alone"))


def ranks_of(job: Job) -> int:
    return int(job.options["workers"]) + int(job.options.get("servers", 0))


def train_command(runner: Runner, job: Job, out: Path) -> list[str]:
    options = {key: value for key, value in job.options.items() if key not in SIMULATION_OPTIONS}
    return [str(runner.program), "train", *arguments(options), f"--out={out}"]


def mpi_command(runner: Runner, job: Job, out: Path) -> list[str]:
    return ["mpiexec", "-n", str(ranks_of(job)), *train_command(runner, job, out)]


def mpi_folder(job: Job, initial: Job | None) -> Path:
    """Next to the emulated run's folder. The initial model, of one worker, is the same in both worlds."""
    return job.folder if job == initial else job.folder.with_name(job.folder.name + "-mpi")


def trains(job: Job) -> bool:
    """Whether it is a training, not a search or a prediction of times."""
    return job.command in ("simulate", "train") and not str(job.options.get("device", "")).startswith("meta")


def mpi_jobs(runner: Runner, data_sets: list[DataSet]) -> list[tuple[Job, Job | None]]:
    """The training runs in order, each with the run of its initial model, which comes first; without runs that only predict
    times."""
    experiment, jobs = runner.experiment, []
    for data in data_sets:
        for seed in experiment.seeds:
            initial = runner.initial_job(data, seed)
            all_jobs = ([initial] if initial else []) + [runner.job(data, run, seed) for run in experiment.runs]
            jobs += [(job, initial) for job in all_jobs if trains(job)]
    if not jobs:
        only = "has only searches, whose workers are emulated" if experiment.runs[0].command == "search" else "only predicts times"
        raise UserError(f"{experiment.name} {only}: there is nothing to run with MPI")
    return jobs


def print_commands(runner: Runner) -> None:
    for job, initial in mpi_jobs(runner, runner.experiment.data):
        print(" ".join(mpi_command(runner, job, mpi_folder(job, initial).relative_to(ROOT))))


def compare_worlds(runner: Runner, name: str) -> bool:
    if not has_mpi(runner):
        print("no usable MPI (no mpiexec, a build without MPI, or ranks that do not find each other): the comparison with real "
              "workers is skipped")
        return True
    experiment, run = runner.experiment, runner.experiment.run(name)
    jobs = (runner.job(data, run, experiment.seeds[0]) for data in experiment.data)
    job = next(filter(runner.is_done, jobs), None)
    if job is None:
        raise UserError(f"{name} has not been run: run it with make run-{experiment.name} SIZE={experiment.size}")
    if not trains(job):
        raise UserError(f"{name} does not train: there is nothing to run with MPI")
    out = mpi_folder(job, None).relative_to(ROOT)
    command = [*mpi_command(runner, job, out), "--quiet", "--overwrite"]
    print(" ".join(str(word) for word in command), flush=True)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = re.search(r"weights sha256 (\w+)", done.stdout)
    if done.returncode != 0 or found is None:
        raise UserError(f"the run under mpiexec failed: {done.stderr.strip() or done.stdout.strip()}")
    simulated = result_in(job.folder)["parameters_sha256"]
    same = simulated == found[1]
    print(f"simulated  {simulated}\nmpiexec    {found[1]}\n"
          f"{'the same weights, bit for bit' if same else 'THE WEIGHTS DIFFER'}: {job.folder.relative_to(ROOT)}, {out}")
    return same
