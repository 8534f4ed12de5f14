#!/usr/bin/env python3
"""The table of closed forms in src/comm/collectives/README.md says what the simulator measures."""

import json
import math
import re
import unittest

from paragrad_cli import ROOT, FolderTest, run

PAGE = ROOT / "src/comm/collectives/README.md"
PLATFORM = """
[cluster]
nodes = 64
devices_per_node = 1
[device]
peak = "1000TFLOPs"
memory_bandwidth = "1000000GBps"
gemm_efficiency = 1
memory_efficiency = 1
launch = "0us"
[peer]
latency = "{latency}us"
bandwidth = "{bandwidth}GBps"
[leaf]
latency = "{latency}us"
bandwidth = "{bandwidth}GBps"
[message]
eager = "1GB"
"""
WORKERS = [*range(2, 18), 64]


def formulas() -> dict[tuple[str, str], list[str]]:
    """Rows of the table by operation and algorithm: steps, messages, bytes, additions, time."""
    section = PAGE.read_text().split("## Closed forms")[1].split("## ")[0]
    rows = [re.findall(r"`([^`]+)`", line) for line in section.splitlines() if line.startswith("| `")]
    return {(row[0], row[1]): row[2:] for row in rows}


def catalogue() -> list[dict]:
    return json.loads(run("help", "collective", "--format", "json").stdout)[0]["entries"]


def value(formula: str, workers: int, n: float, latency_s: float, bandwidth: float) -> float:
    power = 2 ** int(math.log2(workers))
    names = {"N": workers, "n": n, "P": power, "F": int(workers > power), "L": latency_s, "B": bandwidth, "log2": math.log2,
             "floor2": int(math.log2(workers)), "ceil2": math.ceil(math.log2(workers)), "ceil": math.ceil, "max": max, "min": min,
             "ones": sum(i.bit_count() for i in range(workers))}
    return eval(formula, {"__builtins__": {}}, names)  # our own page


class Page(FolderTest):
    def measure(self, operation: str, algorithm: str, workers: int, n: int, latency_us: float, bandwidth_gbps: float) -> dict:
        platform, out = self.folder / "platform.toml", self.folder / "out"
        platform.write_text(PLATFORM.format(latency=latency_us, bandwidth=bandwidth_gbps))
        result = run("collective", "--operation", operation, "--collective", algorithm, "--workers", workers, "--bytes", f"{n}B", "--platform", platform,
                     "--out", out, "--overwrite")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads((out / "manifest.json").read_text())["result"]

    def test_every_algorithm_is_on_the_page_with_the_time_that_help_shows(self):
        of_catalogue = {}
        for entry in catalogue():
            self.assertRegex(PAGE.read_text(), rf"\| `{entry['name']}[:`]")
            lines = [line for line in entry["formula"].splitlines() if line.partition(":")[0] in entry["serves"]]
            if entry["name"] not in ("hierarchical", "auto", "native", "nccl"):  # without closed forms of their own
                self.assertEqual([line.partition(":")[0] for line in lines], entry["serves"])
            for line in lines:
                operation, _, time = line.partition(": ")
                of_catalogue[operation, entry["name"]] = time
        self.assertEqual({row: columns[-1] for row, columns in formulas().items()}, of_catalogue)

    def test_steps_messages_and_bytes_are_those_of_the_simulator(self):
        for (operation, algorithm), (steps, messages, sent, added, _) in formulas().items():
            for workers in WORKERS:
                n = 4 * workers * 32  # equal stripes for N and for smaller powers of two
                measured = self.measure(operation, algorithm, workers, n, 10, 1e6)
                with self.subTest(operation=operation, algorithm=algorithm, workers=workers):
                    self.assertEqual(round(measured["time_s"] / 10e-6), value(steps, workers, n, 0, 1))
                    self.assertEqual(measured["messages"], value(messages, workers, n, 0, 1))
                    self.assertEqual(measured["busiest_bytes"], value(sent, workers, n, 0, 1))
                    self.assertEqual(measured["busiest_additions"], value(added, workers, n, 0, 1))

    def test_times_are_those_of_the_simulator(self):
        for (operation, algorithm), (*_, time) in formulas().items():
            for workers in (2, 3, 4, 7, 8, 13, 16, 17, 64):
                n = 4 * workers * 32 * (64 // workers)  # some kB
                measured = self.measure(operation, algorithm, workers, n, 5, 2)["time_s"]
                predicted = value(time, workers, n, 5e-6, 2e9)
                with self.subTest(operation=operation, algorithm=algorithm, workers=workers):
                    if operation in ("reduce_scatter", "all_gather", "all_to_all") or algorithm == "ring" or (workers & (workers - 1) == 0 and algorithm not in ("double_tree", "parameter_server")):
                        self.assertAlmostEqual(measured / predicted, 1, delta=1e-5)
                    else:
                        self.assertAlmostEqual(measured, predicted, delta=2 * (5e-6 + n / 2e9))


if __name__ == "__main__":
    unittest.main()
