#!/usr/bin/env python3
"""Data-parallel training of ResNet-20 on two ranks of one core each, here and with PyTorch's DistributedDataParallel over gloo.

Usage: data_parallel.py PROGRAM [ROUNDS]. Both train minibatches of 128 samples per rank; the runs alternate, and the best of
each counts. Samples per second of the wall clock: ours as `paragrad train` reports it, reading its data, theirs on fixed
samples in memory, in the better of both layouts.
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RANKS, PER_RANK, STEPS = 2, 128, 20
TARGET = 1.3
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def our_rate(program: str, folder: Path) -> float:
    run = folder / "run"
    subprocess.run(["mpiexec", "-n", str(RANKS), program, "train", "--data", folder / "images.h5", "--model", "zoo:resnet:depth=20",
                    "--strategy", "data_parallel", "--minibatch", str(RANKS * PER_RANK), "--blocks", "1", "--epochs", "1",
                    "--learning-rate", "0.01", "--out", run, "--overwrite", "--quiet"],
                   check=True, stdout=subprocess.DEVNULL)
    result = json.loads((run / "manifest.json").read_text())["result"]
    return RANKS * PER_RANK * STEPS / result["training_s"]


def rank_of_theirs(rank: int, meeting: str, results) -> None:
    import torch
    import torch.distributed as dist
    from torch_nets import one_step

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=RANKS)
    best_s = float("inf")
    for channels_last in (False, True):
        step = one_step("zoo:resnet:depth=20", PER_RANK, 1, "cpu", channels_last,
                        wrap=torch.nn.parallel.DistributedDataParallel)
        step()
        dist.barrier()
        begin_s = time.monotonic()
        for _ in range(STEPS):
            step()
        dist.barrier()
        best_s = min(best_s, (time.monotonic() - begin_s) / STEPS)
    if rank == 0:
        results.put(RANKS * PER_RANK / best_s)
    dist.destroy_process_group()


def their_rate() -> float:
    import torch.multiprocessing as processes

    with tempfile.TemporaryDirectory() as folder:
        results = processes.get_context("spawn").SimpleQueue()
        processes.spawn(rank_of_theirs, (f"{folder}/meeting", results), nprocs=RANKS)
        return results.get()


def main() -> int:
    program, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    os.environ.update(ONE_THREAD)
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([program, "data", "generate", "--out", folder / "images.h5", "--dim", "3072", "--classes", "10", "--samples",
                        str(RANKS * PER_RANK * STEPS), "--valid", "16", "--test", "16"], check=True, stdout=subprocess.DEVNULL)
        for _ in range(rounds):
            ours.append(our_rate(program, folder))
            if importlib.util.find_spec("torch"):
                theirs.append(their_rate())
    print(f"ResNet-20, data_parallel on {RANKS} ranks, minibatch {RANKS} x {PER_RANK}: {max(ours):.0f} samples/s")
    if theirs:
        times = max(ours) / max(theirs)
        print(f"  PyTorch DDP (gloo): {max(theirs):.0f} samples/s, {times:.2f} times as many here (target {TARGET})")
    else:
        print("  PyTorch is not installed (make peers)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
