"""Metrics of a run that follow from its options in config.toml and from what is recorded of it."""

from __future__ import annotations

import re
from typing import Any

from config import Options, Run

PREFIXES = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}


def derived(run: Run, options: Options, recorded: dict[str, Any]) -> dict[str, Any]:
    """workers; epoch_s, samples_per_s and bus_bytes_per_s, each if the options alone decide how much the run trains or exchanges; and what
    becomes of an update with an outer momentum."""
    if run.command not in ("simulate", "collective"):
        return {}
    workers = number(options, "workers")
    found: dict[str, Any] = {"workers": workers} if workers else {}
    if run.command == "collective" and "time_s" in recorded and options.get("operation", "allreduce") == "allreduce":
        if workers and number(options, "bytes"):
            found["bus_bytes_per_s"] = 2 * (workers - 1) / workers * number(options, "bytes") / recorded["time_s"]
    if run.command == "simulate" and "training_s" in recorded:
        if epochs := whole_epochs(options):
            found["epoch_s"] = recorded["training_s"] / epochs
        if samples := samples_of(options):
            found["samples_per_s"] = samples / recorded["training_s"]
    return found | outer_weights(options, recorded)


def outer_weights(options: Options, recorded: dict[str, Any]) -> dict[str, float]:
    """What diloco's Nesterov momentum makes of a mean update of length 1: how much of it counts at once; how much in the end (outer_gain); and,
    if each update correlates with the one before as strongly as successive ones did, how far a step goes along it (aligned_gain)."""
    if options.get("strategy") != "diloco" or options.get("outer-restart"):
        return {}
    rate, momentum = options.get("outer-learning-rate", 0.7), options.get("outer-momentum", 0.9)
    found = {"at_once": rate * (1 + momentum), "outer_gain": rate / (1 - momentum)}
    if "update_correlation" in recorded:
        found["aligned_gain"] = rate * (1 + momentum / (1 - momentum * recorded["update_correlation"]))
    return found


def whole_epochs(options: Options) -> float:
    """Passes over the training set; 0 if the training may end earlier or leave samples out."""
    cut = any(number(options, name) > 0 for name in ("target-error", "patience", "max-blocks", "max-steps"))
    return 0 if cut or options.get("schedule") == "newbob" else number(options, "epochs")


def samples_of(options: Options) -> float:
    """What all workers together process; 0 if that depends on a data file, or on more than the minibatches that are timed."""
    there, timed = number(options, "train-samples"), number(options, "max-steps") * number(options, "minibatch")
    if not timed:
        return there * whole_epochs(options)
    shared = options.get("strategy") in ("sgd", "data_parallel")  # their minibatch is that of all workers
    return timed if shared and options.get("blocks") == options.get("epochs") == 1 and timed <= there else 0


def number(options: Options, name: str) -> float:
    """The option's value, which may be a text such as "1kB"; 0 if it is not set."""
    value = options.get(name, 0)
    return value if isinstance(value, (int, float)) else number_in(value) or 0


def number_in(value: Any) -> float | None:
    """The number in 8, 8.5 or "1kB"; None for a word."""
    found = re.fullmatch(r"(\d+\.?\d*)([kMG]?)B?", str(value))
    return float(found[1]) * PREFIXES[found[2]] if found else None
