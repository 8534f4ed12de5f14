#!/usr/bin/env python3
"""What the harness's commands write for a cluster can be started there."""

import re
import shlex
import sys
import unittest
from collections import Counter
from pathlib import Path
from unittest.mock import patch

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/app"), str(ROOT / "experiments/harness")]

from config import UserError, names  # noqa: E402
from loading import all_sizes, load  # noqa: E402
from paragrad_cli import PROGRAM  # noqa: E402
from runner import Runner, known_options  # noqa: E402
from slurm import text_of  # noqa: E402
from worlds import mpi_jobs  # noqa: E402


class Jobs(unittest.TestCase):
    @patch("runner.program_identity", return_value="")  # which takes half of the time
    def test_of_every_experiment_each_option_of_a_job_is_one_of_train_and_given_once(self, _):
        known = known_options(Path(PROGRAM), "train")
        for name in names():
            for size in all_sizes(name):
                runner = Runner(load(name, size), Path(PROGRAM), 1)
                try:
                    jobs = mpi_jobs(runner)
                except UserError:  # it only predicts times
                    continue
                for job, _ in jobs:
                    line = re.search(r"^mpiexec .* train (.*) &$", text_of(runner, job, Path("out")), re.MULTILINE)[1]
                    options = Counter(word.removeprefix("--").partition("=")[0] for word in shlex.split(line))
                    with self.subTest(experiment=name, size=size, job=job.label):
                        self.assertEqual([option for option, count in options.items() if count > 1 or option not in known], [])


if __name__ == "__main__":
    unittest.main()
