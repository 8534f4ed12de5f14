#!/usr/bin/env python3
"""The simulator and MPI end in the same weights, bit for bit."""

import unittest

from paragrad_cli import CliTest, run, weights

STRATEGIES = {
    "data_parallel": [],
    "model_averaging": [],
    "bmuf": [],
    "bmuf cbm": ["--bmuf-kind", "cbm"],
    "bmuf nbm_cntk": ["--bmuf-kind", "nbm_cntk"],
}
COLLECTIVES = ["ring", "tree", "butterfly", "halving_doubling", "parameter_server"]


class Worlds(CliTest):
    def test_every_strategy_and_collective_ends_in_the_same_weights_in_both_worlds(self):
        for name, more in STRATEGIES.items():
            collectives = COLLECTIVES if len(name.split()) == 1 else ["ring"]
            for collective in collectives:
                for workers in (2, 3, 4):
                    with self.subTest(strategy=name, collective=collective, workers=workers):
                        options = ["--strategy", name.split()[0], *more, "--collective", collective]
                        real = run("train", *self.task, *options, ranks=workers)
                        self.assertEqual(weights(self.simulate(workers, *options)), weights(real))

    def test_one_worker_ends_in_the_weights_of_sgd_in_both_worlds(self):
        reference = weights(run("train", *self.task))
        self.assertEqual(weights(self.simulate(1)), reference)
        for name, more in STRATEGIES.items():
            for collective in COLLECTIVES:
                with self.subTest(strategy=name, collective=collective):
                    options = ["--strategy", name.split()[0], *more, "--collective", collective]
                    self.assertEqual(weights(self.simulate(1, *options)), reference)
            self.assertEqual(weights(run("train", *self.task, *options, ranks=1)), reference)

    def test_local_optimisers_and_losses_end_in_the_same_weights_in_both_worlds(self):
        for options in (["--optimiser", "nesterov"], ["--optimiser", "sgd", "--l2", "0.001"],
                        ["--loss", "squared_error", "--schedule", "exponential"], ["--warm-start-sweeps", "1"],
                        ["--schedule", "newbob", "--newbob-restore", "true", "--reset-local-momentum", "false"]):
            for strategy in ("data_parallel", "bmuf"):
                with self.subTest(options=options, strategy=strategy):
                    all_options = [*options, "--strategy", strategy]
                    real = run("train", *self.task, *all_options, ranks=3)
                    self.assertEqual(weights(self.simulate(3, *all_options)), weights(real))

    def test_mpis_own_allreduce_trains_too(self):
        weights(run("train", *self.task, "--strategy", "bmuf", "--collective", "native", ranks=2))
        self.assert_refused(self.simulate(2, "--strategy", "bmuf", "--collective", "native"), "native", "choose another")


if __name__ == "__main__":
    unittest.main()
