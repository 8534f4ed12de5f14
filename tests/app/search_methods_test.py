#!/usr/bin/env python3
"""A search compares methods with options of their own, each at its own best."""

import re
import statistics
import unittest

from paragrad_cli import run, weights
from search_case import SearchCase


class Methods(SearchCase):
    def write_methods(self, *methods: str, **options: str) -> None:
        self.write(**{"strategy": "", "learning-rate": ""} | options)
        with self.file.open("a") as file:
            file.write("".join(f"[[run]]\n{method}\n" for method in methods))

    def test_methods_are_compared_each_at_its_own_best(self):
        self.write_methods('name = "BMUF"\nstrategy = "bmuf"\nblocks = 2\nlearning-rate = [0.05, 0.2]',
                           'strategy = "data_parallel"\ngradient-bits = 1\nlearning-rate = "0.01..0.5 log"',
                           'strategy = "model_averaging"\nlearning-rate = 0.1')
        text = self.search("--seeds", "1,2,3", "--draws", "3").stdout
        self.assertIn("3 methods, 6 configurations, 3 seeds", text)
        methods = ["BMUF", "data_parallel, gradient-bits=1", "model_averaging"]
        tables = text.partition("\nbest by ")[0].split("\nbest of each method; ±: 95 % confidence interval of the mean\n")
        ranking, best = (self.table(table + "\n") for table in tables)
        self.assertEqual(sorted(row[0] for row in ranking), [f"{number:03}" for number in range(1, 7)])
        self.assertEqual(sorted(row[1] for row in best), methods)
        for row in best:  # the first of its method in the ranking
            self.assertEqual(row[0], next(other[0] for other in ranking if other[1] == row[1]))
        results = self.results()["configurations"]
        of = {one["run"]: one for one in results}
        self.assertEqual([of[f"{number:03}"]["method"] for number in range(1, 7)], methods[:1] * 2 + methods[1:2] * 3 + methods[2:])
        for row in best:
            errors = of[row[0]]["valid_error"]
            mean, half = 100 * statistics.fmean(errors), 100 * 4.303 * statistics.stdev(errors) / 3 ** 0.5  # Student's t, 2 degrees
            self.assertEqual(row[4], f"{mean:.2f} ± {half:.2f} %")
            self.assertEqual(of[row[0]]["sent_bytes"], [self.manifest(f"{row[0]}-s{seed}")["result"]["sent_bytes"] for seed in (1, 2, 3)])
        self.assertEqual(self.manifest("001-s1")["run"]["blocks"], 2)  # of the method, not of all runs
        self.assertEqual(self.manifest("006-s1")["run"]["blocks"], 4)
        again = self.search("--seeds", "1,2,3", "--draws", "3").stdout
        self.assertEqual(re.findall(r"^\d{3}-s\d", again, re.MULTILINE), [])
        self.assertEqual(again.partition("\nrun ")[2], text.partition("\nrun ")[2])
        alone = run("simulate", "--config", self.out / "001-s2/config.toml", "--out", self.folder / "alone", "--quiet")
        self.assertEqual(self.manifest("001-s2")["result"]["parameters_sha256"], weights(alone))

    def test_halving_keeps_a_configuration_of_each_method_and_can_go_by_time(self):
        self.write_methods('strategy = "bmuf"\nlearning-rate = [0.05, 0.2]', 'strategy = "model_averaging"\nlearning-rate = [1e-9, 2e-9]')
        text = self.search("--rungs", "1").stdout
        self.assertIn("epoch 1: 2 of 4 configurations continue\n", text)
        ended = [one["method"] for one in self.results()["configurations"] if one["epochs"] == 4]
        self.assertEqual(sorted(ended), ["bmuf", "model_averaging"])
        self.out = self.folder / "by time"
        text = self.search("--rungs", "1", "--measure", "training_s").stdout
        self.assertIn("epoch 1: 2 of 4 configurations continue\n", text)
        self.assertRegex(text, r"001-s1  training_s [0-9.]+ms after epoch \d")

    def test_methods_that_cannot_be_read_are_refused_with_their_line(self):
        for methods, *parts in (
            (['learning-rate = [0.1, 0.2]\nstrategy = "bmuf"\nlearning-rate = 0.1'], "'learning-rate' is already set in line 9"),
            (["learning-rate = [0.1, 0.2]"], "line 8", "needs a name"),
            (['name = ["a", "b"]\nlearning-rate = 0.1'], "line 9", "the name of a method is a text"),
            (['strategy = "bmuf"', 'strategy = "bmuf"'], "line 10", "two methods have the name 'bmuf'"),
            (['strategy = "bmuf"\nblock_momentum = 0.5'], "line 10", "block_momentum"),
            (['strategy = "bmuf"\nseed = 2'], "line 10", "'seed' is set by the search"),
            (['strategy = "bmuf"\nlearning-rate = []'], "line 10: --learning-rate has an empty list"),
            (['strategy = "bmuf"\nlearning-rate = "0.3..0.1"'], "line 10: --learning-rate: the range 0.3..0.1 is empty"),
            (['strategy = "sgd"\nlearning-rate = 0.1\nblock-momentum = 0.5'], "configuration 001 (sgd, learning-rate=0.1, block-momentum=0.5)"),
        ):
            with self.subTest(methods=methods):
                self.write_methods(*methods)
                self.assert_refused(run("search", self.file, "--out", self.out), self.file.name, *parts)
        for text, *parts in (
            ("[run]\nstrategy = 'bmuf'\n", "write [[run]]"),
            ("[[runs]]\nstrategy = 'bmuf'\n", "the tables of this file are called [[run]]"),
            ("name = 'x'\n", "line 8: 'name' belongs to a method"), ("run = 3\n", "line 8: 'run' belongs to a method"),
            ("run = [{strategy = 'bmuf'}]\n", "a line [[run]]"),
            ("[[run]]\nstrategy = 'bmuf'\n[run.more]\nblocks = 2\n", "is not 'key = value'"),
        ):
            with self.subTest(text=text):
                self.write_methods()
                with self.file.open("a") as file:
                    file.write(text)
                self.assert_refused(run("search", self.file, "--out", self.out), self.file.name, *parts)
        self.assertFalse(self.out.exists())


if __name__ == "__main__":
    unittest.main()
