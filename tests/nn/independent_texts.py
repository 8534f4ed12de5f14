#!/usr/bin/env python3
"""Writes independent_texts.txt: losses of transformers, and the norm of each gradient, as PyTorch computes them.

    build/peers/bin/python tests/nn/independent_texts.py > tests/nn/independent_texts.txt

(after make peers). Parameters, tokens and labels follow from formulas that the test has, too; parameters lie in the order of the network's flat
parameters, matrices as [inputs][outputs]."""

import torch
from torch.nn import functional as F

torch.manual_seed(1)


class Parameters:
    """Numbers between -0.04 and 0.04 from a multiplicative hash of their places; scales of normalisation are around 1."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype, self.taken, self.all = dtype, 0, []

    def take(self, *shape: int, about: float = 0) -> torch.Tensor:
        count = torch.Size(shape).numel()
        place = torch.arange(self.taken, self.taken + count, dtype=torch.int64)
        hashed = (place * 2654435761 + 12345) % 2**32 >> 8
        value = (hashed.to(torch.float64) / 2**24 - 0.5) * 0.08 + about
        self.taken += count
        parameter = value.to(torch.float32).to(self.dtype).reshape(shape).requires_grad_()
        self.all.append(parameter)
        return parameter


def gpt(take, tokens: torch.Tensor, layers: int, heads: int, width: int, context: int, vocabulary: int, bias: bool) -> torch.Tensor:
    """Outputs for tokens[windows][steps]."""
    windows, steps = tokens.shape

    def norm(x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, (width,), take(width, about=1), take(width) if bias else None)

    def affine(x: torch.Tensor, outputs: int) -> torch.Tensor:
        y = x @ take(x.shape[-1], outputs)
        return y + take(outputs) if bias else y

    table = take(vocabulary, width)
    x = table[tokens] + take(context, width)[:steps]
    for _ in range(layers):
        q, k, v = (part.view(windows, steps, heads, -1).transpose(1, 2) for part in affine(norm(x), 3 * width).split(width, 2))
        x = x + affine(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(windows, steps, width), width)
        x = x + affine(F.gelu(affine(norm(x), 4 * width)), width)
    return norm(x) @ table.T


def main() -> None:
    print("# Written by independent_texts.py with PyTorch", torch.__version__.partition("+")[0])
    for name, shape, windows, steps, dtype in (
            ("gpt:nano,vocabulary=65", (4, 4, 128, 64, 65, False), 12, 64, torch.float64),
            ("gpt:nano,vocabulary=65,bias=true", (4, 4, 128, 64, 65, True), 3, 50, torch.float64),
            ("gpt:124m", (12, 12, 768, 1024, 50257, True), 4, 64, torch.float32)):
        parameters, vocabulary = Parameters(dtype), shape[4]
        place = torch.arange(windows * (steps + 1), dtype=torch.int64)
        text = ((place * 7919 + place * place * 31) % vocabulary).view(windows, steps + 1)
        outputs = gpt(parameters.take, text[:, :-1], *shape)
        loss = F.cross_entropy(outputs.reshape(-1, vocabulary).to(torch.float64), text[:, 1:].reshape(-1), reduction="sum")
        loss.backward()
        print(f"case {name}\nwindows {windows} {steps}\nloss {loss.item():.9g}\nnorms", *(f"{p.grad.double().norm().item():.7g}" for p in parameters.all))


if __name__ == "__main__":
    main()
