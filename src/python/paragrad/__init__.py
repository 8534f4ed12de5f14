"""Paragrad for Python: what a run folder holds (Run, Timeline), and figures of it (plot, which needs matplotlib)."""

from __future__ import annotations

from typing import Any

from .runs import Error, Run, Timeline

__all__ = ["Error", "Run", "Timeline", "plot"]


def __getattr__(name: str) -> Any:
    """Imports matplotlib only for those who draw."""
    if name == "plot":
        from .plotting import plot
        return plot
    raise AttributeError(f"module 'paragrad' has no attribute '{name}'")
