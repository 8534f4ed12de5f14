#!/usr/bin/env python3
"""Bytes and messages of a training equal those computed by hand, in both worlds."""

import json
import math
import unittest
from pathlib import Path

from paragrad_cli import CliTest, run, weights

PARAMETERS = 8 * 12 + 12 + 12 * 6 + 6  # of the task's model
BLOCKS, EPOCHS, SAMPLES, MINIBATCH = 4, 2, 500, 16
FLOAT = 4


def ring(workers: int) -> tuple[float, float]:
    """Messages and bytes that a worker sends in an allreduce, on average."""
    return 2 * (workers - 1), 2 * (workers - 1) / workers * PARAMETERS * FLOAT


def counts(workers: int) -> tuple[float, float]:
    """The same for a sum of one double over a binomial tree: up with those of all workers below, then down."""
    below = [1 if rank % 2 else min(rank & -rank, workers - rank) for rank in range(1, workers)]
    return 2 * (workers - 1) / workers, 8 * (sum(below) + workers - 1) / workers


def times(n: float, *costs: tuple[float, float]) -> tuple[float, float]:
    return n * sum(cost[0] for cost in costs), n * sum(cost[1] for cost in costs)


def plus(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    return a[0] + b[0], a[1] + b[1]


def one_bit(rows: int, columns: int) -> int:
    """A matrix of one-bit codes: 4 bytes per column for its two levels, and the bits in words."""
    return 4 * columns + 4 * math.ceil(rows * columns / 32)


class Traffic(CliTest):
    def records(self, world: str, name: str) -> list[dict]:
        return [json.loads(line) for line in (self.folder / world / name / "metrics.jsonl").read_text().splitlines()]

    def train(self, name: str, ranks: int, *options: str, workers: int = 0) -> list[dict]:
        """The records of the run, which both worlds agree on."""
        real = run("train", *self.task, *options, "--out", self.folder / "mpi" / name, ranks=ranks)
        emulated = self.simulate(workers or ranks, *options, "--out", self.folder / "sim" / name)
        if "async" not in name:
            self.assertEqual(weights(emulated), weights(real))
        keys = ["messages", "sent_bytes", "received_bytes", "most_sent_bytes"]
        for simulated, measured in zip(self.records("sim", name), self.records("mpi", name), strict=True):
            self.assertEqual([simulated[key] for key in keys], [measured[key] for key in keys])
        return self.records("sim", name)

    def assert_sent(self, record: dict, cost: tuple[float, float]) -> None:
        self.assertAlmostEqual(record["messages"], cost[0], places=6)
        self.assertAlmostEqual(record["sent_bytes"], cost[1], places=6)

    def test_data_parallel_training_sends_a_ring_per_minibatch(self):
        for workers in (2, 3, 4):
            *epochs, end = self.train(f"data_parallel{workers}", workers, "--strategy", "data_parallel")
            steps = BLOCKS * math.ceil(SAMPLES / BLOCKS / MINIBATCH)
            for record in epochs:
                self.assert_sent(record, times(steps, ring(workers)))
                self.assertEqual(record["received_bytes"], record["sent_bytes"])
            self.assert_sent(end, times(EPOCHS * steps, ring(workers)))

    def test_model_averaging_sends_a_ring_and_the_number_of_samples_per_block(self):
        for workers in (2, 3, 4):
            *epochs, end = self.train(f"averaging{workers}", workers, "--strategy", "model_averaging")
            for record in epochs:
                self.assert_sent(record, times(BLOCKS, ring(workers), counts(workers)))
            self.assert_sent(end, times(EPOCHS * BLOCKS, ring(workers), counts(workers)))

    def test_block_momentum_gathers_the_model_and_its_look_ahead_around_a_validation(self):
        workers = 4
        *epochs, end = self.train("bmuf", workers, "--strategy", "bmuf")
        blocks, gather = times(BLOCKS, ring(workers), counts(workers)), times(0.5, ring(workers))
        self.assert_sent(epochs[0], plus(blocks, gather))
        self.assert_sent(epochs[1], plus(blocks, times(2, gather)))
        self.assert_sent(end, plus(times(EPOCHS, blocks), times(3, gather)))

    def test_one_bit_gradients_send_codes_instead_of_numbers(self):
        *epochs, end = self.train("one_bit", 2, "--strategy", "data_parallel", "--compression", "bits:1")
        # Two stripes of whole columns, a column per input of a layer: 7 columns of 12, and the rest.
        stripes = one_bit(12, 7), one_bit(12, 1) + one_bit(12, 1) + one_bit(6, 12) + one_bit(6, 1)
        steps = BLOCKS * math.ceil(SAMPLES / BLOCKS / MINIBATCH)
        for record in epochs:
            self.assert_sent(record, times(steps, (2, sum(stripes))))
        self.assert_sent(end, times(EPOCHS * steps, (2, sum(stripes))))

    def test_an_asynchronous_worker_sends_gradients_and_receives_parameters(self):
        request, reply = 40, 16  # bytes
        steps = BLOCKS * math.ceil(math.ceil(SAMPLES / BLOCKS / 3) / MINIBATCH)
        *epochs, _ = self.train("async", 4, "--strategy", "async_sgd", "--work", "own", "--servers", "1", workers=3)
        for record in epochs:
            self.assert_sent(record, (3 * steps + 1, steps * (2 * request + PARAMETERS * FLOAT) + request))
            self.assertEqual(record["received_bytes"], (steps + 1) * (reply + PARAMETERS * FLOAT))
        *epochs, _ = self.train("async windows", 3, "--strategy", "async_sgd", "--work", "own", "--server-transport", "windows")
        for record in epochs:
            self.assert_sent(record, (3 * (2 * steps + 1), steps * (3 * request + PARAMETERS * FLOAT) + 3 * request))
            self.assertEqual(record["received_bytes"], (steps + 1) * (3 * reply + PARAMETERS * FLOAT))

    def test_parts_of_a_replica_exchange_as_much_in_each_epoch(self):
        for workers, strategy in ((2, "sgd"), (4, "data_parallel"), (4, "model_averaging")):
            first, second, end = self.train(f"parts{workers}-{strategy}", workers, "--strategy", strategy, "--tensor-parallel", "2",
                                            "--keep-best", "true")
            self.assertGreater(first["messages"], 0)
            for key in ("messages", "sent_bytes", "received_bytes"):
                self.assertEqual((second[key], end[key]), (first[key], 2 * first[key]))

    def test_traffic_is_the_same_with_and_without_shortcuts(self):
        workers, task = 8, ["--device", "meta", "--model", "8-12-6", "--train-samples", "600", "--minibatch", "16", "--epochs", "1"]
        for strategy in ("model_averaging", "data_parallel"):
            quiet = run("simulate", "--workers", workers, "--platform", "sim/platforms/k40m-fdr.toml", *task, "--strategy", strategy,
                        "--out", self.folder / f"fast-{strategy}", cwd=Path(__file__).resolve().parents[2])
            self.assertEqual(quiet.returncode, 0, quiet.stderr)
            watched = run("simulate", "--workers", workers, "--platform", "sim/platforms/k40m-fdr.toml", *task, "--strategy", strategy,
                          "--timeline", "--out", self.folder / f"slow-{strategy}", cwd=Path(__file__).resolve().parents[2])
            self.assertEqual(watched.returncode, 0, watched.stderr)
            fast, slow = ((self.folder / f"{speed}-{strategy}/metrics.jsonl").read_text() for speed in ("fast", "slow"))
            self.assertEqual(fast, slow)
            self.assertGreater(json.loads(fast.splitlines()[0])["sent_bytes"], 0)

    def test_what_a_library_sends_is_unknown(self):
        weights(run("train", *self.task, "--strategy", "data_parallel", "--collective", "native", "--out", self.folder / "native", ranks=2))
        for line in (self.folder / "native/metrics.jsonl").read_text().splitlines():
            self.assertIsNone(json.loads(line)["sent_bytes"])
        self.assertIn(" - ", run("compare", self.folder / "native").stdout)

    def test_an_emulated_run_names_its_busiest_link(self):
        for workers, strategy in ((1, "sgd"), (4, "data_parallel")):
            out = self.folder / f"links-{workers}"
            done = self.simulate(workers, "--strategy", strategy, "--out", out)
            weights(done)
            link = json.loads((out / "manifest.json").read_text())["simulation"].get("busiest_link")
            if workers == 1:
                self.assertIsNone(link)
                self.assertNotIn("busiest", done.stdout)
            else:
                self.assertRegex(done.stdout, rf"(?m)^busiest link: {link['name']}, in use for {100 * link['share']:.1f} % of the time$")
                self.assertTrue(0 < link["share"] < 1)

    def test_compare_prints_the_bytes_of_a_worker(self):
        weights(self.simulate(2, "--strategy", "model_averaging", "--out", self.folder / "compared"))
        record = json.loads(run("compare", self.folder / "compared", "--format", "json").stdout)[0]
        self.assertEqual(record["sent_bytes"], times(EPOCHS * BLOCKS, ring(2), counts(2))[1])
        self.assertTrue(0 < record["exposed"] < 1)


if __name__ == "__main__":
    unittest.main()
