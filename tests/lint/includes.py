#!/usr/bin/env python3
"""Holds the two tables of src/README.md: which module includes which, and where third-party headers live."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [p for folder in ("src", "sim", "tests") for p in (ROOT / folder).rglob("*") if p.suffix in {".hpp", ".cpp", ".cu"}]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def tables() -> tuple[dict[str, set[str]], dict[str, str]]:
    text = (ROOT / "src/README.md").read_text()
    section = text.split("## Who may include whom")[1].split("## Adding something")[0]
    rows = [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("|")]
    rows = [row for row in rows if not set(row[0]) <= {"-"}]
    second = next(i for i, row in enumerate(rows) if row == ["header", "folder or file"])
    modules = {name: {m.strip() for m in allowed.split(",") if m.strip()} for name, allowed in rows[1:second]}
    return modules, dict(rows[second + 1 :])


def module_of(path: Path) -> str | None:
    parts = path.relative_to(ROOT).parts
    if parts[0] == "sim":
        return "sim"
    return parts[1] if parts[0] == "src" else None


def check(path: Path, modules: dict[str, set[str]], homes: dict[str, str]) -> list[str]:
    mistakes = []
    module = module_of(path)
    where = path.relative_to(ROOT)
    if module is not None and module not in modules:
        return [f"{where}: the module '{module}' is not in the include table of src/README.md"]
    for _, header in INCLUDE.findall(path.read_text()):
        target = header.split("/")[0]
        if module is not None and target in modules and target != module and target not in modules[module]:
            mistakes.append(f"{where}: {module} may not include {header}")
        for third_party, home in homes.items():
            inside = header.startswith(third_party) if third_party.endswith("/") else header == third_party
            if inside and not any(where.is_relative_to(one) for one in home.split(", ")):
                mistakes.append(f"{where}: {header} belongs to {home} alone")
    return mistakes


def unclaimed_third_party(homes: dict[str, str], modules: dict[str, set[str]]) -> list[str]:
    """Headers of other projects (with a folder in their name, or .h and not the system's) that the table does not know."""
    system = re.compile(r"^(sys/|sanitizer/|[a-z_0-9]+$|(cxxabi|dirent|unistd|time|dlfcn|sched|fcntl|signal|stdlib|immintrin|cpuid|sched|poll|errno)\.h$)")
    mistakes = []
    for path in SOURCES:
        for bracket, header in INCLUDE.findall(path.read_text()):
            known = any(header.startswith(h) if h.endswith("/") else header == h for h in homes)
            if bracket == "<" and not known and not system.match(header):
                mistakes.append(f"{path.relative_to(ROOT)}: <{header}> is in no table of src/README.md")
    return mistakes


def main() -> int:
    modules, homes = tables()
    assert len(modules) > 8 and len(homes) > 5, "the tables of src/README.md were not understood"
    mistakes = [m for path in SOURCES for m in check(path, modules, homes)] + unclaimed_third_party(homes, modules)
    print("\n".join(mistakes) or f"{len(SOURCES)} files keep the include tables")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
