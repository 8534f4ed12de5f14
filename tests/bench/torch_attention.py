#!/usr/bin/env python3
"""Rows per second of processor time of PyTorch's causal attention on one core, forward and backward: torch_attention.py WINDOWS HEADS STEPS WIDTH
SECONDS."""

import sys

import torch
from torch.nn import functional as F
from torch_training import best_step_s


def main() -> None:
    torch.set_num_threads(1)
    windows, heads, steps, width = map(int, sys.argv[1:5])
    x = torch.randn(windows, steps, 3 * heads * width, requires_grad=True)
    gradient = torch.randn(windows, steps, heads * width)

    def both() -> None:
        x.grad = None
        q, k, v = (part.view(windows, steps, heads, width).transpose(1, 2) for part in x.split(heads * width, 2))
        F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(windows, steps, heads * width).backward(gradient)

    print(windows * steps / best_step_s(both, float(sys.argv[5])))


if __name__ == "__main__":
    main()
