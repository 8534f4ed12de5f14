#!/usr/bin/env python3
"""A module of PyTorch trained by Paragrad, next to a loop in PyTorch that does the same: minibatches of 128, momentum, one thread.

Usage, with PyTorch and the package on the path: own_model.py [ROUNDS]. Rounds alternate, and the best of each counts. Ours reads its data file.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import paragrad as pg
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
from modules import ResNet  # noqa: E402

MINIBATCH = 128
TARGET = 0.9  # of the loop's rate


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10))


CASES = {"784-512-256-10": (perceptron, (784,), 300), "ResNet-20": (ResNet, (3, 32, 32), 8)}


def loop_rate(module: nn.Module, x: torch.Tensor, y: torch.Tensor) -> float:
    optimiser = torch.optim.SGD(module.parameters(), 0.01, momentum=0.9)
    begin = time.perf_counter()
    for at in range(0, len(x), MINIBATCH):
        optimiser.zero_grad()
        nn.functional.cross_entropy(module(x[at:at + MINIBATCH]), y[at:at + MINIBATCH]).backward()
        optimiser.step()
    return len(x) / (time.perf_counter() - begin)


def our_rate(module: nn.Module, data: Path, shape: tuple[int, ...], samples: int) -> float:
    run = pg.train(model=pg.torch(module, inputs=shape), data=data, learning_rate=0.01, momentum=0.9, epochs=1, blocks=1, minibatch=MINIBATCH)
    return samples / run.result["training_s"]


def main(rounds: int) -> None:
    torch.set_num_threads(1)
    random = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        for title, (make, shape, steps) in CASES.items():
            samples = MINIBATCH * steps
            x, y = random.normal(size=(samples, *shape)).astype(np.float32), random.integers(0, 10, samples)
            data = pg.dataset(x_train=x, y_train=y, x_valid=x[:16], y_valid=y[:16], out=Path(folder) / f"{title}.h5",
                              layout="channels-first" if len(shape) == 3 else None)
            rates = [(our_rate(make(), data, shape, samples), loop_rate(make(), torch.from_numpy(x), torch.from_numpy(y))) for _ in range(rounds)]
            ours, theirs = (max(rate) for rate in zip(*rates))
            print(f"{title}: {ours:,.0f} samples/s, a loop in PyTorch {theirs:,.0f}: {ours / theirs:.2f} (target {TARGET})")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
