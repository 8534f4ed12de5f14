"""Reads the experiments' READMEs: title, question and commands of each, and its line in the overview experiments/README.md."""

from __future__ import annotations

import re
from dataclasses import dataclass

from config import EXPERIMENTS, UserError, names


@dataclass(frozen=True)
class Readme:
    title: str
    question: str
    commands: str
    source: str    # the publication; "–" if there is none
    summary: str   # the question in a few words
    came_out: str


def overview() -> dict[str, tuple[str, str, str]]:
    """The lines of the overview, in its order: source, question and result. "the same" is replaced by the source above."""
    text = (EXPERIMENTS / "README.md").read_text()
    found, before = {}, ""
    for name, source, summary, came_out in re.findall(r"^\| \[(\w+)\]\([^)]*\) \| (.*?) \| (.*?) \| (.*?) \|$", text, re.MULTILINE):
        found[name] = (source.replace("the same", before), summary, came_out)
        before = found[name][0].split(",")[0]
    return found


def all_experiments() -> list[str]:
    """In the order of the overview, which has a line for each."""
    if missing := undescribed():
        raise UserError(missing[0])
    return list(overview())


def undescribed() -> list[str]:
    """A sentence for each experiment that is missing from the overview, and for each line without an experiment."""
    listed, there = overview().keys(), names()
    return [*(f"experiments/{name} has no README.md" for name in there if not (EXPERIMENTS / name / "README.md").exists()),
            *(f"experiments/README.md has no line for experiments/{name}" for name in there if name not in listed),
            *(f"experiments/README.md has a line for '{name}', but there is no experiments/{name}/config.toml"
              for name in listed if name not in there)]


def read(name: str) -> Readme:
    text = (EXPERIMENTS / name / "README.md").read_text()
    question = re.search(r"\*\*Question\.\*\*\s+(.*?)\n\n", text, re.DOTALL)
    commands = re.search(r"```sh\n(.*?)```", text, re.DOTALL)
    return Readme(re.search(r"^# (.*)", text)[1], " ".join(question[1].split()) if question else "",
                  commands[1].rstrip() if commands else f"make verify-{name}", *overview()[name])
