"""Writes the runs of an experiment as Slurm job arrays, and a script that submits them in order."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from config import EXPERIMENTS, ROOT
from plan import Job
from runner import Runner
from worlds import mpi_folder, mpi_jobs, ranks_of, train_command

TEMPLATES = EXPERIMENTS / "cluster"
CHECKPOINTS_PER_EPOCH = 10

SUBMIT = """#!/bin/sh
# Submits the runs of {experiment}, size {size}. Arguments are passed to sbatch: --partition, --time, --ntasks-per-node, …
set -eu
cd "$(dirname "$0")"
"""


def filled(template: str, **values: str) -> str:
    return re.sub(r"@([A-Z]+)@", lambda found: values[found[1]], (TEMPLATES / template).read_text()).rstrip() + "\n"


def job_file(name: str, ranks: int, train: list[str], out: Path, afterwards: list[list[str]]) -> str:
    """A run. train: the command without mpiexec; out: its run folder; afterwards: commands that follow."""
    return filled("job.sbatch", NAME=name, RANKS=str(ranks), ROOT=shlex.quote(str(ROOT)), OUT=shlex.quote(str(out)), TRAIN=shlex.join(train),
                  AFTERWARDS="\n".join("# shellcheck disable=SC2086\n${PARAGRAD_INSIDE:-} " + shlex.join(command) for command in afterwards))


def array_file(name: str, ranks: int, folder: Path, files: list[str]) -> str:
    """Runs of as many ranks. files: of the runs, in the folder."""
    return filled("array.sbatch", NAME=name, TASKS=str(len(files)), RANKS=str(ranks), FOLDER=shlex.quote(str(folder)), RUNS=shlex.join(files))


def file_of(job: Job) -> str:
    return f"{job.folder.parent.name}-{job.folder.name}.sbatch"


def text_of(runner: Runner, job: Job, folder: Path) -> str:
    every = max(1, int(job.options.get("blocks", 1)) // CHECKPOINTS_PER_EPOCH)
    saving = [] if "checkpoint-every" in job.options else [f"--checkpoint-every={every}"]
    train = [*train_command(runner, job, folder), "--quiet", *saving, "--resume"]
    afterwards = runner.commands_after(job, folder)
    return job_file(f"{runner.experiment.name}-{file_of(job).removesuffix('.sbatch')}", ranks_of(job), train, folder, afterwards)


def write_jobs(runner: Runner) -> None:
    experiment, jobs = runner.experiment, mpi_jobs(runner, runner.experiment.data)
    folder = experiment.runs_folder / "jobs"
    folder.mkdir(parents=True, exist_ok=True)
    arrays: dict[tuple[str, int], list[str]] = {}  # files of runs by that of their initial model and their ranks
    for job, initial in jobs:
        (folder / file_of(job)).write_text(text_of(runner, job, mpi_folder(job, initial).relative_to(ROOT)))
        if job == initial:
            arrays[file_of(job), 0] = []  # submitted by itself, before those that wait for it
        else:
            arrays.setdefault((file_of(initial) if initial else "", ranks_of(job)), []).append(file_of(job))
    lines = []
    for (initial, ranks), files in arrays.items():
        if not files:
            lines.append(f'initial=$(sbatch --parsable "$@" {initial})')
            continue
        submitted = files[0]
        if len(files) > 1:
            submitted = f"array-{len(lines) + 1}.sbatch"
            (folder / submitted).write_text(array_file(f"{experiment.name}-{submitted.removesuffix('.sbatch')}", ranks, folder, files))
        waits = '--dependency="afterok:${initial%%;*}" --kill-on-invalid-dep=yes ' if initial else ""
        lines.append(f'sbatch {waits}"$@" {submitted}')
    submit = folder / "submit.sh"
    submit.write_text(SUBMIT.format(experiment=experiment.name, size=experiment.size) + "".join(line + "\n" for line in lines))
    print(f"{len(jobs)} runs written; submit them, as {len(lines)} jobs and job arrays, with: sh {submit.relative_to(ROOT)} [sbatch options]")
