#!/usr/bin/env python3
"""A training whose ranks are killed, frozen, added and preempted at random ends in the weights of the undisturbed run, and loses a block at most each time.

PARAGRAD_LAUNCH_TRIALS=100 runs 100 random schedules of each task and prints a table."""

import json
import os
import random
import re
import signal
import subprocess
import time
import unittest
from collections import Counter
from pathlib import Path

from paragrad_cli import MPIEXEC, PROGRAM, ROOT, CliTest, run, weights, working_ranks

TASKS = {
    "bmuf": ["--strategy", "bmuf"],
    "1-bit": ["--strategy", "data_parallel", "--gradient-bits", "1"],
    "DiLoCo": ["--strategy", "diloco", "--optimiser", "adamw"],
    "streaming": ["--strategy", "streaming_diloco", "--fragment-cut", "packed", "--outer-delay", "9"],
    "eager": ["--strategy", "eager_diloco"],
}
TRIALS = int(os.environ.get("PARAGRAD_LAUNCH_TRIALS", "1"))  # of each task
WORKERS = 5
EVENTS = ["kill a rank", "change the number of ranks", "preempt", "freeze a rank", "kill mpiexec", "kill launch", "launch a second time"]
LIMIT_S = 5 if TRIALS > 1 else 20  # for a machine that runs other tests at the same time


class Job:
    """A launch in its run folder."""

    def __init__(self, task: list[str], out: Path) -> None:
        self.task, self.out, self.ranks_file, self.log = task, out, out.with_suffix(".ranks"), out.with_suffix(".log")
        self.process = None

    def command(self, ranks: int) -> list[str]:
        return [PROGRAM, "launch", "--ranks", str(ranks), "--ranks-file", str(self.ranks_file), "--launcher", f"{MPIEXEC} -n {{ranks}}",
                "--", "train", "--workers", str(WORKERS), *self.task, "--out", str(self.out)]

    def start(self, ranks: int) -> None:
        self.ranks_file.write_text(f"{ranks}\n")
        with self.log.open("a") as log:
            self.process = subprocess.Popen(self.command(ranks), stdout=log, stderr=subprocess.STDOUT)

    def state(self) -> str:
        """The last state that was saved."""
        try:
            return json.loads((self.out / "state/latest.json").read_text())["set"]
        except (OSError, ValueError):
            return ""

    def said(self, what: str) -> int:
        return self.log.read_text().count(what)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()  # which ends its ranks
            self.process.wait()

    def ended(self) -> bool:
        return self.process.poll() is not None

    def await_state(self, after: str, limit_s: float = 20) -> bool:
        """Until there is another one; False if the run ended before."""
        deadline = time.monotonic() + limit_s
        while self.state() == after:
            if self.ended():
                return False
            if time.monotonic() > deadline:
                raise AssertionError(f"no state for {limit_s} s\n{self.log.read_text()}")
            time.sleep(0.002)
        return True

    def signal_a_rank(self, choice: random.Random, *signals: int) -> bool:
        """Sends a rank the signals, with some tenths of a second in between."""
        ranks = working_ranks(self.out)
        if not ranks:
            return False
        try:
            rank = ranks[choice.choice(sorted(ranks))]
            for i, number in enumerate(signals):
                time.sleep(choice.random() * 0.4 if i > 0 else 0)
                os.kill(rank, number)
        except ProcessLookupError:
            return False
        return True

    def kill_mpiexec(self) -> bool:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        for child in map(int, children):
            os.kill(child, signal.SIGKILL)
        return bool(children)

    def await_end_of_ranks(self) -> None:
        deadline = time.monotonic() + 20
        while working_ranks(self.out) and time.monotonic() < deadline:
            time.sleep(0.005)


def catches(pid: int, number: signal.Signals) -> bool:
    """Whether the process would notice the signal, and not just die of it."""
    caught = re.search(r"^SigCgt:\s*(\w+)$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return caught is not None and int(caught[1], 16) >> (number - 1) & 1 == 1


class LaunchTest(CliTest):
    def options(self, name: str, epochs: int = 12) -> list[str]:
        return ["--data", self.data, "--model", "8-300-6:sigmoid", "--learning-rate", "0.1", "--epochs", str(epochs), "--blocks", "6",
                "--minibatch", "16", "--quiet", *TASKS[name]]

    def launch(self, task: list[str], name: str, ranks: int) -> Job:
        job = Job(task, self.folder / name)
        job.start(ranks)
        self.addCleanup(job.end)
        return job

    def test_random_schedules_of_kills_joins_and_preemptions_change_no_weight(self):
        counts = Counter()
        for number, name in enumerate(TASKS):
            task = self.options(name)
            undisturbed = weights(run("train", "--workers", WORKERS, *task))
            for trial in range(TRIALS):
                with self.subTest(task=name, trial=trial):
                    first = EVENTS[(trial + 2 * number) % len(EVENTS)]
                    counts["trials"] += 1
                    counts["failures"] += 1
                    self.check_trial(task, f"{name}-{trial}", first, undisturbed, counts)
                    counts["failures"] -= 1
        if TRIALS > 1:
            print("\n" + "\n".join(f"{count:6} {what}" for what, count in counts.items()))

    def check_trial(self, task: list[str], name: str, first: str, undisturbed: str, counts: Counter) -> None:
        """first: of the events; the others are drawn."""
        choice = random.Random(name)
        job = self.launch(task, name, choice.randint(1, 4))
        for event in [first, *choice.choices(EVENTS, k=choice.randint(1, 3))]:
            if not job.await_state(job.state()):
                break
            time.sleep(choice.random() * 0.05)
            if not self.disturb(job, event, choice):
                break
            counts[event] += 1
        self.assertEqual(job.process.wait(60), 0, job.log.read_text())
        self.assertEqual(job.said(f"weights sha256 {undisturbed}"), 1, job.log.read_text())

    def disturb(self, job: Job, event: str, choice: random.Random) -> bool:
        """Whether the training still ran when the event was over."""
        if event in ("kill a rank", "kill mpiexec"):
            starts, killed = job.said("going on with"), time.monotonic()
            if not (job.signal_a_rank(choice, signal.SIGKILL) if event == "kill a rank" else job.kill_mpiexec()):
                return not job.ended()
            while job.said("going on with") == starts and not job.ended():
                time.sleep(0.002)
            if not job.await_state(job.state()):
                return False
            self.assertLess(time.monotonic() - killed, LIMIT_S, "the others took too long")
        elif event == "change the number of ranks":
            job.ranks_file.write_text(f"{choice.randint(1, 4)}\n")
        elif event == "preempt":
            job.process.terminate()
            self.assertEqual(job.process.wait(20), 0)
            job.start(choice.randint(1, 4))
        elif event == "freeze a rank":
            job.signal_a_rank(choice, signal.SIGSTOP, signal.SIGCONT)
        elif event == "kill launch":
            job.process.kill()
            job.process.wait()
            job.await_end_of_ranks()
            job.start(choice.randint(1, 4))
        elif event == "launch a second time":
            second = subprocess.run(job.command(choice.randint(1, 4)), capture_output=True, text=True, timeout=60)
            if not job.ended():
                self.assert_refused(second, "is in use by process")
        return not job.ended()

    def test_a_dead_rank_is_named_and_the_others_go_on_from_the_last_block(self):
        job = self.launch(self.options("bmuf", 200), "named", 3)
        self.assertTrue(job.await_state(""))
        before = self.place_of(job)
        self.assertTrue(job.signal_a_rank(random.Random(1), signal.SIGKILL))
        deadline = time.monotonic() + 20
        while not job.said("going on with 2 ranks") and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertGreaterEqual(self.place_of(job), before)  # it resumes from there: at most a block is lost
        self.assertTrue(job.await_state(job.state()))
        self.assertRegex(job.log.read_text(), r"rank [012] was killed \(SIGKILL\)")
        job.process.terminate()
        self.assertEqual(job.process.wait(20), 0)
        self.assertEqual(job.said("stopped; the same command resumes the run in"), 1)
        self.assertEqual(job.said("interrupted"), 0)  # which a training of its own prints

    @staticmethod
    def place_of(job: Job) -> list[int]:
        """Phase, epoch and block of the last state."""
        return [int(number) for number in job.state().split("-")]

    def test_the_ranks_file_decides_how_many_ranks_there_are(self):
        job = self.launch(self.options("bmuf", 200), "file", 1)
        for ranks in (3, 2, 3):
            self.assertTrue(job.await_state(job.state()))
            told = job.said(f"going on with {ranks} ranks")
            job.ranks_file.write_text(f"{ranks}\n")
            deadline = time.monotonic() + 20
            while job.said(f"going on with {ranks} ranks") == told and time.monotonic() < deadline:
                time.sleep(0.01)
            self.assertEqual(job.said(f"going on with {ranks} ranks"), told + 1)
            self.assertTrue(job.await_state(job.state()))
            self.assertEqual(len(working_ranks(job.out)), ranks)

    def test_what_cannot_be_launched_is_refused_in_one_sentence(self):
        task, out = self.options("bmuf"), ["--out", self.folder / "x"]
        for words, part in (([], "after --"), (["simulate", *task], "after --"), (["train", *task], "--out"),
                            (["train", *task, *out, "--overwrite"], "--overwrite"),
                            (["train", *task, *out, "--checkpoint-every=0"], "--checkpoint-every"),
                            (["train", *task, *out, "--momentun", "0.5"], "--momentun")):
            with self.subTest(words=words):
                self.assert_refused(run("launch", "--", *words), part)
        for options, part in ((["--launcher", "no-such-program -n {ranks}"], "no-such-program"), (["--launcher", "mpiexec -n 2"], "{ranks}"),
                              (["--ranks-file", self.folder / "none"], "number of ranks")):
            with self.subTest(options=options):
                self.assert_refused(run("launch", *options, "--", "train", *task, *out), part)

    def test_no_number_of_workers_means_one_per_rank(self):
        task = self.options("bmuf", 1)
        for number, words in enumerate(([], ["--workers", "0"], ["--workers=0"])):
            out = self.folder / f"none-{number}"
            done = run("launch", "--ranks", 2, "--launcher", f"{MPIEXEC} -n {{ranks}}", "--", "train", *task, *words, "--out", out)
            with self.subTest(words=words):
                self.assertEqual(weights(done), weights(run("train", *task, "--workers", 2)))
                self.assertIn("workers=2\n", (out / "config.toml").read_text())

    def test_stopped_before_a_state_it_says_that_nothing_is_saved(self):
        job = self.launch([*self.options("bmuf", 200), "--checkpoint-every", "100000"], "early", 2)
        deadline = time.monotonic() + 20
        while not working_ranks(job.out) and time.monotonic() < deadline:
            time.sleep(0.01)
        job.process.kill()
        job.process.wait()
        process = subprocess.Popen([*job.command(2)[:2], "--grace", "0", *job.command(2)[2:]], stderr=subprocess.PIPE, text=True)
        while not catches(process.pid, signal.SIGUSR1) and process.poll() is None:  # with SIGINT, which every command catches
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=30)[1]
        self.assertEqual(process.returncode, 0, said)
        self.assertRegex(said, "launch: stopped; (no state is saved yet, and the same command starts the run in .* again|"
                               "the same command resumes the run in .* after)")

    def test_every_collective_survives_a_lost_rank_or_is_refused_at_the_start(self):
        names = re.search(r"--collective TEXT:\{(.*?)\}", run("train", "--help").stdout)[1].split(",")
        page = (ROOT / "src/train/README.md").read_text().partition("## Ranks that die or are added")[2].partition("\n## ")[0]
        on_page = {name for name in re.findall(r"`(\w+)`", page) if name in names}
        refused, dependent = set(), set()
        for name in names:
            task = [*self.options("bmuf", 10), "--collective", name]
            with self.subTest(collective=name):
                job = self.launch(task, f"collective-{name}", 2)
                if not job.await_state(""):
                    self.assertEqual(job.process.wait(), 2, job.log.read_text())
                    self.assertRegex(job.log.read_text(), f"^paragrad: --collective {name} .* cannot continue without a rank: .* ring, tree.*\n$")
                    self.assertFalse(job.out.exists())
                    refused.add(name)
                    continue
                self.assertTrue(job.signal_a_rank(random.Random(name), signal.SIGKILL))
                self.assertEqual(job.process.wait(60), 0, job.log.read_text())
                self.assertEqual(job.said("going on with 1 rank "), 1, job.log.read_text())
                if job.said(f"may differ from those of an undisturbed run: --collective {name} "):
                    dependent.add(name)
                else:
                    undisturbed = weights(run("train", "--workers", WORKERS, *task))
                    self.assertEqual(job.said(f"weights sha256 {undisturbed}"), 1, job.log.read_text())
        self.assertEqual(refused | dependent, on_page)
        self.assertIn("native", refused)

    def test_an_error_of_the_user_ends_the_launch(self):
        task = ["none.h5" if word == self.data else word for word in self.options("bmuf")]
        done = run("launch", "--launcher", f"{MPIEXEC} -n {{ranks}}", "--", "train", *task, "--out", self.folder / "wrong")
        self.assertEqual(done.returncode, 2)
        self.assertIn("none.h5", done.stderr)
        self.assertNotIn("going on", done.stderr)


if __name__ == "__main__":
    if MPIEXEC:
        unittest.main()
