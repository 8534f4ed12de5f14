#!/usr/bin/env python3
"""paragrad calibrate: what it measures comes back when the simulator sends the same messages."""

import os
import re
import statistics
import unittest
from pathlib import Path

from paragrad_cli import CliTest, run

BACKEND = Path(__file__).resolve().parents[2] / "src/backend"
QUICK = ["--passes", "3", "--quiet"]


def ratios(output: str, title: str) -> list[float]:
    """The first column of ratios (simulated / measured) of the table under a title."""
    table = output.split(title)[1].split("\n\n")[0]
    return [float(m.group(1)) for m in re.finditer(r"^ *\d+ +\S+ +\S+ +(\d+\.\d+)", table, re.MULTILINE)]


class Calibrate(CliTest):
    def measured(self, name: str, ranks: int) -> tuple[str, str]:
        """File and output of a calibration."""
        path = str(self.folder / name)
        result = run("calibrate", "--out", path, "--overwrite", *QUICK, *(["--largest-message", "300kB"] if ranks else []),
                     ranks=ranks, timeout=120)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return path, result.stdout

    def test_the_written_file_gives_back_the_measured_messages(self):
        for attempt in range(3):  # a neighbour may disturb one measurement; a wrong fit is wrong each time
            path, output = self.measured("two.toml", 2)
            points = ratios(output, "messages between two workers of one node")
            self.assertGreater(len(points), 15, output)
            off = [abs(ratio - 1) for ratio in points]
            if statistics.median(off) <= 0.1 and sorted(off)[int(0.8 * len(off))] <= 0.25:
                break
        else:
            self.fail(output)
        self.assertEqual(len(ratios(output, "allreduce (ring)")), 3, output)
        self.assertIn("2 workers at most", run("platform", path).stdout)
        result = run("simulate", "--workers", 2, "--platform", path, *self.task, "--strategy", "bmuf")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_lone_worker_measures_its_kernels(self):
        path, output = self.measured("one.toml", 0)
        self.assertNotIn("messages", output)
        catalogues = (BACKEND / "kernels.def").read_text() + (BACKEND / "update_rules.def").read_text()
        kernels = re.findall(r"^(?:KERNEL|UPDATE_RULE)\((\w+),", catalogues, re.MULTILINE)
        self.assertIn(f"measured times of {len(kernels) - 1} kernels", run("platform", path).stdout)  # all but the plain gemm
        run("simulate", "--workers", 1, "--platform", path, *self.task).check_returncode()

    def test_mistakes_are_told_before_anything_is_measured(self):
        taken = self.folder / "taken.toml"
        taken.write_text("precious")
        for ranks in (0, 2):
            with self.subTest(ranks=ranks):
                def refused(*arguments, parts, ranks=ranks):
                    self.assert_refused(run("calibrate", *arguments, ranks=ranks, timeout=20), *parts)
                refused("--out", taken, parts=["taken.toml", "--overwrite"])
                refused("--out", self.folder / "no" / "such.toml", parts=["such.toml"])
                refused("--largest-message", "9", parts=["--largest-message"])
                refused("--largest-message", "9TB", parts=["--largest-message", "4GB" if ranks else "start several with mpiexec"])
        self.assertEqual(taken.read_text(), "precious")
        self.assert_refused(run("calibrate", "--device", "meta"), "meta", "cpu")
        self.assert_refused(run("calibrate", "--device", "abacus", "--out", self.folder / "x.toml"), "abacus")
        self.assertFalse(os.path.exists(self.folder / "x.toml"))


if __name__ == "__main__":
    unittest.main()
