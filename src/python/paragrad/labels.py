"""Names runs by the options in which they differ, and puts those together that differ only in their seed."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from .runs import Run

# Options that change neither the weights nor the clock: those of _core.options_without_effect(), which may not be compiled here.
WITHOUT_EFFECT = {"out", "quiet", "record", "tensorboard", "timeline", "timeline-events", "sync-stats", "checkpoint-every", "host-threads"}

# Options that are computed from another one.
DIGESTS = ("-sha256",)


@dataclass(frozen=True)
class Seeds:
    """Runs with the same options and different seeds; or one run."""

    runs: list[Run]
    options: dict[str, Any]  # without the seed


def distinguishing_options(run: Run) -> dict[str, Any]:
    """The options that matter, without the seed; what the folder and the file of `init` say of the seed is written {seed}."""
    about = run.about
    options = {name: value for name, value in run.config.items() if name not in WITHOUT_EFFECT | {"seed"}}
    options |= {"workers": about["workers"], "world": about["world"]}  # which need not be options
    if "init" in options:
        parts = str(options["init"]).rsplit("/", 2)
        named = re.sub(rf"(?<!\d){about['seed']}(?!\d)", "{seed}", "/".join(parts[-2:]))
        options["init"] = "/".join([*parts[:-2], named])
    if "python-class" in options:
        options["strategy"] = f"{options.pop('python-class')}#{options.pop('python-source-sha256', '')}"
    return options


def by_seed(runs: Sequence[Run]) -> list[Seeds]:
    """In the order in which the runs are given. A run whose options and seed another one has is not put together with others."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(json.dumps(distinguishing_options(run), sort_keys=True, default=str), []).append(run)
    groups = []
    for alike in found.values():
        distinct = len({run.about["seed"] for run in alike}) == len(alike)
        groups += [Seeds(of, distinguishing_options(of[0])) for of in ([alike] if distinct else [[run] for run in alike])]
    return groups


def default_options(config: str | None = None) -> dict[str, Any]:
    """The values of options that nobody gives, from the text of a config.toml or, without one, from the compiled module."""
    if config is None:
        try:
            from ._core import default_config
        except ImportError:
            return {}
        config = default_config()
    return tomllib.loads(config)


def labels_of(groups: Sequence[Seeds], defaults: Mapping[str, Any] = MappingProxyType({})) -> list[str]:
    """`strategy=bmuf, workers=4`: the options whose values differ, in the order of config.toml. An option that some lack, as sgd lacks
    `bmuf-kind`, is left out if it has its default in all others, or if its default is not known and something else tells them apart.
    Without a difference: folders, or the seeds of a group on its own; strategy and workers of a single run whose folder is temporary.

    The same rule as in src/runs/run_labels.cpp."""
    names = list(dict.fromkeys(name for group in groups for name in group.options))
    values = {name: [shown(name, group.options[name]) if name in group.options else "" for group in groups] for name in names}
    if len(groups) == 1:
        (group,) = groups
        if len(group.runs) > 1:
            return [f"seeds {', '.join(str(run.about['seed']) for run in group.runs)}"]
        return [label(0, ["strategy", "workers"], values) if group.runs[0].is_temporary else folders(group)]
    def differs(name: str) -> bool:
        found = set(values[name]) - {""}
        if len(found) > 1 or "" not in values[name] or not defaults or name.endswith(DIGESTS):
            return len(found) > 1
        return name not in defaults or found != {shown(name, defaults[name])}

    differing = [name for name in names if differs(name)]
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
        return text.rpartition(":")[2].partition("#")[0]
    if name in ("data", "platform") and text:
        return Path(text).stem
    return text if len(text) <= 40 else text[:40] + "…"  # as the text of a network
