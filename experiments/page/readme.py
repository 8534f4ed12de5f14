"""Reads the experiments' READMEs: title, question and commands of each, and its line in the overview experiments/README.md."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from config import EXPERIMENTS, names


@dataclass(frozen=True)
class Readme:
    title: str
    question: str
    commands: str
    source: str    # the publication; "–" if there is none
    summary: str   # the question in a few words
    came_out: str
    missing: list[str]  # a sentence for each part that is not there


def overview() -> dict[str, tuple[str, str, str]]:
    """The lines of the overview, in its order: source, question and result. "the same" is replaced by the source above."""
    found, before = {}, ""
    for name, source, summary, came_out in re.findall(r"^\| \[(\w+)\]\([^)]*\) \| ([^|]*) \| ([^|]*) \| ([^|]*) \|(?:[^|]*\|)?$",
                                                      text_of(EXPERIMENTS / "README.md"), re.MULTILINE):
        found[name] = (source.replace("the same", before), summary, came_out)
        before = found[name][0].split(",")[0]
    return found


def text_of(file: Path) -> str:
    return file.read_text() if file.exists() else ""


def all_experiments() -> list[str]:
    """In the order of the overview; then those without a line there."""
    listed = [name for name in overview() if name in names()]
    return listed + [name for name in names() if name not in listed]


def undescribed() -> list[str]:
    """A sentence for each part of a description that is missing, and for each line of the overview without an experiment."""
    return [sentence for name in names() for sentence in read(name).missing] + lines_without_experiment()


def lines_without_experiment() -> list[str]:
    return [f"experiments/README.md has a line for '{name}', but there is no experiments/{name}/config.toml"
            for name in overview() if name not in names()]


def read(name: str) -> Readme:
    text, lines = text_of(EXPERIMENTS / name / "README.md"), overview()
    title = re.match(r"# (.+)", text)
    question = re.search(r"\*\*Question\.\*\*\s+(.*?)(?:\n\n|\Z)", text, re.DOTALL)
    commands = re.search(r"```sh\n(.*?)```", text, re.DOTALL)
    parts = {"a heading": title, "a paragraph **Question.**": question, "a block of commands (```sh)": commands}
    missing = ([f"experiments/{name}/README.md lacks {part}" for part, found in parts.items() if not found] if text
               else [f"experiments/{name} has no README.md"])
    missing += [f"experiments/README.md has no line for experiments/{name}"] if name not in lines else []
    return Readme(title[1] if title else name, " ".join(question[1].split()) if question else "",
                  commands[1].rstrip() if commands else f"make verify-{name}", *lines.get(name, ("", "", "")), missing)
