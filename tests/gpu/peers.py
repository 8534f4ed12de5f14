#!/usr/bin/env python3
"""Training steps per second of PyTorch on this machine's GPU, for the networks of bench_training: one line of JSON each.

Forward, loss, backward and momentum update on data that lie on the card, as there. cuDNN times its kernels and takes the fastest; of
the two layouts of images the faster counts. First all networks eager, then compiled, where that works.
"""

import json
import sys
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
from torch_nets import one_step  # noqa: E402

CHUNKS, FRAMES = 64, 106
SECONDS = 3  # of each measurement, as of bench_training in check.py
NETS = {"440-7x2048-18002:relu": (1024, 1), "40-5xblstm256-9304": (FRAMES * CHUNKS, FRAMES), "zoo:resnet50": (64, 1),
        "784-512-256-10:relu": (64, 1)}


def step_s(step) -> float:
    """The best time of a step, over groups of 20, within SECONDS."""
    for _ in range(10):
        step()
    torch.cuda.synchronize()
    best, end = float("inf"), time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        begin = time.perf_counter()
        for _ in range(20):
            step()
        torch.cuda.synchronize()
        best = min(best, (time.perf_counter() - begin) / 20)
    return best


def measure(name: str, precision: str, compiled: bool) -> dict:
    rows, frames = NETS[name]
    layouts = (False, True) if name.startswith("zoo:") else (False,)
    try:
        seconds = min(step_s(one_step(name, rows, frames, "cuda", last, bf16=precision == "bf16", compiled=compiled)) for last in layouts)
        return {"samples_per_s": rows / seconds}
    except Exception as error:  # compiling often needs missing tools
        return {"failed": str(error)[:200]}


def main() -> None:
    torch.backends.cudnn.benchmark = True
    for compiled in (False, True):
        for precision in ("fp32", "tf32", "bf16"):
            torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
            for name in NETS:
                print(json.dumps({"peer": f"PyTorch {torch.__version__}", "compiled": compiled, "precision": precision, "model": name}
                                 | measure(name, precision, compiled)), flush=True)


if __name__ == "__main__":
    main()
