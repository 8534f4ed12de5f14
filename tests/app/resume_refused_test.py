#!/usr/bin/env python3
"""A run is resumed by itself alone: with other data, options or files it is refused in one sentence, and nothing is lost."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
import unittest
from pathlib import Path

from paragrad_cli import MPIEXEC, PLATFORM, PROGRAM, CliTest, run, weights

WORKERS = 3


class ResumeRefused(CliTest):
    """Each test has a copy of a run whose worker 1 died (an emulated fault), in self.copy, and may damage it."""

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.platform = cls.folder / "platform.toml"
        cls.interrupted = cls.folder / "interrupted"
        shutil.copy(PLATFORM, cls.platform)
        whole = run(*cls.command(None))
        cls.whole = weights(whole)
        cls.milliseconds = float(re.search(r"time ([0-9.]+)ms", whole.stdout).group(1))
        cls.interrupt(cls.interrupted, 0.8)

    @classmethod
    def interrupt(cls, out: Path, share: float, *more: str) -> None:
        """A run whose worker 1 dies after this share of the time."""
        fault = f'\n[[fault]]\nkind = "worker"\nid = 1\nfactor = 0\nat = "{share * cls.milliseconds}ms"\n'
        cls.platform.write_text(Path(PLATFORM).read_text() + fault)
        died = run(*cls.command(out, *more))
        assert died.returncode == 3, died.stderr
        shutil.copy(PLATFORM, cls.platform)

    @classmethod
    def command(cls, out: Path | None, *more: str) -> list[str]:
        folder = [] if out is None else ["--out", str(out), "--checkpoint-every", "1", "--resume"]
        return ["simulate", "--workers", str(WORKERS), "--platform", str(cls.platform), "--data", cls.data, "--model", "8-12-6:sigmoid",
                "--learning-rate", "0.1", "--epochs", "3", "--blocks", "2", "--minibatch", "16", "--quiet", "--strategy", "bmuf",
                *folder, *more]

    def setUp(self) -> None:
        self.copy = self.folder / self.id().rsplit(".", 1)[1]
        shutil.copytree(self.interrupted, self.copy)
        self.addCleanup(shutil.copy, shutil.copy(self.data, f"{self.data}.kept"), self.data)

    def assert_resume_refused(self, *parts: str) -> None:
        before = self.kept()
        self.assert_refused(run(*self.command(self.copy)), *parts)
        self.assertTrue(self.kept() == before, "the refusal changed what a later attempt needs")

    def kept(self) -> dict[Path, bytes]:
        return {path: path.read_bytes() for name in ("state/**/*", "metrics.jsonl", "checkpoint.h5") for path in self.copy.glob(name)
                if path.is_file()}

    def assert_resumes(self) -> None:
        self.assertEqual(weights(run(*self.command(self.copy))), self.whole)

    @property
    def pointer(self) -> Path:
        return self.copy / "state/latest.json"

    def state_of(self, worker: int) -> Path:
        return self.copy / "state" / json.loads(self.pointer.read_text())["set"] / f"worker-{worker:05}.h5"

    def test_what_was_left_resumes_to_the_weights_of_the_whole_run(self):
        self.assert_resumes()

    def test_another_initial_checkpoint_of_the_same_name(self):
        first, began = self.folder / "first", self.folder / "began"
        start = ["train", "--data", self.data, "--model", "8-12-6:sigmoid", "--learning-rate", "0.1", "--blocks", "2", "--quiet"]
        run(*start, "--epochs", "1", "--out", first).check_returncode()
        self.interrupt(began, 0.8, "--init", str(first / "checkpoint.h5"))
        self.copy = began
        run(*start, "--epochs", "2", "--out", first, "--overwrite").check_returncode()
        before = self.kept()
        self.assert_refused(run(*self.command(began, "--init", str(first / "checkpoint.h5"))), "is another checkpoint than", "restore it")
        self.assertTrue(self.kept() == before)

    def test_another_data_set_of_the_same_name(self):
        made = run("data", "generate", "--out", self.data, "--samples", 500, "--valid", 60, "--test", 60, "--dim", 8, "--classes", 6,
                   "--sequence-length", 20, "--seed", 2)
        self.assertEqual(made.returncode, 0)
        self.assert_resume_refused("a different data set", self.data, "content_sha256")

    def test_features_that_were_altered_in_place(self):
        with open(self.data, "r+b") as file:
            file.seek(8192)  # within the training set's features
            byte = file.read(1)[0]
            file.seek(8192)
            file.write(bytes([byte ^ 1]))
        self.assert_resume_refused("was changed after the run was interrupted", self.data)

    def test_data_that_were_only_touched_or_copied_are_the_same(self):
        os.utime(self.data)
        self.assert_resumes()

    def test_data_file_that_has_got_the_partition_which_the_run_made_for_itself(self):
        made = run("data", "partition", self.data, "--workers", WORKERS, "--blocks", 2)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assert_resumes()

    def test_configuration_that_is_missing(self):
        (self.copy / "config.toml").unlink()
        self.assert_resume_refused("config.toml", "is missing")

    def test_configuration_that_was_replaced(self):
        config = self.copy / "config.toml"
        config.write_text(config.read_text().replace("learning-rate=0.1", "learning-rate=0.2"))
        self.assert_resume_refused("was started with 0.2 for 'learning-rate', not with 0.1")

    def test_pointer_that_is_damaged(self):
        good = self.pointer.read_text()
        changes = {"nothing": "", "no JSON": "x", "a list": "[]", "half": good[: len(good) // 2],
                   "set": re.sub(r'"set":"[^"]*"', '"set":5', good), "outside": re.sub(r'"set":"[^"]*"', '"set":"0-../.."', good),
                   "workers": good.replace(f'"workers":{WORKERS}', '"workers":"3"'), "phase": good.replace('"phase":0', '"phase":-1'),
                   "fraction": good.replace('"phase":0', '"phase":0.5'), "version": good.replace('"version":2', '"version":1'),
                   "records": re.sub(r'"count":\d+', '"count":-1', good)}
        for name, text in changes.items():
            with self.subTest(name):
                self.assertNotEqual(text, good)
                self.pointer.write_text(text)
                self.assert_resume_refused("latest.json")
        self.pointer.write_text(good)
        self.assert_resumes()

    def test_pointer_to_a_training_that_the_run_does_not_have(self):
        self.pointer.write_text(self.pointer.read_text().replace('"phase":0', '"phase":7').replace('"set":"0-', '"set":"7-'))
        self.assert_resume_refused("a training phase that this run does not have")

    def test_state_of_another_worker(self):
        shutil.copy(self.state_of(0), self.state_of(2))
        self.assert_resume_refused("worker-00002.h5", "worker 0 of 3", "worker 2 of 3")

    def test_state_of_another_set(self):
        earlier = self.folder / "earlier"
        self.interrupt(earlier, 0.6)
        name = json.loads((earlier / "state/latest.json").read_text())["set"]
        self.assertNotEqual(name, self.state_of(2).parent.name)
        shutil.copy(earlier / "state" / name / "worker-00002.h5", self.state_of(2))
        self.assert_resume_refused("worker-00002.h5", f"set {name}")

    def test_state_of_a_run_with_other_options(self):
        other, mine = self.folder / "other", self.state_of(1)
        self.interrupt(other, 0.8, "--l2", "0.01")
        shutil.copy(other / "state" / mine.parent.name / mine.name, mine)
        self.assert_resume_refused(mine.name, "of run")

    def test_records_that_are_gone(self):
        metrics = self.copy / "metrics.jsonl"
        good = metrics.read_text()
        for text in ("", good[: len(good) // 2], good.replace('"epoch":1', '"epoch":9'), "garbage\n" * 9):
            with self.subTest(text[:10]):
                metrics.write_text(text)
                self.assert_resume_refused("metrics.jsonl")
        metrics.unlink()
        self.assert_refused(run(*self.command(self.copy)), "metrics.jsonl")
        metrics.write_text(good)
        self.assert_resumes()

    def test_a_complete_run_with_other_options(self):
        self.assert_resumes()
        self.assert_refused(run(*self.command(self.copy, "--l2", "0.1")), "l2")


@unittest.skipUnless(MPIEXEC, "needs an MPI that starts ranks together")
class ResumeRefusedByRanks(CliTest):
    """Of ranks that each read a file of their own, one finds the mistake and all end."""

    @property
    def long_task(self) -> list[str]:
        task = self.task
        task[task.index("--epochs") + 1] = "1000"
        return task

    def test_mixed_states_end_all_ranks(self):
        out = self.folder / "mixed"
        command = [MPIEXEC, "-n", "2", PROGRAM, "train", *self.long_task, "--strategy", "bmuf", "--out", str(out),
                   "--checkpoint-every", "1", "--resume"]
        pointer = out / "state/latest.json"
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            while process.poll() is None and not pointer.exists():
                time.sleep(0.01)
            self.assertIsNone(process.poll())
            process.send_signal(signal.SIGTERM)  # hydra ends its ranks
        states = pointer.parent / json.loads(pointer.read_text())["set"]
        shutil.copy(states / "worker-00000.h5", states / "worker-00001.h5")
        refused = subprocess.run(command, capture_output=True, text=True, timeout=60)
        self.assertEqual(refused.returncode, 2)
        self.assertRegex(refused.stderr.splitlines()[0], "^paragrad: cannot resume: .*worker-00001.h5' holds the state of worker 0 of 2")


if __name__ == "__main__":
    unittest.main()
