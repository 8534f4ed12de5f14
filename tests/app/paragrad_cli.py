"""What the tests of the command line share: the program, a temporary folder with a small data file."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("PARAGRAD", str(ROOT / "build" / "paragrad"))
MPIEXEC = os.environ.get("PARAGRAD_MPIEXEC", "mpiexec")  # empty: there is none that starts ranks together
PLATFORM = str(ROOT / "sim/platforms/k40m-fdr.toml")


def run(*arguments: str, ranks: int = 0, timeout: float = 60, **more) -> subprocess.CompletedProcess:
    """The program with these arguments; ranks > 0: under mpiexec."""
    if ranks and not MPIEXEC:
        raise unittest.SkipTest("needs an MPI that starts ranks together")
    launcher = [MPIEXEC, "-n", str(ranks)] if ranks else []
    return subprocess.run([*launcher, PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=timeout, **more)


def run_with_peak(*arguments: str) -> tuple[int, int]:
    """The program's exit code, and the most memory that it had in bytes, with the pages of files that it mapped."""
    process = subprocess.Popen([PROGRAM, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, 1024 * usage.ru_maxrss


def working_ranks(out: Path, and_unguarded: bool = False) -> dict[int, int]:
    """Process of each rank of the run that writes into `out`; the other half of its processes guard them.

    and_unguarded: also of those that have no guard, or none yet."""
    parents, ranks = {}, {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str(out) not in (process / "cmdline").read_bytes().decode().split("\0"):
                continue
            if (process / "exe").resolve() != Path(PROGRAM).resolve():
                continue
            parents[int(process.name)] = int((process / "stat").read_text().rsplit(")", 1)[1].split()[1])
            environment = (process / "environ").read_bytes().decode().split("\0")
            ranks[int(process.name)] = int(next(e for e in environment if e.startswith("PMI_RANK=")).split("=")[1])
        except (OSError, StopIteration):
            pass  # it has ended meanwhile, or is no rank
    guards = set(parents.values())

    def is_rank(process: int) -> bool:
        if (parent := parents[process]) in parents:
            return parents[parent] not in parents  # or else it is the copy of a rank that tries to read a file
        return and_unguarded and process not in guards

    return {rank: process for process, rank in ranks.items() if is_rank(process)}


def help_commands(*above: str) -> list[str]:
    """The commands that the program, or a command of it, lists in its help."""
    return re.findall(r"^  ([a-z][a-z-]*) +\S", run(*above, "--help").stdout.partition("Examples:")[0], re.MULTILINE)


def without(words: list, option: str) -> list:
    """A command line without an option and its value."""
    if option not in words:
        return words
    at = words.index(option)
    return words[:at] + words[at + 2:]


def weights(result: subprocess.CompletedProcess) -> str:
    """The hash of the final weights that a training printed."""
    found = re.search(r"^weights sha256 ([0-9a-f]{64})$", result.stdout, re.MULTILINE)
    if result.returncode != 0 or not found:
        raise AssertionError(f"{result.args} ended with {result.returncode}\n{result.stdout}{result.stderr}")
    return found.group(1)


def outcome(result: subprocess.CompletedProcess, out: Path) -> tuple[str, list[dict]]:
    """What all worlds agree on of a training: its weights, and its records without times, but with messages and bytes."""
    records = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return weights(result), [{key: value for key, value in record.items() if not key.endswith("_s") and key != "exposed"} for record in records]


class FolderTest(unittest.TestCase):
    """A test case with a temporary folder (self.folder)."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(tempfile.mkdtemp(prefix="paragrad-"))

    @classmethod
    def tearDownClass(cls) -> None:
        shutil.rmtree(cls.folder)

    def new_folder(self) -> Path:
        return self.folder / f"run-{len(list(self.folder.glob('run-*')))}"

    def assert_refused(self, result: subprocess.CompletedProcess, *parts: str) -> None:
        """Exit code 2 and one line on stderr that holds all parts."""
        self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
        self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
        for part in parts:
            self.assertIn(part, result.stderr)


class CliTest(FolderTest):
    """And with a small generated task in it (self.data)."""

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.data = str(cls.folder / "task.h5")
        made = run("data", "generate", "--out", cls.data, "--samples", 500, "--valid", 60, "--test", 60, "--dim", 8, "--classes", 6,
                   "--sequence-length", 20)
        assert made.returncode == 0, made.stderr

    @property
    def task(self) -> list[str]:
        return ["--data", self.data, "--model", "8-12-6:sigmoid", "--learning-rate", "0.1", "--epochs", "2", "--blocks", "4",
                "--minibatch", "16", "--quiet"]

    def without_validation(self) -> Path:
        """A data file with training samples only."""
        path = self.folder / "no-validation.h5"
        run("data", "generate", "--out", path, "--samples", 200, "--valid", 0, "--test", 0, "--dim", 8, "--classes", 6).check_returncode()
        return path

    def outcome(self, *words, **more) -> tuple[str, list[dict]]:
        """Of the training with these words."""
        out = self.new_folder()
        return outcome(run(*words, "--out", out, **more), out)

    def simulate(self, workers: int, *arguments: str, **more) -> subprocess.CompletedProcess:
        return run("simulate", "--workers", workers, "--platform", PLATFORM, *self.task, *arguments, **more)
