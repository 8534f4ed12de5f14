#!/usr/bin/env python3
"""Options are described by the struct that has them (core/options.hpp), and only there: one file hands the descriptions to CLI11, and no
other file contains the name of an option that has a hyphen, which nothing else has, or any with dashes before it. What another part has
to know of an option is part of its description (when, unless, mark)."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ADDS_TO_PARSER = re.compile(r"\badd_(?:option|flag)(?:_function|_callback)?\(")
ONLY_IN = "src/cli/described_options.cpp"
DESCRIBES = re.compile(r"\.(?:number|numbers|words|flag|text|parsed|quantity|choice|entry)(?:<[^(]*>)?\(\s*(?:\"([a-z0-9-]+)\"|([\w:]+_option|[\w:]*option_of_\w+),)")
CONSTANT = re.compile(r"constexpr const char\* (\w+) = \"([a-z0-9-]+)\"")
REFERS = re.compile(r"\.(?:uses|described)\(|only_when\(")  # in conditions of the description of another option
DICTIONARIES = ("src/cli/foreign_words.def", "src/app/cntk/")  # words of other programs
# The command lines of other processes, and of a training that `launch` reads before it starts it.
COMMAND_LINES = ("src/app/launch_command.cpp", "src/worlds/launch_rules.cpp", "src/app/search_command.cpp")
ALLOWED = {("bmuf-kind", "src/runs/finished_run.cpp"): "a key of manifest.json", ("fetch-every", "src/runs/server_arguments.cpp"): "a key of order.txt",
           ("push-every", "src/runs/server_arguments.cpp"): "a key of order.txt", ("draw-seed", "src/search/search_identity.cpp"): "a key of search.json",
           **{(name, "src/predict/measured_rows.cpp"): "a column of a table" for name in ("model", "workers", "minibatch", "minibatch-per-worker")},
           ("model", "src/runs/training.hpp"): "whose text the parser checks for words of other programs"}


def describing(texts: dict[str, str]) -> dict[str, set[str]]:
    """The files that describe options of each name, and that define a constant for it."""
    constants = {name: value for text in texts.values() for name, value in CONSTANT.findall(text)}
    files: dict[str, set[str]] = {}
    for path, text in texts.items():
        for name, constant in DESCRIBES.findall(text):
            name = name or constants.get(constant.split("::")[-1], "")
            if name:
                files.setdefault(name, set()).add(path)
        for name in CONSTANT.findall(text):
            if name[1] in files or "-" in name[1]:
                files.setdefault(name[1], set()).add(path)
    return files


def names_elsewhere(texts: dict[str, str]) -> list[str]:
    """In files that do not describe the option."""
    found = []
    for name, files in describing(texts).items():
        dashes = "(?:--)?" if "-" in name else "--"
        whole = re.compile(rf'"{dashes}{name}=?(?:\{{\}})?"')
        for path, text in texts.items():
            if path in files or path.startswith(DICTIONARIES) or (name, path) in ALLOWED or ("-" not in name and path in COMMAND_LINES):
                continue
            for number, line in enumerate(text.splitlines(), 1):
                if whole.search(line) and not REFERS.search(line) and not line.lstrip().startswith("//") and "///<" not in line:
                    found.append(f"{path}:{number}: '{name}' is described in {', '.join(sorted(files))}; say there what is needed here")
    return found


def main() -> int:
    paths = [path for kind in ("*.[ch]pp", "*.def") for path in sorted((ROOT / "src").rglob(kind))]
    texts = {path.relative_to(ROOT).as_posix(): path.read_text() for path in paths}
    found = [f"{name}:{number}: describe the option in the struct that has it (core/options.hpp)"
             for name, text in texts.items() if name != ONLY_IN for number, line in enumerate(text.splitlines(), 1) if ADDS_TO_PARSER.search(line)]
    found += names_elsewhere(texts)
    print("\n".join(found) or f"{len(describing(texts))} names of options: no other file than that of its description has one")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
