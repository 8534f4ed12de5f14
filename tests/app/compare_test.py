#!/usr/bin/env python3
"""Finished runs side by side: `paragrad compare`."""

import csv
import io
import json
import re
import statistics
import unittest
from pathlib import Path

from paragrad_cli import PLATFORM, CliTest, run, without


class Compare(CliTest):
    def test_it_prints_every_run_and_the_speed_up(self):
        folders = [str(self.folder / f"compare{n}") for n in (1, 4)]
        self.simulate(1, "--splits", 4, "--out", folders[0])
        self.simulate(4, "--strategy", "bmuf", "--out", folders[1])
        lines = run("compare", *folders).stdout.splitlines()
        self.assertIn("bmuf nbm", lines[2])
        self.assertIn("4x4", lines[2])
        self.assertIn(" 1.00 ", lines[1])

    def test_it_says_the_same_in_every_format(self):
        folders = [str(self.folder / name) for name in ("one", "two, \"quoted\" | barred", "timed only")]
        self.simulate(1, "--splits", 4, "--out", folders[0])
        self.simulate(4, "--strategy", "bmuf", "--out", folders[1])
        run("simulate", "--device", "meta", "--workers", 2, "--platform", PLATFORM, "--model", "8-6", "--train-samples", 600,
            "--minibatch", 16, "--strategy", "model_averaging", "--out", folders[2])
        text, csv_text, json_text, markdown = (run("compare", *folders, "--format", name).stdout
                                               for name in ("text", "csv", "json", "markdown"))
        self.assertEqual(text, run("compare", *folders).stdout)
        records = json.loads(json_text)
        self.assertEqual([record["run"] for record in records], folders)
        self.assertEqual([record["valid_error"] is None for record in records], [False, False, True])
        for record in records:
            manifest = json.loads((Path(record["run"]) / "manifest.json").read_text())
            for key in ("valid_error", "training_s", "parameters_sha256"):
                self.assertEqual(record[key], manifest["result"][key])
        rows = list(csv.DictReader(io.StringIO(csv_text)))
        self.assertEqual(len(rows), len(records))
        for row, record in zip(rows, records):
            self.assertEqual(row.keys(), record.keys())
            for key, value in record.items():
                if isinstance(value, float):
                    self.assertEqual(float(row[key]), value)
                else:
                    self.assertEqual(row[key], "" if value is None else str(value))
        table = [[re.sub(r"\\(.)", r"\1", cell.strip()) for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in markdown.splitlines()]
        self.assertEqual({len(line) for line in table}, {14})
        for line, record, plain in zip(table[2:], records, text.splitlines()[1:]):
            self.assertEqual(plain.replace(" ", ""), "".join(line).replace(" ", ""))
            if record["valid_error"] is not None:
                self.assertEqual(line[4], f"{100 * record['valid_error']:.2f}")
        self.assert_refused(run("compare", *folders, "--format", "xml"), "--format: 'xml' is unknown", "markdown")

    def test_means_put_runs_together_that_differ_only_in_their_seed(self):
        folders = {(strategy, seed): str(self.folder / f"{strategy}-{seed}") for seed in (1, 2, 12) for strategy in ("bmuf", "model_averaging")}
        for (strategy, seed), folder in folders.items():
            first = self.folder / f"batch1/first-{seed}"
            if not first.exists():
                self.simulate(1, "--seed", seed, "--out", first).check_returncode()
            self.simulate(2, "--strategy", strategy, "--seed", seed, "--init", first / "checkpoint.h5", "--out", folder).check_returncode()
        alone = str(self.folder / "batch1/first-1")
        each = {record["run"]: record for record in json.loads(run("compare", *folders.values(), alone, "--format", "json").stdout)}
        means = json.loads(run("compare", *folders.values(), alone, "--format", "json", "--means").stdout)
        self.assertEqual([(record["run"], record["seeds"]) for record in means],
                         [(folders["bmuf", 1], 3), (folders["model_averaging", 1], 3), (alone, 1)])
        for record in means[:2]:
            of = [each[folders[record["method"].split()[0], seed]] for seed in (1, 2, 12)]
            for key in ("valid_error", "test_error", "training_s", "sent_bytes", "samples_per_s"):
                self.assertAlmostEqual(record[key], statistics.fmean(one[key] for one in of))
            for key in ("valid_error", "test_error", "training_s"):
                self.assertAlmostEqual(record[f"{key}_deviation"], statistics.stdev(one[key] for one in of))
            self.assertIsNone(record["parameters_sha256"])
            self.assertAlmostEqual(record["speed_up"], record["samples_per_s"] / means[2]["samples_per_s"])
        self.assertEqual({key: value for key, value in means[2].items() if "deviation" not in key and key not in ("seeds", "options")},
                         {key: value for key, value in each[alone].items() if key != "options"})
        text = run("compare", *folders.values(), alone, "--means").stdout
        self.assertRegex(text.splitlines()[1], rf"^{folders['bmuf', 1]} \(3 seeds\) .* \d+\.\d\d ± \d+\.\d\d ")
        self.assertEqual(len({line.index(" simulated ") for line in text.splitlines()[1:4]}), 1)
        self.assertIn("±: standard deviation of a seed", text)
        twice = json.loads(run("compare", alone, alone, "--format", "json", "--means").stdout)
        self.assertEqual([record["seeds"] for record in twice], [1, 1])

    def test_epochs_are_those_that_were_trained(self):
        run("simulate", "--workers", 1, "--platform", PLATFORM, *without(self.task, "--epochs"), "--epochs", 5, "--patience", 1,
            "--patience-gain", 1, "--out", self.folder / "early").check_returncode()
        records = json.loads(run("compare", self.folder / "early", "--format", "json").stdout)
        self.assertEqual([record["epochs"] for record in records], [2])

    def test_other_folders_are_told_from_trainings(self):
        table = ["--workers", "2", "--platform", PLATFORM, "--bytes", "1kB"]
        run("collective", *table, "--out", self.folder / "collective").check_returncode()
        self.assert_refused(run("compare", self.folder / "collective"), "contains measurements of a collective operation, not a training")
        options = self.folder / "search.toml"
        options.write_text(f'data = "{self.data}"\nmodel = "8-6"\nlearning-rate = 0.1\nepochs = 1\nblocks = 1\nworkers = 1\nplatform = "{PLATFORM}"\n')
        run("search", options, "--out", self.folder / "search").check_returncode()
        run("compare", self.folder / "search/001-s1").check_returncode()

    def test_of_a_search_the_finished_runs_are_compared(self):
        options, search = self.folder / "mixed.toml", self.folder / "mixed"
        options.write_text(f'data = "{self.data}"\nmodel = "8-12-6:relu"\nlearning-rate = [0.1, 1e30]\nepochs = 2\nblocks = 2\nworkers = 2\n'
                           f'platform = "{PLATFORM}"\nstrategy = ["model_averaging", "bmuf"]\n')
        run("search", options, "--out", search).check_returncode()
        whole = run("compare", search)
        self.assertEqual(whole.returncode, 0, whole.stderr)
        self.assertEqual(len(re.findall(r"^\S*/mixed/\d{3}-s1 ", whole.stdout, re.MULTILINE)), 2)
        left_out = re.findall(r"^paragrad: '(\S+)' is left out: .*lower the learning rate", whole.stderr, re.MULTILINE)
        self.assertEqual(len(left_out), 2, whole.stderr)
        by_shell = run("compare", *sorted(search.iterdir()))  # as SEARCH/* names them, with logs and failures
        self.assertEqual((by_shell.returncode, by_shell.stdout, by_shell.stderr), (0, whole.stdout, whole.stderr))
        self.assert_refused(run("compare", search / "search.json"), "is a file of a search")

    def test_a_run_is_named_by_what_differs_from_the_others_or_from_its_default(self):
        for name, words in {"averaging": ["--strategy", "model_averaging"], "plain": ["--strategy", "data_parallel"],
                            "one-bit": ["--strategy", "data_parallel", "--gradient-bits", "1"],
                            "top-k": ["--strategy", "data_parallel", "--compression", "top_k:0.1"],
                            "decayed": ["--strategy", "data_parallel", "--l2", "0.01"]}.items():
            self.simulate(2, *words, "--out", self.folder / name).check_returncode()
        methods = lambda *names: [record["options"] for record in json.loads(
            run("compare", *(self.folder / name for name in names), "--format", "json").stdout)]
        self.assertEqual(methods("averaging", "plain"), ["", ""])
        self.assertEqual(methods("averaging", "one-bit"), ["", "gradient-bits=1"])
        self.assertEqual(methods("averaging", "top-k"), ["", "compression=top_k:0.1"])
        self.assertEqual(methods("plain", "one-bit"), ["gradient-bits=32", "gradient-bits=1"])
        self.assertEqual(methods("plain", "decayed"), ["l2=0", "l2=0.01"])
        self.assertIn("data_parallel, gradient-bits=1 ", run("compare", self.folder / "averaging", self.folder / "one-bit").stdout)

    def test_a_run_that_only_pretrained_has_no_speed(self):
        only, whole = self.folder / "pretrained", self.folder / "trained"
        run("train", "--data", self.data, "--model", "8-12-6:sigmoid", "--epochs", 0, "--pretrain-epochs", 1, "--visible-units", "gaussian",
            "--blocks", 4, "--quiet", "--out", only).check_returncode()
        run("train", *self.task, "--out", whole).check_returncode()
        records = json.loads(run("compare", only, whole, "--format", "json").stdout)
        self.assertEqual(records[1]["speed_up"], 1)
        rows = list(csv.DictReader(io.StringIO(run("compare", only, whole, "--format", "csv").stdout)))
        self.assertNotIn("null", rows[0].values())
        self.assertNotRegex(run("compare", only, whole).stdout, r"\b(inf|nan)\b")

    def test_it_divides_predicted_times_by_the_measured_ones_of_the_same_training(self):
        measured, predicted, other = (self.folder / name for name in ("measured", "predicted", "other"))
        run("train", *self.task, "--out", measured).check_returncode()
        self.simulate(1, "--device", "meta", "--out", predicted).check_returncode()
        self.simulate(1, "--device", "meta", "--momentum", "0.5", "--out", other).check_returncode()
        times = [json.loads((folder / "manifest.json").read_text())["result"]["training_s"] for folder in (predicted, measured)]
        compared = run("compare", other, predicted, measured).stdout.split("predicted over measured:")
        self.assertEqual(len(compared), 2, compared)
        lines = [line.split() for line in compared[1].splitlines()[1:]]
        self.assertEqual([(line[0], line[-3:]) for line in lines],
                         [(f"{times[0] / times[1]:.2f}", [str(predicted), "over", str(measured)])])
        self.assertNotIn("predicted over measured", run("compare", other, measured).stdout)


if __name__ == "__main__":
    unittest.main()
