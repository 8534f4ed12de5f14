#!/usr/bin/env python3
"""Makes every file call fail, transfer only half or be the last one, one at a time, and checks what is left. Also cuts the power
after each change of a file, and checks what can be made of the remains.

A fault is the number of a call and its fate, a power cut the number of a change and what survives, so each trial is
reproducible; a failure is printed with its command. Exit status 1 if there was one. Every call of the first four targets fails
once; their other fates, the other targets and the power cuts are sampled with a fixed seed. --all runs all of them.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from faults import LIBRARY, out_of_order, plans
from targets import EXHAUSTIVE, SAMPLED, Target

SEED = 19


def part_of_campaign(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise argparse.ArgumentTypeError(f"'{text}' is not K/N with K from 1 to N")
    return int(found[1]), int(found[2])


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="", help="run only this target: " + ", ".join(target.name for target in EXHAUSTIVE + SAMPLED))
    parser.add_argument("--fault", default="", help="run only this fault (syntax of fault_plan.hpp) or power cut (power_cut.py), with --target; keeps the files")
    parser.add_argument("--power", action="store_true", help="only cut the power")
    parser.add_argument("--all", action="store_true", help="run every call and mode of every target, plus further modes")
    parser.add_argument("--sample", type=int, default=12, help="number of trials per rarer configuration (default: 12)")
    parser.add_argument("--cuts", type=int, default=4, help="number of power cuts per target (default: 4)")
    parser.add_argument("--seeds", type=int, default=3, help="number of random outcomes of each power cut (default: 3)")
    parser.add_argument("--part", type=part_of_campaign, default="1/1", metavar="K/N", help="run only every N-th trial of each target, from the K-th on: a campaign in parts")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="number of concurrent trials (default: one per core)")
    return parser.parse_args()


def faults_of(target: Target, args: argparse.Namespace) -> list[tuple[str, str]]:
    """The mode name and plan of each trial."""
    modes = target.modes + (target.more_modes if args.all else [])
    every = [(mode.name, plan) for mode, plan in plans(target.calls, modes)]
    if args.all:
        return every
    if target in SAMPLED:
        return sorted(random.Random(SEED).sample(every, min(args.sample, len(every))))
    first = [trial for trial in every if trial[0] == modes[0].name]
    others = [trial for trial in every if trial[0] != modes[0].name]
    return first + sorted(random.Random(SEED).sample(others, len(others) // 8))


def cuts_of(target: Target, args: argparse.Namespace) -> list[tuple[str, str]]:
    """The same of each power cut. One after the command has ended is always among them."""
    if not target.writes:
        return []
    end = target.recording.end
    others = [cut for cut in target.recording.cuts(args.seeds) if cut != end]
    if not args.all:
        others = sorted(random.Random(SEED).sample(others, min(args.cuts - 1, len(others))))
    return [("power cut", cut) for cut in [*others, end]]


def trial(target: Target, folder: Path, plan: str) -> str:
    return target.cut(folder, plan) if plan.startswith("cut=") else target.trial(folder, plan)


def try_one(target: Target, folder: Path, plan: str) -> str:
    folder.mkdir()
    try:
        return trial(target, folder, plan)
    finally:
        shutil.rmtree(folder)


def place(target: Target, plan: str) -> str:
    if plan.startswith("cut="):
        return target.recording.place(plan)
    call = target.calls[int(plan.split()[0].removeprefix("at=")) - 1]
    return f"{call.name} of {Path(call.path).name}"


def cpu_s() -> float:
    """CPU time of this process and its finished children."""
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)))


def torment(target: Target, folder: Path, args: argparse.Namespace) -> tuple[int, int]:
    """Tries all faults of a target; returns the numbers of trials and of failures."""
    begun, cpu_before = time.monotonic(), cpu_s()
    shared = folder / "shared"
    shared.mkdir(parents=True)
    target.prepare(shared)
    if not target.calls:
        raise SystemExit(f"{target.name}: no call was counted; is {LIBRARY} preloaded?")
    part, parts = args.part
    faults = (([] if args.power else faults_of(target, args)) + cuts_of(target, args))[part - 1::parts]
    with ThreadPoolExecutor(args.jobs) as pool:
        wrongs = list(pool.map(lambda i: try_one(target, folder / f"{i:06}", faults[i][1]), range(len(faults))))
    failures = [(mode, plan, wrong) for (mode, plan), wrong in zip(faults, wrongs) if wrong]
    disorder = out_of_order(target.calls)
    print(f"{target.name}: {len(target.calls)} calls, {len(faults)} trials, {len(failures) + len(disorder)} failures, "
          f"{time.monotonic() - begun:.0f} s ({cpu_s() - cpu_before:.0f} s of processors)", flush=True)
    for sentence in disorder:
        print(f"  FAILS without a fault: {sentence}", flush=True)
    for mode, plan, wrong in failures:
        print(f"  FAILS {mode}, {place(target, plan)}: {wrong}\n"
              f"    python3 tests/faults/torture.py --target '{target.name}' --fault '{plan}'", flush=True)
    return len(faults), len(failures) + len(disorder)


def repeat(target: Target, plan: str) -> int:
    folder = Path(tempfile.mkdtemp(prefix="paragrad-fault-")).resolve()
    (folder / "shared").mkdir()
    target.prepare(folder / "shared")
    (folder / "trial").mkdir()
    wrong = trial(target, folder / "trial", plan)
    print(f"files in {folder}\n{wrong or 'nothing is wrong'}")
    return 1 if wrong else 0


def main() -> int:
    args = parse()
    targets = [target for target in EXHAUSTIVE + SAMPLED if args.target in ("", target.name)]
    if not targets:
        print(f"torture: no target '{args.target}'", file=sys.stderr)
        return 2
    if not Path(LIBRARY).exists():
        print(f"torture: no {LIBRARY}; build it, or name it in PARAGRAD_FAULTS", file=sys.stderr)
        return 2
    if args.fault:
        return repeat(targets[0], args.fault)
    with tempfile.TemporaryDirectory(prefix="paragrad-faults-") as name:
        counts = [torment(target, Path(name).resolve() / f"{i:02}", args) for i, target in enumerate(targets)]
    print(f"all: {sum(count[0] for count in counts)} trials, {sum(count[1] for count in counts)} failures")
    return 1 if any(count[1] for count in counts) else 0


if __name__ == "__main__":
    sys.exit(main())
