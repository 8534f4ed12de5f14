"""Writes the runs of an experiment as Slurm jobs: one file each, and a script that submits them in order."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from config import EXPERIMENTS, ROOT
from plan import Job
from runner import Runner
from worlds import mpi_folder, mpi_jobs, ranks_of, train_command

TEMPLATE = EXPERIMENTS / "cluster" / "job.sbatch"
CHECKPOINTS_PER_EPOCH = 10

SUBMIT = """#!/bin/sh
# Submits the runs of {experiment}, size {size}. Arguments are passed to sbatch: --partition, --time, --ntasks-per-node, …
set -eu
cd "$(dirname "$0")"
"""


def job_file(name: str, ranks: int, train: list[str], out: Path, afterwards: list[list[str]]) -> str:
    """Fills the template. train: the command without mpiexec; out: its run folder; afterwards: commands that follow."""
    values = {"NAME": name, "RANKS": str(ranks), "ROOT": shlex.quote(str(ROOT)), "OUT": shlex.quote(str(out)),
              "TRAIN": shlex.join(train),
              "AFTERWARDS": "\n".join("# shellcheck disable=SC2086\n${PARAGRAD_INSIDE:-} " + shlex.join(command) for command in afterwards)}
    return re.sub(r"@([A-Z]+)@", lambda found: values[found[1]], TEMPLATE.read_text()).rstrip() + "\n"


def file_of(job: Job) -> str:
    return f"{job.folder.parent.name}-{job.folder.name}.sbatch"


def text_of(runner: Runner, job: Job, folder: Path) -> str:
    every = max(1, int(job.options.get("blocks", 1)) // CHECKPOINTS_PER_EPOCH)
    saving = [] if "checkpoint-every" in job.options else [f"--checkpoint-every={every}"]
    train = [*train_command(runner, job, folder), "--quiet", *saving, "--resume"]
    afterwards = runner.commands_after(job, folder)
    return job_file(f"{runner.experiment.name}-{file_of(job).removesuffix('.sbatch')}", ranks_of(job), train, folder, afterwards)


def submission(job: Job, initial: Job | None) -> str:
    if initial is None:
        return f'sbatch "$@" {file_of(job)}'
    if job == initial:
        return f'initial=$(sbatch --parsable "$@" {file_of(job)})'
    return f'sbatch --dependency="afterok:${{initial%%;*}}" --kill-on-invalid-dep=yes "$@" {file_of(job)}'


def write_jobs(runner: Runner) -> None:
    experiment, jobs = runner.experiment, mpi_jobs(runner, runner.experiment.data)
    folder = experiment.runs_folder / "jobs"
    folder.mkdir(parents=True, exist_ok=True)
    for job, initial in jobs:
        (folder / file_of(job)).write_text(text_of(runner, job, mpi_folder(job, initial).relative_to(ROOT)))
    submit = folder / "submit.sh"
    submit.write_text(SUBMIT.format(experiment=experiment.name, size=experiment.size) +
                      "".join(submission(job, initial) + "\n" for job, initial in jobs))
    print(f"{len(jobs)} jobs written; submit them with: sh {submit.relative_to(ROOT)} [sbatch options]")
