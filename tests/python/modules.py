"""Modules of PyTorch, as people write them."""

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    """Of a residual network for small images (He et al., 2016)."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + self.shortcut(x))


class ResNet(nn.Module):
    """depth 6 n + 2."""

    def __init__(self, depth=20, width=16, channels=3, classes=10):
        super().__init__()
        self.conv = nn.Conv2d(channels, width, 3, 1, 1, bias=False)
        self.bn = nn.BatchNorm2d(width)
        widths, blocks = [width, width, 2 * width, 4 * width], []
        for stage in range(3):
            for i in range((depth - 2) // 6):
                first = i == 0
                blocks.append(Block(widths[stage] if first else widths[stage + 1], widths[stage + 1], 2 if first and stage else 1))
        self.blocks = nn.Sequential(*blocks)
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(4 * width, classes)

    def forward(self, x):
        x = self.blocks(F.relu(self.bn(self.conv(x))))
        return self.head(self.drop(x.mean((2, 3))))


class Attention(nn.Module):
    def __init__(self, width, heads, context):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.register_buffer("mask", torch.ones(context, context).tril().bool())

    def forward(self, x):
        n, t, c = x.shape
        q, k, v = (part.view(n, t, self.heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        scores = (q @ k.transpose(-2, -1) / (c // self.heads) ** 0.5).masked_fill(~self.mask[:t, :t], float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(n, t, c))


class GPT(nn.Module):
    def __init__(self, vocabulary=256, context=16, width=16, heads=2, layers=2, dropout=0.1):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers + 1))
        self.attentions = nn.ModuleList(Attention(width, heads, context) for _ in range(layers))
        self.mlps = nn.ModuleList(nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width)) for _ in range(layers))
        self.drop, self.head = nn.Dropout(dropout), nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight  # tied

    def forward(self, tokens):
        x = self.drop(self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1])))
        for i, (attention, mlp) in enumerate(zip(self.attentions, self.mlps)):
            x = x + self.drop(attention(self.norms[2 * i](x)))
            x = x + self.drop(mlp(self.norms[2 * i + 1](x)))
        return self.head(self.norms[-1](x))


class OwnGPT(nn.Module):
    """Paragrad's `gpt:`, with its parameters in its order, and weights [inputs][outputs]."""

    def __init__(self, initial, vocabulary, context, width, heads, layers):
        super().__init__()
        self.heads, self.layers, at = heads, layers, 0
        shapes = {"embedding": (vocabulary, width), "positions": (context, width)}
        for i in range(layers):
            shapes |= {f"{i}_norm1": (2, width), f"{i}_qkv": (width, 3 * width), f"{i}_qkv_bias": (3 * width,), f"{i}_out": (width, width), f"{i}_out_bias": (width,),
                       f"{i}_norm2": (2, width), f"{i}_wide": (width, 4 * width), f"{i}_wide_bias": (4 * width,), f"{i}_narrow": (4 * width, width),
                       f"{i}_narrow_bias": (width,)}
        for name, shape in (shapes | {"norm": (2, width)}).items():
            size = torch.Size(shape).numel()
            self.register_parameter(name, nn.Parameter(torch.from_numpy(initial[at:at + size].reshape(shape).copy())))
            at += size
        assert at == initial.size

    def forward(self, tokens):
        p = dict(self.named_parameters())
        n, t = tokens.shape
        width = p["embedding"].shape[1]
        x = p["embedding"][tokens] + p["positions"][:t]
        mask = torch.ones(t, t).tril().bool()
        for i in range(self.layers):
            y = F.layer_norm(x, (width,), *p[f"{i}_norm1"]) @ p[f"{i}_qkv"] + p[f"{i}_qkv_bias"]
            q, k, v = (part.view(n, t, self.heads, -1).transpose(1, 2) for part in y.chunk(3, -1))
            scores = (q @ k.transpose(-2, -1) / (width // self.heads) ** 0.5).masked_fill(~mask, float("-inf")).softmax(-1)
            x = x + (scores @ v).transpose(1, 2).reshape(n, t, width) @ p[f"{i}_out"] + p[f"{i}_out_bias"]
            y = F.gelu(F.layer_norm(x, (width,), *p[f"{i}_norm2"]) @ p[f"{i}_wide"] + p[f"{i}_wide_bias"])
            x = x + y @ p[f"{i}_narrow"] + p[f"{i}_narrow_bias"]
        return F.layer_norm(x, (width,), *p["norm"]) @ p["embedding"].T


class OwnResNet(ResNet):
    """Paragrad's `zoo:resnet`, with its initial parameters: filters [height][width][inputs][outputs]."""

    def __init__(self, initial, **options):
        super().__init__(**options)
        self.drop = nn.Identity()
        at = 0

        def take(shape):
            nonlocal at
            size = torch.Size(shape).numel()
            at += size
            return torch.from_numpy(initial[at - size:at].reshape(shape).copy())

        with torch.no_grad():
            for conv, norm in self.pairs():
                outputs, inputs, height, width = conv.weight.shape
                conv.weight.copy_(take((height, width, inputs, outputs)).permute(3, 2, 0, 1))
                norm.weight.copy_(take((outputs,)))
                norm.bias.copy_(take((outputs,)))
            self.head.weight.copy_(take(self.head.weight.shape[::-1]).T)
            self.head.bias.copy_(take(self.head.bias.shape))
        self.used = at

    def pairs(self):
        """In Paragrad's order."""
        yield self.conv, self.bn
        for block in self.blocks:
            yield block.conv1, block.bn1
            yield block.conv2, block.bn2
            if len(block.shortcut):
                yield tuple(block.shortcut)


class Counts(nn.Module):
    """Has a running mean of its own, which is no normalisation's, and constants."""

    def __init__(self, scale=1.0):
        super().__init__()
        self.register_buffer("mean", torch.full((8,), 0.5))
        self.register_buffer("shifts", torch.arange(8.0))
        self.scale, self.out = scale, nn.Linear(8, 10)

    def forward(self, x):
        if self.training:
            self.mean.mul_(0.9).add_(0.1 * x.detach().mean(0))
        return self.out(x * self.scale - self.mean + self.shifts)


class Sometimes(Counts):
    """Changes a buffer when a sample is large."""

    def forward(self, x):
        if self.training and x.max() > 3:
            self.shifts += 1
        return self.out(x)


class HeadFirst(nn.Module):
    """Tied weights whose first owner is not the embedding."""

    def __init__(self):
        super().__init__()
        self.head, self.tokens = nn.Linear(16, 256, bias=False), nn.Embedding(256, 16)
        self.tokens.weight = self.head.weight

    def forward(self, tokens):
        return self.head(self.tokens(tokens))
