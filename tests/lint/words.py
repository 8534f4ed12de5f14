#!/usr/bin/env python3
"""Retired words stay retired, no two headers share a name unless they are one concept per device, and only the application names flags.

A retired word may stand in CHANGELOG.md, in a row of the glossary of src/README.md, and where a source is quoted (in “…” or in
"…" of prose)."""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RETIRED = {
    r"sweeps?\b": "epoch",
    r"(?-i:[Vv]irtual[ _-](?:time|clock|seconds?|s))\b": "simulated time",
    r"model[-_]parallel\b": "tensor_parallel",
    r"split replicas?\b": "tensor parallelism",
    r"src/dist\b": "src/strategies",
    r"conveyors?\b": "copy stream",
    r"played gpus?\b": "fake GPU",
    r"device apart\b": "isolated device",
    r"take_seat\b|seats?\b": "rank, role",
    r"taken? up again\b": "resume",
    r"learn(?:s|ed)? by heart\b": "overfit",
    r"for ever\b": "forever",
}
PATTERN = re.compile("|".join(rf"(?<![a-z]){word}" for word in RETIRED), re.IGNORECASE)
QUOTED = re.compile(r"“[^”]*”|\"[^\"]*\"(?=[^\"]*(?:$|\())")
NOT_OURS = re.compile(r"^(CHANGELOG\.md|tests/lint/words\.py|tests/(data|app/cntk|speech/goldens)/)|\.(h5|svg|png)$")


def replacement(word: str) -> str:
    return next(new for old, new in RETIRED.items() if re.fullmatch(old, word, re.IGNORECASE))


def retired_words(path: str) -> list[str]:
    try:
        lines = (ROOT / path).read_text().splitlines()
    except UnicodeDecodeError:
        return []
    prose = path.endswith(".md")
    found = []
    in_glossary = False
    for number, line in enumerate(lines, 1):
        if line.startswith("#") and path == "src/README.md":
            in_glossary = "Glossary" in line
        if in_glossary and line.startswith("|"):
            continue
        for match in PATTERN.finditer(QUOTED.sub("", line) if prose else line):
            found.append(f"{path}:{number}: '{match[0]}' is retired: {replacement(match[0])}")
    return found


def flags(paths: list[str]) -> list[str]:
    """Library code knows no command line: its messages name options in backquotes."""
    sources = [p for p in paths if re.match(r"(src|sim)/(?!(app|cli|predict|runs|search|worlds)/).*\.(cpp|hpp|cu)$", p)]
    return [f"{path}:{number}: a library's string names the flag {found[1]}"
            for path in sources for number, line in enumerate((ROOT / path).read_text().splitlines(), 1)
            if not line.lstrip().startswith("//") and (found := re.search(r'"[^"]*(?<![a-z])(--[a-z][a-z-]*)[^"]*"', line))]


def shared_names(paths: list[str]) -> list[str]:
    of_name = defaultdict(list)
    for path in paths:
        if re.match(r"(src|sim)/.*\.hpp$", path) and not re.match(r"src/backend/\w+/", path):
            of_name[Path(path).name].append(path)
    return [f"two headers are called {name}: {', '.join(at)}" for name, at in of_name.items() if len(at) > 1]


def main() -> int:
    paths = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=True).stdout.split("\n")
    ours = [path for path in paths if path and not NOT_OURS.search(path) and (ROOT / path).is_file()]
    mistakes = [mistake for path in ours for mistake in retired_words(path)] + shared_names(ours) + flags(ours)
    print("\n".join(mistakes) or f"{len(ours)} files keep to the words")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
