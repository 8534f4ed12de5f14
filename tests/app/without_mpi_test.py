#!/usr/bin/env python3
"""A program that was built without MPI trains and simulates the same weights, and says what it lacks."""

import os
import subprocess
import unittest

from paragrad_cli import MPIEXEC, PLATFORM, CliTest, run, weights


def without_mpi(*arguments: object, launcher: tuple[str, ...] = ()) -> subprocess.CompletedProcess:
    return subprocess.run([*launcher, os.environ["PARAGRAD_WITHOUT_MPI"], *map(str, arguments)], capture_output=True, text=True, timeout=60)


class WithoutMpi(CliTest):
    def test_the_version_tells_it(self):
        done = without_mpi("--version")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"MPI +none")
        self.assertNotRegex(run("--version").stdout, r"MPI +none")

    def test_it_trains_and_simulates_the_same_weights(self):
        for command in (["train"], ["simulate", "--workers", 4, "--platform", PLATFORM, "--strategy", "bmuf"]):
            with self.subTest(command=command[0]):
                self.assertEqual(weights(without_mpi(*command, *self.task)), weights(run(*command, *self.task)))

    @unittest.skipUnless(MPIEXEC, "needs an MPI that starts ranks together")
    def test_under_mpiexec_it_names_the_package(self):
        done = without_mpi("train", *self.task, launcher=(MPIEXEC, "-n", "2"))
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("this build has no MPI: install an MPI library (Debian: libmpich-dev)", done.stderr)


if __name__ == "__main__":
    unittest.main()
