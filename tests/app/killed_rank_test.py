#!/usr/bin/env python3
"""Ranks that are killed or stopped for good in the middle of a training: who goes on, what the job returns and what it prints."""

import json
import os
import signal
import subprocess
import time
import unittest
from pathlib import Path

from paragrad_cli import MPIEXEC, PROGRAM, CliTest, run, weights, working_ranks

ASYNCHRONOUS = ["--strategy", "async_sgd", "--servers", "1", "--worker-timeout", "10"]


class KilledRank(CliTest):
    def train_and_signal(self, number: int, rank: int, name: str, *options: str, epochs: int = 200) -> tuple[int, str, Path]:
        """Four ranks, of which one is sent a signal after the first epoch. Returns status, output and run folder."""
        out = self.folder / name
        task = [a if a != "2" else str(epochs) for a in self.task]
        with subprocess.Popen([MPIEXEC, "-n", "4", PROGRAM, "train", *task, *options, "--out", str(out)],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as launcher:
            while not (out / "metrics.jsonl").exists() or not (out / "metrics.jsonl").read_text():
                self.assertIsNone(launcher.poll())
                time.sleep(0.02)
            ranks = working_ranks(out)
            self.assertEqual(sorted(ranks), [0, 1, 2, 3])
            os.kill(ranks[rank], number)
            output = launcher.communicate(timeout=120)[0]
        deadline = time.monotonic() + 5
        while working_ranks(out, and_unguarded=True) and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual(working_ranks(out, and_unguarded=True), {}, "left behind")
        return launcher.returncode, output, out

    def assert_complete_without(self, rank: int, status: int, output: str, out: Path) -> None:
        self.assertEqual(status, 0, output)
        self.assertRegex(output, "weights sha256 [0-9a-f]{64}")
        self.assertEqual(output.strip().splitlines()[-1], f"training complete without worker {rank}, which was killed")
        self.assertIn("result", json.loads((out / "manifest.json").read_text()))

    def test_a_killed_worker_leaves_the_others_training_to_the_end_and_the_job_returns_success(self):
        status, output, out = self.train_and_signal(signal.SIGKILL, 2, "worker", *ASYNCHRONOUS)
        self.assertIn("rank 2 was killed (SIGKILL)", output)
        self.assert_complete_without(2, status, output, out)

    def test_a_worker_stopped_for_good_is_ended_after_the_timeout_and_the_others_train_to_the_end(self):
        options = ["--strategy", "bounded_staleness", "--servers", "1", "--worker-timeout", "2"]
        status, output, out = self.train_and_signal(signal.SIGSTOP, 1, "stopped", *options)
        self.assertIn("rank 1 was killed (SIGKILL) after it had been stopped for 2 s", output)
        self.assert_complete_without(1, status, output, out)

    def test_a_killed_server_ends_the_run_with_a_message_and_a_checkpoint(self):
        status, output, out = self.train_and_signal(signal.SIGKILL, 3, "server", *ASYNCHRONOUS)
        self.assertEqual(status, 3, output)
        self.assertIn("rank 3 was killed (SIGKILL)", output)
        self.assertIn("server 0 no longer answers", output)
        self.assertTrue((out / "checkpoint.h5").exists())

    def test_the_killed_leader_ends_the_run_with_a_message(self):
        status, output, _ = self.train_and_signal(signal.SIGKILL, 0, "leader", *ASYNCHRONOUS)
        self.assertEqual(status, 3, output)
        self.assertIn("rank 0 was killed (SIGKILL)", output)

    def test_a_killed_rank_of_a_synchronous_run_is_named_and_the_run_can_be_resumed(self):
        options = ["--strategy", "model_averaging", "--checkpoint-every", "1"]
        status, output, out = self.train_and_signal(signal.SIGKILL, 1, "synchronous", *options, epochs=60)
        self.assertEqual(status, 3, output)
        self.assertIn(f"rank 1 was killed (SIGKILL); the run in {out} can be resumed with --resume\n", output)
        task = [a if a != "2" else "60" for a in self.task]
        resumed = run("train", *task, *options, "--out", out, "--resume", ranks=4)
        undisturbed = run("train", *task, "--strategy", "model_averaging", ranks=4)
        self.assertEqual(weights(resumed), weights(undisturbed))

    def test_without_checkpoints_nobody_is_told_to_resume(self):
        status, output, _ = self.train_and_signal(signal.SIGSEGV, 2, "plain", "--strategy", "model_averaging")
        self.assertEqual(status, 3, output)
        self.assertIn("rank 2 was killed (SIGSEGV)\n", output)
        self.assertNotIn("--resume", output)


if __name__ == "__main__":
    unittest.main()
