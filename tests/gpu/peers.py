#!/usr/bin/env python3
"""Training steps per second of PyTorch on this machine's GPU, for the networks of bench_training: one line of JSON each.

Forward, loss, backward and momentum update on data that lie on the card, as there; eager, and compiled where that works.
"""

import json
import time

import torch
from torch import nn

CHUNKS, FRAMES = 64, 106


def perceptron(*widths: int) -> nn.Module:
    layers: list[nn.Module] = []
    for inputs, outputs in zip(widths, widths[1:]):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class Lstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.LSTM(40, 256, 5, bidirectional=True)
        self.output = nn.Linear(512, 9304)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.output(self.layers(x)[0]).flatten(0, 1)


NETS = {
    "440-7x2048-18002:relu": (lambda: perceptron(440, *[2048] * 7, 18002), (1024, 440), 18002, 1024),
    "40-5xblstm256-9304": (Lstm, (FRAMES, CHUNKS, 40), 9304, FRAMES * CHUNKS),
    "784-512-256-10:relu": (lambda: perceptron(784, 512, 256, 10), (64, 784), 10, 64),
}


def step_s(net: nn.Module, shape: tuple[int, ...], classes: int, rows: int, bf16: bool) -> float:
    x, labels = torch.randn(*shape, device="cuda"), torch.randint(classes, (rows,), device="cuda")
    optimiser = torch.optim.SGD(net.parameters(), lr=1e-4, momentum=0.9)

    def step() -> None:
        optimiser.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=bf16):
            loss = nn.functional.cross_entropy(net(x), labels)
        loss.backward()
        optimiser.step()

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
        for name, (make, shape, classes, rows) in NETS.items():
            for compiled in (False, True):
                try:
                    net = make().cuda()
                    seconds = step_s(torch.compile(net) if compiled else net, shape, classes, rows, precision == "bf16")
                    found = {"samples_per_s": rows / seconds}
                except Exception as error:  # compiling often needs missing tools
                    found = {"failed": str(error)[:200]}
                print(json.dumps({"peer": f"PyTorch {torch.__version__}", "compiled": compiled, "precision": precision, "model": name} | found),
                      flush=True)


if __name__ == "__main__":
    main()
