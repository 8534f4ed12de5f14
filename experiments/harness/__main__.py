"""Runs and checks the experiments in experiments/: python3 experiments/harness --help. A new experiment is a new folder."""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
from pathlib import Path

if sys.version_info < (3, 11):
    print(f"harness: needs Python 3.11 or newer, this is {sys.version.split()[0]}", file=sys.stderr)
    sys.exit(2)

import judging
import verdicts
from claim_lock import check_committed, check_lock, lock
from config import ROOT, SIZES, Experiment, UserError, names
from costs import print_costs
from leftovers import leftovers
from loading import load
from pages import write_pages
from prediction import predict
from published import check_published
from queueing import BUDGET_HOURS, work_off
from rechecking import print_coverage, recheck
from recording import record
from results import collect
from runner import Runner
from slurm import write_jobs
from sources import write_page
from tables import print_tables
from tuning import tune
from worlds import compare_worlds, print_commands

COMMANDS = {
    "run": "run what is missing, and print the table",
    "lock": "write the claims to claims.lock, which has to be committed before the runs that judge them",
    "verify": "run, then check every claim and recorded value; exit status 1 if one fails",
    "record": "run, and save the result of each run in expected.json as soon as it is over",
    "judge": "check every claim against expected.json, without running anything; exit status 1 if one fails",
    "tune": "choose the tuned option of every run on the validation set, and write tuned.toml; trials.json gets every trial",
    "compare": "print the runs of one seed with `paragrad compare`",
    "commands": "print the runs as MPI commands, for a cluster",
    "jobs": "write the runs as Slurm jobs that resume after an interruption, and a script that submits them",
    "predict": "predict the times of the runs on --platform, and compare them with the measured times of finished MPI runs",
    "queue": "record what is missing or stale in all experiments, most valuable first, within a budget; it can be killed and started again",
    "recheck": "rerun a few recorded runs of the larger sizes, a different selection for each commit; exit status 1 if values do not repeat",
    "cost": "print what the recorded runs took, in core-hours",
    "sources": "write experiments/sources.md, the sources' figures next to our recorded values, and the lines on claims of the experiments' pages",
    "worlds": "repeat one run (--run) under mpiexec; exit status 1 if the weights differ",
    "list": "list the experiments",
}
OF_ALL_SIZES = ("list", "lock", "queue", "recheck", "cost", "sources")
OPTIONS_OF = {"run": ["worlds"], "platform": ["predict"], "missing": ["record", "tune"], "budget": ["recheck"], "core_hours": ["queue"],
              "list": ["queue", "recheck"],
              "data": ["run", "record", "tune"],
              "size": [command for command in COMMANDS if command not in OF_ALL_SIZES]}  # options of some commands only
BUDGET_S = 180


def positive(text: str) -> float:
    if not (value := float(text)) > 0 or value == math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="harness", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog="\n".join(f"  {name:<8} {text}" for name, text in COMMANDS.items()))
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("names", nargs="*", default=[], help="experiments to process (default: all)")
    parser.add_argument("--size", default="",
                        help=f"size of the experiments: {', '.join(SIZES)} (default: laptop, or full if there is no laptop)")
    parser.add_argument("--program", type=Path, default=ROOT / "build" / "paragrad",
                        help="path of the program (default: build/paragrad)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1,
                        help="number of parallel runs, which share the cores (default: one per core)")
    parser.add_argument("--missing", action="store_true",
                        help="for `record` and `tune`: skip runs that expected.json or trials.json already has with the same options")
    parser.add_argument("--data", default="",
                        help="for `run`, `record` and `tune`: a pattern of data sets; the others are left out (default: all)")
    parser.add_argument("--budget", type=float, default=0,
                        help=f"core-seconds that `recheck` may spend on runs, according to the records (default: {BUDGET_S})")
    parser.add_argument("--core-hours", type=positive, default=0,
                        help=f"core-hours that `queue` may spend; a run begins if it is expected to fit (default: {BUDGET_HOURS:g})")
    parser.add_argument("--list", action="store_true", help="for `queue` and `recheck`: say what they would do and why, and run nothing")
    parser.add_argument("--run", default="", help="name of the run that `worlds` repeats")
    parser.add_argument("--platform", default="", help="platform file for `predict` (default: each run's own)")
    return parser.parse_intermixed_args()  # options may stand between the command and the names


def listed(commands: list[str]) -> str:
    return " and ".join(f"`{command}`" for command in commands)


def compare(runner: Runner) -> bool:
    """The runs that are there, of one data set after the other."""
    experiment, good = runner.experiment, True
    of_data = [[experiment.run_folder(data.name, run.name, experiment.seeds[0]) for run in experiment.runs] for data in experiment.data]
    there = [[folder.relative_to(ROOT) for folder in folders if (folder / "manifest.json").exists()] for folders in of_data]
    if not any(there):
        raise UserError(f"{experiment.name} has not been run: run it with make run-{experiment.name} SIZE={experiment.size}")
    for folders in filter(None, there):
        good &= subprocess.run([runner.program, "compare", *folders], cwd=ROOT).returncode == 0
    return good


def verify(runner: Runner) -> bool:
    if left := leftovers(runner.experiment.name):
        raise UserError(left[0])
    check_lock(runner.experiment.name)
    runner.run_all()
    results = collect(runner.experiment, runner.data_sets())
    print_tables(runner, results)
    print()
    checks = (check_published, verdicts.check_claims, verdicts.check_repeats)
    return all([check(runner.experiment, results) for check in checks])


def execute(args: argparse.Namespace, experiment: Experiment) -> bool:
    command = args.command
    if command == "lock":
        lock(experiment.name)
        return True
    if command == "judge":
        check_lock(experiment.name)
        return judging.check_recorded(experiment)
    runner = Runner(experiment, args.program, args.jobs, args.data or "*")
    if command == "verify":
        return verify(runner)
    if command == "compare":
        return compare(runner)
    if command == "worlds":
        return compare_worlds(runner, args.run)
    if command == "commands":
        print_commands(runner)
    elif command == "jobs":
        write_jobs(runner)
    elif command == "predict":
        return predict(runner, args.platform)
    elif command == "tune":
        tune(runner, args.missing)
    elif command == "record":
        check_committed(experiment.name)
        record(runner, args.missing)
    else:
        runner.run_all()
        print_tables(runner, collect(experiment, runner.data_sets()))
    return True


def main() -> int:
    args = parse()
    try:
        for option, commands in OPTIONS_OF.items():
            if getattr(args, option) and args.command not in commands:
                raise UserError(f"--{option.replace('_', '-')} is for {listed(commands)} only, not for `{args.command}`")
        if args.names and args.command in ("list", "sources"):
            raise UserError(f"`{args.command}` is about all experiments: leave out '{args.names[0]}'")
        if args.command == "worlds" and not args.run:
            raise UserError("`worlds` repeats a single run: name it with --run")
        if args.command == "list":
            print("\n".join(names()))
            return 0
        chosen = args.names or names()
        if args.command == "recheck":
            if args.list:
                print_coverage(chosen, args.budget or BUDGET_S)
                return 0
            return 0 if recheck(chosen, args.program, args.jobs, args.budget or BUDGET_S) else 1
        if args.command == "queue":
            return 0 if work_off(chosen, args.program, args.jobs, 3600 * (args.core_hours or BUDGET_HOURS), args.list) else 1
        if args.command == "sources":
            write_page()
            write_pages()
            return 0
        if args.command == "cost":
            print_costs(chosen)
            return 0
        good = [execute(args, load(name, args.size)) for name in chosen]
    except UserError as error:
        print(f"harness: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
