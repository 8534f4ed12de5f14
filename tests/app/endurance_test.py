#!/usr/bin/env python3
"""A training of thousands of blocks in one process: memory, descriptors and run folder do not grow with the number of blocks.

PARAGRAD_ENDURANCE_EPOCHS=500 trains 10,000 blocks of each kind and prints what was measured."""

import os
import subprocess
import time
import unittest
from pathlib import Path

from paragrad_cli import PLATFORM, PROGRAM, CliTest, run

EPOCHS = int(os.environ.get("PARAGRAD_ENDURANCE_EPOCHS", "20"))  # of 20 blocks
SAMPLES, LAYER = (8000, 256) if EPOCHS < 100 else (32000, 512)  # the long trainings show, too, that blocks keep the cores busy
WORLDS = {
    "train --workers 4": ["train", "--workers", "4"],
    "simulate --workers 4": ["simulate", "--workers", "4", "--platform", PLATFORM],
    "simulate, servers": ["simulate", "--workers", "4", "--platform", PLATFORM, "--strategy", "async_sgd", "--optimiser", "sgd", "--servers", "1",
                          "--record", "none"],  # or the order of requests would be in memory until the end
}
MODEL = f"8-{LAYER}-{LAYER}-6:sigmoid"


def resident_kb(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


def folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


class EnduranceTest(CliTest):
    def watch(self, name: str) -> None:
        out = self.folder / name.replace(" ", "_")
        bmuf = [] if "--strategy" in WORLDS[name] else ["--strategy", "bmuf", "--blocks", "20", "--checkpoint-every", "100"]
        command = [PROGRAM, *WORLDS[name], *bmuf, "--data", str(self.folder / "many.h5"), "--model", MODEL, "--learning-rate", "0.05", "--minibatch", "32",
                   "--epochs", str(EPOCHS), "--quiet", "--out", str(out)]
        begun, used_before = time.monotonic(), sum(os.times()[2:4])  # of children that have ended
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        self.addCleanup(process.kill)
        samples = []  # of epochs done, resident kB, descriptors, bytes in the folder
        while process.poll() is None:
            try:
                epochs = len((out / "metrics.jsonl").read_text().splitlines())
                samples.append((epochs, resident_kb(process.pid), len(os.listdir(f"/proc/{process.pid}/fd")), folder_bytes(out)))
            except (OSError, IndexError):
                pass  # not yet, or no longer, there
            time.sleep(0.005 if EPOCHS < 100 else 0.1)
        self.assertEqual(process.wait(), 0)
        wall_s = time.monotonic() - begun
        cores = (sum(os.times()[2:4]) - used_before) / wall_s
        early = [sample for sample in samples if EPOCHS * 0.1 <= sample[0] <= EPOCHS * 0.5]
        late = [sample for sample in samples if EPOCHS * 0.5 < sample[0] < EPOCHS]
        self.assertTrue(early and late, samples)
        kb, later_kb = (max(sample[1] for sample in part) for part in (early, late))
        print(f"{name}: {20 * EPOCHS} blocks in {wall_s:.1f} s, {cores:.2f} cores; resident {kb} kB, later {later_kb} kB; "
              f"descriptors {max(s[2] for s in early)}, later {max(s[2] for s in late)}; folder {early[0][3]} B after {early[0][0]} epochs, "
              f"{late[-1][3]} B after {late[-1][0]}")
        self.assertLessEqual(later_kb, 1.02 * kb + 512)
        written_now = 3  # a state, a checkpoint, or their folder
        self.assertLessEqual(max(sample[2] for sample in late), max(sample[2] for sample in early) + written_now)
        bounded = 2 * max(sample[3] for sample in early)  # while a state is replaced, there are two
        self.assertLessEqual(late[-1][3], bounded + 1000 * (late[-1][0] - early[0][0]))  # a record of an epoch

    def test_nothing_grows_with_the_number_of_blocks(self):
        self.assertEqual(run("data", "generate", "--out", self.folder / "many.h5", "--samples", SAMPLES, "--valid", "100", "--test", "100", "--dim", "8",
                             "--classes", "6").returncode, 0)
        for name in WORLDS:
            with self.subTest(name):
                self.watch(name)


if __name__ == "__main__":
    unittest.main()
