#!/usr/bin/env python3
"""Training steps per second of PyTorch on this machine's GPU, for the networks of bench_training: one line of JSON each.

Forward, loss, backward and momentum update on data that lie on the card, as there; eager, and compiled where that works.
"""

import json
import sys
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
from torch_nets import one_step  # noqa: E402

CHUNKS, FRAMES = 64, 106
NETS = {"440-7x2048-18002:relu": (1024, 1), "40-5xblstm256-9304": (FRAMES * CHUNKS, FRAMES), "784-512-256-10:relu": (64, 1)}


def step_s(step) -> float:
    for _ in range(10):
        step()
    best = float("inf")
    for _ in range(10):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(20):
            step()
        torch.cuda.synchronize()
        best = min(best, (time.perf_counter() - begin) / 20)
    return best


def main() -> None:
    for precision in ("fp32", "tf32", "bf16"):
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
        for name, (rows, frames) in NETS.items():
            for compiled in (False, True):
                try:
                    seconds = step_s(one_step(name, rows, frames, "cuda", bf16=precision == "bf16", compiled=compiled))
                    found = {"samples_per_s": rows / seconds}
                except Exception as error:  # compiling often needs missing tools
                    found = {"failed": str(error)[:200]}
                print(json.dumps({"peer": f"PyTorch {torch.__version__}", "compiled": compiled, "precision": precision, "model": name} | found),
                      flush=True)


if __name__ == "__main__":
    main()
