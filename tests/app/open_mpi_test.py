#!/usr/bin/env python3
"""Ranks of Open MPI end in the weights of MPICH's ranks and of emulated workers, bit for bit."""

import os
import subprocess
import unittest

from paragrad_cli import PLATFORM, CliTest, run, weights

PROGRAM, LAUNCHER = os.environ["PARAGRAD_OVER_OPEN_MPI"], os.environ["PARAGRAD_OPEN_MPIEXEC"]


def over_open_mpi(*arguments: object, ranks: int) -> subprocess.CompletedProcess:
    return subprocess.run([LAUNCHER, "-n", str(ranks), PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=60)


class OpenMpi(CliTest):
    def test_the_program_is_built_with_open_mpi_alone(self):
        version = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, timeout=60)
        self.assertRegex(version.stdout, r"MPI +Open MPI", version.stderr)
        self.assertRegex(run("--version").stdout, r"MPI +MPICH")
        self.assertNotIn("mpich", subprocess.run(["ldd", PROGRAM], capture_output=True, text=True, timeout=60).stdout)

    def test_synchronous_strategies_end_in_the_same_weights(self):
        for ranks, more in ((3, ["--strategy", "bmuf"]), (2, ["--strategy", "model_averaging", "--collective", "tree"]),
                            (4, ["--strategy", "data_parallel", "--collective", "halving_doubling", "--bucket-bytes", "300"]),
                            (3, ["--strategy", "data_parallel", "--compression", "bits:1", "--buffered", "true"]),
                            (3, ["--strategy", "diloco", "--optimiser", "adam"]), (2, ["--strategy", "bmuf", "--workers", "5"]),
                            (4, ["--strategy", "data_parallel", "--tensor-parallel", "2"])):
            with self.subTest(ranks=ranks, more=more):
                found = weights(over_open_mpi("train", *self.task, *more, ranks=ranks))
                self.assertEqual(found, weights(run("train", *self.task, *more, ranks=ranks)), "MPICH")
                workers = [] if "--workers" in more else ["--workers", ranks]
                self.assertEqual(found, weights(run("simulate", "--platform", PLATFORM, *workers, *self.task, *more)), "emulated")

    def test_asynchronous_strategies_run(self):
        for more in (["--servers", "1"], ["--server-transport", "windows"]):
            with self.subTest(more=more):
                weights(over_open_mpi("train", *self.task, "--strategy", "async_sgd", *more, ranks=3))

    def test_the_wrong_mpiexec_is_named(self):
        done = subprocess.run([os.environ["PARAGRAD_MPIEXEC"], "-n", "2", PROGRAM, "train", *map(str, self.task)], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("Open MPI", done.stderr)


if __name__ == "__main__":
    unittest.main()
