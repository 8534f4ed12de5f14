#!/usr/bin/env python3
"""paragrad collective: the table, the run folder and what the user gets wrong."""

import json
import unittest
from pathlib import Path

from paragrad_cli import PLATFORM, FolderTest, run


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
        self.assertEqual(len(printed.stdout.splitlines()), 5)
        self.assertEqual([(m["workers"], m["bytes"]) for m in self.result(out)["measurements"]],
                         [(2, 1000), (2, 10**6), (3, 1000), (3, 10**6)])
        again = run("collective", "--config", out / "config.toml", "--out", self.folder / "again")
        self.assertEqual(again.stdout, printed.stdout)

    def test_both_worlds_send_the_same_messages(self):
        for workers in (2, 3):
            real, emulated = self.folder / f"real{workers}", self.folder / f"emulated{workers}"
            self.assertEqual(run("collective", "--bytes", "600kB", "--repeat", 2, "--out", real, ranks=workers).returncode, 0)
            self.emulate("--bytes", "600kB", "--workers", workers, "--out", emulated)
            for key in ("workers", "bytes", "messages", "busiest_messages", "busiest_bytes"):
                self.assertEqual(self.result(real)[key], self.result(emulated)[key], key)

    def test_mistakes_are_refused_in_one_sentence(self):
        for arguments, parts in (
            (["--workers", 2, "--bytes", "3B"], ["'3B'", "float32"]),
            (["--workers", 2, "--bytes", "100"], ["'100'", "kB"]),
            (["--workers", 0], ["--workers"]),
            (["--workers", 65], ["64 devices", "65 workers"]),
            (["--workers", 2, "--collective", "rign"], ["'rign'", "ring"]),
            (["--workers", 2, "--collective", "native"], ["native", "choose another"]),
            ([], ["--workers", "mpiexec"]),
        ):
            with self.subTest(arguments=arguments):
                self.assert_refused(self.emulate(*arguments), *parts)
        self.assert_refused(run("collective", "--workers", 2), "--platform")
        self.assert_refused(run("collective", "--workers", 2, "--bytes", "1kB", ranks=2), "under mpiexec", "leave out")


if __name__ == "__main__":
    unittest.main()
