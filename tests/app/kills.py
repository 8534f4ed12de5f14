#!/usr/bin/env python3
"""Kills workers of asynchronous trainings under mpiexec at random moments and counts what becomes of the others.

kills.py [--kills 6] [--seed 1] [--epochs 12] [--latest 1.0] [--verbose]

Each trial starts three workers and a server, kills (SIGKILL) worker 1 or 2 at a moment drawn between the start of mpiexec and
the end of an undisturbed run, and waits for the end. A worker that is killed in training is left out: mpiexec returns 0, the
weights are printed, and the last line names the worker. One that is killed while the ranks start up ends the job with code 3
and a sentence that names it (with 15 if the launcher ended another rank whose guard had not begun), or, where its own guard has not
begun, with the launcher's message and code 9; the trial then starts the job again, once. Anything else is a failure.

Ends with 1 if a trial failed. Data of the run and of the trials lie in a temporary folder.
"""

import argparse
import collections
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from paragrad_cli import MPIEXEC, PROGRAM, run, working_ranks

WORKERS = 3
TIME_LIMIT_S = 60


def command(folder: Path, epochs: int) -> list[str]:
    return [MPIEXEC, "-n", str(WORKERS + 1), PROGRAM, "train", "--strategy", "async_sgd", "--optimiser", "sgd", "--momentum", "0",
            "--servers", "1", "--worker-timeout", "10", "--epochs", str(epochs), "--blocks", "6", "--minibatch", "16",
            "--learning-rate", "0.1", "--model", "8-64-64-6:sigmoid", "--data", str(folder / "small.h5"), "--out",
            str(folder / "run"), "--overwrite", "--quiet"]


class Job:
    """One job under mpiexec."""

    def __init__(self, folder: Path, epochs: int):
        self.out = folder / "run"
        self.begin = time.monotonic()
        self.launcher = subprocess.Popen(command(folder, epochs), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def kill(self, rank: int, at_s: float) -> str:
        """At that moment, or as soon as the rank is there. Whether it had a "guard" then, or "none"; "": the job had ended."""
        time.sleep(max(0.0, self.begin + at_s - time.monotonic()))
        while self.launcher.poll() is None:
            process = working_ranks(self.out, and_unguarded=True).get(rank)
            if process is not None:
                guarded = process in working_ranks(self.out).values()
                try:
                    os.kill(process, signal.SIGKILL)
                    return "guard" if guarded else "none"
                except ProcessLookupError:
                    pass
        return ""

    def finish(self) -> None:
        try:
            self.output = self.launcher.communicate(timeout=TIME_LIMIT_S)[0]
        except subprocess.TimeoutExpired:
            for process in working_ranks(self.out, and_unguarded=True).values():
                os.kill(process, signal.SIGKILL)
            self.launcher.kill()
            self.output = self.launcher.communicate()[0] + f"\nno end within {TIME_LIMIT_S} s"
        self.status = self.launcher.returncode
        self.duration_s = time.monotonic() - self.begin

    def is_complete(self) -> bool:
        return self.status == 0 and re.search(r"^weights sha256 [0-9a-f]{64}$", self.output, re.MULTILINE) is not None


def outcome_of(job: Job, rank: int, guard: str) -> str:
    lines = job.output.strip().splitlines() or [""]
    if not guard:
        return "had ended before" if job.is_complete() else "failed"
    if job.is_complete():
        if f"without worker {rank}" in lines[-1]:
            return "trained to the end without it"
        return "was done when it was killed" if "without" not in lines[-1] and "without worker" not in job.output else "failed"
    if guard == "none" and job.status == signal.SIGKILL:
        return "ended before its guard had begun"
    named = re.search(rf"^rank {rank} was killed \(SIGKILL\)", job.output, re.MULTILINE)
    return "ended in start-up" if job.status in (3, signal.SIGTERM) and named else "failed"


def left_behind(out: Path) -> list[int]:
    deadline = time.monotonic() + 5
    while (left := list(working_ranks(out, and_unguarded=True).values())) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left


def trial(folder: Path, epochs: int, rank: int, at_s: float) -> tuple[str, Job, float]:
    """What came of it, the job, and how long all took, another start included."""
    job = Job(folder, epochs)
    guard = job.kill(rank, at_s)
    job.finish()
    outcome, duration_s = outcome_of(job, rank, guard), job.duration_s
    if outcome.startswith("ended"):
        again = Job(folder, epochs)
        again.finish()
        duration_s += again.duration_s
        outcome += ", trained to the end when started again" if again.is_complete() else ", failed"
        job.output += again.output
    if left_behind(job.out):
        outcome = "failed: left processes behind"
    return outcome, job, duration_s


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--latest", type=float, default=1.0, help="moment of the latest kill, in durations of an undisturbed run")
    parser.add_argument("--verbose", action="store_true", help="print what the jobs wrote")
    arguments = parser.parse_args()
    numbers = random.Random(arguments.seed)
    folder = Path(tempfile.mkdtemp(prefix="paragrad-kills-"))
    outcomes, times, failed = collections.Counter(), collections.defaultdict(list), 0
    try:
        made = run("data", "generate", "--samples", 6000, "--valid", 500, "--test", 500, "--dim", 8, "--classes", 6,
                   "--sequence-length", 40, "--out", folder / "small.h5")
        assert made.returncode == 0, made.stderr
        undisturbed = []
        for _ in range(3):
            job = Job(folder, arguments.epochs)
            job.finish()
            assert job.is_complete(), job.output
            undisturbed.append(job.duration_s)
        typical_s = sorted(undisturbed)[1]
        print(f"undisturbed: {typical_s:.2f} s", flush=True)
        kills = 0
        while kills < arguments.kills:
            rank, at_s = numbers.randrange(1, WORKERS), numbers.uniform(0, arguments.latest * typical_s)
            outcome, job, duration_s = trial(folder, arguments.epochs, rank, at_s)
            kills += outcome != "had ended before"  # a busy machine is slow at times
            outcomes[outcome] += 1
            times[outcome].append(duration_s - typical_s)
            print(f"kill {kills}: worker {rank} at {at_s:.2f} s: {outcome}; status {job.status}, {duration_s:.2f} s", flush=True)
            failed += "failed" in outcome
            if "failed" in outcome or arguments.verbose:
                print("  | " + job.output.strip().replace("\n", "\n  | "), flush=True)
    finally:
        shutil.rmtree(folder)
    print(f"{kills} kills, {failed} failures")
    for outcome, count in outcomes.most_common():
        lost = sorted(times[outcome])
        print(f"  {count:4} {outcome}: time lost {lost[len(lost) // 2]:+.2f} s (median), {lost[-1]:+.2f} s (most)")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
