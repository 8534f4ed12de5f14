"""One line of an experiment again under mpiexec: both worlds must end in the same weights."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from config import ROOT, UserError
from plan import Job
from results import result_of
from runner import SIMULATION_OPTIONS, Runner, arguments


def has_mpi(runner: Runner) -> bool:
    """`train` without any MPI says so itself; a world of one worker is no proof."""
    if shutil.which("mpiexec") is None:
        return False
    asked = subprocess.run(["mpiexec", "-n", "2", runner.program, "train", "--data=none", "--model=1-1:relu",
                            "--learning-rate=1"], capture_output=True, text=True, check=False, timeout=60)
    return "has no MPI" not in asked.stderr + asked.stdout


def mpi_command(runner: Runner, job: Job, out: Path) -> list[str]:
    options = {key: value for key, value in job.options.items() if key not in SIMULATION_OPTIONS}
    return ["mpiexec", "-n", str(job.options["workers"]), str(runner.program), "train", *arguments(options), f"--out={out}"]


def print_commands(runner: Runner) -> None:
    """In their order: the initial models first."""
    experiment = runner.experiment
    for data in experiment.data:
        for seed in experiment.seeds:
            first = runner.initial_job(data, seed)
            jobs = ([first] if first else []) + [runner.job(data, run, seed) for run in experiment.runs]
            for job in jobs:
                print(" ".join(mpi_command(runner, job, job.folder.relative_to(ROOT))))


def compare_worlds(runner: Runner, name: str) -> bool:
    if not has_mpi(runner):
        print("no MPI here (no mpiexec, or a build without it): the comparison with real workers is left out")
        return True
    data, seed = runner.data_sets()[0], runner.experiment.seeds[0]
    job = runner.job(data, runner.experiment.run(name), seed)
    if not runner.is_done(job):
        raise UserError(f"{name} has not been run: make run-{runner.experiment.name} SIZE={runner.experiment.size}")
    folder = job.folder.with_name(job.folder.name + "-mpi")
    out = folder.relative_to(ROOT)
    command = [*mpi_command(runner, job, out), "--quiet", "--overwrite"]
    print(" ".join(str(word) for word in command), flush=True)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = re.search(r"weights sha256 (\w+)", done.stdout)
    if done.returncode != 0 or found is None:
        raise UserError(f"the run under mpiexec failed: {done.stderr.strip() or done.stdout.strip()}")
    simulated = result_of(job.folder)["parameters_sha256"]
    same = simulated == found[1]
    print(f"simulated  {simulated}\nmpiexec    {found[1]}\n"
          f"{'the same weights, bit for bit' if same else 'THE WEIGHTS DIFFER'}: {job.folder.relative_to(ROOT)}, {out}")
    return same
