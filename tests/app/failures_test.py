#!/usr/bin/env python3
"""Simulated trainings on a cluster whose nodes fail end in the weights of the undisturbed run, and lose what MPI ranks lose."""

import json
import os
import re
import signal
import subprocess
import time
import unittest
from pathlib import Path

from paragrad_cli import MPIEXEC, PLATFORM, PROGRAM, CliTest, run, weights, working_ranks

TASKS = {
    "bmuf": ["--strategy", "bmuf"],
    "1-bit": ["--strategy", "data_parallel", "--gradient-bits", "1"],
    "node-aware": ["--strategy", "data_parallel", "--collective", "hierarchical"],
    "DiLoCo": ["--strategy", "diloco", "--optimiser", "adamw"],
    "post_local_sgd": ["--strategy", "post_local_sgd"],
}
COSTS = '[failures]\nmtbf = "{mtbf}"\nrepair = "{repair}"\nrestart = "{restart}"\nrejoin = "{rejoin}"\nsave = "{save}"\n'
WORKERS = 16  # on four nodes


def manifest(out: Path) -> dict:
    return json.loads((out / "manifest.json").read_text())


class FailuresTest(CliTest):
    def platform(self, name: str, more: str) -> str:
        path = self.folder / f"{name}.toml"
        path.write_text(Path(PLATFORM).read_text() + more)
        return str(path)

    def options(self, name: str) -> list[str]:
        return ["--data", self.data, "--model", "8-64-6:sigmoid", "--learning-rate", "0.1", "--epochs", "4", "--blocks", "6", "--minibatch", "16",
                "--quiet", *TASKS[name]]

    def simulate(self, name: str, out: str, platform: str, *more: str) -> tuple[str, dict]:
        result = run("simulate", "--workers", WORKERS, *self.options(name), "--platform", platform, "--out", self.folder / out, *more)
        return weights(result), manifest(self.folder / out)

    def failing(self, name: str, per_run: float, training_s: float) -> str:
        """A platform on which about `per_run` nodes fail during such a training."""
        times = {"mtbf": training_s * WORKERS / per_run, "repair": training_s / 4, "restart": training_s / 50, "rejoin": training_s / 100,
                 "save": training_s / 1000}
        return self.platform(name, COSTS.format(**{key: f"{1e9 * value:.0f}ns" for key, value in times.items()}))

    def test_failures_and_repairs_cost_time_and_change_no_weight(self):
        for name in TASKS:
            with self.subTest(task=name):
                undisturbed, calm = self.simulate(name, f"{name}-calm", PLATFORM)
                training_s = calm["result"]["training_s"]
                platform = self.failing(name, 8, training_s)
                disturbed, stormy = self.simulate(name, f"{name}-stormy", platform, "--checkpoint-every", "2")
                self.assertEqual(disturbed, undisturbed)
                failures = stormy["simulation"]["failures"]
                self.assertGreaterEqual(failures["failures"], 2)
                self.assertLess(failures["least_nodes"], 4)
                self.assertGreater(stormy["result"]["training_s"], training_s + failures["stopped_s"])
                # All of the time counts, that before the first saved state too; only the final scores come after it.
                after_s = calm["simulation"]["makespan_s"] - training_s
                self.assertAlmostEqual(stormy["simulation"]["makespan_s"] - stormy["result"]["training_s"], after_s, delta=0.02 * training_s + after_s)
                self.assertEqual(stormy["result"]["test_error"], calm["result"]["test_error"])
                self.assertEqual(stormy["result"]["sent_bytes"], calm["result"]["sent_bytes"])  # of the work that was kept

    def test_a_run_with_failures_repeats_itself_on_any_number_of_host_threads(self):
        platform = self.failing("threads", 8, self.simulate("bmuf", "threads-calm", PLATFORM)[1]["result"]["training_s"])
        runs = [self.simulate("bmuf", f"threads-{threads}", platform, "--checkpoint-every", "2", "--host-threads", str(threads))[1]
                for threads in (1, 2)]
        self.assertEqual(runs[0]["simulation"], runs[1]["simulation"])
        self.assertEqual(runs[0]["result"], runs[1]["result"])

    def test_a_simulated_training_loses_the_time_that_goodput_predicts(self):
        cluster = Path(PLATFORM).read_text().replace("nodes = 16", "nodes = 4").replace("devices_per_node = 4", "devices_per_node = 1")
        self.assertIn("nodes = 4", cluster)
        (self.folder / "four.toml").write_text(cluster)
        task = ["--workers", "12", "--oversubscribe", "--data", self.data, "--model", "8-64-6:sigmoid", "--learning-rate", "0.1", "--quiet",
                "--strategy", "model_averaging", "--blocks", "25", "--epochs", "40", "--minibatch", "8"]
        weights(run("simulate", *task, "--platform", self.folder / "four.toml", "--out", self.folder / "undisturbed"))
        calm_s = manifest(self.folder / "undisturbed")["result"]["training_s"]
        block_s = calm_s / 1000
        times = {"mtbf": 4 * 25 * block_s, "repair": 6 * block_s, "restart": 2 * block_s, "rejoin": block_s, "save": block_s / 4}
        (self.folder / "failing.toml").write_text(
            cluster + COSTS.format(**{key: f"{1e9 * value:.0f}ns" for key, value in times.items()}))
        weights(run("simulate", *task, "--platform", self.folder / "failing.toml", "--checkpoint-every", "5", "--out", self.folder / "stormy"))
        result = manifest(self.folder / "stormy")
        self.assertGreater(result["simulation"]["failures"]["failures"], 30)
        run("goodput", "--platform", self.folder / "failing.toml", "--save-every", f"{5e9 * block_s:.0f}ns", "--out", self.folder / "predicted")
        predicted = manifest(self.folder / "predicted")["result"]["goodput"]
        self.assertAlmostEqual(calm_s / result["result"]["training_s"], predicted, delta=0.05)

    def test_the_time_before_the_first_saved_state_counts(self):
        training_s = self.simulate("bmuf", "first-calm", PLATFORM)[1]["result"]["training_s"]
        death = f'[failures]\nrepair = "0s"\nrestart = "1s"\n[[fault]]\nkind = "worker"\nid = 2\nfactor = 0\nat = "{training_s * 1e9 / 50:.0f}ns"\n'
        result = self.simulate("bmuf", "first", self.platform("first", death), "--checkpoint-every", "6")[1]["result"]
        self.assertAlmostEqual(result["training_s"], training_s * 1.02 + 1, delta=training_s / 20)

    def test_saving_the_state_takes_the_time_that_the_platform_says(self):
        never_fails = self.platform("saving", '[failures]\nrepair = "0s"\nrestart = "0s"\nsave = "1s"\n')
        calm = self.simulate("bmuf", "unsaved", PLATFORM)[1]["result"]["training_s"]
        saved = self.simulate("bmuf", "saved", never_fails, "--checkpoint-every", "3")[1]["result"]["training_s"]
        self.assertAlmostEqual(saved - calm, 7, delta=0.1)  # twice in each of four epochs, but not after the last one

    def test_a_death_that_the_platform_file_sets_loses_the_blocks_that_a_killed_rank_loses(self):
        task = ["--workers", "8", "--data", self.data, "--model", "8-1000-1000-6:sigmoid", "--learning-rate", "0.1", "--epochs", "2",
                "--blocks", "10", "--minibatch", "4", "--strategy", "bmuf", "--checkpoint-every", "4"]
        calm = run("simulate", *task, "--platform", PLATFORM, "--out", self.folder / "unkilled")
        out = self.folder / "real"
        launch = subprocess.Popen([PROGRAM, "launch", "--ranks", "3", "--launcher", f"{MPIEXEC} -n {{ranks}}", "--", "train", *task, "--out", str(out)],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(launch.kill)
        self.await_block(out, 5)
        os.kill(working_ranks(out)[2], signal.SIGKILL)
        output, errors = launch.communicate(timeout=60)
        self.assertEqual(launch.returncode, 0, errors)
        self.assertIn(weights(calm), output)
        told = re.search(r"going on with 2 ranks after epoch 1, block (\d+)(?:; (\d+) blocks? to be trained again)?", errors)
        self.assertTrue(told, errors)
        saved, lost = int(told[1]), int(told[2] or 0)
        self.assertIn(saved, (4, 8))
        self.assertLess(lost, 4)
        self.assertIn(f"finished after 1 restart; {lost} block", errors)

        # In the simulator it dies in the block in which it died there.
        at_s = manifest(self.folder / "unkilled")["result"]["training_s"] * (saved + lost + 0.5) / 20
        death = f'[failures]\nrepair = "1d"\nrestart = "1s"\n[[fault]]\nkind = "worker"\nid = 2\nfactor = 0\nat = "{at_s * 1e9:.0f}ns"\n'
        simulated = run("simulate", *task, "--platform", self.platform("scripted", death), "--out", self.folder / "simulated")
        self.assertEqual(weights(simulated), weights(calm))
        self.assertEqual(manifest(self.folder / "simulated")["simulation"]["failures"], {
            "failures": 1, "blocks_again": lost, "stopped_s": 1, "least_nodes": 1})

    def await_block(self, out: Path, block: int) -> None:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                epoch, done = map(int, (out / "state/progress.txt").read_text().split()[1:3])
                if epoch == 1 and done >= block:
                    return
            except (OSError, ValueError):
                pass
            time.sleep(0.001)
        self.fail(f"block {block} was not reached")

    def test_an_interrupted_simulation_starts_again_and_another_run_is_left_alone(self):
        platform = self.failing("again", 8, self.simulate("bmuf", "again-calm", PLATFORM)[1]["result"]["training_s"])
        out = self.folder / "interrupted"
        task = ["simulate", "--workers", WORKERS, *self.options("bmuf"), "--checkpoint-every", "2", "--out", out]
        undisturbed = run(*task, "--platform", platform)
        self.assertTrue(weights(undisturbed))
        before = manifest(out)
        (out / "manifest.json").unlink()  # as if it had not come to its end
        other = self.failing("other", 8, 1)
        self.assert_refused(run(*task, "--platform", other, "--resume"), "was started with")
        self.assert_refused(run(*task, "--platform", platform), "already contains a run")
        self.assertEqual(weights(run(*task, "--platform", platform, "--resume")), weights(undisturbed))
        self.assertEqual(manifest(out)["result"], before["result"])
        self.assertEqual(manifest(out)["simulation"], before["simulation"])

    def test_failures_that_come_faster_than_states_are_saved_end_the_simulation(self):
        out = self.folder / "hopeless"
        platform = self.platform("hopeless", COSTS.format(mtbf="1ms", repair="1ns", restart="1us", rejoin="1us", save="0s"))
        self.assert_refused(run("simulate", "--workers", WORKERS, *self.options("bmuf"), "--platform", platform, "--checkpoint-every", "6", "--out", out),
                            "100 failures in a row")

    def test_failures_before_the_training_begins_leave_an_earlier_run_as_it_was(self):
        out = self.folder / "earlier"
        before, _ = self.simulate("1-bit", "earlier", PLATFORM)
        platform = self.platform("at-once", COSTS.format(mtbf="1ms", repair="1ns", restart="1us", rejoin="1us", save="0s"))
        Path(platform).write_text(re.sub('latency = "[^"]+"', 'latency = "1s"', Path(platform).read_text()))
        self.assert_refused(run("simulate", "--workers", WORKERS, *self.options("bmuf"), "--platform", platform, "--checkpoint-every", "6", "--out", out,
                                "--overwrite"), "100 failures in a row")
        self.assertIn(before, (out / "manifest.json").read_text())

    def test_what_cannot_resume_is_refused(self):
        platform = self.failing("refused", 1, 1)
        for more, complaint in (([], "give --out and --checkpoint-every"),
                                (["--out", str(self.folder / "r"), "--checkpoint-every", "1", "--timeline"], "leave out --timeline"),
                                (["--out", str(self.folder / "r"), "--checkpoint-every", "1", "--strategy", "async_sgd", "--optimiser", "sgd"],
                                 "choose another strategy")):
            result = run("simulate", "--workers", "4", "--data", self.data, "--model", "8-8-6", "--learning-rate", "0.1", "--platform", platform, *more)
            self.assertEqual(result.returncode, 2)
            self.assertIn(complaint, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1)


class GoodputTest(CliTest):
    def goodput(self, failures: str, *more: str):
        path = self.folder / "cluster.toml"
        path.write_text(Path(PLATFORM).read_text() + failures)
        return run("goodput", "--platform", path, *more)

    def test_the_table_has_a_line_for_each_number_of_nodes_and_groups(self):
        out = self.folder / "goodput"
        result = self.goodput('[failures]\nmtbf = "10d"\nrepair = "1h"\nrestart = "5min"\nsave = "10s"\nsave_every = "auto"\n',
                              "--nodes", "16,1024", "--groups", "1,4", "--failures", "20000", "--out", out)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(result.stdout.splitlines()), 5)
        rows = manifest(out)["result"]["measurements"]
        self.assertEqual([(row["nodes"], row["groups"]) for row in rows], [(16, 1), (16, 4), (1024, 1), (1024, 4)])
        for row in rows:
            self.assertAlmostEqual(sum(row[part] for part in ("goodput", "lost", "saving", "stopped", "absent")), 1)
        self.assertLess(rows[2]["goodput"], rows[3]["goodput"])

    def test_a_platform_whose_devices_do_not_fail_is_refused(self):
        for failures, complaint in (("", "lacks the section [failures]"), ('[failures]\nrepair = "1s"\nrestart = "1s"\n', "give failures.mtbf"),
                                    ('[failures]\nmtbf = "1d"\nrepair = "1s"\nrestart = "1s"\nsave_every = "auto"\n', "give 'save'")):
            result = self.goodput(failures)
            self.assertEqual(result.returncode, 2)
            self.assertIn(complaint, result.stderr)


if __name__ == "__main__":
    unittest.main()
