"""Modules of PyTorch as models."""

from __future__ import annotations

import contextlib
import copy
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import torch as pt
from torch.func import functional_call
from torch.utils.flop_counter import FlopCounterMode

from .model import Model, count_of
from .runs import Error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


IGNORED = -100  # the default `ignore_index` of PyTorch's losses
OF_EVERY_MODULE = vars(pt.nn.Module()).keys()


class TorchModel(Model):
    """See torch()."""

    layout = "channels-first"
    _takes_writable = True  # PyTorch warns of arrays that it cannot write

    def __init__(self, module: pt.nn.Module, inputs: int | tuple[int, ...] | None, tokens: tuple[int, int] | None, loss: Callable[..., pt.Tensor] | None,
                 threads: int) -> None:
        if not isinstance(module, pt.nn.Module):
            raise Error(f"torch() takes a torch.nn.Module, not {type(module).__name__}")
        if loss is not None and not callable(loss):
            raise Error(f"the loss must be a function of outputs and y, not {type(loss).__name__}; names are an option of the training")
        self.threads = count_of("threads", threads)
        self._kind = type(module)
        self.name = self._kind.__name__
        try:
            self.module = copy.deepcopy(module)  # whose modes and counters the training changes
        except Exception as error:  # whatever its own code raises
            raise Error(f"{self.name} cannot be copied: {type(error).__name__}: {error}") from error
        for name, p in self.module.named_parameters():
            if p.dtype != pt.float32 or p.device.type != "cpu":
                raise Error(f"the parameter {name!r} of {self.name} must be float32 on the CPU: give module.float().cpu()")
            if not p.requires_grad:
                raise Error(f"the parameter {name!r} of {self.name} has requires_grad=False, and workers would train it: make it a buffer")
        for name, each in self.module.named_modules():
            if getattr(each, "track_running_stats", False) and getattr(each, "momentum", 0) is None:
                raise Error(f"the normalisation {name!r} of {self.name} has momentum=None, a mean over all minibatches that workers cannot share: "
                            "give a number such as 0.1")
        self.tokens, self.function, self.inputs = tokens, loss, inputs
        if loss is not None:
            self.loss = self.loss_of_function
        layers = layers_in(self.module)
        self.tables = tuple(name for name, each in self.module.named_modules() if isinstance(each, pt.nn.Embedding) and name in layers)
        self._names = [name for name, _ in self.module.named_parameters()]
        self._has_ties = len(self._names) < len(list(self.module.named_parameters(remove_duplicate=False)))
        self._buffers = dict(self.module.named_buffers())
        self._flops: dict[str, float] = {}
        self._state: list[str] = []      # the buffers that training changes, and may average
        self._constant: list[str] = []   # those that it does not change

    def _fit(self, shape: tuple[int, ...]) -> None:
        """Runs a copy of the module once on two samples of this shape, as in training, for the number of its outputs, its work, and the
        buffers that it changes."""
        generator = pt.Generator().manual_seed(1)
        samples = pt.randint(self.tokens[0], (2, self.tokens[1]), generator=generator) if self.tokens else pt.randn((2, *shape), generator=generator)
        trial = copy.deepcopy(self.module).train()
        counter = FlopCounterMode(display=False)
        try:
            with seeded(1), counter:
                outputs = trial(samples)
        except Exception as error:  # whatever the module's own code raises
            raise Error(f"{self.name} cannot take two samples of the shape {shape}: {type(error).__name__}: {one_line(error)}") from error
        wanted = (2, self.tokens[1]) if self.tokens else (2,)
        if not isinstance(outputs, pt.Tensor) or tuple(outputs.shape[:-1]) != wanted:
            found = tuple(outputs.shape) if isinstance(outputs, pt.Tensor) else type(outputs).__name__
            raise Error(f"{self.name} must return a tensor of the shape {(*wanted, 'outputs')} for two samples, not {found}")
        self.inputs, self.outputs = shape, outputs.shape[-1]
        self._state = [name for name, b in trial.named_buffers() if b.is_floating_point() and not pt.equal(b, self._buffers[name])]
        self._constant = [name for name, b in trial.named_buffers() if pt.equal(b, self._buffers[name])]
        for name in self._state:
            if (kind := self._buffers[name].dtype) != pt.float32:
                raise Error(f"the buffer {name!r} of {self.name}, which training changes, must be float32, not {kind}")
        self._flops = work_of_layers(self.module, counter, math.prod(wanted), self.tables)

    def parameters(self) -> dict[str, np.ndarray]:
        return {name: p.detach().numpy() for name, p in self.module.named_parameters()}

    def buffers(self) -> dict[str, np.ndarray]:
        return {name: self._buffers[name].numpy() for name in self._state}

    def forward(self, arrays: dict[str, np.ndarray], x: np.ndarray, seed: int | None) -> tuple[np.ndarray, Any]:
        trains = seed is not None
        pt.set_num_threads(self.threads)
        parameters = {name: pt.from_numpy(arrays[name]).requires_grad_(trains) for name in self._names}
        constants = {name: b.clone() for name, b in self._buffers.items() if name not in self._state}
        state = {name: pt.from_numpy(arrays[name]) for name in self._state}
        self.module.train(trains)
        samples = pt.from_numpy(x)
        with seeded(seed), pt.set_grad_enabled(trains):
            outputs = functional_call(self.module, {**parameters, **state, **constants}, (samples.long() if self.tokens else samples,),
                                      tie_weights=self._has_ties)
        for name, b in constants.items():
            if b.is_floating_point() and not pt.equal(b, self._buffers[name]):
                raise Error(f"{self.name} changes its buffer {name!r} in some minibatches only, and workers cannot share it")
        return outputs.detach().numpy(), (outputs, list(parameters.values()))

    def backward(self, arrays: dict[str, np.ndarray], saved: Any, gradient: np.ndarray) -> dict[str, np.ndarray]:
        outputs, parameters = saved
        found = pt.autograd.grad(outputs, parameters, pt.from_numpy(gradient), allow_unused=True)
        return {name: np.zeros(p.shape, np.float32) if g is None else g.numpy() for name, p, g in zip(self._names, parameters, found)}

    def loss_of_function(self, outputs: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
        values = pt.from_numpy(outputs).requires_grad_()
        if y.dtype.kind == "i":
            y = np.where(y < 0, IGNORED, y).astype(np.int64)
        mean = self.function(values, pt.from_numpy(y))
        if not isinstance(mean, pt.Tensor) or mean.numel() != 1:
            raise Error(f"the loss of {self.name} must be a tensor with one number, the mean over the samples")
        mean.backward()
        return float(mean.detach()), np.zeros(values.shape, np.float32) if values.grad is None else values.grad.numpy()

    def flops(self) -> dict[str, float]:
        return self._flops

    def _described(self) -> Any:
        """Everything that decides what is computed, but for the arrays that are trained."""
        modules = [(name, type(each), {key: value for key, value in vars(each).items() if key not in OF_EVERY_MODULE})
                   for name, each in self.module.named_modules()]
        constants = {name: self._buffers[name] for name in self._constant}
        return modules, constants, self.function, self.inputs, self.tokens, self.threads


@contextlib.contextmanager
def seeded(seed: int | None) -> Iterator[None]:
    """With this seed of PyTorch's generator on the CPU, if there is one, and as before afterwards. (fork_rng takes fifty times as long.)"""
    before = pt.default_generator.get_state()
    if seed is not None:
        pt.default_generator.manual_seed(seed)
    try:
        yield
    finally:
        pt.default_generator.set_state(before)


def layers_in(module: pt.nn.Module) -> list[str]:
    """The modules that own parameters, each once."""
    return list(dict.fromkeys(name.rpartition(".")[0] or name for name, _ in module.named_parameters()))


def work_of_layers(module: pt.nn.Module, counter: FlopCounterMode, rows: int, tables: tuple[str, ...]) -> dict[str, float]:
    """Operations per row. What a module without parameters of its own does counts for the layer before it, in the order of the modules, or
    for the first one."""
    counts = {name.partition(".")[2]: sum(of.values()) for name, of in counter.get_flop_counts().items() if name != "Global"}
    own = dict(counts)
    for name, count in counts.items():
        if name:
            own[counted_around(name, counts)] -= count
    layers = layers_in(module)
    found: dict[str, float] = dict.fromkeys(tables, 0)
    latest = layers[0] if layers else ""
    for name, _ in module.named_modules():
        latest = name if name in layers else latest
        if own.get(name, 0) > 0:
            found[latest] = found.get(latest, 0) + own[name] / rows
    return found


def counted_around(name: str, counts: dict[str, int]) -> str:
    """The innermost module around a module that was called itself, which a list of modules is not."""
    while name:
        name = name.rpartition(".")[0]
        if name in counts:
            break
    return name


def one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def torch(module: pt.nn.Module, *, inputs: int | tuple[int, ...] | None = None, tokens: tuple[int, int] | None = None,
          loss: Callable[..., pt.Tensor] | None = None, threads: int = 1) -> TorchModel:
    """A module of PyTorch as a model for simulate and train: `model=paragrad.torch(module)`.

    The module is called as module(x), with x of the shape [samples][inputs…], and returns scores [samples][outputs], before any
    softmax. The training begins with the weights that the module has now, and leaves the module as it is.

    inputs: the shape of a sample; by default that of the arrays given as `data`.
    tokens: for texts, the size of the vocabulary and the tokens of a window: x is then [windows][tokens], and the module returns
    [windows][tokens][outputs].
    loss: a function of the module's outputs and y that returns the mean loss of the samples, such as torch.nn.functional.cross_entropy.
    y are the labels [samples], or the targets [samples][targets] of a regression; of a text the labels [windows][tokens], with -100
    where there is none. By default `loss` is an option of the training.
    threads: of PyTorch, in each call. The bits of a result depend on it.
    """
    return TorchModel(module, inputs, tokens, loss, threads)
