#!/usr/bin/env python3
"""A training whose ranks are killed, added and preempted at random ends in the weights of the undisturbed run, and loses a block at most each time."""

import json
import os
import random
import signal
import subprocess
import time
import unittest
from pathlib import Path

from paragrad_cli import MPIEXEC, PROGRAM, CliTest, run, weights, working_ranks

TASKS = {
    "bmuf": ["--strategy", "bmuf"],
    "1-bit": ["--strategy", "data_parallel", "--gradient-bits", "1"],
    "DiLoCo": ["--strategy", "diloco", "--optimiser", "adamw"],
}
TRIALS = int(os.environ.get("PARAGRAD_LAUNCH_TRIALS", "1"))  # of each task
WORKERS = 5
EVENTS = ["kill", "join", "preempt"]
LIMIT_S = 5 if TRIALS > 1 else 20  # for a machine that runs other tests at the same time


class Job:
    """A launch in its run folder."""

    def __init__(self, task: list[str], out: Path) -> None:
        self.task, self.out, self.ranks_file, self.log = task, out, out.with_suffix(".ranks"), out.with_suffix(".log")
        self.process = None

    def start(self, ranks: int) -> None:
        self.ranks_file.write_text(f"{ranks}\n")
        command = [PROGRAM, "launch", "--ranks", str(ranks), "--ranks-file", str(self.ranks_file), "--launcher", f"{MPIEXEC} -n {{ranks}}",
                   "--", "train", "--workers", str(WORKERS), *self.task, "--out", str(self.out)]
        with self.log.open("a") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)

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

    def kill_a_rank(self, choice: random.Random) -> bool:
        ranks = working_ranks(self.out)
        if not ranks:
            return False
        try:
            os.kill(ranks[choice.choice(sorted(ranks))], signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True


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
        for number, name in enumerate(TASKS):
            task = self.options(name)
            undisturbed = weights(run("train", "--workers", WORKERS, *task))
            for trial in range(TRIALS):
                with self.subTest(task=name, trial=trial):
                    self.check_trial(task, f"{name}-{trial}", EVENTS[(number + trial) % len(EVENTS)], undisturbed)

    def check_trial(self, task: list[str], name: str, first: str, undisturbed: str) -> None:
        """first: of the events; the others are drawn."""
        choice = random.Random(name)
        job = self.launch(task, name, choice.randint(1, 4))
        for event in [first, *choice.choices(EVENTS, k=choice.randint(1, 3))]:
            if not job.await_state(job.state()):
                break
            time.sleep(choice.random() * 0.05)
            if event == "kill":
                starts = job.said("going on with")
                if not job.kill_a_rank(choice):
                    continue
                killed = time.monotonic()
                while job.said("going on with") == starts and not job.ended():
                    time.sleep(0.002)
                if not job.await_state(job.state()):
                    break
                self.assertLess(time.monotonic() - killed, LIMIT_S, "the others took too long")
            elif event == "join":
                job.ranks_file.write_text(f"{choice.randint(1, 4)}\n")
            elif event == "preempt":
                job.process.terminate()
                self.assertEqual(job.process.wait(20), 0)
                job.start(choice.randint(1, 4))
        self.assertEqual(job.process.wait(60), 0, job.log.read_text())
        self.assertEqual(job.said(f"weights sha256 {undisturbed}"), 1, job.log.read_text())

    def test_a_dead_rank_is_named_and_the_others_go_on_from_the_last_block(self):
        job = self.launch(self.options("bmuf", 200), "named", 3)
        self.assertTrue(job.await_state(""))
        before = self.place_of(job)
        self.assertTrue(job.kill_a_rank(random.Random(1)))
        deadline = time.monotonic() + 20
        while not job.said("going on with 2 ranks") and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertGreaterEqual(self.place_of(job), before)  # it resumes from there: at most a block is lost
        self.assertTrue(job.await_state(job.state()))
        self.assertRegex(job.log.read_text(), r"rank [012] was killed \(SIGKILL\)")
        job.process.terminate()
        self.assertEqual(job.process.wait(20), 0)
        self.assertEqual(job.said("stopped; the same command resumes the run"), 1)

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
                            (["train", *task, *out, "--overwrite"], "--overwrite"), (["train", *task, *out, "--workers", "0"], "--workers"),
                            (["train", *task, *out, "--checkpoint-every=0"], "--checkpoint-every"),
                            (["train", *task, *out, "--momentun", "0.5"], "--momentun")):
            with self.subTest(words=words):
                self.assert_refused(run("launch", "--", *words), part)
        for options, part in ((["--launcher", "no-such-program -n {ranks}"], "no-such-program"), (["--launcher", "mpiexec -n 2"], "{ranks}"),
                              (["--ranks-file", self.folder / "none"], "number of ranks")):
            with self.subTest(options=options):
                self.assert_refused(run("launch", *options, "--", "train", *task, *out), part)

    def test_an_error_of_the_user_ends_the_launch(self):
        task = ["none.h5" if word == self.data else word for word in self.options("bmuf")]
        done = run("launch", "--launcher", f"{MPIEXEC} -n {{ranks}}", "--", "train", *task, "--out", self.folder / "wrong")
        self.assertEqual(done.returncode, 2)
        self.assertIn("none.h5", done.stderr)
        self.assertNotIn("going on", done.stderr)


if __name__ == "__main__":
    if MPIEXEC:
        unittest.main()
