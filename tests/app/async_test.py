#!/usr/bin/env python3
"""Asynchronous training from the command line: recorded under MPI or in one process, repeated in the simulator, refused where it means nothing."""

import json
import unittest

from paragrad_cli import PLATFORM, CliTest, run, weights

RUNS = {
    "async_sgd": (3, 0, []),
    "async_sgd, prefetch and push-every": (3, 0, ["--prefetch", "true", "--push-every", "2"]),
    "async_sgd, fetch-every, a server": (3, 1, ["--fetch-every", "2"]),
    "async_sgd, two servers": (4, 2, ["--prefetch", "true", "--optimiser", "adagrad"]),
    "async_sgd, own splits": (3, 0, ["--work", "own", "--schedule", "newbob", "--newbob-restore", "true"]),
    "bounded_staleness": (3, 0, ["--staleness-bound", "1"]),
    "staleness_scaled": (3, 1, []),
    "lazy_sgd": (3, 0, ["--lazy-threshold", "0.02"]),
    "async_sgd, windows": (3, 0, ["--server-transport", "windows", "--prefetch", "true"]),
    "staleness_scaled, windows, two servers": (4, 2, ["--server-transport", "windows", "--push-every", "2"]),
    "easgd": (3, 1, ["--push-every", "3"]),
    "async_local_sgd": (3, 0, ["--push-every", "4", "--outer-momentum", "0.5"]),
    "async_local_sgd, weighted, windows": (4, 1, ["--push-every", "3", "--outer-step", "weighted", "--outer-learning-rate", "0.2",
                                                  "--server-transport", "windows", "--optimiser", "nesterov"]),
    "async_local_sgd, grace": (4, 1, ["--push-every", "4", "--grace", "0.005", "--worker-speeds", "1,0.5,0.2"]),
    "async_local_sgd, grace, on the workers": (3, 0, ["--push-every", "2", "--grace", "0.002", "--outer-step", "nesterov"]),
    "backup_workers": (4, 1, []),
}


class Async(CliTest):
    @property
    def options(self) -> list[str]:
        return [*self.task, "--momentum", "0.5"]

    def record(self, name: str, out: str, in_one_process: bool = False) -> tuple[int, list[str], str]:
        ranks, servers, more = RUNS[name]
        task = self.task if "adagrad" in more else self.options
        options = [*task, "--strategy", name.split(",")[0], "--servers", str(servers), *more]
        world = ["--workers", ranks - servers] if in_one_process else []
        real = run("train", *options, *world, "--out", self.folder / out, ranks=0 if in_one_process else ranks)
        return ranks - servers, options, weights(real)

    def replay(self, workers: int, options: list[str], out: str, *more: str):
        return run("simulate", "--workers", workers, "--platform", PLATFORM, *options, "--replay", self.folder / out / "order.txt", *more)

    def test_a_recorded_run_is_repeated_to_the_same_bits(self):
        for i, name in enumerate(RUNS):
            for repetition in range(4 if i < 2 else 2):
                with self.subTest(run=name, repetition=repetition):
                    out = f"run{i}-{repetition}"
                    workers, options, recorded = self.record(name, out, in_one_process=repetition == 0)
                    self.assertEqual(weights(self.replay(workers, options, out)), recorded)

    def test_a_run_that_meets_its_target_before_the_servers_begin_ends(self):
        options = [*self.options, "--strategy", "async_sgd", "--servers", "1", "--parallel-start-epoch", "2", "--target-error", "0.99"]
        real = run("train", *options, ranks=3)
        emulated = run("simulate", "--workers", 2, "--platform", PLATFORM, *options)
        self.assertEqual(weights(real), weights(emulated))

    def test_a_replay_is_refused_where_the_order_does_not_cover_the_run(self):
        _, options, _ = self.record("async_sgd", "network")
        pretraining = ["--pretrain-epochs", "1", "--pretrain-learning-rate", "0.01", "--visible-units", "gaussian"]
        self.assert_refused(self.replay(3, options, "network", *pretraining), "--replay with --pretrain-epochs")

    def test_a_repeated_run_writes_the_order_that_it_kept(self):
        workers, options, recorded = self.record("async_sgd", "first")
        weights(self.replay(workers, options, "first", "--out", self.folder / "second"))
        self.assertEqual((self.folder / "first/order.txt").read_text(), (self.folder / "second/order.txt").read_text())
        self.assertEqual(weights(self.replay(workers, options, "second")), recorded)
        manifest = json.loads((self.folder / "second/manifest.json").read_text())
        self.assertIn("staleness_mean", manifest["result"]["strategy"])

    def test_a_run_with_checkpoints_ends_in_the_same_weights_whatever_their_number_and_tells_why_others_do_not(self):
        why = "saving checkpoints synchronised the workers"
        for name in ("async_sgd", "bounded_staleness", "staleness_scaled", "lazy_sgd", "easgd", "async_local_sgd", "backup_workers"):
            with self.subTest(strategy=name):
                simulate = ["simulate", "--workers", 4, "--platform", PLATFORM, *self.options, "--strategy", name, "--servers", "1"]
                alone = run(*simulate)
                often = run(*simulate, "--out", self.folder / f"often-{name}", "--checkpoint-every", "1")
                seldom = run(*simulate, "--out", self.folder / f"seldom-{name}", "--checkpoint-every", "3")
                self.assertEqual(weights(often), weights(seldom))
                self.assertIn(why, often.stdout)
                self.assertNotIn(why, alone.stdout)
                weights(alone)

    def test_the_same_order_with_another_rate_is_another_model(self):
        workers, options, recorded = self.record("async_sgd", "rate")
        options[options.index("--learning-rate") + 1] = "0.05"
        self.assertNotEqual(weights(self.replay(workers, options, "rate")), recorded)

    def test_an_order_of_another_run_is_refused(self):
        workers, options, _ = self.record("async_sgd", "other")
        self.assert_refused(self.replay(2, options, "other"), "workers 3, not 2")
        self.assert_refused(self.replay(3, ["20" if a == "16" else a for a in options], "other"), "minibatch 16, not 20")
        self.assert_refused(run("train", *options, "--replay", self.folder / "other/order.txt"), "paragrad simulate")
        self.assert_refused(run("simulate", "--workers", 3, "--platform", PLATFORM, *options, "--replay", self.folder / "none"), "cannot read")

    def test_what_means_nothing_is_refused(self):
        asynchronous = [*self.options, "--strategy", "async_sgd"]
        simulate = ["simulate", "--workers", 2, "--platform", PLATFORM]
        for more, parts in ((["--gradient-bits", "1"], ["--gradient-bits"]), (["--buffered", "true"], ["--buffered"]),
                            (["--balance", "true"], ["--balance"]), (["--tensor-parallel", "2"], ["--tensor-parallel"]), (["--auto-minibatch", "true"], ["--auto-minibatch"]),
                            (["--sync-stats", "1"], ["--sync-stats"]), (["--parallel-start-epoch", "9"], ["--parallel-start-epoch"]),
                            (["--optimiser", "lars"], ["'lars'", "--servers 1"])):
            self.assert_refused(run(*simulate, *asynchronous, *more), *parts)
        self.assert_refused(run(*simulate, *self.options, "--strategy", "bmuf", "--servers", "1"), "--servers is an option of the strategies async_sgd")
        self.assert_refused(run("train", *asynchronous, "--servers", "2", ranks=2), "2 servers of 2 ranks")
        self.assert_refused(run("train", *asynchronous, "--servers", "1"), "1 servers of 1 ranks")


if __name__ == "__main__":
    unittest.main()
