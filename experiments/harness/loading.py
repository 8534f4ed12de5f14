"""Loads an experiment in one of its sizes from its config.toml."""

from __future__ import annotations

from typing import Any

from config import EXPERIMENTS, NO_DATA, DataSet, Experiment, UserError, any_of, applies, names, read_toml, runs_of_size
from grammar import check
from paragrad.runs import AFTER


def choose_size(name: str, sizes: list[str], wanted: str) -> str:
    """Without a wanted size: the largest one for a single machine."""
    if not wanted:
        return "laptop" if "laptop" in sizes else "full"
    if wanted not in sizes:
        raise UserError(f"{name} has no size '{wanted}'; known: {', '.join(sizes)}")
    return wanted


def config_of(name: str) -> dict[str, Any]:
    """Its config.toml, checked."""
    if name not in names():
        raise UserError(f"no experiment '{name}'; known: {', '.join(names())}")
    config = read_toml(EXPERIMENTS / name / "config.toml")
    check(f"experiments/{name}/config.toml", config)
    return config


def all_sizes(name: str) -> list[str]:
    return list(config_of(name)["size"])


def load(name: str, wanted: str) -> Experiment:
    config = config_of(name)
    size = choose_size(name, list(config["size"]), wanted)
    try:
        chosen = config["size"][size]
        shared = config.get("options", {}) | chosen.get("options", {})
        runs = runs_of_size(config, size)
        data = [DataSet(entry["name"], entry["file"], entry.get("optional", False),
                        entry.get("tuned_on", entry["name"]), entry.get("instead_of", ""), entry.get("options", {}), entry.get("at"),
                        entry.get("tune", {}))
                for entry in config.get("data", []) if any_of(chosen.get("data", ["*"]), entry["name"])]
        return Experiment(
            name=name, size=size, seeds=chosen.get("seeds", [1]), data=data or [NO_DATA], runs=runs,
            initial=shared | config["initial"] if "initial" in config else None,
            claims=[claim for claim in config.get("claim", []) if applies(claim, size)],
            repeats=[entry for entry in config.get("repeats", []) if applies(entry, size)],
            published=[entry for entry in config.get("published", []) if applies(entry, size)],
            tables=config.get("table", []),
            tune=config.get("tune", {}),
            after={command: config[command] for command in AFTER if command in config},
            stale=[mark for mark in config.get("stale", []) if any_of(mark.get("sizes", ["*"]), size)])
    except KeyError as error:
        raise UserError(f"experiments/{name}/config.toml lacks {error} (size {size})") from error
