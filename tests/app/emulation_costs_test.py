#!/usr/bin/env python3
"""What emulating a worker costs does not grow with the number of workers, except for the rounds of a collective."""

import json
import os
import subprocess
import sys
import unittest
from dataclasses import dataclass

from paragrad_cli import PROGRAM, ROOT, FolderTest, run

GROWTH = 1.6              # of the processor time per worker, if there are eight times as many; log2 gives 1.25
GROWTH_OF_SHORT_RUNS = 3  # which other work on the machine disturbs more; a cost that grows with the workers gives 8
BYTES_PER_WORKER = 16_000  # 14,900 with this network; a page of stack more would be 19,000
TIMING = ("--device", "meta", "--epochs", "1", "--blocks", "1", "--max-steps", "1", "--device-rate", "240", "--platform",
          ROOT / "sim/platforms/p100-aries.toml", "--collective", "halving_doubling", "--quiet")
STRATEGIES = json.loads(run("help", "strategy", "--format", "json").stdout)[0]["entries"]
# Without those for a single worker, and those with servers, which receive messages from all workers.
SYNCHRONOUS = [one["name"] for one in STRATEGIES
               if one["name"] != "sgd" and not any(option["name"] == "servers" for option in one["options"])]
SHARE_A_MINIBATCH = ("data_parallel", "post_local_sgd")
NEEDED = {"bmuf_adam": ("--optimiser", "adam")}


@dataclass
class Usage:
    processor_s: float
    memory_bytes: int


def usage_of(workers: int, *options) -> Usage:
    """Of two runs the one that was disturbed less."""
    first, second = usage_once(workers, *options), usage_once(workers, *options)
    return min(first, second, key=lambda usage: usage.processor_s)


def usage_once(workers: int, *options) -> Usage:
    command = [PROGRAM, "simulate", "--workers", workers, *(["--nodes", workers] if workers > 5320 else []), *TIMING, *options]
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        message = process.stderr.read().decode()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, message
    return Usage(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


class EmulationCosts(FolderTest):
    def test_the_command_of_the_page_runs_with_a_16th_of_its_workers(self):
        bench = [sys.executable, str(ROOT / "tests/bench/largest_emulation.py"), PROGRAM, "16"]
        result = subprocess.run(bench, capture_output=True, text=True, timeout=60)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("on 8192 emulated workers: ", result.stdout)

    def test_a_step_of_resnet50(self):
        few, many = (usage_of(workers, "--model", "zoo:resnet50", "--strategy", "data_parallel", "--train-samples", 64 * workers,
                              "--minibatch", 64 * workers) for workers in (4096, 32768))
        self.assertLess(many.processor_s / 32768, GROWTH * few.processor_s / 4096)
        self.assertLess(many.memory_bytes, BYTES_PER_WORKER * 32768)

    def test_a_step_of_every_synchronous_strategy(self):
        self.assertGreaterEqual(len(SYNCHRONOUS), 8)
        for strategy in SYNCHRONOUS:
            with self.subTest(strategy):
                few, many = (usage_of(workers, "--model", "784-32-10:relu", "--strategy", strategy, *NEEDED.get(strategy, ()),
                                      "--train-samples", 64 * workers, "--minibatch", 64 * (workers if strategy in SHARE_A_MINIBATCH else 1))
                             for workers in (1024, 8192))
                self.assertLess(many.processor_s / 8192, GROWTH_OF_SHORT_RUNS * few.processor_s / 1024)


if __name__ == "__main__":
    unittest.main()
