#!/usr/bin/env python3
"""paragrad collective: the table, the run folder and what the user gets wrong."""

import json
import re
import tomllib
import unittest
from pathlib import Path

from paragrad_cli import PLATFORM, FolderTest, run


ENTRIES = json.loads(run("help", "collective", "--format", "json").stdout)[0]["entries"]
PLATFORM_OF_TODAY = """
[cluster]
nodes = 1
devices_per_node = 8
[device]
peak = "19.5TFLOPs"
memory_bandwidth = "1555GBps"
gemm_efficiency = 0.8
memory_efficiency = 0.8
launch = "5us"
[peer]
latency = "3.4us"
bandwidth = "240GBps"
[leaf]
latency = "3us"
bandwidth = "25GBps"
[message]
eager = "64kB"
"""
OTHERS = [(operation, e["name"]) for e in ENTRIES for operation in e["serves"] if operation != "allreduce" and e["name"] != "nccl"]


class Collective(FolderTest):
    def emulate(self, *arguments: str):
        return run("collective", "--platform", PLATFORM, *arguments)

    def result(self, out: Path) -> dict:
        return json.loads((out / "manifest.json").read_text())["result"]

    def test_a_measurement_counts_messages_and_bytes(self):
        out = self.folder / "ring"
        printed = self.emulate("--workers", 4, "--bytes", "4kB", "--out", out)
        self.assertEqual(printed.returncode, 0, printed.stderr)
        result = self.result(out)
        self.assertEqual((result["workers"], result["bytes"]), (4, 4000))
        self.assertEqual((result["messages"], result["busiest_messages"], result["busiest_bytes"]), (24, 6, 6000))
        self.assertAlmostEqual(result["bus_bytes_per_s"] * result["time_s"] / 6000, 1)

    def test_several_sizes_and_worlds_give_one_line_each(self):
        out = self.folder / "many"
        printed = self.emulate("--workers", "2,3", "--bytes", "1kB,1MB", "--out", out)
        self.assertEqual(len(re.findall("^ring ", printed.stdout, re.MULTILINE)), 4)
        self.assertEqual([(m["workers"], m["bytes"]) for m in self.result(out)["measurements"]],
                         [(2, 1000), (2, 10**6), (3, 1000), (3, 10**6)])
        again = run("collective", "--config", out / "config.toml", "--out", self.folder / "again")
        self.assertEqual(again.stdout, printed.stdout)

    def test_a_time_far_from_the_closed_form_is_explained_in_a_sentence(self):
        fast = self.folder / "fast.toml"
        fast.write_text(PLATFORM_OF_TODAY)
        explained = set()
        for operation, algorithm in [("allreduce", "ring"), ("allreduce", "halving_doubling"), *OTHERS]:
            out = self.folder / f"{operation}-{algorithm}"
            printed = run("collective", "--operation", operation, "--collective", algorithm, "--workers", "8", "--platform", fast,
                          "--bytes", "256kB,268435456B", "--out", out)
            self.assertEqual(printed.returncode, 0, printed.stderr)
            for one in self.result(out)["measurements"]:
                with self.subTest(operation=operation, algorithm=algorithm, bytes=one["bytes"]):
                    far = one["closed_form_s"] is not None and abs(one["closed_form_ratio"] - 1) > 0.25
                    self.assertEqual(bool(one["difference"]), far, one)
                    if far:
                        self.assertIn(one["difference"], printed.stdout)
                        explained.add(one["difference"].split(" (")[0])
        self.assertIn("the closed form leaves out the additions, a kernel for each segment of 262.1kB", explained)

    def test_nccl_has_a_time_where_its_model_is_known_and_is_refused_elsewhere(self):
        for operation in ("allreduce", "reduce_scatter", "all_gather", "broadcast", "all_to_all"):
            nccl = ["collective", "--operation", operation, "--collective", "nccl"]
            printed = run(*nccl, "--workers", "16,1024", "--platform", "h100-ndr-nvlink", "--bytes", "8B,100MB", "--out", self.folder / f"nccl-{operation}")
            self.assertEqual(printed.returncode, 0, printed.stderr)
            times = [one["time_s"] for one in self.result(self.folder / f"nccl-{operation}")["measurements"]]
            self.assertTrue(times[0] < times[1] <= times[3] and times[0] < times[2] < times[3], times)  # of 16 and 1,024 workers
            if operation == "allreduce":
                self.assertIn("NVLSTree, 404.8us by NCCL's own cost model, which ignores other traffic", printed.stdout)
            else:
                refused = run(*nccl, "--bytes", "8B", ranks=2)  # MPI adds a line of its own
                self.assertEqual(refused.returncode, 2)
                self.assertIn(f"between ranks, collective 'nccl' serves allreduce alone: choose another for {operation}\n", refused.stderr)
            self.assert_refused(run(*nccl, "--workers", 4, "--platform", PLATFORM), "has no section [nccl], which collective 'nccl' needs")
        self.assert_refused(run(*nccl, "--workers", 16, "--platform", "h100-ndr-nvlink", "--device", "cpu"), "takes time and computes nothing")

    def test_both_worlds_send_the_same_messages(self):
        for workers in (2, 3):
            real, emulated = self.folder / f"real{workers}", self.folder / f"emulated{workers}"
            self.assertEqual(run("collective", "--bytes", "600kB", "--repeat", 2, "--out", real, ranks=workers).returncode, 0)
            self.emulate("--bytes", "600kB", "--workers", workers, "--out", emulated)
            for key in ("workers", "bytes", "messages", "busiest_messages", "busiest_bytes"):
                self.assertEqual(self.result(real)[key], self.result(emulated)[key], key)

    def test_every_operation_gives_the_right_result_and_the_same_messages_in_both_worlds(self):
        # On a device that computes the command checks what comes out.
        for operation, algorithm in OTHERS:
            with self.subTest(operation=operation, algorithm=algorithm):
                choice = ["--operation", operation, "--collective", algorithm, "--bytes", "600kB,52B"]
                real, emulated = self.folder / f"real-{operation}-{algorithm}", self.folder / f"emulated-{operation}-{algorithm}"
                printed = run("collective", *choice, "--repeat", 2, "--out", real, ranks=3)
                self.assertEqual(printed.returncode, 0, printed.stderr)
                printed = self.emulate(*choice, "--workers", 3, "--device", "isolated", "--out", emulated)
                self.assertEqual(printed.returncode, 0, printed.stderr)
                self.assertRegex(printed.stdout, rf"^{operation} +workers.*\n{algorithm} +3 +600kB")
                for of_real, of_emulated in zip(*(self.result(out)["measurements"] for out in (real, emulated)), strict=True):
                    for key in ("workers", "bytes", "messages", "busiest_messages", "busiest_bytes", "busiest_additions"):
                        self.assertEqual(of_real[key], of_emulated[key], key)
                    self.assertGreater(of_emulated["closed_form_s"], 0)

    def test_an_operation_has_a_default_algorithm_which_is_recorded(self):
        for operation, algorithm in {"allreduce": "ring", "all_gather": "ring", "broadcast": "tree", "all_to_all": "direct"}.items():
            out = self.folder / operation
            printed = self.emulate("--operation", operation, "--workers", 4, "--bytes", "4kB", "--out", out)
            self.assertIn(f"\n{algorithm} ", printed.stdout)
            recorded = tomllib.loads((out / "config.toml").read_text())
            self.assertEqual((recorded["operation"], recorded["collective"]), (operation, algorithm))
            self.assertEqual(run("collective", "--config", out / "config.toml", "--out", f"{out}2").stdout, printed.stdout)

    def test_the_bus_bandwidth_counts_what_must_cross_a_link(self):
        for operation, share in {"allreduce": 1.5, "reduce_scatter": 0.75, "all_gather": 0.75, "broadcast": 1, "all_to_all": 0.75}.items():
            out = self.folder / operation
            self.emulate("--operation", operation, "--workers", 4, "--bytes", "4kB", "--out", out)
            result = self.result(out)
            self.assertAlmostEqual(result["bus_bytes_per_s"] * result["time_s"] / 4000, share)

    def test_there_is_no_closed_form_for_nodes_that_are_not_full(self):
        for workers, known in ((128, True), (100, False)):  # on 64 devices, four of a node
            out = self.folder / str(workers)
            printed = self.emulate("--workers", workers, "--oversubscribe", "--bytes", "4MB", "--collective", "butterfly", "--out", out)
            self.assertEqual(printed.returncode, 0, printed.stderr)
            self.assertEqual(self.result(out)["closed_form_s"] is not None, known)

    def test_mistakes_are_refused_in_one_sentence(self):
        for arguments, parts in (
            (["--workers", 2, "--bytes", "3B"], ["--bytes", "'3B'", "float32"]),
            (["--workers", 2, "--bytes", "100"], ["--bytes", "'100'", "kB"]),
            (["--workers", 2, "--bytes=-4B"], ["--bytes", "'-4B'", "0B … 1000TB"]),
            (["--workers", 2, "--bytes", "1e30B"], ["--bytes", "'1e30B'", "0B … 1000TB"]),
            (["--workers", 4, "--operation", "all_to_all", "--bytes", "900TB", "--device", "cpu"], ["900000000000000 bytes", "memory"]),
            (["--workers", 0], ["--workers"]),
            (["--workers", 65], ["64 devices", "65 workers"]),
            (["--workers", 2, "--collective", "rign"], ["'rign'", "ring"]),
            (["--workers", 2, "--collective", "native"], ["native", "choose another"]),
            (["--workers", 2, "--operation", "gather"], ["'gather'", "all_gather"]),
            (["--workers", 2, "--operation", "broadcast", "--collective", "ring"], ["'ring'", "for broadcast", "scatter_all_gather"]),
            (["--workers", 2, "--operation", "all_gather", "--collective", "rign"], ["'rign'", "ring, direct, bruck"]),
            (["--workers", 2, "--operation", "all_to_all", "--collective", "native"], ["'native'", "direct, bruck"]),
            (["--workers", 2, "--operation", "all_gather", "--collective", "bruck:2"], ["bruck:2", "no parameters"]),
            (["--workers", 2, "--collective", "bruck"], ["'bruck'", "for allreduce choose"]),
            (["--workers", 2, "--operation", "all_gather", "--workers-per-node", 2], ["--workers-per-node"]),
            ([], ["--workers", "mpiexec"]),
        ):
            with self.subTest(arguments=arguments):
                self.assert_refused(self.emulate(*arguments), *parts)
        self.assert_refused(run("collective", "--workers", 2), "--platform")
        self.assert_refused(run("collective", "--workers", 2, "--bytes", "1kB", ranks=2), "under mpiexec", "leave out")


if __name__ == "__main__":
    unittest.main()
