#!/usr/bin/env python3
"""Modules of PyTorch trained by Paragrad, next to a loop in PyTorch that does the same: minibatches of 128, momentum, one thread.

Usage, with PyTorch and the package on the path: own_model.py [ROUNDS]. Rounds alternate, and the best of each counts. Ours reads its data
file. The perceptron shows what a minibatch costs at most: its arithmetic takes hardly longer than passing over half a million weights.
"""

import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import numpy as np
import paragrad as pg
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
from modules import GPT, ResNet  # noqa: E402

MINIBATCH = 128
CONTEXT = 32


@dataclass(frozen=True)
class Case:
    title: str
    make: Callable[[], nn.Module]
    shape: tuple[int, ...]  # of a sample; of a text, its tokens
    steps: int
    target: float | None    # our rate relative to the loop's
    tokens: tuple[int, int] | None = None


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10))


def transformer() -> nn.Module:
    return GPT(context=CONTEXT, width=64, heads=4)


CASES = (Case("ResNet-20", ResNet, (3, 32, 32), 8, 0.9), Case("GPT, 2 layers", transformer, (CONTEXT,), 40, 0.9, (256, CONTEXT)),
         Case("784-512-256-10", perceptron, (784,), 300, None))


def loop_rate(module: nn.Module, x: torch.Tensor, y: torch.Tensor) -> float:
    optimiser = torch.optim.SGD(module.parameters(), 0.01, momentum=0.9)
    begin = time.perf_counter()
    for at in range(0, len(x), MINIBATCH):
        optimiser.zero_grad()
        outputs = module(x[at:at + MINIBATCH])
        nn.functional.cross_entropy(outputs.reshape(-1, outputs.shape[-1]), y[at:at + MINIBATCH].reshape(-1)).backward()
        optimiser.step()
    return len(x) / (time.perf_counter() - begin)


def our_rate(case: Case, data: Path, samples: int) -> float:
    model = pg.torch(case.make(), tokens=case.tokens) if case.tokens else pg.torch(case.make(), inputs=case.shape)
    run = pg.train(model=model, data=data, learning_rate=0.01, momentum=0.9, epochs=1, blocks=1, minibatch=MINIBATCH)
    return samples / run.result["training_s"]


def data_of(case: Case, folder: Path, samples: int) -> tuple[Path, torch.Tensor, torch.Tensor]:
    random, data = np.random.default_rng(1), folder / "data.h5"
    data.unlink(missing_ok=True)
    if case.tokens:
        text = random.integers(0, 256, samples * CONTEXT * 10 // 9 + 1, np.uint8)
        (folder / "text").write_bytes(text.tobytes())
        pg.command("data", "import-text", **{"from": folder / "text"}, tokens="bytes", valid=0.1, name="bytes", out=data)
        x = torch.from_numpy(text[:samples * CONTEXT].reshape(samples, CONTEXT).astype(np.int64))
        return data, x, x.roll(-1, 1)
    x, y = random.normal(size=(samples, *case.shape)).astype(np.float32), random.integers(0, 10, samples)
    pg.dataset(x_train=x, y_train=y, x_valid=x[:16], y_valid=y[:16], out=data, layout="channels-first" if len(case.shape) == 3 else None)
    return data, torch.from_numpy(x), torch.from_numpy(y)


def main(rounds: int) -> None:
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            samples = MINIBATCH * case.steps
            data, x, y = data_of(case, Path(folder), samples)
            rates = [(our_rate(case, data, samples), loop_rate(case.make(), x, y)) for _ in range(rounds)]
            ours, theirs = (max(rate) for rate in zip(*rates))
            print(f"{case.title}: {ours:,.0f} samples/s, a loop in PyTorch {theirs:,.0f}: {ours / theirs:.2f}"
                  + (f" (target {case.target})" if case.target else ""))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
