#!/usr/bin/env python3
"""Workers whose data differ: partitions made or stored, in all worlds, on the clock, and refused where they would have no effect."""

import json
import shutil
import unittest

from paragrad_cli import PLATFORM, CliTest, run, weights

KINDS = ["dirichlet:0.3", "dirichlet_equal:1", "shards:2", "grouped:label", "sizes:1", "contiguous"]


class Partitions(CliTest):
    def averaged(self, *words, **more):
        return self.simulate(3, "--strategy", "model_averaging", *words, **more)

    def test_stored_and_made_partitions_are_the_same(self):
        path = self.folder / "stored.h5"
        shutil.copy(self.data, path)
        task = [str(path) if word == self.data else word for word in self.task]
        for kind in KINDS:
            stored = run("data", "partition", path, "--workers", 3, "--blocks", 4, "--partition", kind)
            self.assertEqual(stored.returncode, 0, stored.stderr)
            self.assertIn(f"stored the partition 3x4 with seed 1, {kind}, ", stored.stdout)
            with_stored = run("simulate", "--workers", 3, "--platform", PLATFORM, *task, "--strategy", "model_averaging", "--partition", kind)
            self.assertEqual(weights(with_stored), weights(self.averaged("--partition", kind)), kind)
        self.assertEqual(run("data", "verify", path).returncode, 0)
        partitions = {one["kind"]: one for one in json.loads(run("data", "info", path).stdout)["partitions"]}
        self.assertEqual(set(partitions), set(KINDS))
        self.assertEqual(partitions["contiguous"]["samples"], [166, 167])
        self.assertGreater(partitions["grouped:label"]["label_distance"], partitions["sizes:1"]["label_distance"])

    def test_emulated_workers_and_ranks_divide_alike(self):
        for kind in ("dirichlet:0.3", "sizes:1"):
            words = [*self.task, "--strategy", "diloco", "--partition", kind]
            self.assertEqual(weights(run("train", *words, ranks=3)), weights(run("simulate", "--workers", 3, "--platform", PLATFORM, *words)))

    def test_an_average_counts_each_sample_once(self):
        """With one step on each worker's whole part, the average of the models is the step of all samples."""
        def losses(*words):
            out = self.new_folder()
            whole = [word if word not in ("4", "16", "2") else {"4": "1", "16": "0", "2": "4"}[word] for word in self.task]
            done = run(*words, *whole, "--momentum", 0, "--out", out)
            self.assertEqual(done.returncode, 0, done.stderr)
            return [record["train_loss"] for record in map(json.loads, (out / "metrics.jsonl").read_text().splitlines()) if "train_loss" in record]
        alone = losses("train", "--strategy", "sgd")
        self.assertGreater(alone[0] - alone[-1], 1e-4)
        for kind in KINDS:
            several = losses("simulate", "--workers", 3, "--platform", PLATFORM, "--strategy", "model_averaging", "--partition", kind)
            for one, other in zip(alone, several, strict=True):
                self.assertAlmostEqual(one, other, delta=2e-6, msg=kind)

    def test_a_timing_run_takes_as_long_as_the_training(self):
        for kind in KINDS:
            times = []
            for device in ("cpu", "meta"):
                out = self.new_folder()
                done = self.averaged("--partition", kind, "--device", device, "--out", out, *(["--validations", 1] if device == "cpu" else []))
                self.assertEqual(done.returncode, 0, done.stderr)
                result = json.loads((out / "manifest.json").read_text())["result"]
                times.append(result["optimise_s"] + result["aggregate_s"])
            self.assertAlmostEqual(times[0], times[1], delta=1e-9, msg=kind)
        imaginary = ["simulate", "--workers", 3, "--platform", PLATFORM, "--device", "meta", "--train-samples", 600, "--model", "8-12-6", "--strategy",
                     "model_averaging", "--learning-rate", 0.1, "--blocks", 2]
        self.assertEqual(run(*imaginary, "--partition", "sizes:1").returncode, 0)
        self.assert_refused(run(*imaginary, "--partition", "dirichlet:1"), "imaginary data set", "no labels")

    def test_the_run_says_how_much_its_workers_differ(self):
        out = self.new_folder()
        task = [word for word in self.task if word != "--quiet"]
        done = run("simulate", "--workers", 3, "--platform", PLATFORM, *task, "--strategy", "model_averaging", "--partition", "dirichlet:0.30", "--out", out)
        self.assertRegex(done.stdout, r"partition dirichlet:0\.3: \d+ to \d+ samples per worker, whose label distributions are 0\.\d\d from the mean\n")
        recorded = json.loads((out / "manifest.json").read_text())["run"]["partition"]
        self.assertEqual(recorded["kind"], "dirichlet:0.3")
        self.assertIn('partition="dirichlet:0.3"\n', (out / "config.toml").read_text())
        self.assertEqual(len(recorded["samples"]), 2)
        plain = self.new_folder()
        self.assertEqual(self.averaged("--out", plain).returncode, 0)
        self.assertNotIn("partition", json.loads((plain / "manifest.json").read_text())["run"])

    def test_a_worker_that_begins_alone_sees_all_data_mixed(self):
        def loss(*words):
            out = self.new_folder()
            task = [{"4": "1", "2": "1"}.get(word, word) for word in self.task]  # blocks and epochs
            done = run("simulate", "--workers", 3, "--platform", PLATFORM, *task, "--strategy", "model_averaging", "--parallel-start-epoch", 2, "--out", out, *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads((out / "manifest.json").read_text())["result"]["valid_loss"]
        self.assertLess(loss("--partition", "shards:1"), 1.2 * loss())

    def test_partitions_without_effect_are_refused(self):
        for strategy in ("sgd", "data_parallel", "post_local_sgd", "async_sgd", "easgd"):
            result = run("simulate", "--workers", 1 if strategy == "sgd" else 3, "--platform", PLATFORM, *self.task, "--strategy", strategy,
                         "--partition", "dirichlet:1")
            self.assert_refused(result, f"--partition cannot be used with '{strategy}', whose workers do not have data of their own")
        self.assertEqual(self.simulate(3, "--strategy", "data_parallel", "--partition", "random").returncode, 0)
        own = self.simulate(3, "--strategy", "async_sgd", "--work", "own", "--partition", "grouped:label")
        self.assertEqual(own.returncode, 0, own.stderr)
        self.assert_refused(self.averaged("--partition", "dirichlet:1", "--balance", "true"), "--partition", "--balance")

    def test_wrong_kinds_are_refused_before_anything_trains(self):
        for kind, part in (("dirichlet", "write dirichlet:ALPHA"), ("dirichlet:0", "'0' is not a number"), ("grouped:day", "none of speaker"),
                           ("dirichle:1", "did you mean dirichlet"), ("random:1", "takes no parameter"), ("stored:mine", "3x4-s1-stored:mine"),
                           ("grouped:speaker", "does not name the speakers"), ("grouped:client", "have no clients"), ("shards:200", "more than the 500")):
            out = self.new_folder()
            self.assert_refused(self.averaged("--partition", kind, "--out", out), part)
            self.assertFalse(out.exists(), kind)

    def test_a_run_is_resumed_also_with_other_workers_but_not_with_another_partition(self):
        platform, out = self.folder / "platform.toml", self.folder / "interrupted"

        def started(*words, workers=3):
            return run("simulate", "--workers", workers, "--platform", platform, *self.task, "--strategy", "model_averaging", *words)
        shutil.copy(PLATFORM, platform)
        whole = self.new_folder()
        expected = weights(started("--partition", "dirichlet:0.3", "--out", whole))
        seconds = json.loads((whole / "manifest.json").read_text())["result"]["training_s"]
        fault = f'\n[[fault]]\nkind = "worker"\nid = 1\nfactor = 0\nat = "{0.7 * seconds}s"\n'
        platform.write_text(platform.read_text() + fault)
        keeps = ["--out", out, "--checkpoint-every", 4, "--resume"]
        died = started("--partition", "dirichlet:0.3", *keeps)
        self.assertEqual(died.returncode, 3, died.stdout + died.stderr)
        shutil.copy(PLATFORM, platform)
        other = self.folder / "other"
        shutil.copytree(out, other)
        self.assert_refused(started("--partition", "dirichlet:0.4", *keeps), "resume", "partition")
        self.assertEqual(weights(started("--partition", "dirichlet:0.3", *keeps)), expected)
        keeps[1] = other
        without_rate = [word for word in self.task if word not in ("--learning-rate", "0.1")]
        self.assert_refused(run("simulate", "--workers", 2, "--platform", platform, *without_rate, "--strategy", "model_averaging", "--optimiser", "adamw", "--partition",
                                "dirichlet:0.3", *keeps, "--rescale", "true"), "give --learning-rate")
        continued = started("--partition", "dirichlet:0.3", *keeps, "--rescale", "true", workers=2)
        self.assertEqual(continued.returncode, 0, continued.stderr)

    def test_passages_of_a_text(self):
        prose, data = self.folder / "prose.txt", self.folder / "prose.h5"
        prose.write_text("the cat sat on the mat. " * 40 + "ABRACADABRA! " * 70)
        run("data", "import-text", "--from", prose, "--out", data, "--name", "prose", "--tokens", "characters", "--valid", 0.1).check_returncode()
        words = ["--data", data, "--model", "zoo:gpt:layers=1,heads=2,width=8,context=8", "--strategy", "diloco", "--learning-rate", 0.01, "--epochs", 1, "--blocks", 2,
                 "--minibatch", 4]
        texts = {kind: weights(run("train", *words, "--partition", kind, ranks=2)) for kind in ("random", "contiguous", "sizes:2")}
        self.assertEqual(len(set(texts.values())), 3)
        emulated = run("simulate", "--workers", 2, "--platform", PLATFORM, *words, "--partition", "contiguous")
        self.assertEqual(weights(emulated), texts["contiguous"])
        self.assertIn("partition contiguous: ", emulated.stdout)
        self.assert_refused(run("train", *words, "--partition", "contiguous", "--windows", "random", ranks=2), "windows at random places")
        self.assert_refused(run("train", *words, "--partition", "dirichlet:1", ranks=2), "no labels")
        self.assert_refused(run("train", *words, "--partition", "stored:mine", ranks=2), "windows", "depend on the model")

    def test_sequences(self):
        words = ["--data", self.data, "--model", "8-lstm6-6", "--chunks", "5-10+5", "--strategy", "model_averaging", "--learning-rate", 0.1, "--epochs", 1, "--blocks", 2,
                 "--workers", 2, "--platform", PLATFORM]
        done = run("simulate", *words, "--partition", "contiguous")
        self.assertIn("partition contiguous: 241 to 259 samples per worker, whose label distributions are 0.", done.stdout)
        self.assert_refused(run("simulate", *words, "--partition", "dirichlet:1"), "labels differ within the utterances")
        self.assert_refused(run("simulate", *words, "--partition", "stored:mine"), "no partition 2x2-s1-stored:mine of whole utterances")
        timed = [*words, "--device", "meta"]
        self.assertEqual(run("simulate", *timed, "--partition", "sizes:5").returncode, 0)
        self.assert_refused(run("simulate", *timed, "--partition", "grouped:label"), "a timing run of a recurrent model belong to no groups")
        self.assert_refused(run("simulate", *timed, "--partition", "stored:mine"), "a timing run of a recurrent model depend on the model")


if __name__ == "__main__":
    unittest.main()
