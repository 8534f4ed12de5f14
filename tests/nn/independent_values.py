#!/usr/bin/env python3
"""Writes independent_values.txt: small networks of images, and what PyTorch computes for them in double precision.

    build/peers/bin/python tests/nn/independent_values.py > tests/nn/independent_values.txt

(after make peers). Each case is a network in text whose first node, a 1x1 convolution, makes the gradient of the operation's
input show in its parameters' gradient; then arrays in the layouts of src/nn: the features, the parameters one node after the
other, the outputs, and the gradient of half the squared error against one-hot targets."""

import torch
from torch.nn import functional as F

torch.set_default_dtype(torch.float64)
torch.manual_seed(1)


class Case:
    """A sequence of nodes on rows x height x width x channels; each node's parameters as torch has them."""

    def __init__(self, name: str, rows: int, height: int, width: int, channels: int, inner: int):
        self.name, self.rows = name, rows
        self.text = [f"input {height}x{width}x{channels}"]
        self.x = torch.randn(rows, channels, height, width)
        self.functions, self.parameters, self.running = [], [], []
        self.nodes = 0
        self.convolution(inner, "size=1", lambda z, w, b: F.conv2d(z, w, b), channels, 1, 1)

    def node(self, text: str, function) -> "Case":
        self.nodes += 1
        before = "input" if self.nodes == 1 else f"n{self.nodes - 1}"
        operation, _, options = text.partition(" ")
        self.text.append(f"n{self.nodes} = {operation} {before} {options}".rstrip())
        self.functions.append(function)
        return self

    def parameter(self, value: torch.Tensor, layout=lambda p: p.reshape(-1)) -> torch.Tensor:
        value.requires_grad_()
        self.parameters.append((value, layout))
        return value

    def convolution(self, outputs: int, options: str, function, channels: int, height: int, width: int) -> "Case":
        """function(z, filters, bias); channels: those that a filter sees."""
        w = self.parameter(torch.randn(outputs, channels, height, width) / 2, lambda p: p.permute(2, 3, 1, 0).reshape(-1))
        b = self.parameter(torch.randn(outputs))
        return self.node(f"convolution outputs={outputs} {options}", lambda z: function(z, w, b))

    def normalisation(self, text: str, channels: int, function) -> "Case":
        """function(z, scale, shift)"""
        scale, shift = self.parameter(torch.rand(channels) + 0.5), self.parameter(torch.randn(channels))
        return self.node(text, lambda z: function(z, scale, shift))

    def batch_norm(self, channels: int, training: bool) -> "Case":
        mean, variance = torch.randn(channels), torch.rand(channels) + 0.5
        self.running = [] if training else [mean.clone(), variance.clone()]
        return self.normalisation("batch_norm", channels, lambda z, scale, shift: F.batch_norm(
            z, mean.clone(), variance.clone(), scale, shift, training, 0.1, 1e-5))

    def write(self) -> None:
        z = self.x
        for function in self.functions:
            z = function(z)
        y = z.permute(0, 2, 3, 1).reshape(self.rows, -1)
        labels = [(7 * i + 3) % y.shape[1] for i in range(self.rows)]
        target = F.one_hot(torch.tensor(labels), y.shape[1])
        ((y - target) ** 2).sum().div(2).backward()
        print(f"case {self.name}\nnetwork {'; '.join(self.text)}\nlabels {' '.join(map(str, labels))}")
        arrays = {"features": [self.x.permute(0, 2, 3, 1)], "parameters": [layout(p) for p, layout in self.parameters],
                  "running": self.running, "outputs": [y],
                  "gradient": [] if self.running else [layout(p.grad) for p, layout in self.parameters]}
        for name, parts in arrays.items():
            values = [f"{v:.9g}" for part in parts for v in part.reshape(-1).tolist()]
            if values:
                print(name, *values)


def main() -> None:
    print("# Written by independent_values.py with PyTorch", torch.__version__.partition("+")[0])
    for rows, height, width, channels, outputs, kernel, stride, zeros, dilation, groups in (
        (2, 5, 5, 2, 3, (3, 3), 1, 1, 1, 1), (2, 5, 6, 3, 4, (3, 3), 1, 0, 1, 1), (1, 7, 5, 2, 3, (3, 3), 2, 1, 1, 1),
        (1, 8, 7, 2, 2, (3, 3), 3, 0, 1, 1), (2, 7, 7, 2, 2, (3, 3), 1, 2, 2, 1), (1, 9, 8, 2, 2, (3, 3), 2, 1, 3, 1),
        (2, 5, 4, 4, 6, (3, 3), 1, 1, 1, 2), (2, 4, 5, 3, 3, (3, 3), 1, 1, 1, 3), (1, 5, 5, 3, 6, (3, 3), 2, 1, 1, 3),
        (2, 3, 5, 2, 3, (2, 4), 1, 1, 1, 1), (1, 6, 5, 2, 3, (5, 1), 2, 0, 1, 1), (3, 3, 3, 2, 4, (3, 3), 1, 0, 1, 1),
        (2, 3, 4, 3, 2, (1, 1), 1, 0, 1, 1), (2, 5, 4, 3, 2, (1, 1), 2, 0, 1, 1), (1, 3, 3, 2, 2, (2, 2), 2, 1, 1, 1),
    ):
        name = f"convolution {kernel[0]}x{kernel[1]} of {height}x{width}, stride {stride}, zeros {zeros}, dilation {dilation}, groups {groups}"
        options = f"height={kernel[0]} width={kernel[1]} stride={stride} zeros={zeros} dilation={dilation} groups={groups}"
        Case(name, rows, height, width, 2, channels).convolution(
            outputs, options, lambda z, w, b, s=stride, p=zeros, d=dilation, g=groups: F.conv2d(z, w, b, s, p, d, g),
            channels // groups, *kernel).write()
    for height, width, size, stride, zeros in ((4, 6, 2, 2, 0), (5, 5, 2, 2, 0), (5, 7, 3, 2, 1), (4, 4, 3, 1, 1), (7, 6, 2, 3, 0), (3, 3, 3, 1, 0)):
        options = f"size={size} stride={stride} zeros={zeros}"
        where = f"{size}x{size} of {height}x{width}, stride {stride}, zeros {zeros}"
        Case(f"max_pool {where}", 2, height, width, 2, 3).node(
            f"max_pool {options}", lambda z, k=size, s=stride, p=zeros: F.max_pool2d(z, k, s, p)).write()
        Case(f"mean_pool {where}", 2, height, width, 2, 3).node(
            f"mean_pool {options}", lambda z, k=size, s=stride, p=zeros: F.avg_pool2d(z, k, s, p, count_include_pad=False)).write()
    Case("global_pool", 2, 3, 5, 2, 3).node("global_pool", lambda z: F.adaptive_avg_pool2d(z, 1)).write()
    for training in (True, False):
        Case(f"batch_norm, {'a minibatch' if training else 'running statistics'}", 3, 3, 4, 2, 5).batch_norm(5, training).write()
    for groups in (1, 2, 3, 6):
        Case(f"group_norm {groups}", 2, 3, 3, 2, 6).normalisation(
            f"group_norm groups={groups}", 6, lambda z, scale, shift, g=groups: F.group_norm(z, g, scale, shift, 1e-5)).write()
    for size, alpha, beta, k in ((5, 1.0, 0.75, 1.0), (3, 0.5, 0.5, 2.0), (2, 0.9, 0.75, 1.0), (4, 0.1, 1.0, 0.5), (9, 2.0, 0.75, 1.0)):
        Case(f"lrn {size}", 2, 2, 3, 2, 6).node(
            f"lrn size={size} alpha={alpha} beta={beta} k={k}",
            lambda z, n=size, a=alpha, b=beta, c=k: F.local_response_norm(z, n, a, b, c)).write()
    for function in ("relu", "sigmoid", "tanh", "gelu", "silu"):
        call = {"relu": F.relu, "sigmoid": torch.sigmoid, "tanh": torch.tanh, "gelu": F.gelu, "silu": F.silu}[function]
        Case(function, 2, 2, 2, 2, 3).node(function, call).normalisation(
            "group_norm groups=3", 3, lambda z, scale, shift: F.group_norm(z, 3, scale, shift, 1e-5)).write()


if __name__ == "__main__":
    main()
