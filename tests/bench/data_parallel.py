#!/usr/bin/env python3
"""Data-parallel training on two ranks of one core each, here and with PyTorch's DistributedDataParallel over gloo: ResNet-20, and
a small perceptron, the latter also next to two busy processes.

Usage: data_parallel.py PROGRAM [ROUNDS]. The runs alternate, and the best of each counts. Samples per second of the wall clock:
ours as `paragrad train` reports it, reading its data, theirs on fixed samples in memory, for images in the better of both
layouts.
"""

import importlib.util
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

RANKS = 2
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Case:
    """A network, its minibatch, and how much else runs."""

    title: str
    model: str
    inputs: int
    per_rank: int
    steps: int
    busy: int      # processes that use a core each
    target: float  # our rate relative to theirs


CASES = (
    Case("ResNet-20", "zoo:resnet:depth=20", 3072, 128, 20, 0, 1.3),
    Case("784-512-256-10", "784-512-256-10:relu", 784, 64, 600, 0, 1.0),
    Case("784-512-256-10 next to two busy processes", "784-512-256-10:relu", 784, 64, 300, 2, 1.0),
)


def spin() -> None:
    while True:
        pass


@contextmanager
def company(processes: int) -> Iterator[None]:
    """Keeps so many cores busy."""
    others = [multiprocessing.Process(target=spin, daemon=True) for _ in range(processes)]
    for other in others:
        other.start()
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.join()


def our_rate(program: str, folder: Path, case: Case) -> float:
    run, data = folder / "run", folder / f"{case.inputs}-{case.per_rank * case.steps}.h5"
    if not data.exists():
        subprocess.run([program, "data", "generate", "--out", data, "--dim", str(case.inputs), "--classes", "10", "--samples",
                        str(RANKS * case.per_rank * case.steps), "--valid", "16", "--test", "16"],
                       check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["mpiexec", "-n", str(RANKS), program, "train", "--data", data, "--model", case.model,
                    "--strategy", "data_parallel", "--minibatch", str(RANKS * case.per_rank), "--blocks", "1", "--epochs", "1",
                    "--learning-rate", "0.01", "--momentum", "0.9", "--out", run, "--overwrite", "--quiet"],
                   check=True, stdout=subprocess.DEVNULL)
    result = json.loads((run / "manifest.json").read_text())["result"]
    return RANKS * case.per_rank * case.steps / result["training_s"]


def rank_of_theirs(rank: int, case: Case, meeting: str, results) -> None:
    import torch
    import torch.distributed as dist
    from torch_nets import one_step

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=RANKS)
    best_s = float("inf")
    for channels_last in (False, True) if case.model.startswith("zoo:") else (False,):
        step = one_step(case.model, case.per_rank, 1, "cpu", channels_last, wrap=torch.nn.parallel.DistributedDataParallel)
        step()
        dist.barrier()
        begin_s = time.monotonic()
        for _ in range(case.steps):
            step()
        dist.barrier()
        best_s = min(best_s, (time.monotonic() - begin_s) / case.steps)
    if rank == 0:
        results.put(RANKS * case.per_rank / best_s)
    dist.destroy_process_group()


def their_rate(case: Case) -> float:
    import torch.multiprocessing as processes

    with tempfile.TemporaryDirectory() as folder:
        results = processes.get_context("spawn").SimpleQueue()
        processes.spawn(rank_of_theirs, (case, f"{folder}/meeting", results), nprocs=RANKS)
        return results.get()


def measure(program: str, folder: Path, case: Case, rounds: int, with_theirs: bool) -> None:
    ours, theirs = [], []
    our_rate(program, folder, case)  # writes the data
    with company(case.busy):
        for _ in range(rounds):
            ours.append(our_rate(program, folder, case))
            if with_theirs:
                theirs.append(their_rate(case))
    print(f"{case.title}, data_parallel on {RANKS} ranks, minibatch {RANKS} x {case.per_rank}: {max(ours):.0f} samples/s", flush=True)
    if theirs:
        times = max(ours) / max(theirs)
        print(f"  PyTorch DDP (gloo): {max(theirs):.0f} samples/s, {times:.2f} times as many here (target {case.target})", flush=True)


def main() -> int:
    program, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    os.environ.update(ONE_THREAD)
    with_theirs = importlib.util.find_spec("torch") is not None
    with tempfile.TemporaryDirectory() as name:
        for case in CASES:
            measure(program, Path(name), case, rounds, with_theirs)
    if not with_theirs:
        print("PyTorch is not installed (make peers)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
