#!/usr/bin/env python3
"""A data file that is cut short while a run reads it ends the run in one sentence, and the run can be resumed."""

import os
import shutil
import subprocess
import time
import unittest
from pathlib import Path

from paragrad_cli import MPIEXEC, PLATFORM, PROGRAM, CliTest, run, weights


class CutShort(CliTest):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.data = str(cls.folder / "long.h5")  # of several pages
        made = run("data", "generate", "--out", cls.data, "--samples", 6000, "--valid", 500, "--test", 500, "--dim", 8,
                   "--classes", 6, "--sequence-length", 40)
        assert made.returncode == 0, made.stderr

    def options(self, data: str, out: Path) -> list[str]:
        return ["--data", str(data), "--model", "8-12-6:sigmoid", "--learning-rate", "0.1", "--blocks", "2", "--epochs", "30",
                "--minibatch", "16", "--quiet", "--strategy", "bmuf", "--out", str(out), "--checkpoint-every", "1", "--resume"]

    def cut_in_mid_run(self, command: list[str], data: Path, out: Path) -> subprocess.CompletedProcess:
        """Starts the run, and cuts the file to a page once there is a state to take up."""
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        while process.poll() is None and not (out / "state/latest.json").exists():
            time.sleep(0.001)
        os.truncate(data, 4096)
        stdout, stderr = process.communicate(timeout=60)
        return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)

    def check(self, start: list[str], launcher: list[str], first_rank_reads: str = "{data}") -> None:
        """start: what the cut run is started by; launcher: the same without its options."""
        name = self.id().rsplit(".", 1)[1]
        data, out = self.folder / f"{name}.h5", self.folder / name
        shutil.copy(self.data, data)
        result = self.cut_in_mid_run([part.format(data=data, out=out) for part in start], data, out)
        self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
        said = [line for line in result.stderr.splitlines() if not line.startswith("Abort(2) on node") and line]  # MPICH's
        self.assertEqual(said, [f"paragrad: '{data}' was truncated to 4096 bytes while it was being read; restore the file"])
        for _ in range(300):  # the launcher may return while the ranks that it killed are ending
            if not self.processes_with(str(data)):
                break
            time.sleep(0.1)
        self.assertEqual(self.processes_with(str(data)), [])
        shutil.copy(self.data, data)
        whole = subprocess.run([*launcher, *self.options(self.data, self.folder / f"{name}-whole")], capture_output=True, text=True)
        again = subprocess.run([*launcher, *self.options(first_rank_reads.format(data=data), out)], capture_output=True, text=True)
        self.assertEqual(weights(again), weights(whole))

    @staticmethod
    def processes_with(argument: str) -> list[str]:
        found = []
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                if argument in Path(f"/proc/{entry}/cmdline").read_text().split("\0"):
                    found.append(entry)
            except OSError:
                pass  # gone meanwhile
        return found

    def test_in_train(self):
        launcher = [PROGRAM, "train"]
        self.check([*launcher, *self.options("{data}", "{out}")], launcher)

    def test_in_simulate_on_several_threads(self):
        launcher = [PROGRAM, "simulate", "--workers", "4", "--host-threads", "3", "--platform", PLATFORM]
        self.check([*launcher, *self.options("{data}", "{out}")], launcher)

    @unittest.skipUnless(MPIEXEC, "needs an MPI that starts ranks together")
    def test_under_every_rank(self):
        launcher = [MPIEXEC, "-n", "2", PROGRAM, "train"]
        self.check([*launcher, *self.options("{data}", "{out}")], launcher)

    @unittest.skipUnless(MPIEXEC, "needs an MPI that starts ranks together")
    def test_under_one_rank_takes_the_others_along(self):
        first = [PROGRAM, "train", *self.options(self.data, "{out}")]
        last = [PROGRAM, "train", *self.options("{data}", "{out}")]
        self.check([MPIEXEC, "-n", "2", *first, ":", "-n", "1", *last], [MPIEXEC, "-n", "3", PROGRAM, "train"], self.data)


if __name__ == "__main__":
    unittest.main()
