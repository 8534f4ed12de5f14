#!/usr/bin/env python3
"""A run that is killed and resumed ends in the weights of the run that was not."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
import unittest
from pathlib import Path

from paragrad_cli import MPIEXEC, PLATFORM, PROGRAM, CliTest, run, weights


class Resume(CliTest):
    def setUp(self) -> None:
        self.options = [
            "--data", self.data, "--model", "8-64-64-6:sigmoid", "--learning-rate", "0.1", "--epochs", "40", "--blocks", "6",
            "--minibatch", "16", "--quiet", "--strategy", "data_parallel", "--gradient-bits", "1", "--buffered", "true",
            "--parallel-start-epoch", "2"]

    def command(self, world: str, out: str, *more: str) -> list[str]:
        launcher = {"mpi": [MPIEXEC, "-n", "2", PROGRAM, "train"], "one process": [PROGRAM, "train", "--workers", "2"]}.get(
            world, [PROGRAM, "simulate", "--workers", "2", "--platform", PLATFORM])
        if world.endswith(" ranks"):
            launcher = [MPIEXEC, "-n", world.split()[0], PROGRAM, "train", "--workers", "5"]
        device = ["--device", "isolated"] if world == "isolated" else []  # emulated, in memory that the host cannot reach
        return [*launcher, *self.options, *device, "--out", out, "--checkpoint-every", "2", "--resume", *more]

    def kill_after_another_state(self, command: list[str], out: str) -> bool:
        """Starts it and kills all its processes when it has written a new state; False if it ended before."""
        pointer = os.path.join(out, "state", "latest.json")
        before = open(pointer).read() if os.path.exists(pointer) else ""
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            for _ in range(30000):
                if process.poll() is not None:
                    return False
                try:
                    if open(pointer).read() != before:
                        return True
                except OSError:
                    pass
                time.sleep(0.001)
            self.fail("no state was written in 30 s")
        finally:
            for rank in self.processes_with(out):
                with contextlib.suppress(ProcessLookupError):  # the launcher was faster
                    os.kill(rank, signal.SIGKILL)
            if process.poll() is None:
                process.kill()
            process.wait()

    @staticmethod
    def processes_with(argument: str) -> list[int]:
        found = []
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                arguments = open(f"/proc/{entry}/cmdline").read().split("\0")
                if argument in arguments and os.path.samefile(f"/proc/{entry}/exe", PROGRAM):
                    found.append(int(entry))
            except OSError:
                pass  # it has ended meanwhile
        return found

    @staticmethod
    def flip_a_bit(state: str, name: str, place: float) -> None:
        """In the file of that name in the last complete set, at this share of its length."""
        path = os.path.join(state, json.load(open(os.path.join(state, "latest.json")))["set"], name)
        with open(path, "r+b") as file:
            file.seek(int(place * (os.path.getsize(path) - 9)))
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 1]))

    def test_a_killed_run_is_taken_up_in_any_world(self):
        self.check_taken_up(40)

    def test_a_killed_run_is_taken_up_by_any_number_of_ranks(self):
        if not MPIEXEC:
            self.skipTest("needs an MPI that starts ranks together")
        whole = weights(run("simulate", "--workers", "5", "--platform", PLATFORM, *self.options))
        out = str(self.folder / "elastic")
        for ranks in (2, 4, 1, 3):
            self.assertTrue(self.kill_after_another_state(self.command(f"{ranks} ranks", out), out), "the run ended too early")
        last = subprocess.run(self.command("2 ranks", out), capture_output=True, text=True, timeout=60)
        self.assertEqual(weights(last), whole)

    def test_so_is_one_of_changed_images_whose_rate_changes_within_epochs(self):
        images = str(self.folder / "images.h5")
        run("data", "generate", "--out", images, "--samples", 320, "--valid", 40, "--test", 40, "--dim", 192, "--classes", 10)
        for name, more in {"exchanging": ["--strategy", "data_parallel", "--gradient-bits", "1", "--sync-batch-norm"], "local": ["--strategy", "bmuf"]}.items():
            self.options = ["--data", images, "--model", "zoo:resnet:depth=20,side=8", "--learning-rate", "0.1", "--epochs", "6", "--blocks", "6",
                            "--minibatch", "16", "--quiet", "--schedule", "cosine", "--warm-up", "1.5", "--augment-pad", "1", "--augment-flip", "--shuffle", "--ema-decay", "0.7", *more]
            self.check_taken_up(6, name)

    def test_so_is_one_that_ends_for_want_of_progress(self):
        for measure in ("error", "loss"):
            self.options = ["--data", self.data, "--model", "8-24-6:sigmoid", "--learning-rate", "1", "--epochs", "60", "--blocks", "6", "--minibatch", "8",
                            "--strategy", "bmuf", "--quiet", "--keep-best", "--patience", "4", "--patience-measure", measure]
            out = self.folder / f"patient-{measure}"
            said = run("simulate", "--workers", "2", "--platform", PLATFORM, *[word for word in self.options if word != "--quiet"], "--out", out)
            epochs = json.loads((out / "metrics.jsonl").read_text().splitlines()[-2])["epoch"]
            self.assertIn(f"stopped after epoch {epochs}: the validation {measure} has made no progress for 4 epochs", said.stdout)
            self.assertTrue(8 < epochs < 60, epochs)
            self.check_taken_up(epochs, measure)

    def check_taken_up(self, epochs: int, name: str = "run") -> None:
        whole = weights(run("simulate", "--workers", "2", "--platform", PLATFORM, *self.options))
        for world in ("simulation", "mpi", "one process", "isolated"):
            with self.subTest(run=name, world=world):
                out = str(self.folder / f"{name}-{world}")
                kills = sum(self.kill_after_another_state(self.command(world, out), out) for _ in range(3))
                self.assertGreater(kills, 0)
                result = subprocess.run(self.command(world, out), capture_output=True, text=True, timeout=120)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)  # perhaps the run ended before the last kill
                manifest = json.loads(Path(out, "manifest.json").read_text())
                self.assertEqual(manifest["result"]["parameters_sha256"], whole)
                records = [json.loads(line) for line in open(os.path.join(out, "metrics.jsonl"))]
                self.assertEqual([record["epoch"] for record in records[:-1]], list(range(1, epochs + 1)))
                self.assertTrue(records[-1]["end"])
                self.assertFalse(os.path.exists(os.path.join(out, "state")))

    def test_a_complete_run_has_nothing_to_resume(self):
        for world in ("simulation", "mpi"):
            with self.subTest(world=world):
                out = str(self.folder / f"complete-{world}")
                first, again = (subprocess.run(self.command(world, out), capture_output=True, text=True, timeout=60) for _ in range(2))
                self.assertTrue(weights(first))
                self.assertEqual((again.returncode, again.stdout), (0, f"the run in {out} is complete: nothing to resume\n"))

    def test_what_does_not_fit_is_refused_and_nothing_is_lost(self):
        out = str(self.folder / "partial")
        self.assertTrue(self.kill_after_another_state(self.command("simulation", out), out))
        self.assert_refused(run(*self.command("simulation", out, "--l2", "0.1")[1:]), "cannot resume", "l2")
        others = self.command("simulation", out)
        others[others.index("--workers") + 1] = "3"
        self.assert_refused(run(*others[1:]), "cannot resume", "workers")
        for place in (0.25, 0.5, 0.75, 1):  # within arrays, whose damage HDF5 does not see, and at the end
            with self.subTest(place=place):
                copy = str(self.folder / f"copy-{place}")
                shutil.copytree(out, copy)
                self.flip_a_bit(os.path.join(copy, "state"), "worker-00001.h5", place)
                sentence = "it does not match its checksum" if place < 1 else "worker-00001.h5"
                self.assert_refused(run(*self.command("simulation", copy)[1:]), "worker-00001.h5", sentence)
        whole = weights(run("simulate", "--workers", "2", "--platform", PLATFORM, *self.options))
        self.assertEqual(weights(run(*self.command("simulation", out)[1:])), whole)

    def test_options_that_make_no_sense_are_refused(self):
        task = [*self.options, "--workers", "2", "--platform", PLATFORM]
        self.assert_refused(run("simulate", *task, "--resume"), "--out")
        self.assert_refused(run("simulate", *task, "--checkpoint-every", "1"), "--out")
        self.assert_refused(run("simulate", *task, "--resume", "--overwrite", "--out", str(self.folder / "x")), "--overwrite")
        self.assert_refused(run("simulate", *task, "--device", "meta", "--resume", "--out", str(self.folder / "x")), "timing")


if __name__ == "__main__":
    unittest.main()
