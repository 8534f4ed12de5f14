"""Names runs by the options in which they differ, and puts those together that differ only in their seed."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .runs import Run

# Options that change neither the weights nor the clock.
WITHOUT_EFFECT = {"out", "quiet", "tensorboard", "timeline", "timeline-events", "sync-stats", "checkpoint-every", "host-threads"}


@dataclass(frozen=True)
class Seeds:
    """Runs with the same options and different seeds; or one run."""

    runs: list[Run]
    options: dict[str, Any]  # without the seed


def distinguishing_options(run: Run) -> dict[str, Any]:
    """The options that matter, without the seed; what a path says of the seed is written {seed}."""
    about = run.about
    options = {name: value for name, value in run.config.items() if name not in WITHOUT_EFFECT | {"seed"}}
    options |= {"workers": about["workers"], "world": about["world"]}  # which need not be options
    if "init" in options:
        options["init"] = re.sub(rf"(?<!\d){about['seed']}(?!\d)", "{seed}", options["init"])
    if "python-class" in options:
        options["strategy"] = options.pop("python-class")
    return options


def by_seed(runs: Sequence[Run]) -> list[Seeds]:
    """In the order in which the runs are given. A run whose options and seed another one has is not put together with others."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(json.dumps(distinguishing_options(run), sort_keys=True), []).append(run)
    groups = []
    for alike in found.values():
        distinct = len({run.about["seed"] for run in alike}) == len(alike)
        groups += [Seeds(of, distinguishing_options(of[0])) for of in ([alike] if distinct else [[run] for run in alike])]
    return groups


def labels_of(groups: Sequence[Seeds]) -> list[str]:
    """`strategy=bmuf, workers=4`: the options whose values differ, in the order of config.toml. An option that some lack does not
    differ between them and the others, as in `bmuf-kind` of bmuf and sgd, unless nothing else does. Without a difference: folders,
    or the seeds of a group on its own; strategy and workers of a single run whose folder is temporary."""
    names = list(dict.fromkeys(name for group in groups for name in group.options))
    values = {name: [shown(name, group.options[name]) if name in group.options else "" for group in groups] for name in names}
    if len(groups) == 1:
        (group,) = groups
        if len(group.runs) > 1:
            return [f"seeds {', '.join(str(run.about['seed']) for run in group.runs)}"]
        return [label(0, ["strategy", "workers"], values) if group.runs[0].is_temporary else folders(group)]
    differing = [name for name in names if len(set(values[name]) - {""}) > 1]
    lacked = [name for name in names if name not in differing and len(set(values[name])) > 1]
    labels = [label(index, differing, values) for index in range(len(groups))]
    labels = [label(index, differing + lacked, values) if labels.count(text) > 1 else text for index, text in enumerate(labels)]
    return [", ".join(filter(None, (text, folders(group)))) if labels.count(text) > 1 or not text else text
            for group, text in zip(groups, labels)]


def folders(group: Seeds) -> str:
    return ", ".join(str(run.folder) for run in group.runs)


def label(index: int, names: Sequence[str], values: dict[str, list[str]]) -> str:
    return ", ".join(f"{name}={values[name][index]}" for name in names if values[name][index])


def shown(name: str, value: Any) -> str:
    """As in config.toml; of a data file or a platform its name, of a strategy in Python that of its class."""
    text = json.dumps(value) if isinstance(value, bool) else str(value)
    if name == "strategy":
        return text.rpartition(":")[2]
    return Path(text).stem if name in ("data", "platform") and text else text
