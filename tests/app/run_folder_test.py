#!/usr/bin/env python3
"""The folder of a run: what it holds, that it repeats the run, and that nothing in it is lost by mistake."""

import json
import unittest

from paragrad_cli import MPIEXEC, PLATFORM, CliTest, run, weights


class RunFolder(CliTest):
    def test_a_run_folder_repeats_its_run(self):
        out = self.folder / "run"
        first = self.simulate(3, "--strategy", "bmuf", "--bmuf-kind", "cbm", "--block-momentum", "0.5", "--l2", "1e-5",
                              "--schedule", "step", "--out", out)
        again = run("simulate", "--config", out / "config.toml", "--out", self.folder / "again")
        self.assertEqual(weights(again), weights(first))
        self.assertEqual((out / "metrics.jsonl").read_text(), (self.folder / "again/metrics.jsonl").read_text())
        same = [line for line in (out / "config.toml").read_text().splitlines() if not line.startswith("out")]
        self.assertEqual(same, [line for line in (self.folder / "again/config.toml").read_text().splitlines()
                                if not line.startswith("out")])

    def test_the_lines_of_the_epochs_and_the_last_ones_say_what_the_records_hold(self):
        out, task = self.folder / "told", [word for word in self.task if word != "--quiet"]
        printed = run("simulate", "--workers", 2, "--platform", PLATFORM, *task, "--strategy", "bmuf", "--out", out).stdout
        *epochs, end = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        for one in epochs:
            self.assertIn(f"epoch {one['epoch']:3}  rate {one['learning_rate']:<9g}train loss {one['train_loss']:.4f} error {100 * one['train_error']:6.2f} %   "
                          f"valid loss {one['valid_loss']:.4f} error {100 * one['valid_error']:6.2f} %   {one['time_s']:.4g} s\n", printed)
        self.assertEqual(len(epochs), printed.count("epoch "))
        self.assertIn(f"test error {100 * end['test_error']:.2f} %, loss {end['test_loss']:.4f}; validation error {100 * end['valid_error']:.2f} %\n", printed)
        self.assertIn(f"in {end['messages']:g} messages", printed)
        self.assertIn(f"weights sha256 {end['parameters_sha256']}\n", printed)

    def test_a_table_of_rates_is_repeated_from_a_file(self):
        out = self.folder / "table"
        first = self.simulate(1, "--schedule", "table", "--schedule-rates", "0.1,0.05", "--out", out)
        rates = [json.loads(line).get("learning_rate") for line in (out / "metrics.jsonl").read_text().splitlines()]
        self.assertEqual(rates, [0.1, 0.05, None])
        self.assertEqual(weights(run("simulate", "--config", out / "config.toml", "--out", self.folder / "table2")), weights(first))
        written = self.folder / "table.toml"
        written.write_text('schedule = "table"\nschedule-rates = [0.1, 0.05]\n')
        self.assertEqual(weights(self.simulate(1, "--config", written)), weights(first))
        self.assert_refused(self.simulate(1, "--schedule", "table", "--schedule-rates", "0.2,0.1"), "begins with 0.2", "is 0.1")

    def test_a_run_folder_repeats_a_pretrained_run(self):
        out = self.folder / "pretrained"
        task = ["8-12-9-6" if argument.startswith("8-") else argument for argument in self.task]
        first = run("simulate", "--workers", 2, "--platform", PLATFORM, *task, "--strategy", "bmuf", "--pretrain-epochs", "2",
                    "--pretrain-learning-rate", "0.01,0.05", "--visible-units", "gaussian", "--out", out)
        again = run("simulate", "--config", out / "config.toml", "--out", self.folder / "pretrained-again")
        self.assertEqual(weights(again), weights(first))
        records = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        self.assertEqual([(r.get("phase"), r.get("layer"), r.get("epoch"), r.get("learning_rate")) for r in records],
                         [("pretrain", 1, 1, 0.01), ("pretrain", 1, 2, 0.01), ("pretrain", 2, 1, 0.05), ("pretrain", 2, 2, 0.05),
                          (None, None, 1, 0.1), (None, None, 2, 0.1), (None, None, None, None)])
        self.assertEqual(records[-1]["pretraining_samples"], 2 * 2 * 500)
        self.assert_refused(self.simulate(1, "--pretrain-epochs", "1"), "values from 0 to 1", "--visible-units gaussian")

    def test_a_run_folder_holds_what_it_promises(self):
        out = self.folder / "promises"
        result = self.simulate(2, "--strategy", "model_averaging", "--out", out)
        self.assertEqual({p.name for p in out.iterdir()}, {"config.toml", "manifest.json", "metrics.jsonl", "checkpoint.h5"})
        manifest = json.loads((out / "manifest.json").read_text())
        for section, key in (("program", "commit"), ("program", "compiler"), ("program", "flags"), ("program", "blas"),
                             ("host", "processor"), ("data", "content_sha256"), ("run", "seed"), ("run", "workers"),
                             ("platform", "file_sha256"), ("finished", "peak_memory_bytes")):
            self.assertIn(key, manifest[section])
        records = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        self.assertEqual([r.get("epoch") for r in records], [1, 2, None])
        self.assertEqual(records[-1]["parameters_sha256"], weights(result))

    def test_a_run_that_diverges_claims_a_checkpoint_only_if_there_is_one(self):
        task = [word if word != "8-12-6:sigmoid" else "8-12-6:relu" for word in self.task]
        claim = "(checkpoint.h5 in the run folder is from an earlier epoch)"
        for number, rates in enumerate(("1e30,1e30", "0.1,1e30")):
            table = ["--schedule", "table", "--schedule-rates", rates]
            out = self.folder / f"diverged-{number}"
            diverging = [word if word != "0.1" else rates.partition(",")[0] for word in task] + table
            for place in ([], ["--out", out]):
                result = run("train", *diverging, *place)
                with self.subTest(rates=rates, place=place):
                    self.assert_refused(result, "lower the learning rate")
                    self.assertNotIn("-nan", result.stderr)
                    self.assertEqual(claim in result.stderr, bool(place) and (out / "checkpoint.h5").exists())
        self.assertTrue((self.folder / "diverged-1/checkpoint.h5").exists())

    def test_an_earlier_run_is_kept_unless_told_otherwise(self):
        out = self.folder / "kept"
        self.simulate(1, "--out", out)
        before = (out / "checkpoint.h5").read_bytes()
        self.assert_refused(self.simulate(1, "--out", out, "--seed", 2), "already contains a run", "--overwrite")
        self.assertEqual((out / "checkpoint.h5").read_bytes(), before)
        self.assertEqual(self.simulate(1, "--out", out, "--seed", 2, "--overwrite").returncode, 0)
        self.assertNotEqual((out / "checkpoint.h5").read_bytes(), before)

    def test_a_refused_command_keeps_the_earlier_run_and_is_not_in_the_way_of_the_next(self):
        out, other = self.folder / "of-before", self.folder / "refused"
        self.simulate(1, "--out", out)
        before = {path.name: path.read_bytes() for path in out.iterdir()}
        emulated = ["simulate", "--platform", PLATFORM, "--workers"]
        for command, more, part in (([*emulated, 1], {"--init": self.data}, "not a Paragrad checkpoint"),
                                    ([*emulated, 1], {"--init": out / "checkpoint.h5", "--model": "8-6"}, "choose another --out"),
                                    ([*emulated, 1], {"--schedule": "nope"}, "unknown schedule 'nope'"),
                                    ([*emulated, 2], {"--strategy": "sgd"}, "'sgd' trains with one worker"),
                                    ([*emulated, 2], {"--strategy": "data_parallel", "--collective": "native"}, "'native'"),
                                    ([*emulated, 1], {"--network": "nope"}, "'nope'"),
                                    ([*emulated, 1], {"--data": self.folder / "none.h5"}, "none.h5"),
                                    (["train", "--workers", 2], {"--strategy": "data_parallel", "--collective": "native"}, "'native'"),
                                    (["train"], {"--data": self.without_validation(), "--keep-best": "true"}, "--keep-best")):
            words = self.task
            for option, value in more.items():
                if option not in words:
                    words = [*words, option, value]
                words[words.index(option) + 1] = value
            with self.subTest(more=more):
                self.assert_refused(run(*command, *words, "--out", out, "--overwrite"), part)
                self.assertEqual({path.name: path.read_bytes() for path in out.iterdir()}, before)
                if "--init" not in more:
                    self.assert_refused(run(*command, *words, "--out", other), part)
        if MPIEXEC:
            nccl = ["--strategy", "data_parallel", "--collective", "nccl"]
            refused = run("train", *self.task, *nccl, "--out", out, "--overwrite", ranks=2)  # MPI adds a line of its own
            self.assertEqual((refused.returncode, "the device is 'cpu'" in refused.stderr), (2, True), refused.stderr)
            self.assertEqual({name: (out / name).read_bytes() for name in before}, before)  # an aborted rank leaves its lock file, too
        self.assertEqual(self.simulate(1, "--out", other).returncode, 0)

    def test_a_run_does_not_replace_the_checkpoint_that_it_starts_from(self):
        out = self.folder / "own-init"
        self.simulate(1, "--out", out)
        before = (out / "checkpoint.h5").read_bytes()
        for more in (["--overwrite"], ["--resume"]):
            self.assert_refused(self.simulate(1, "--out", out, "--init", out / "checkpoint.h5", *more), "--init", "choose another --out")
        self.assertEqual((out / "checkpoint.h5").read_bytes(), before)

    def test_a_place_that_cannot_be_written_to_is_told_before_the_work(self):
        out, missing = self.folder / "places", self.folder / "missing/file"
        done = self.simulate(1, "--out", out)
        self.assertEqual(done.returncode, 0)
        self.assert_refused(run("sharpness", out / "checkpoint.h5", "--data", self.data, "--result", missing), "missing/file")
        self.assert_refused(self.simulate(1, "--strategy", "async_sgd", "--optimiser", "sgd", "--out", out, "--overwrite", "--record", missing), "missing/file")
        self.assertIn(weights(done), (out / "manifest.json").read_text())


if __name__ == "__main__":
    unittest.main()
