#!/usr/bin/env python3
"""Compiles files by themselves, without the other files of their batch and without the precompiled header: each has to include what it uses.

Checked are the .cpp and .hpp files of src, sim and tests that have changed since the last commit that passed, and those whose project
headers, directly or not, have lost something since then: a header of a library, or a name that the file uses. Nothing else can break a file
that compiled. Of the others a twentieth is checked, drawn by the commit's hash. Commands come from compile_commands.json in the build folder.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from history import CACHE, ROOT, changed_since, git, last_passed

FOLDERS = ("src", "sim", "tests")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)
COMPILER = re.compile(r".*(\+\+|gcc|clang|(?<!c)cc)[-.\d]*")
OUTPUTS = ("-o", "-MF", "-MT", "-MQ", "-include")  # options followed by a file that this must not write or read
NAME = re.compile(r"[A-Za-z_]\w*")
NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', re.DOTALL)  # comments and strings
UNWANTED = re.compile(r"-c|-M[DMP]*|-Winvalid-pch|-fpch-preprocess|-g\d?|-O\w|-fsanitize=.*")
DRAWN = 20


def files_of_project() -> list[Path]:
    """With those that are new and not yet added."""
    names = git("ls-files", "--cached", "--others", "--exclude-standard", *FOLDERS).splitlines()
    return sorted({ROOT / name for name in names if name.endswith((".cpp", ".hpp")) and (ROOT / name).exists()})


class Includes:
    """Which files of the project, and of those that CMake generates, a file includes: directly or not; and what it sees through them."""

    def __init__(self, build: Path, root: Path = ROOT) -> None:
        self.roots = [root / "src", root, root / "tests", build / "include"]

    @functools.cache
    def of(self, path: Path) -> tuple[Path, ...]:
        found = (self.resolved(path, name, quote) for quote, name in INCLUDE.findall(path.read_text()))
        return tuple(dict.fromkeys(file for file in found if file))

    def resolved(self, path: Path, name: str, quote: str) -> Path | None:
        folders = [path.parent, *self.roots] if quote == '"' else self.roots
        return next((folder / name for folder in folders if (folder / name).is_file()), None)

    def all_of(self, path: Path) -> set[Path]:
        seen, left = {path}, [path]
        while left:
            left += (new := set(self.of(left.pop())) - seen)
            seen |= new
        return seen

    @functools.cache
    def names(self, path: Path) -> frozenset[str]:
        return frozenset(NAME.findall(NO_CODE.sub(" ", path.read_text())))

    @functools.cache
    def libraries(self, path: Path) -> frozenset[str]:
        return frozenset(name for quote, name in INCLUDE.findall(path.read_text()) if quote == "<")

    def seen_by(self, path: Path) -> tuple[set[str], set[str]]:
        """Names of the project's headers that it includes, and the headers of libraries."""
        files = self.all_of(path)
        return set().union(*(self.names(file) for file in files - {path})), set().union(*(self.libraries(file) for file in files))


class Commands:
    """How the build compiles a file, without what batches and precompiled headers add."""

    def __init__(self, build: Path) -> None:
        self.of_folder: dict[Path, tuple[str, list[str]]] = {}
        self.of_file: dict[Path, tuple[str, list[str]]] = {}
        for entry in json.loads((build / "compile_commands.json").read_text()):
            source = Path(entry["directory"], entry["file"])
            batch = [Path(name) for _, name in INCLUDE.findall(source.read_text())] if "/Unity/" in entry["file"] else [source]
            command = entry["directory"], self.cleaned(shlex.split(entry["command"]), entry["file"])
            for file in batch:
                if file.suffix == ".cpp" and file.is_relative_to(ROOT):
                    self.of_file.setdefault(file, command)
                    self.of_folder.setdefault(file.parent, command)

    @staticmethod
    def cleaned(arguments: list[str], file: str) -> list[str]:
        compiler = next(i for i, word in enumerate(arguments) if COMPILER.fullmatch(Path(word).name))
        kept, words = [], iter(arguments[compiler:])
        for word in words:
            if word in OUTPUTS:
                next(words)
            elif word != file and not UNWANTED.fullmatch(word):
                kept.append(word)
        return [*kept, "-fsyntax-only", "-w"]

    def of(self, path: Path) -> tuple[str, list[str]] | None:
        """A .cpp that is not part of this build is compiled as those next to it, a header as those in the nearest folder, above or below."""
        if path in self.of_file or path.suffix == ".cpp":
            return self.of_file.get(path, self.of_folder.get(path.parent))
        for folder in path.parents[: len(path.relative_to(ROOT).parts) - 1]:
            near = [folder, *sorted(one for one in self.of_folder if one.is_relative_to(folder))]
            if found := next((self.of_folder[one] for one in near if one in self.of_folder), None):
                return found
        return None


def is_drawn(path: Path, commit: str) -> bool:
    return int(hashlib.sha256(f"{commit} {path.relative_to(ROOT)}".encode()).hexdigest(), 16) % DRAWN == 0


def without_covered(files: set[Path], includes: Includes) -> set[Path]:
    """A header that a .cpp of the same name includes first has compiled by itself if this .cpp has: it takes its place."""
    left = set()
    for file in files:
        source = file.with_suffix(".cpp")
        covered = file.suffix == ".hpp" and source.is_file() and includes.of(source)[:1] == (file,) and first_include_is_quoted(source)
        left.add(source if covered else file)
    return left


def first_include_is_quoted(source: Path) -> bool:
    return (first := INCLUDE.search(source.read_text())) is not None and first[1] == '"'


class Passed:
    """Remembers what has compiled, by content: the file and all that it includes of the project, the command, and the system's packages."""

    def __init__(self, includes: Includes) -> None:
        self.folder, self.includes = CACHE / "alone", includes
        self.folder.mkdir(parents=True, exist_ok=True)
        self.system = b"".join(subprocess.run(command, capture_output=True).stdout for command in (["c++", "--version"], ["dpkg-query", "-W"])
                               if shutil.which(command[0]))
        tools = ROOT / "src/setup/python_tools.txt"
        self.system += tools.read_bytes() if tools.exists() else b""

    def key(self, path: Path, command: list[str]) -> str:
        digest = hashlib.sha256(self.system + " ".join(command).encode())
        for file in sorted(self.includes.all_of(path)):
            digest.update(hashlib.sha256(file.read_bytes()).digest())
        return digest.hexdigest()

    def knows(self, key: str) -> bool:
        return (self.folder / key).exists()

    def add(self, key: str) -> None:
        (self.folder / key).touch()


def lacks_a_library(error: str) -> bool:
    """Whether a header in angle brackets is missing: of a library that this machine lacks, such as CUDA."""
    return (missing := re.search(r"fatal error: (\S+): No such file", error)) is not None and f"<{missing[1]}>" in error


def complaint(path: Path, commands: Commands) -> str:
    """Empty if the file compiles."""
    directory, command = commands.of(path)
    given = [str(path)] if path.suffix == ".cpp" else ["-x", "c++", "-include", str(path), os.devnull]
    done = subprocess.run([*command, *given], cwd=directory, capture_output=True, text=True)
    if done.returncode == 0:
        return ""
    if lacks_a_library(done.stderr):
        return f"LEFT OUT: {path.relative_to(ROOT)} needs a library that is not installed"
    errors = [line for line in done.stderr.splitlines() if "error:" in line] or done.stderr.splitlines()
    return f"{path.relative_to(ROOT)} does not compile by itself:\n  " + "\n  ".join(errors[:3])


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, help="build folder")
    parser.add_argument("--all", action="store_true", help="check all files")
    parser.add_argument("--since", default="", help="commit (default: the last one that is known to have passed, tests/history.py)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--list", action="store_true", help="print the files that would be checked")
    return parser.parse_args()


def suspected(since: str, files: list[Path], includes: Includes, build: Path) -> set[Path]:
    """Files that may no longer compile: they have changed, or what they include has lost a library's header, or a name that they use."""
    changed = changed_since(since)
    with tempfile.TemporaryDirectory(prefix="paragrad-alone-") as folder:
        archive = subprocess.run(["git", "archive", since], cwd=ROOT, capture_output=True, check=True)
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        before = Includes(build, Path(folder))

        def has_lost(file: Path) -> bool:
            old_names, old_libraries = before.seen_by(Path(folder) / file.relative_to(ROOT))
            names, libraries = includes.seen_by(file)
            return bool(old_libraries - libraries or (old_names - names) & includes.names(file))

        return {file for file in files if file in changed or (includes.all_of(file) & changed and has_lost(file))}


def selected(arguments: argparse.Namespace, files: list[Path], includes: Includes) -> tuple[set[Path], str]:
    since = "" if arguments.all else arguments.since or last_passed()
    if not since:
        return set(files), "all files"
    commit, suspects = git("rev-parse", "HEAD"), suspected(since, files, includes, arguments.build.resolve())
    drawn = {file for file in files if file not in suspects and is_drawn(file, commit)}
    return suspects | drawn, f"{len(suspects)} that have changed since {since[:8]} or whose headers have lost a name, and {len(drawn)} drawn"


def main() -> int:
    arguments = parse()
    build = arguments.build.resolve()
    if not (build / "compile_commands.json").exists():
        print(f"alone: {arguments.build} has no compile_commands.json: run make build first", file=sys.stderr)
        return 2
    begin, files, includes, commands = time.monotonic(), files_of_project(), Includes(build), Commands(build)
    wanted, why = selected(arguments, files, includes)
    wanted = without_covered(wanted, includes)
    left_out = sorted(file for file in wanted if commands.of(file) is None)
    chosen = sorted(wanted - set(left_out))
    if arguments.list:
        print("\n".join(str(file.relative_to(ROOT)) for file in chosen))
        return 0
    passed = Passed(includes)
    keys = {file: passed.key(file, commands.of(file)[1]) for file in chosen}
    new = [file for file in chosen if arguments.all or not passed.knows(keys[file])]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        complaint_of = dict(zip(new, pool.map(lambda file: complaint(file, commands), new)))
    for file in new:
        if not complaint_of[file]:
            passed.add(keys[file])
    said = sorted(filter(None, complaint_of.values()))
    complaints = [text for text in said if not text.startswith("LEFT OUT")]
    print("".join(f"{text}\n" for text in said), end="")
    print("".join(f"LEFT OUT: nothing near {file.relative_to(ROOT)} is part of this build\n" for file in left_out), end="")
    known = f"; {len(chosen) - len(new)} were known to" if len(new) < len(chosen) else ""
    print(f"{len(chosen) - len(said)} of {len(chosen)} files compile by themselves{known} ({why}; {time.monotonic() - begin:.0f} s)")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
