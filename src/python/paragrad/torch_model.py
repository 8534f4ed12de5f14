"""Modules of PyTorch as models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch as pt
from torch.func import functional_call
from torch.utils.flop_counter import FlopCounterMode

from .model import Model
from .runs import Error

if TYPE_CHECKING:
    from collections.abc import Callable


IGNORED = -100  # the default `ignore_index` of PyTorch's losses


class TorchModel(Model):
    """See torch()."""

    layout = "channels-first"
    _takes_writable = True  # PyTorch warns of arrays that it cannot write

    def __init__(self, module: pt.nn.Module, inputs: int | tuple[int, ...] | None, tokens: tuple[int, int] | None, loss: Callable[..., pt.Tensor] | None,
                 threads: int) -> None:
        if not isinstance(module, pt.nn.Module):
            raise Error(f"torch() takes a torch.nn.Module, not {type(module).__name__}")
        self.module, self.tokens, self.threads = module, tokens, threads
        if (other := next((name for name, p in module.named_parameters() if p.dtype != pt.float32 or p.device.type != "cpu"), None)):
            raise Error(f"the parameter {other!r} must be float32 on the CPU: give module.float().cpu()")
        if frozen := [name for name, p in module.named_parameters() if not p.requires_grad]:
            raise Error(f"the parameter {frozen[0]!r} has requires_grad=False, and workers would train it: make it a buffer")
        self.function = loss
        if loss is not None:
            self.loss = self.loss_of_function
        if inputs is not None:
            self.inputs = inputs
        self.tables = tuple(name for name, layer in module.named_modules() if isinstance(layer, pt.nn.Embedding))
        self._flops: dict[str, float] = {}

    def fit(self, shape: tuple[int, ...]) -> None:
        """Runs the module once on two samples of this shape, for the number of its outputs and its work."""
        samples = pt.zeros((2, self.tokens[1]), dtype=pt.int64) if self.tokens else pt.zeros((2, *shape))
        self.inputs = shape
        was_training = self.module.training
        self.module.eval()
        counter = FlopCounterMode(display=False)
        try:
            with pt.no_grad(), pt.random.fork_rng(devices=[]), counter:
                outputs = self.module(samples)
        except Exception as error:  # whatever the module's own code raises
            raise Error(f"{type(self.module).__name__} cannot take samples of the shape {shape}: {type(error).__name__}: {error}") from error
        finally:
            self.module.train(was_training)
        rows = 2 * self.tokens[1] if self.tokens else 2
        wanted = (2, self.tokens[1]) if self.tokens else (2,)
        if not isinstance(outputs, pt.Tensor) or outputs.shape[:-1] != wanted:
            found = tuple(outputs.shape) if isinstance(outputs, pt.Tensor) else type(outputs).__name__
            raise Error(f"{type(self.module).__name__} must return a tensor of the shape {(*wanted, 'outputs')} for two samples, not {found}")
        self.outputs = outputs.shape[-1]
        counts = {name.partition(".")[2]: sum(of.values()) for name, of in counter.get_flop_counts().items()}
        layers = {name.rpartition(".")[0] or name for name, _ in self.module.named_parameters()}
        self._flops = {name: count / rows for name, count in counts.items() if name in layers and count > 0}

    def parameters(self) -> dict[str, np.ndarray]:
        return {name: p.detach().numpy() for name, p in self.module.named_parameters()}

    def buffers(self) -> dict[str, np.ndarray]:
        return {name: b.detach().numpy() for name, b in self.module.named_buffers() if b.dtype == pt.float32 and b.numel() > 0 and is_state(self.module, name)}

    def forward(self, arrays: dict[str, np.ndarray], x: np.ndarray, seed: int | None) -> tuple[np.ndarray, Any]:
        pt.set_num_threads(self.threads)
        parameters = {name: pt.from_numpy(arrays[name]).requires_grad_(seed is not None) for name, _ in self.module.named_parameters()}
        buffers = {name: pt.from_numpy(arrays[name]) if name in arrays else b if b.is_floating_point() else b.clone() for name, b in self.module.named_buffers()}
        self.module.train(seed is not None)
        samples = pt.from_numpy(x)
        with pt.random.fork_rng(devices=[]), pt.set_grad_enabled(seed is not None):
            if seed is not None:
                pt.manual_seed(seed)
            outputs = functional_call(self.module, {**parameters, **buffers}, (samples.long() if self.tokens else samples,))
        return outputs.detach().numpy(), (outputs, list(parameters.values()))

    def backward(self, arrays: dict[str, np.ndarray], saved: Any, gradient: np.ndarray) -> dict[str, np.ndarray]:
        outputs, parameters = saved
        found = pt.autograd.grad(outputs, parameters, pt.from_numpy(gradient), allow_unused=True)
        return {name: np.zeros(p.shape, np.float32) if g is None else g.numpy() for (name, p), g in zip(self.module.named_parameters(), found)}

    def loss_of_function(self, outputs: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
        values = pt.from_numpy(outputs).requires_grad_()
        if y.dtype.kind == "i":
            y = np.where(y < 0, IGNORED, y).astype(np.int64)
        mean = self.function(values, pt.from_numpy(y))
        if not isinstance(mean, pt.Tensor) or mean.numel() != 1:
            raise Error(f"the loss of {type(self.module).__name__} must be a tensor with one number, the mean over the samples")
        mean.backward()
        return float(mean.detach()), values.grad.numpy()

    def flops(self) -> dict[str, float]:
        return self._flops

    def _described(self) -> Any:
        return str(self.module), type(self.module), self.function, self.tokens, self.threads


def is_state(module: pt.nn.Module, name: str) -> bool:
    """Whether a buffer is what training changes: running means and variances, not constants such as masks."""
    owner = module.get_submodule(name.rpartition(".")[0])
    return isinstance(owner, pt.nn.modules.batchnorm._NormBase)


def torch(module: pt.nn.Module, *, inputs: int | tuple[int, ...] | None = None, tokens: tuple[int, int] | None = None,
          loss: Callable[..., pt.Tensor] | None = None, threads: int = 1) -> TorchModel:
    """A module of PyTorch as a model for simulate and train: `model=paragrad.torch(module)`.

    The module is called as module(x), with x of the shape [samples][inputs…], and returns scores [samples][outputs], before any
    softmax. The training starts from its weights and does not change them.

    inputs: the shape of a sample; by default that of the arrays given as `data`.
    tokens: for texts, the size of the vocabulary and the tokens of a window: x is then [windows][tokens], and the module returns
    [windows][tokens][outputs].
    loss: a function of the module's outputs and y that returns their mean loss, such as torch.nn.functional.cross_entropy; y are the
    labels [samples], of a text [windows][tokens] with -100 where there is none, or the targets [samples][targets] of a regression. By default `loss` is an
    option of the training.
    threads: of PyTorch, in each call. The bits of a result depend on it.
    """
    return TorchModel(module, inputs, tokens, loss, threads)
