#!/usr/bin/env python3
"""--rescale: an interrupted run goes on with another number of workers, says by which rules, and notes it in the manifest."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
import unittest
from pathlib import Path

from paragrad_cli import PLATFORM, PROGRAM, CliTest, run, weights

TASK = ["--model", "8-24-6:sigmoid", "--learning-rate", "0.1", "--epochs", "3", "--blocks", "4", "--minibatch", "16", "--strategy", "bmuf",
        "--checkpoint-every", "1", "--resume"]


def changed(options: list[str], **to: str) -> list[str]:
    result = list(options)
    for name, value in to.items():
        result[result.index("--" + name.replace("_", "-")) + 1] = value
    return result


class Rescale(CliTest):
    """Each test has a copy of a run of four emulated workers, one of which has died, in self.out."""

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.interrupted = cls.folder / "interrupted"
        cls.platform = cls.folder / "platform.toml"
        shutil.copy(PLATFORM, cls.platform)
        whole = run(*cls.command(4, cls.folder / "whole"))
        milliseconds = float(re.search(r"time ([0-9.]+)ms", whole.stdout).group(1))
        fault = f'\n[[fault]]\nkind = "worker"\nid = 1\nfactor = 0\nat = "{0.55 * milliseconds}ms"\n'
        cls.platform.write_text(Path(PLATFORM).read_text() + fault)
        died = run(*cls.command(4, cls.interrupted))
        assert died.returncode == 3, died.stderr
        shutil.copy(PLATFORM, cls.platform)

    def setUp(self) -> None:
        self.out = self.folder / self.id().rsplit(".", 1)[1]
        shutil.copytree(self.interrupted, self.out)

    @classmethod
    def command(cls, workers: int, out: Path, *more: str, task: list[str] = TASK) -> list[str]:
        return ["simulate", "--workers", str(workers), "--platform", str(cls.platform), "--data", cls.data, *task, "--out", str(out), *more]

    def test_another_number_of_workers_needs_the_option(self):
        self.assert_refused(run(*self.command(3, self.out)), "was started with 4 for 'workers', not with 3", "--rescale")

    def test_the_rules_are_printed_and_the_manifest_says_what_happened(self):
        position = [int(part) for part in json.loads((self.out / "state/latest.json").read_text())["set"].split("-")]
        result = run(*self.command(3, self.out, "--rescale"))
        weights(result)
        for line in ("rescaled from 4 to 3 workers:", "optimiser/velocity: mean of the workers", "learning rate: 0.1, unchanged",
                     "strategy/block_model, strategy/block_update: cut into other pieces", "1.33 times as many", "block momentum 0.6667"):
            self.assertIn(line, result.stdout)
        manifest = json.loads((self.out / "manifest.json").read_text())
        self.assertEqual(manifest["run"]["rescaled"], [{"epoch": position[1], "block": position[2], "workers_before": 4, "workers": 3}])
        self.assertEqual(manifest["run"]["workers"], 3)
        self.assertIn("workers=3\n", (self.out / "config.toml").read_text())
        epochs = [record["epoch"] for line in (self.out / "metrics.jsonl").read_text().splitlines() if "epoch" in (record := json.loads(line))]
        self.assertEqual(epochs[:3], [1, 2, 3])

    def test_the_same_number_of_workers_is_a_plain_resumption(self):
        result = run(*self.command(4, self.out, "--rescale"))
        self.assertNotIn("rescaled", result.stdout)
        self.assertEqual(weights(result), weights(run(*self.command(4, self.folder / "undisturbed"))))

    def test_rate_and_minibatch_may_change_with_the_workers_and_nothing_else(self):
        result = run(*self.command(3, self.out, "--rescale", task=changed(TASK, learning_rate="0.2", minibatch="8")))
        weights(result)
        self.assertIn("learning rate: 0.2 instead of 0.1", result.stdout)
        again = self.folder / "other"
        shutil.copytree(self.interrupted, again)
        self.assert_refused(run(*self.command(3, again, "--rescale", task=changed(TASK, model="8-25-6:sigmoid"))), "for 'model'")
        self.assert_refused(run(*self.command(4, again, "--rescale", task=changed(TASK, learning_rate="0.2"))), "for 'learning-rate'")
        self.assertNotIn("rescaled", run(*self.command(4, again)).stdout)

    def test_a_rescaled_run_that_is_killed_goes_on_with_and_without_the_option(self):
        whole = self.folder / "whole rescaled"
        shutil.copytree(self.interrupted, whole)
        wanted = weights(run(*self.command(3, whole, "--rescale")))
        for share in (0.0, 0.5):
            with self.subTest(share=share):
                out = self.folder / f"killed {share}"
                shutil.copytree(self.interrupted, out)
                with subprocess.Popen([PROGRAM, *self.command(3, out, "--rescale")], stdout=subprocess.DEVNULL) as process:
                    first = (out / "state/latest.json").read_text()
                    while process.poll() is None:
                        if "workers=3\n" in (out / "config.toml").read_text() and \
                                (share == 0 or (out / "state/latest.json").exists() and (out / "state/latest.json").read_text() != first):
                            break
                    process.send_signal(signal.SIGKILL)
                ended = process.returncode == 0
                before = json.loads(pointer.read_text())["workers"] if (pointer := out / "state/latest.json").exists() else 3
                if before != 3:
                    self.assert_refused(run(*self.command(3, out)), "saved by 4 workers", "--rescale")
                result = run(*self.command(3, out, *(["--rescale"] if before != 3 else [])))
                if not ended:
                    self.assertEqual(weights(result), wanted)
                self.assertEqual(len(json.loads((out / "manifest.json").read_text())["run"]["rescaled"]), 1)

    def test_ranks_and_workers_of_one_process_go_on_alike(self):
        out = self.folder / "real"
        task = changed(TASK, epochs="400")
        command = [PROGRAM, "train", "--workers", "4", "--data", self.data, *task, "--out", str(out)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            deadline = time.monotonic() + 20
            while not (out / "state/latest.json").exists() and time.monotonic() < deadline:
                time.sleep(0.01)
            os.kill(process.pid, signal.SIGKILL)
        found = set()
        for ranks in (0, 2, 3):
            copy = self.folder / f"on {ranks}"
            shutil.copytree(out, copy)
            shorter = copy / "config.toml"  # the test need not train them all
            shorter.write_text(shorter.read_text().replace("epochs=400\n", "epochs=3\n"))
            found.add(weights(run("train", "--workers", 3, "--data", self.data, *TASK, "--out", copy, "--rescale", ranks=ranks)))
        self.assertEqual(len(found), 1)

    def test_what_has_no_rule_is_refused(self):
        self.assert_refused(run("train", "--data", self.data, *TASK[:-1], "--out", self.out, "--rescale"), "--rescale", "--resume")
        servers = changed(TASK, strategy="async_sgd") + ["--optimiser", "sgd"]
        self.assert_refused(run(*self.command(3, self.out, "--rescale", task=servers)), "no rule", "async_sgd")
        balanced = [*changed(TASK, strategy="data_parallel"), "--balance"]
        self.assert_refused(run(*self.command(3, self.out, "--rescale", task=balanced)), "no rule", "--balance")
        self.assert_refused(run(*self.command(1, self.out, "--rescale")), "from 4 to 1 workers", "strategy/block_model")


if __name__ == "__main__":
    unittest.main()
