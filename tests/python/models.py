"""Models in Python: perceptrons that Paragrad has itself, and ones that go wrong."""

import os
from pathlib import Path

import numpy as np
import paragrad as pg


def fail_in_time() -> None:
    """At the hundredth call, if a file counts them."""
    if counts := os.environ.get("PARAGRAD_TEST_COUNTS"):
        with Path(counts).open("a") as file:
            file.write("x")
        assert Path(counts).stat().st_size != 100, "as the test wants it"


def sigmoid(z: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-z))


class Perceptron(pg.Model):
    """8-12-6:sigmoid; weights [inputs][outputs], as Paragrad's own."""

    def __init__(self, initial=None, sizes=(8, 12, 6)):
        self.sizes = sizes
        self.inputs, self.outputs = sizes[0], sizes[-1]
        random = np.random.default_rng(3)
        self.initial = {}
        for i, (inputs, outputs) in enumerate(zip(sizes, sizes[1:]), 1):
            self.initial[f"layer{i}.weight"] = random.normal(0, 0.3, (inputs, outputs))
            self.initial[f"layer{i}.bias"] = np.zeros(outputs)
        if initial is not None:
            at = 0
            for name, values in self.initial.items():
                self.initial[name] = initial[at:at + values.size].reshape(values.shape)
                at += values.size

    def parameters(self):
        return self.initial

    def forward(self, arrays, x, seed):
        h = sigmoid(x @ arrays["layer1.weight"] + arrays["layer1.bias"])
        return h @ arrays["layer2.weight"] + arrays["layer2.bias"], (x, h)

    def backward(self, arrays, saved, gradient):
        fail_in_time()
        x, h = saved
        below = gradient @ arrays["layer2.weight"].T * h * (1 - h)
        return {"layer1.weight": x.T @ below, "layer1.bias": below.sum(0), "layer2.weight": h.T @ gradient, "layer2.bias": gradient.sum(0)}


class Noisy(Perceptron):
    """Drops hidden units at random, and counts their mean activations."""

    def buffers(self):
        return {"layer1.mean": np.full(self.sizes[1], 0.5)}

    def forward(self, arrays, x, seed):
        h = sigmoid(x @ arrays["layer1.weight"] + arrays["layer1.bias"])
        if seed is not None:
            h = h * (np.random.default_rng(seed).random(h.shape) > 0.2)
            arrays["layer1.mean"] += np.float32(0.1) * (h.mean(0) - arrays["layer1.mean"])
        else:
            h = h + 0 * arrays["layer1.mean"]
        return (h @ arrays["layer2.weight"] + arrays["layer2.bias"]).astype(np.float32), (x, h)


class WrongShape(Perceptron):
    def forward(self, arrays, x, seed):
        outputs, saved = super().forward(arrays, x, seed)
        return outputs[:, 1:], saved


class OneResult(Perceptron):
    def forward(self, arrays, x, seed):
        return super().forward(arrays, x, seed)[0]


class Forgets(Perceptron):
    def backward(self, arrays, saved, gradient):
        return {"layer1.weight": super().backward(arrays, saved, gradient)["layer1.weight"]}


class Transposes(Perceptron):
    def backward(self, arrays, saved, gradient):
        return {name: values.T for name, values in super().backward(arrays, saved, gradient).items()}


class Divides(Perceptron):
    def backward(self, arrays, saved, gradient):
        return 1 // 0


class Trains(Perceptron):
    def backward(self, arrays, saved, gradient):
        arrays["layer1.bias"] -= 0.1
        return super().backward(arrays, saved, gradient)


class Draws(Perceptron):
    def forward(self, arrays, x, seed):
        np.random.random()
        return super().forward(arrays, x, seed)


class Keeps(Perceptron):
    def forward(self, arrays, x, seed):
        self.kept = arrays["layer2.weight"][1:]
        return super().forward(arrays, x, seed)


class IsNaN(Perceptron):
    def forward(self, arrays, x, seed):
        outputs, saved = super().forward(arrays, x, seed)
        return outputs * np.float32("nan"), saved


class Whole(Perceptron):
    def parameters(self):
        return {name: np.ones(values.shape, int) for name, values in self.initial.items()}


class Empty(Perceptron):
    def parameters(self):
        return {}


class CountsOthers(Perceptron):
    def flops(self):
        return {"layer3": 7}


class Same(Perceptron):
    def buffers(self):
        return {"layer1.bias": np.zeros(12)}


class Commands(Perceptron):
    def forward(self, arrays, x, seed):
        pg.command("help")
        return super().forward(arrays, x, seed)


class NoOutputs(pg.Model):
    inputs = 8


class TextInputs(pg.Model):
    inputs, outputs = "8", 6


class OneToken(pg.Model):
    tokens, outputs = 7, 6


class NegativeWork(Perceptron):
    def flops(self):
        return {"layer1": -1}


class ListOfArrays(Perceptron):
    def parameters(self):
        return list(self.initial.values())


class TwoLines(Perceptron):
    def parameters(self):
        return {"a\nb": np.zeros(3)}


class FailsEarly(Perceptron):
    def parameters(self):
        return {}["x"]


class KeepsInputs(Perceptron):
    def __init__(self):
        super().__init__()
        self.kept, self.inputs_seen = [], []

    def forward(self, arrays, x, seed):
        self.kept.append(x)
        self.inputs_seen.append(x.copy())
        return super().forward(arrays, x, seed)


class Scaled(Perceptron):
    def __init__(self, scale, initial=None):
        super().__init__(initial)
        self.scale = np.full(6, scale)

    def forward(self, arrays, x, seed):
        outputs, saved = super().forward(arrays, x, seed)
        return outputs * self.scale.astype(np.float32), saved


class Endless(Perceptron):
    def forward(self, arrays, x, seed):
        print("begun", flush=True)
        while True:
            pass


class OwnLoss(Perceptron):
    """With Paragrad's cross entropy, written here."""

    def loss(self, outputs, y):
        shifted = outputs - outputs.max(1, keepdims=True)
        p = np.exp(shifted) / np.exp(shifted).sum(1, keepdims=True)
        gradient = p.copy()
        gradient[np.arange(len(y)), y] -= 1
        return -np.log(p[np.arange(len(y)), y]).mean(), gradient / np.float32(len(y))


class SquaredLoss(Perceptron):
    """Of a regression."""

    def loss(self, outputs, y):
        assert y.shape == outputs.shape and y.dtype == np.float32
        return ((outputs - y) ** 2).sum(1).mean() / 2, (outputs - y) / np.float32(len(y))


class LosesSamples(Perceptron):
    def loss(self, outputs, y):
        return 1.0, outputs[1:]


class LosesGradient(Perceptron):
    def loss(self, outputs, y):
        return 1.0


class Sign(pg.Compressor):
    """Signs, and the mean magnitude."""

    def encode(self, x):
        return np.packbits(x.ravel() > 0).tobytes() + np.float32(np.abs(x).mean()).tobytes()

    def decode(self, code, shape):
        size = int(np.prod(shape))
        signs = np.unpackbits(code[:-4])[:size].astype(np.float32) * 2 - 1
        return (signs * code[-4:].view(np.float32)).reshape(shape)


class Exact(pg.Compressor):
    def encode(self, x):
        return x

    def decode(self, code, shape):
        return code.view(np.float32).reshape(shape)


class LowRank(pg.Compressor):
    """Of a matrix two factors, by one step of a power iteration."""

    def __init__(self, rank=2):
        self.rank = rank

    def encode(self, x):
        if x.ndim == 1:
            return x
        p = np.linalg.qr(x @ np.random.default_rng(1).normal(size=(x.shape[1], self.rank)))[0]
        return np.concatenate([p.ravel(), (x.T @ p).ravel()]).astype(np.float32)

    def decode(self, code, shape):
        values = code.view(np.float32)
        if len(shape) == 1:
            return values
        rank = min(self.rank, *shape)
        p = values[:shape[0] * rank].reshape(shape[0], rank)
        return p @ values[shape[0] * rank:].reshape(shape[1], rank).T


class Varies(Exact):
    def encode(self, x):
        return x[:np.count_nonzero(x)].ravel()[1:]


class Texts(Exact):
    def encode(self, x):
        return "code"


class Shortens(Exact):
    def decode(self, code, shape):
        return code.view(np.float32)[:-1]


class Breaks(Exact):
    def decode(self, code, shape):
        return {}["code"]


class DrawsCode(Sign):
    def encode(self, x):
        return super().encode(x + np.random.normal(size=x.shape))


class Slotted(Exact):
    __slots__ = ("scale",)

    def __init__(self, scale=1.0):
        self.scale = scale
