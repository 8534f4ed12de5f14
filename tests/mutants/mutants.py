#!/usr/bin/env python3
"""Puts subtle faults into the code, one at a time, and says which of them no test notices.

    mutants.py [--files src/optim sim/network] [-n 40] [--seed 1] [--jobs 2]

Lines are drawn uniformly from the committed files, covered by tests or not; mutations.py says what may happen to a line. A mutant that
does not compile is replaced by the next one, and one that leaves every program's bytes as they were is equivalent. The tests of the
mutant's folder and of those that use it judge the others (areas.toml). Results are kept in build-mutants: a second call with the same
commit, files and seed continues. equivalent.toml holds the mutants of which somebody has shown that they change nothing.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import queue
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from mutations import SHARES, mutants

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PLACE = ROOT / "build-mutants"
AREAS = tomllib.loads((HERE / "areas.toml").read_text())["areas"]
SURVIVOR_S = 300.0  # of application tests that a mutant may survive
OPTIONS = ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1", "-DPARAGRAD_BATCH=4"]  # quick to compile again


@dataclass(frozen=True)
class Mutant:
    number: int
    file: str
    line: int  # from 1
    kind: str
    before: str
    after: str

    @property
    def area(self) -> str:
        return next(area for area in AREAS if self.file.startswith(f"{area}/"))

    @property
    def key(self) -> tuple[str, str, str]:
        """As equivalent.toml names it."""
        return self.file, self.before.strip(), self.after.strip()

    def diff(self) -> str:
        return f"{self.file}:{self.line} ({self.kind})\n  - {self.before.strip()}\n  + {self.after.strip()}"


def lines_of(files: list[str], commit: str) -> list[tuple[str, int, str]]:
    names = subprocess.run(["git", "ls-tree", "-r", "--name-only", commit, *files], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = []
    for name in names.splitlines():
        if name.endswith((".cpp", ".hpp")) and any(name.startswith(f"{area}/") for area in AREAS):
            text = subprocess.run(["git", "show", f"{commit}:{name}"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
            found += [(name, place, line) for place, line in enumerate(text.splitlines(), 1)]
    return found


def drawn(lines: list[tuple[str, int, str]], seed: int):
    """All mutants, in an order in which every twenty have the shares of the kinds as far as the files have them."""
    random_numbers = random.Random(seed)
    candidates = {kind: [line for line in lines if mutants(line[2], kind)] for kind in SHARES}
    seen, number = set(), 0
    while any(candidates.values()):
        kinds = [kind for kind, share in SHARES.items() for _ in range(share)]
        random_numbers.shuffle(kinds)
        for kind in kinds:
            while candidates[kind]:
                file, place, before = line = random_numbers.choice(candidates[kind])
                if new := [after for after in mutants(before, kind) if (file, place, after) not in seen]:
                    after = random_numbers.choice(new)
                    seen.add((file, place, after))
                    number += 1
                    yield Mutant(number, file, place, kind, before, after)
                    break
                candidates[kind].remove(line)


class Tests:
    """The tests of a build folder as ctest knows them once their programs are built, and how long each takes on the code as it is."""

    def __init__(self, build: Path) -> None:
        listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True).stdout
        self.build, self.seconds = build, {}
        self.commands = {test["name"]: test["command"] for test in json.loads(listed)["tests"] if "command" in test}
        self.environment = {test["name"]: dict(one.split("=", 1) for value in test.get("properties", []) if value["name"] == "ENVIRONMENT"
                                               for one in value["value"]) for test in json.loads(listed)["tests"]}

    def of(self, kind: str, names: list[str]) -> list[str]:
        if kind == "unit":
            return [f"unit_{name}" for name in names if f"unit_{name}" in self.commands]
        ranks = {name.removeprefix("mpi_") for name in names if name.startswith("mpi_")}
        return [test for test in [*names, *self.commands] if test in self.commands
                and (test in names or test.startswith("mpi_") and test.rpartition("_")[2] in ranks)]

    def limit_s(self, name: str) -> float:
        return max(30.0, 5 * self.seconds[name]) if name in self.seconds else 900.0

    def passes(self, name: str) -> tuple[bool, str]:
        """Whether a test passes; if not, why."""
        command = self.commands[name] + (["--abort"] if name.startswith("unit_") else [])
        with tempfile.TemporaryDirectory(prefix="paragrad-mutant-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
            process = subprocess.Popen(command, cwd=self.build, env=os.environ | self.environment[name] | {"TMPDIR": folder}, start_new_session=True,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                code = process.wait(self.limit_s(name))
                return code == 0, "" if code == 0 else name
            except subprocess.TimeoutExpired:
                return False, f"{name} (above its limit of {self.limit_s(name):.0f} s)"
            finally:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                process.wait()


class Workshop:
    """A copy of the tree with a build of its own, in which one mutant at a time is compiled and tested."""

    def __init__(self, place: Path, commit: str) -> None:
        self.tree, self.build, self.jobs = place / "tree", place / "tree/build", os.cpu_count() or 1
        if not (self.tree / ".git").exists():
            subprocess.run(["git", "clone", "-q", "--shared", "--no-checkout", ROOT, self.tree], check=True)
        subprocess.run(["git", "checkout", "-qf", "--detach", commit], cwd=self.tree, check=True)
        if (shared := ROOT.parent / "shared").exists() and not (place / "shared").exists():
            (place / "shared").symlink_to(shared)
        self.environment = os.environ | {"CCACHE_BASEDIR": str(self.tree), "CCACHE_NOHASHDIR": "1"}
        subprocess.run(["cmake", "--log-level=ERROR", "-S", self.tree, "-B", self.build, "-G", "Ninja", *OPTIONS], check=True,
                       env=self.environment, stdout=subprocess.DEVNULL)
        self.hashes: dict[str, str] = {}

    def make(self, *targets: str) -> bool:
        return subprocess.run(["ninja", "-C", self.build, f"-j{self.jobs}", *targets], env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0

    def hash_of(self, test: str) -> str:
        return hashlib.sha256((self.build / self.program(test)).read_bytes()).hexdigest()

    @staticmethod
    def program(test: str) -> str:
        if test.startswith("unit_"):
            return f"tests/test_{test[5:]}"
        return f"tests/mpi/{test[:test.rindex('_')]}" if test.startswith("mpi_") else "paragrad"

    @staticmethod
    def target(test: str) -> str:
        return Workshop.program(test).rsplit("/", maxsplit=1)[-1]


def programs(areas: set[str]) -> set[str]:
    """Targets of the programs that the tests of these areas run."""
    names = {f"test_{name}" for area in areas for name in AREAS[area]["unit"]} | {"paragrad"}
    mpi = {"mpi_collectives", "mpi_tasks", "mpi_windows"}
    return names | (mpi if any(name.startswith("mpi_") for area in areas for name in AREAS[area]["app"]) else set())


def used(tests: Tests, areas: set[str]) -> list[str]:
    return list(dict.fromkeys(name for area in AREAS if area in areas for kind in ("unit", "app") for name in tests.of(kind, AREAS[area][kind])))


def judged(mutant: Mutant, shop: Workshop, tests: Tests) -> tuple[str, str]:
    """refused, equivalent, killed or survived, and by what."""
    path = shop.tree / mutant.file
    whole = path.read_text()
    lines = whole.split("\n")
    lines[mutant.line - 1] = mutant.after
    path.write_text("\n".join(lines))
    try:
        changed, left_s = False, SURVIVOR_S
        for test in used(tests, {mutant.area}):
            if not shop.make(shop.target(test)):
                return ("refused", "") if not changed else ("killed", f"{shop.target(test)} does not compile")
            if test not in tests.seconds or shop.hash_of(test) == shop.hashes[test]:
                continue
            changed = True
            if not test.startswith("unit_"):
                if tests.seconds[test] > left_s:
                    continue
                left_s -= tests.seconds[test]
            passed, why = tests.passes(test)
            if not passed:
                return "killed", why
        return ("survived", "") if changed else ("equivalent", "the programs' bytes are the same")
    finally:
        path.write_text(whole)


def argued() -> dict[tuple[str, str, str], str]:
    file = HERE / "equivalent.toml"
    entries = tomllib.loads(file.read_text()).get("mutant", []) if file.exists() else []
    return {(entry["file"], entry["before"], entry["after"]): entry["why"] for entry in entries}


@dataclass(frozen=True)
class Judgement:
    mutant: Mutant
    verdict: str  # refused (it does not compile), equivalent, killed or survived
    by: str = ""
    seconds: float = 0


class Results:
    """A line per mutant in a file that a second call reads."""

    def __init__(self, path: Path) -> None:
        self.path, self.lock, self.known = path, threading.Lock(), {}
        whole = path.read_text().rpartition("\n")[0] if path.exists() else ""  # a killed process may have written half a line
        for line in whole.splitlines():
            self.keep(Judgement(**(entry := json.loads(line)) | {"mutant": Mutant(**entry["mutant"])}))
        path.write_text(whole and whole + "\n")

    def keep(self, judgement: Judgement) -> None:
        self.known[judgement.mutant.number] = judgement

    def add(self, mutant: Mutant, verdict: str, by: str, seconds: float) -> None:
        with self.lock, self.path.open("a") as file:
            judgement = Judgement(mutant, verdict, by, round(seconds, 1))
            self.keep(judgement)
            file.write(json.dumps(asdict(judgement)) + "\n")
            print(f"{mutant.number:4d} {verdict:10s} {mutant.file}:{mutant.line} ({mutant.kind}) {by}", flush=True)

    def first(self, count: int) -> list[Judgement]:
        """Those of the first mutants that compile, without gaps; "argued" if somebody has shown that the mutant changes nothing."""
        equivalent = argued()
        tried = itertools.takewhile(lambda one: one is not None, map(self.known.get, itertools.count(1)))
        compiled = itertools.islice((one for one in tried if one.verdict != "refused"), count)
        return [replace(one, verdict="argued") if one.verdict == "survived" and one.mutant.key in equivalent else one for one in compiled]


def table(judgements: list[Judgement]) -> str:
    counts: dict[str, Counter] = {}
    for one in judgements:
        counts.setdefault(one.mutant.area, Counter())[one.verdict] += 1
    rows = ["| folder | mutants | killed | survived | equivalent: same code | argued | score |", "|---|---|---|---|---|---|---|"]
    for area, of in [*sorted(counts.items()), ("all", sum(counts.values(), Counter()))]:
        real = of["killed"] + of["survived"]
        score = f"{100 * of['killed'] / real:.0f} %" if real else "–"
        rows.append(f"| {area} | {sum(of.values())} | {of['killed']} | {of['survived']} | {of['equivalent']} | {of['argued']} | {score} |")
    return "\n".join(rows)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", nargs="*", default=[area for area in AREAS if "asked" not in AREAS[area]],
                        help="files or folders (default: areas.toml)")
    parser.add_argument("-n", type=int, default=40, help="mutants that compile (default: 40)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants at a time, each in a tree of its own")
    parser.add_argument("--list", action="store_true", help="print the mutants that would be tried")
    return parser.parse_args()


def main() -> int:
    arguments = parse()
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    lines = lines_of(arguments.files, commit)
    if not lines:
        print(f"mutants: {' '.join(arguments.files)} names no committed .cpp or .hpp of {', '.join(AREAS)}", file=sys.stderr)
        return 2
    sequence = drawn(lines, arguments.seed)
    if arguments.list:
        print("\n".join(mutant.diff() for mutant in itertools.islice(sequence, arguments.n)))
        return 0
    PLACE.mkdir(exist_ok=True)
    key = hashlib.sha256(" ".join([commit, *arguments.files, str(arguments.seed)]).encode()).hexdigest()[:8]
    results = Results(PLACE / f"results-{commit[:8]}-{arguments.seed}-{key}.jsonl")
    if len(results.first(arguments.n)) < arguments.n:
        run(arguments, commit, sequence, results)
    judgements = results.first(arguments.n)
    print(f"\n{table(judgements)}\n\nCommit {commit[:8]}, seed {arguments.seed}. Survivors:\n")
    print("\n".join(one.mutant.diff() for one in judgements if one.verdict == "survived") or "none")
    return 0


def run(arguments: argparse.Namespace, commit: str, sequence, results: Results) -> None:
    shops = [Workshop(PLACE / f"shop-{number}", commit) for number in range(arguments.jobs)]
    areas = {area for area in AREAS for file in arguments.files if file.startswith(area) or area.startswith(file)}
    print("compiling the code as it is", flush=True)
    for shop in shops:
        if not shop.make(*programs(areas)):
            sys.exit(f"{shop.tree}: the code does not compile as it is")
        shop.jobs = 1
    tests = Tests(shops[0].build)
    needed = used(tests, areas)
    print(f"running its {len(needed)} tests", flush=True)
    hashes = {test: shops[0].hash_of(test) for test in needed}
    for test in needed:
        begin = time.monotonic()
        passed, _ = tests.passes(test)
        if passed:
            tests.seconds[test] = time.monotonic() - begin
        else:
            print(f"LEFT OUT: {test} fails on the code as it is", flush=True)
    work: queue.Queue[Mutant] = queue.Queue(arguments.jobs)
    enough = threading.Event()

    def labour(shop: Workshop) -> None:
        own = Tests(shop.build)
        own.seconds = tests.seconds
        shop.hashes = hashes if shop is shops[0] else {test: shop.hash_of(test) for test in needed}
        while (mutant := work.get()) is not None:
            begin = time.monotonic()
            verdict, by = judged(mutant, shop, own)
            results.add(mutant, verdict, by, time.monotonic() - begin)
            if len(results.first(arguments.n)) >= arguments.n:
                enough.set()

    threads = [threading.Thread(target=labour, args=(shop,), daemon=True) for shop in shops]
    for thread in threads:
        thread.start()
    for mutant in sequence:
        if enough.is_set():
            break
        if mutant.number not in results.known:
            work.put(mutant)
    for _ in threads:
        work.put(None)
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    sys.exit(main())
