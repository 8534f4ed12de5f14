#!/usr/bin/env python3
"""The queue records what is missing or stale; killed at any moment it loses nothing, records nothing twice and ends in the same values."""

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "notebooks"))

import toy  # noqa: E402

KILLS, EPOCHS = 10, 300
CONFIG = """
baseline = "sgd"

[options]
platform = "sim/platforms/k40m-fdr.toml"
model = "8-12-6:sigmoid"
learning-rate = 0.1
minibatch = 16
blocks = 4
epochs = {epochs}

[size.full]
seeds = [1, 2]

[[data]]
name = "toy"
file = "data/toy.h5"

[[data]]
name = "made"
file = "data/made.h5"

[[run]]
name = "sgd"
strategy = "sgd"
workers = 1
checkpoint-every = {every}

[[run]]
name = "ma-{{workers}}"
strategy = "model_averaging"
each = {{ workers = [2, 4] }}

[[run]]
name = "sync-2"
strategy = "data_parallel"
workers = 2
checkpoint-every = {every}

[[claim]]
text = "two workers lose nothing"
stated = "before"
data = ["made"]
left = "ma-2.test_error"
op = "<="
right = "sgd.test_error"

[[repeats]]
metric = "test_error"
absolute = 0
"""
# Notes every run, and each that begins while the same one is running.
PROGRAM = """#!/bin/sh
for word; do case "$word" in --out=*)
  name=$(echo "${{word#--out=}}" | tr / _)
  exec 9> "{folder}/locks/$name"
  flock -n 9 || echo "$name" >> "{folder}/collisions"
  echo "$name $*" >> "{folder}/calls"
  case "$*" in {refused}) {end};; esac;;
esac; done
exec {program} "$@"
"""


class Queue(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="paragrad-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.build("copy", epochs=2)

    def build(self, name: str, epochs: int) -> None:
        """A repository with one experiment whose second data set is made by its recipe."""
        self.root = toy.build(self.folder / name)
        self.experiment = self.root / "experiments/toy"
        self.config = self.experiment / "config.toml"
        self.expected_file = self.experiment / "expected.json"
        for left in ("expected.json", "published.csv", "claims.lock"):
            (self.experiment / left).unlink()
        self.config.write_text(CONFIG.format(epochs=epochs, every=max(epochs // 3, 1)))
        toy.make_data(self.root)
        recipe = self.root / "data/made.sh"
        recipe.write_text("#!/bin/sh\ncp data/toy.h5 data/made.h5.new && mv data/made.h5.new data/made.h5\n")
        recipe.chmod(0o755)
        (self.root / ".gitignore").write_text("__pycache__/\n/data/*.h5\n/experiments/*/runs/\n")
        self.harness("lock", "toy")
        self.git("init", "--quiet")
        self.git("config", "user.name", "x")
        self.git("config", "user.email", "x@y")
        self.commit("claims")

    def git(self, *words: str) -> str:
        return subprocess.run(["git", "-C", self.root, *words], check=True, capture_output=True, text=True).stdout

    def commit(self, subject: str) -> None:
        self.git("add", "-A")
        self.git("commit", "--quiet", "-m", subject)

    def program(self, refused: str = "'nothing'", end: str = 'echo "error: refused" >&2; exit 2') -> Path:
        """refused: a shell pattern of the arguments of runs that fail."""
        path = self.folder / "program"
        (self.folder / "locks").mkdir(exist_ok=True)
        path.write_text(PROGRAM.format(folder=self.folder, program=toy.PROGRAM, refused=refused, end=end))
        path.chmod(0o755)
        return path

    def command(self, *words: str, **failing: str) -> list:
        return [sys.executable, self.root / "experiments/harness", "--program", self.program(**failing), "--jobs", "2", *words]

    def harness(self, *words: str, status: int = 0, **failing: str) -> str:
        done = subprocess.run(self.command(*words, **failing), capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def calls(self) -> list[str]:
        """The runs that were begun since the last call."""
        path = self.folder / "calls"
        found = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return found

    def expected(self) -> dict:
        return json.loads(self.expected_file.read_text())["full"] if self.expected_file.exists() else {}

    def values(self) -> dict:
        """What is recorded, without costs, which differ from time to time."""
        return {(data, run, seed): {key: value for key, value in values.items() if key not in ("core_s", "at_least")}
                for data, runs in self.expected().items() for run, seeds in runs.items() for seed, values in seeds.items()}

    def write_expected(self, full: dict) -> None:
        self.expected_file.write_text(json.dumps({"full": full}, indent=1, sort_keys=True) + "\n")

    def change(self, old: str, new: str) -> None:
        self.assertIn(old, self.config.read_text())
        self.config.write_text(self.config.read_text().replace(old, new, 1))

    def history(self) -> list[dict]:
        """What expected.json recorded in each commit, oldest first."""
        commits = self.git("log", "--reverse", "--format=%H", "--", "experiments/toy/expected.json").split()
        found = [json.loads(self.git("show", f"{commit}:experiments/toy/expected.json"))["full"] for commit in commits]
        return [{(data, run, seed): values for data, runs in one.items() for run, seeds in runs.items() for seed, values in seeds.items()}
                for one in found]

    def test_killed_ten_times_it_loses_nothing_and_records_nothing_twice(self):
        self.build("undisturbed", epochs=EPOCHS)
        idle_s = self.seconds_of("queue", "--list")
        whole_s = self.seconds_of("queue", "--core-hours", "9") - idle_s
        undisturbed = self.values()
        self.assertEqual(len(undisturbed), 16)
        for parts in (8, 16, 32):  # the machine may be faster now than when the undisturbed queue ran
            self.build(f"killed-{parts}", epochs=EPOCHS)
            killed = self.kill_often(0.5 * idle_s, idle_s + whole_s / parts)
            if len(killed) == KILLS:
                break
        self.harness("queue", "--core-hours", "9")
        self.assertEqual(len(killed), KILLS, "the queue was over too early")
        self.assertEqual(self.values(), undisturbed)
        self.assertFalse((self.folder / "collisions").exists())
        before: dict = {}
        for now in self.history():
            self.assertGreater(now.keys(), before.keys())
            self.assertEqual({key: now[key] for key in before}, before, "a run was recorded twice")  # with its costs
            before = now
        self.assertEqual(len(before), 16)
        self.assertEqual(self.git("status", "--porcelain"), "")
        self.calls()
        self.assertIn("0 runs to record", self.harness("queue"))
        self.assertEqual(self.calls(), [])

    def kill_often(self, least_s: float, most_s: float) -> list[str]:
        """Kills the queue after a while, again and again; what was killed, less often if the queue is over before."""
        killed: list[str] = []
        while len(killed) < KILLS:
            process = subprocess.Popen(self.command("queue", "--core-hours", "9"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       start_new_session=True)
            time.sleep(random.uniform(least_s, most_s))
            if process.poll() is not None:
                break
            killed.append(self.kill(process, ("harness", "group", "run")[len(killed) % 3]))
        return killed

    def seconds_of(self, *words: str) -> float:
        begin = time.monotonic()
        self.harness(*words)
        return time.monotonic() - begin

    def kill(self, process: subprocess.Popen, what: str) -> str:
        """The harness alone, whose runs go on; with all its runs; or one of its runs, and then the others."""
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            if what == "harness":
                process.kill()
            elif what == "run":
                found = subprocess.run(["pgrep", "-P", str(process.pid), "-f", "--", "--out="], capture_output=True, text=True).stdout.split()
                if found:
                    os.kill(int(found[0]), signal.SIGKILL)
                    time.sleep(0.2)
        if what != "harness":
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return what

    def test_what_is_recorded_and_not_committed_is_committed_at_the_next_start(self):
        self.harness("queue")
        self.git("reset", "--quiet", "--soft", "HEAD~1")
        self.git("restore", "--staged", "experiments/toy/expected.json")
        self.assertNotEqual(self.git("status", "--porcelain"), "")
        (self.experiment / "runs/uncommitted").write_text("toy sgd seed 1\n")
        (self.root / "other.txt").write_text("not the queue's")
        self.git("add", "other.txt")
        self.harness("queue")
        self.assertEqual(self.git("log", "-1", "--format=%s").strip(), "toy: record toy sgd seed 1")
        self.assertEqual(self.git("show", "--stat", "--format=", "--name-only").split(), ["experiments/toy/expected.json"])
        self.assertEqual(self.git("status", "--porcelain"), "A  other.txt\n")

    def test_while_gits_index_is_locked_it_records_and_commits_later(self):
        lock = self.root / ".git/index.lock"
        lock.touch()
        process = subprocess.Popen(self.command("queue"), stdout=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        while len(self.values()) < 16 and time.monotonic() < deadline:
            time.sleep(0.05)
        lock.unlink()
        text, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, text)
        self.assertEqual(self.git("status", "--porcelain"), "")

    def test_without_git_it_only_writes(self):
        shutil.rmtree(self.root / ".git")
        self.harness("queue")
        self.assertEqual(len(self.values()), 16)

    def test_a_run_that_fails_is_reported_and_the_others_are_recorded(self):
        text = self.harness("queue", status=1, refused="*model_averaging*--workers=4*--seed=2*")
        self.assertEqual(len(re.findall(r"^FAILED  toy \w+ ma-4 seed 2: error: refused$", text, re.MULTILINE)), 4)  # when it fails, and at the end
        self.assertEqual(len(self.values()), 14)
        self.assertIn("toy made ma-4 seed 2: killed by signal 9\n",
                      self.harness("queue", status=1, refused="*model_averaging*--workers=4*", end="kill -9 $$"))
        self.calls()
        self.harness("queue")
        self.assertEqual((len(self.values()), len(self.calls())), (16, 2))

    def test_data_that_cannot_be_made_are_reported_and_the_others_recorded(self):
        (self.root / "data/made.sh").write_text("#!/bin/sh\nexit 1\n")
        text = self.harness("queue", status=1)
        self.assertIn("FAILED  toy made: there is no data file data/made.h5: make it with make data-made\n", text)
        self.assertEqual(len(self.values()), 8)

    def test_claims_that_are_not_committed_are_not_judged_by_new_records(self):
        self.change('text = "two workers', 'text = "2 workers')
        self.change('right = "sgd.test_error"', "right = 0.9")
        self.harness("lock", "toy")
        self.assertIn("claims.lock is not committed", self.harness("queue", "--list"))
        self.harness("queue")
        self.assertEqual(self.values(), {})

    def plan(self) -> list[str]:
        """The lines on the groups and their reasons."""
        return [line.strip() for line in self.harness("queue", "--list").splitlines()[1:] if line.strip()]

    def test_the_plan_has_the_most_valuable_first_and_says_why(self):
        first, *_ = [line for line in self.plan() if line[0].isdigit()]
        self.assertRegex(first, r"^1\. toy made: 8 runs, 0\.67 core-hours \(guessed\), 1 open or undecided claim")
        self.harness("queue")
        self.assertEqual(self.plan(), [])
        full = self.expected()
        full["toy"]["sgd"]["1"]["options"] = "0123456789abcdef"
        del full["toy"]["ma-2"]["2"]["options"]
        del full["toy"]["ma-4"]["1"]["test_error"]
        del full["toy"]["ma-4"]["2"]
        self.write_expected(full)
        self.change("[size.full]", '[[stale]]\nwhy = "Gradients were summed twice."\nruns = ["sync-*"]\ndata = ["toy"]\n\n[size.full]')
        plan = self.plan()
        self.assertRegex(plan[0], r"^1\. toy toy: 6 runs, 0\.00 core-hours, 0 open or undecided claims$")
        self.assertEqual(plan[1:], ["marked as stale (Gradients were summed twice.): sync-2, seeds 1, 2", "recorded without test_error: ma-4, seeds 1",
                                    "not recorded: ma-4, seeds 2", "recorded with other options: sgd, seeds 1",
                                    "recorded without its options: ma-2, seeds 2"])
        self.commit("a mark")
        self.calls()
        text = self.harness("queue", "--jobs", "1")
        self.assertEqual([line.split(": ")[0].split("] toy ")[1] for line in text.splitlines() if line.startswith("[")],
                         ["toy sync-2 seed 1", "toy sync-2 seed 2", "toy ma-4 seed 1", "toy ma-4 seed 2", "toy sgd seed 1", "toy ma-2 seed 2"])
        self.assertEqual(len(self.calls()), 2)  # the marked ones; the others' run folders are still here
        self.assertEqual(self.plan(), [])

    def test_the_budget_is_kept(self):
        self.assertIn("recorded 0 runs", self.harness("queue", "--core-hours", "0.05"))  # 180 s, and a run is guessed to take 300
        self.assertIn("recorded 16 runs", self.harness("queue", "--core-hours", "0.09", "--jobs", "1"))  # the others' costs follow from the first
        self.assertRegex(self.harness("queue", "--core-hours", "0", status=2), "not a positive number")

    def test_a_run_is_resumed_on_the_same_processor_only(self):
        head, sgd, *_ = CONFIG.format(epochs=100, every=1).replace('[[data]]\nname = "made"\nfile = "data/made.h5"\n', "").split("[[run]]")
        self.config.write_text(f"{head}[[run]]{sgd}")
        (self.experiment / "claims.lock").unlink()
        run = self.experiment / "runs/full/toy/sgd-s1"
        for processor, how in ((None, "--resume"), ("another one", "--overwrite")):
            with self.subTest(processor=processor or "the same one"):
                process = subprocess.Popen(self.command("run", "toy"), stdout=subprocess.DEVNULL, start_new_session=True)
                deadline = time.monotonic() + 60
                while not (run / "state/latest.json").exists():
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.001)
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                begun = run.with_name("sgd-s1.begun.json")
                key = json.loads(begun.read_text())
                self.assertTrue(key["processor"])
                begun.write_text(json.dumps(key | ({"processor": processor} if processor else {}), indent=1))
                self.calls()
                self.harness("run", "toy")
                self.assertIn(how, next(call for call in self.calls() if "toy_sgd-s1 " in call))
                self.assertEqual(json.loads((run / "cost.json").read_text()).get("at_least", False), processor is None)
                shutil.rmtree(run.parent)


if __name__ == "__main__":
    unittest.main()
