"""Paragrad for Python: trainings on real or emulated workers, strategies of one's own, what run folders hold, figures of them.

    import paragrad as pg
    run = pg.simulate(workers=8, platform="k40m-fdr", strategy="bmuf", data="frames.h5", model="40-64-120:relu", learning_rate=0.05)
    run.history, run.weights

Reading run folders needs Python's standard library only; plot needs matplotlib, history pandas, and what trains or reads weights
the compiled module, with NumPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .runs import Error, Run, Timeline
from .runs import needed as _needed
from .strategy import Strategy

if TYPE_CHECKING:
    from .compressor import Compressor
    from .datasets import dataset
    from .model import Model
    from .plotting import plot
    from .prediction import predict
    from .searches import Search, search
    from .torch_model import torch
    from .training import command, simulate, train

_ON_DEMAND = {"Compressor": ".compressor", "Model": ".model", "Search": ".searches", "command": ".training", "dataset": ".datasets", "plot": ".plotting",
              "predict": ".prediction", "search": ".searches", "simulate": ".training", "torch": ".torch_model", "train": ".training"}

__all__ = ["Compressor", "Error", "Model", "Run", "Search", "Strategy", "Timeline", "command", "dataset", "plot", "predict", "search", "simulate", "torch", "train"]


def __dir__() -> list[str]:
    return [name for name in globals() if name.startswith("__")] + __all__


if not TYPE_CHECKING:  # a type checker would take any name for one of the module's
    def __getattr__(name: str) -> Any:
        if name == "__version__":
            return import_module("._core", __name__).version
        if name not in _ON_DEMAND:
            raise AttributeError(f"module 'paragrad' has no attribute '{name}'")
        try:
            module = import_module(_ON_DEMAND[name], __name__)
        except ModuleNotFoundError as missing:
            raise _needed(f"paragrad.{name}", missing) from None
        return getattr(module, name)
