#!/usr/bin/env python3
"""Does a calibration predict a training? Measures this machine with N ranks, simulates trainings with N workers, runs the
same trainings for real, and prints both by phases. Standard library only; ends with 1 if a total is off by more than the
tolerance.

Real runs are repeated in rounds, one of each training per round, and the fastest round counts, as in the calibration: a
shared machine disturbs some of them. In front of the real runs and of the calibration may stand another command, such as
--under "chrt -f 1" where neighbours keep all cores busy."""

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

PHASES = ["optimise_s", "aggregate_s", "validate_s", "training_s"]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="build/paragrad")
    parser.add_argument("--data", default="data/fashion-mnist.h5")
    parser.add_argument("--model", default="784-512-256-10:relu")
    parser.add_argument("--strategies", default="bmuf,model_averaging,data_parallel")
    parser.add_argument("--minibatch", default="64")
    parser.add_argument("--epochs", default="3")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tolerance", type=float, default=0.15)
    parser.add_argument("--platform", help="a file of an earlier calibration, instead of a new one")
    parser.add_argument("--under", default="", help="command to run what is measured under")
    return parser.parse_args()


def run(*command: object) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(map(str, command))} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def result(folder: Path) -> dict[str, float]:
    return json.loads((folder / "manifest.json").read_text())["result"]


def main() -> int:
    options = parse()
    folder = Path(tempfile.mkdtemp(prefix="paragrad-prediction-"))
    ranks = [*shlex.split(options.under), "mpiexec", "-n", options.ranks, options.program]
    platform = options.platform or folder / "this-machine.toml"
    if not options.platform:
        print(run(*ranks, "calibrate", "--out", platform, "--quiet"))
    strategies = options.strategies.split(",")
    task = ["--data", options.data, "--model", options.model, "--learning-rate", "0.02", "--epochs", options.epochs,
            "--minibatch", options.minibatch, "--quiet", "--overwrite"]

    predicted, measured = {}, {}
    for strategy in strategies:
        run(options.program, "simulate", "--workers", options.ranks, "--platform", platform, "--device", "meta", "--strategy", strategy,
            *task, "--out", folder / "simulated")
        predicted[strategy] = result(folder / "simulated")
    for _ in range(options.rounds):
        for strategy in strategies:
            run(*ranks, "train", "--strategy", strategy, *task, "--out", folder / "real")
            measured.setdefault(strategy, []).append(result(folder / "real"))

    wrong = 0
    print(f"{options.model}, minibatch {options.minibatch}, {options.epochs} epochs, {options.ranks} ranks; "
          f"the fastest of {options.rounds} runs")
    print(f"{'strategy':<18}{'phase':<12}{'predicted':>10}{'measured':>10}{'ratio':>8}   all runs")
    for strategy in strategies:
        best = min(measured[strategy], key=lambda r: r["training_s"])
        for phase in PHASES:
            ratio = predicted[strategy][phase] / best[phase]
            every = " ".join(f"{r[phase]:.3f}" for r in measured[strategy])
            print(f"{strategy:<18}{phase[:-2]:<12}{predicted[strategy][phase]:>10.3f}{best[phase]:>10.3f}{ratio:>8.3f}   {every}")
        wrong += abs(ratio - 1) > options.tolerance  # of the last phase: the whole training
    print(f"{wrong} of {len(strategies)} trainings are off by more than {options.tolerance:.0%}" if wrong
          else f"all within {options.tolerance:.0%}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
