"""Metrics of a run that follow from its options in config.toml and from what is recorded of it."""

from __future__ import annotations

import re
from typing import Any

from config import Options, Run

PREFIXES = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}


def derived(run: Run, options: Options, recorded: dict[str, Any]) -> dict[str, Any]:
    """workers, epoch_s, samples_per_s and bus_bytes_per_s, each if the options alone decide how much the run trains or exchanges."""
    if run.command not in ("simulate", "collective"):
        return {}
    found: dict[str, Any] = {"workers": options["workers"]} if "workers" in options else {}
    if run.command == "collective" and "time_s" in recorded and options.get("operation", "allreduce") == "allreduce":
        share = (options["workers"] - 1) / options["workers"]
        found["bus_bytes_per_s"] = 2 * share * number_in(options["bytes"]) / recorded["time_s"]
    if run.command == "simulate" and "training_s" in recorded:
        if epochs := whole_epochs(options):
            found["epoch_s"] = recorded["training_s"] / epochs
        if samples := samples_of(options):
            found["samples_per_s"] = samples / recorded["training_s"]
    return found


def whole_epochs(options: Options) -> int:
    """Passes over the training set; 0 if the training may end earlier or leave samples out."""
    cut = any(options.get(name, 0) > 0 for name in ("target-error", "max-blocks", "max-steps"))
    return 0 if cut or options.get("schedule") == "newbob" else options.get("epochs", 0)


def samples_of(options: Options) -> int:
    """What all workers together process; 0 if that depends on a data file, or on more than the minibatches that are timed."""
    there, timed = options.get("train-samples", 0), options.get("max-steps", 0) * options.get("minibatch", 0)
    if not timed:
        return there * whole_epochs(options)
    shared = options.get("strategy") in ("sgd", "data_parallel")  # their minibatch is that of all workers
    return timed if shared and options.get("blocks") == options.get("epochs") == 1 and timed <= there else 0


def number_in(value: Any) -> float | None:
    """The number in 8, 8.5 or "1kB"; None for a word."""
    found = re.fullmatch(r"([\d.]+)([kMG]?)B?", str(value))
    return float(found[1]) * PREFIXES[found[2]] if found else None
