"""The networks of bench_training in PyTorch: what other libraries are compared with trains the same products."""

import torch
from torch import nn


def perceptron(*widths: int, f: type[nn.Module] = nn.ReLU) -> nn.Module:
    layers: list[nn.Module] = []
    for inputs, outputs in zip(widths, widths[1:]):
        layers += [nn.Linear(inputs, outputs), f()]
    return nn.Sequential(*layers[:-1])


class Lstm(nn.Module):
    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.layers = nn.LSTM(40, 256, 5, bidirectional=True)
        self.output = nn.Linear(512, outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.output(self.layers(x)[0]).flatten(0, 1)


def normalised(inputs: int, outputs: int, size: int, stride: int = 1) -> list[nn.Module]:
    """A convolution and batch normalisation."""
    return [nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False), nn.BatchNorm2d(outputs)]


class Block(nn.Module):
    """The layers plus a shortcut, which is a projection if it says so; then a ReLU."""

    def __init__(self, layers: list[nn.Module], shortcut: list[nn.Module]) -> None:
        super().__init__()
        self.layers, self.shortcut = nn.Sequential(*layers), nn.Sequential(*shortcut)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu_(self.layers(x) + self.shortcut(x))


def relu() -> nn.Module:
    return nn.ReLU(inplace=True)


def basic(inputs: int, outputs: int, stride: int) -> nn.Module:
    return Block([*normalised(inputs, outputs, 3, stride), relu(), *normalised(outputs, outputs, 3)],
                 normalised(inputs, outputs, 1, stride) if stride > 1 else [])


def bottleneck(inputs: int, channels: int, stride: int) -> nn.Module:
    return Block([*normalised(inputs, channels, 1, stride), relu(), *normalised(channels, channels, 3), relu(),
                  *normalised(channels, 4 * channels, 1)],
                 normalised(inputs, 4 * channels, 1, stride) if inputs != 4 * channels else [])


def resnet20() -> nn.Module:
    layers: list[nn.Module] = [*normalised(3, 16, 3), relu()]
    inputs = 16
    for stage in range(3):
        for block in range(3):
            layers.append(basic(inputs, 16 << stage, 2 if stage > 0 and block == 0 else 1))
            inputs = 16 << stage
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def resnet50() -> nn.Module:
    layers: list[nn.Module] = [*normalised(3, 64, 7, 2), relu(), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for block in range(blocks):
            layers.append(bottleneck(inputs, 64 << stage, 2 if stage > 0 and block == 0 else 1))
            inputs = 256 << stage
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


def lenet5() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), relu(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), relu(), nn.MaxPool2d(2),
                         nn.Conv2d(16, 120, 5), relu(), nn.Flatten(), nn.Linear(120, 84), relu(), nn.Linear(84, 10))


class GptBlock(nn.Module):
    """As in nanoGPT, without biases and dropout; attention by PyTorch's own kernel."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width, bias=False) for _ in range(2))
        self.inputs, self.projection = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.perceptron = nn.Sequential(nn.Linear(width, 4 * width, bias=False), nn.GELU(), nn.Linear(4 * width, width, bias=False))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        windows, context, width = x.shape
        q, k, v = (part.view(windows, context, self.heads, width // self.heads).transpose(1, 2) for part in self.inputs(self.norms[0](x)).split(width, 2))
        attended = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.projection(attended.transpose(1, 2).reshape(windows, context, width))
        return x + self.perceptron(self.norms[1](x))


class Gpt(nn.Module):
    def __init__(self, layers: int, heads: int, width: int, context: int, vocabulary: int) -> None:
        super().__init__()
        self.embedding, self.positions = nn.Embedding(vocabulary, width), nn.Parameter(0.02 * torch.randn(context, width))
        self.blocks = nn.Sequential(*(GptBlock(width, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(width, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.norm(self.blocks(self.embedding(tokens) + self.positions))
        return nn.functional.linear(x, self.embedding.weight).flatten(0, 1)


# name: how to make it, shape of a sample (of sequences: of a frame), classes
NETS = {
    "784-512-256-10:sigmoid": (lambda: perceptron(784, 512, 256, 10, f=nn.Sigmoid), (784,), 10),
    "784-512-256-10:relu": (lambda: perceptron(784, 512, 256, 10), (784,), 10),
    "440-5x1024-1000:relu": (lambda: perceptron(440, *[1024] * 5, 1000), (440,), 1000),
    "440-7x2048-18002:relu": (lambda: perceptron(440, *[2048] * 7, 18002), (440,), 18002),
    "40-5xblstm256-1000": (lambda: Lstm(1000), (40,), 1000),
    "40-5xblstm256-9304": (lambda: Lstm(9304), (40,), 9304),
    "gpt:nano,vocabulary=65": (lambda: Gpt(4, 4, 128, 64, 65), (), 65),
    "gpt:baby,vocabulary=65": (lambda: Gpt(6, 6, 384, 256, 65), (), 65),
    "zoo:lenet5": (lenet5, (1, 28, 28), 10),
    "zoo:resnet:depth=20": (resnet20, (3, 32, 32), 10),
    "zoo:resnet50": (resnet50, (3, 224, 224), 1000),
}


def one_step_on_text(model: str, rows: int, context: int, compiled: bool):
    """The same for windows of a text, with clipped gradients and AdamW."""
    make, _, vocabulary = NETS[model]
    net = make()
    tokens, labels = torch.randint(vocabulary, (rows // context, context)), torch.randint(vocabulary, (rows,))
    run = torch.compile(net) if compiled else net
    optimiser = torch.optim.AdamW(net.parameters(), lr=1e-4, fused=True)

    def step() -> None:
        optimiser.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(run(tokens), labels).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()

    return step


def one_step(model: str, rows: int, frames: int, device: str, channels_last: bool = False, bf16: bool = False, compiled: bool = False,
             wrap=lambda net: net):
    """A function that makes one training step on fixed random data: forward, loss, backward, momentum update. Rows are samples,
    or frames of rows / frames sequences. wrap: what makes a module of the network that trains with other processes."""
    make, shape, classes = NETS[model]
    net = make().to(device)
    x = torch.randn(*((frames, rows // frames) if frames > 1 else (rows,)), *shape, device=device)
    if channels_last and x.dim() == 4:
        net, x = net.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    run = torch.compile(net) if compiled else wrap(net)
    labels = torch.randint(classes, (rows,), device=device)
    optimiser = torch.optim.SGD(net.parameters(), lr=1e-4, momentum=0.9)

    def step() -> None:
        optimiser.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.bfloat16, enabled=bf16):
            loss = nn.functional.cross_entropy(run(x), labels)
        loss.backward()
        optimiser.step()

    return step
