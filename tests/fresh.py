#!/usr/bin/env python3
"""Runs every command and snippet of README, src/python/README and notebooks/README, in order, as on a new machine: `make fresh`.

A fresh clone of HEAD, a new virtual environment, a new home, and in the PATH only programs of packages that src/setup/packages.sh asks for
or that Debian always has. What runs: blocks marked sh, shell (those that the test app_readme leaves out) and python, and the lines of
sessions that begin with $ or >>>. Commands run in the clone, sessions and Python elsewhere; x and y are drawn before a page's first Python.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "src/python/README.md", "notebooks/README.md")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ALWAYS = ("apt", "base-files", "bash", "coreutils", "git", "make", "sudo")
DATA = """import numpy
numpy.random.seed(1)
y = numpy.arange(4000) % 3
x = numpy.random.normal(size=(4000, 2)) + 2 * numpy.array([[1, 0], [0, 1], [-1, -1]])[y]
"""
TRAINING = 'pg.train(strategy=Averaging, data=(x, y), model="2-16-3", learning_rate=0.1, epochs=1, blocks=4)\n'
SERVERS = {"jupyter lab": "--no-browser --allow-root"}  # commands that run until they are ended: must still run after SERVES_S
SERVES_S = 30


def lines_of(*command: str) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def asked_for() -> list[str]:
    """What the set-up installs, with the optional packages."""
    text = (ROOT / "src/setup/packages.sh").read_text()
    lists = re.findall(r'packages="([^"]*)"', text)
    return sorted({word for words in lists for word in words.split() if not word.startswith("$")})


def allowed_packages() -> set[str]:
    standard = lines_of("dpkg-query", "-W", "-f=${Package} ${Essential} ${Priority}\n")
    base = [row.split()[0] for row in standard if {"yes", "required", "important"} & set(row.split()[1:])]
    tree = lines_of("apt-cache", "depends", "--recurse", "--installed", "--no-recommends", "--no-suggests", "--no-conflicts", "--no-breaks",
                    "--no-replaces", "--no-enhances", *base, *ALWAYS, *asked_for())
    return {line.split(":")[0] for line in tree if line and not line.startswith((" ", "<", "|"))}


def link_programs(folder: Path) -> None:
    """Of the packages that are installed by now."""
    folder.mkdir(exist_ok=True)
    installed = {row.split()[0] for row in lines_of("dpkg-query", "-W", "-f=${Package} ${Status}\n") if row.endswith("ok installed")}
    owned = set(lines_of("dpkg", "-L", *sorted(allowed_packages() & installed)))
    owned |= {f"/usr{path}" for path in owned if path.startswith(("/bin/", "/sbin/"))}  # merged folders
    for place in ("/usr/bin", "/usr/sbin", "/usr/local/bin"):
        for path in sorted(Path(place).iterdir()):
            if str(path) in owned or str(path.resolve()) in owned and str(path.readlink()).startswith("/etc/alternatives/"):
                if not (folder / path.name).exists():
                    (folder / path.name).symlink_to(path)


def steps_of(page: Path) -> list[tuple[str, str]]:
    """(language, text) in order."""
    steps = []
    for language, text in BLOCK.findall(page.read_text()):
        if language in ("sh", "shell", "python"):
            steps.append(("python" if language == "python" else "shell", text))
        elif re.match(r"(\$|>>>) ", text):
            steps += [("session", line[2:]) if line.startswith("$ ") else ("python", line[4:]) for line in text.splitlines()
                      if line.startswith(("$ ", ">>> "))]
    return steps


class Machine:
    def __init__(self, folder: Path) -> None:
        self.clone, self.folder = folder / "paragrad", folder
        subprocess.run(["git", "clone", "-q", ROOT, self.clone], check=True)
        (folder / "bin").mkdir()
        (folder / "bin/apt-get").write_text(f"#!/bin/sh\n/usr/bin/apt-get \"$@\" && exec {sys.executable} {__file__} --link {folder}/bin\n")
        (folder / "bin/apt-get").chmod(0o755)
        kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "LANG", "TERM", "http", "HTTP", "SSL"))}
        self.environment = kept | {"PATH": f"{folder}/venv/bin:{folder}/bin", "HOME": str(folder / "home")}
        (folder / "home").mkdir()
        self.elsewhere = folder / "elsewhere"  # where the installed package is what is imported
        self.elsewhere.mkdir()
        self.said = ""  # the page's Python so far

    def prepare(self, text: str) -> None:
        """What a user has by now: the programs of installed packages (apt-get adds those that it installs) and, for Python, an environment."""
        link_programs(self.folder / "bin")
        if re.search(r"\b(pip|python|paragrad)\b", text) and not (self.folder / "venv").exists():
            subprocess.run([self.folder / "bin/python3", "-m", "venv", self.folder / "venv"], check=True, env=self.environment)

    def shell(self, text: str, folder: Path | None = None) -> int:
        server = next((words for words in SERVERS if re.search(f"^{words}", text, re.MULTILINE)), "")
        if server:
            text = re.sub(f"^({server}.*)$", rf"timeout {SERVES_S} \1 {SERVERS[server]} || [ $? = 124 ]", text, flags=re.MULTILINE)
        folder = self.elsewhere if "script.py" in text else folder or self.clone
        return subprocess.run(["sh", "-exc", text], cwd=folder, env=self.environment).returncode

    def session(self, text: str) -> int:
        return self.shell(text, self.elsewhere)

    def python(self, text: str) -> int:
        """A page's snippets build on each other. A strategy is also written to script.py, with a training, for ranks to run."""
        self.said = (self.said or DATA) + text + "\n"
        (self.elsewhere / "snippets.py").write_text(self.said)
        if "class " in text:
            (self.elsewhere / "script.py").write_text(DATA + text + TRAINING)
        return subprocess.run(["python", "snippets.py"], cwd=self.elsewhere, env=self.environment).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skip", action="append", default=[], help="leave out the lines of shell that contain this text, such as 'make test'")
    parser.add_argument("--keep", action="store_true", help="keep the clone")
    parser.add_argument("--link", type=Path, help="only link the programs of installed packages into this folder")
    arguments = parser.parse_args()
    if arguments.link:
        link_programs(arguments.link)
        return 0
    folder = Path(tempfile.mkdtemp(prefix="paragrad-fresh-"))
    machine, failed = Machine(folder), []
    for page in PAGES:
        machine.said = ""
        for language, text in steps_of(machine.clone / page):
            left_out = [line for line in text.splitlines() if language != "python" and any(skipped in line for skipped in arguments.skip)]
            for line in left_out:
                print(f"LEFT OUT: {line}")
                text = text.replace(line + "\n", "")
            print(f"== {page}\n{text}", flush=True)
            begin = time.monotonic()
            machine.prepare(text)
            status = getattr(machine, language)(text)
            print(f"== exit status {status} after {time.monotonic() - begin:.0f} s", flush=True)
            if status:
                failed.append(f"{page}: {text.strip().splitlines()[0]}")
    if not arguments.keep:
        shutil.rmtree(folder, ignore_errors=True)
    print("\n".join(f"failed: {one}" for one in failed) or "every command and snippet ran")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
