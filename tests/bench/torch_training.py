#!/usr/bin/env python3
"""Samples per second of processor time of PyTorch on one core: torch_training.py MODEL ROWS FRAMES SECONDS.

Images in both layouts, the better one counts. Eager: torch.compile is left out, since it needs a compiler at run time; of texts the
better of eager and compiled counts, where there is one.
"""

import contextlib
import sys
import time

import torch
from torch_nets import NETS, one_step, one_step_on_text


def best_step_s(step, seconds: float) -> float:
    step()
    first_s = time.process_time()
    step()
    group = max(1, int(0.01 / (time.process_time() - first_s)))
    best_s = float("inf")
    while time.process_time() - first_s < seconds:
        begin_s = time.process_time()
        for _ in range(group):
            step()
        best_s = min(best_s, (time.process_time() - begin_s) / group)
    return best_s


def main() -> None:
    torch.set_num_threads(1)
    model, rows, frames, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    if not NETS[model][1]:
        found = [best_step_s(one_step_on_text(model, rows, frames, False), seconds)]
        with contextlib.suppress(Exception):  # no compiler
            found.append(best_step_s(one_step_on_text(model, rows, frames, True), seconds))
        return print(rows / min(found))
    layouts = (False, True) if len(NETS[model][1]) == 3 else (False,)
    print(rows / min(best_step_s(one_step(model, rows, frames, "cpu", last), seconds) for last in layouts))


if __name__ == "__main__":
    main()
