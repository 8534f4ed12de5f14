#!/usr/bin/env python3
"""Models of texts: the same weights in every world and after a resume, samples that repeat, and refusals."""

import json
import math
import re
import subprocess
import time
import unittest
from pathlib import Path

from paragrad_cli import PLATFORM, PROGRAM, FolderTest, outcome, run, weights

GPT = ["--model", "gpt:layers=2,heads=2,width=16,context=12", "--learning-rate", "0.01", "--optimiser", "adamw", "--blocks", "4",
       "--minibatch", "4", "--quiet"]
TEXT = "".join(f"{a} and {b} are {a + b}; {a} times {b} is {a * b}.\n" for a in range(12) for b in range(12))


BYTE_PAIRS = Path(__file__).resolve().parents[1] / "data/byte_pairs"


class Gpt(FolderTest):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.text = cls.folder / "sums.txt"
        cls.text.write_text(TEXT)
        cls.data = str(cls.folder / "sums.h5")
        made = run("data", "import-text", "--from", cls.text, "--tokens", "characters", "--valid", 0.1, "--name", "sums", "--out", cls.data)
        assert made.returncode == 0, made.stderr
        cls.task = ["--data", cls.data, *GPT]

    def outcome(self, *words, **more) -> tuple[str, list[dict]]:
        out = self.new_folder()
        return outcome(run(*words, "--out", out, **more), out)

    def test_every_world_ends_in_the_same_weights_and_records(self):
        for strategy in (["data_parallel"], ["bmuf"], ["diloco", "--outer-momentum", "0.5"],
                         ["streaming_diloco", "--fragments", "2", "--outer-delay", "2"], ["diloco", "--optimiser", "muon"], ["eager_diloco"], ["noloco"],
                         ["sparta", "--mask-share", "0.1"], ["bmuf", "--tensor-parallel", "2"]):
            for windows in ("disjoint", "random"):
                for workers in (2, 4):
                    with self.subTest(strategy=strategy, windows=windows, workers=workers):
                        task = [word for word in self.task if word not in ("--optimiser", "adamw") or "--optimiser" not in strategy]
                        words = [*task, "--epochs", 2, "--workers", workers, "--strategy", *strategy, "--windows", windows]
                        emulated = self.outcome("simulate", "--platform", PLATFORM, *words)
                        self.assertEqual(self.outcome("train", *words), emulated)
                        self.assertEqual(self.outcome("train", *words, ranks=2), emulated)

    def test_a_replica_in_two_parts_has_the_losses_of_a_whole_one(self):
        model = "gpt:layers=2,heads=2,width=16,context=12"
        for more in ("", ",norm=rms,mlp=swiglu,positions=rotary", ",tied=false,bias=false,dropout=0.2"):
            swapped = {model: model + more, "0.01": "0.001"}  # a high rate would magnify what rounding leaves
            words = ["train", *(swapped.get(word, word) for word in self.task), "--epochs", 2, "--strategy", "data_parallel"]
            one, split = (self.outcome(*words, "--workers", parts, "--tensor-parallel", parts)[1] for parts in (1, 2))
            with self.subTest(more):
                for before, now in zip(one, split, strict=True):
                    for name in ("train_loss", "valid_loss"):
                        self.assertAlmostEqual(now[name] / before[name], 1, delta=1e-5)
        self.assert_refused(run("train", *self.task, "--workers", 3, "--tensor-parallel", 3, "--strategy", "data_parallel"), "2 heads")
        with_muon = ["muon" if word == "adamw" else word for word in self.task]
        self.assert_refused(run("train", *with_muon, "--workers", 2, "--tensor-parallel", 2, "--strategy", "data_parallel"), "whole matrices")

    def test_threads_of_the_simulator_and_the_timing_run_change_nothing(self):
        words = ["simulate", "--platform", PLATFORM, "--workers", 3, "--strategy", "bmuf", *self.task, "--epochs", 2]
        one, two, sizes = self.new_folder(), self.folder / "run-two", self.folder / "run-sizes"
        self.assertEqual(weights(run(*words, "--out", one, "--host-threads", 1)), weights(run(*words, "--out", two, "--host-threads", 2)))
        run(*words, "--out", sizes, "--device", "meta").check_returncode()
        times = [json.loads((folder / "manifest.json").read_text())["result"]["training_s"] for folder in (one, two, sizes)]
        self.assertEqual(len(set(times)), 1, times)

    def test_a_training_that_was_killed_goes_on_as_if_it_had_not_been(self):
        for windows in ("disjoint", "random"):
            words = ["train", *self.task, "--epochs", 30, "--workers", 2, "--strategy", "bmuf", "--windows", windows, "--checkpoint-every", 1]
            whole, parts = self.folder / f"whole-{windows}", self.folder / f"parts-{windows}"
            expected = outcome(run(*words, "--out", whole), whole)
            process = subprocess.Popen([PROGRAM, *map(str, words), "--out", str(parts)], stdout=subprocess.DEVNULL)
            records = parts / "metrics.jsonl"
            while process.poll() is None and not (records.exists() and records.read_text().count("\n") >= 3):
                time.sleep(0.005)
            process.kill()
            process.wait()
            self.assertLess(records.read_text().count("\n"), 30)
            self.assertEqual(outcome(run(*words, "--out", parts, "--resume"), parts), expected)

    def test_it_learns_and_what_it_writes_depends_on_the_seed_alone(self):
        out = self.folder / "learnt"
        run("train", "--data", self.data, "--model", "gpt:layers=1,heads=2,width=32,context=24", "--learning-rate", "0.01", "--optimiser", "adamw",
            "--epochs", 12, "--blocks", 1, "--minibatch", 8, "--windows", "random", "--clip-gradient", 1, "--clip", "global", "--quiet", "--out",
            out).check_returncode()
        losses = [json.loads(line)["valid_loss"] for line in (out / "metrics.jsonl").read_text().splitlines()]
        self.assertLess(losses[-1], 1.3)
        self.assertGreater(losses[0], losses[-1] + 0.5)
        checkpoint = out / "checkpoint.h5"
        scored = run("evaluate", checkpoint, "--data", self.data, "--subset", "valid")
        self.assertIn(f"loss {losses[-1]:.4f}", scored.stdout)
        for words in (["--seed", "3"], ["--temperature", "0"], ["--top-k", "2", "--temperature", "0.5"]):
            texts = {run("sample", checkpoint, "--prompt", "3 and", "--tokens", "40", *words).stdout for _ in range(2)}
            self.assertEqual(len(texts), 1)
            self.assertEqual(len(texts.pop()), len("3 and") + 40 + 1)
        drawn = {run("sample", checkpoint, "--prompt", "3 and", "--tokens", "40", "--seed", seed).stdout for seed in range(4)}
        self.assertGreater(len(drawn), 1)

    def test_byte_pair_tokens_are_scored_per_byte_and_written_as_text(self):
        data, out = self.folder / "pairs.h5", self.folder / "pairs"
        made = run("data", "import-text", "--from", self.text, "--tokens", f"bpe:{BYTE_PAIRS}", "--valid", 0.1, "--name", "p", "--out", data)
        self.assertIn("vocabulary: 417 byte pair tokens, stored as uint16", made.stdout)
        run("train", "--data", data, *GPT, "--epochs", 2, "--out", out).check_returncode()
        scores = run("evaluate", out / "checkpoint.h5", "--data", data, "--subset", "valid").stdout
        valid = json.loads(run("data", "info", data).stdout)["valid"]
        loss, bits = float(re.search(r"loss ([\d.]+)", scores)[1]), float(re.search(r"([\d.]+) bits per byte", scores)[1])
        self.assertAlmostEqual(bits, loss * (valid["samples"] - 1) / valid["bytes"] / math.log(2), delta=0.001 * bits)
        self.assertTrue(run("sample", out / "checkpoint.h5", "--prompt", "three and", "--tokens", 5).stdout.startswith("three and"))
        self.assert_refused(run("evaluate", out / "checkpoint.h5", "--data", self.data), "was trained on a text of 417 byte pair tokens")

    def network(self, head: str, node: str) -> str:
        path = self.folder / f"net{len(list(self.folder.glob('net*')))}"
        path.write_text(f"{head}\n" + ("e = embedding input width=4\n" if "tokens" in head else "") + f"{node}\ny = affine p outputs=9\n")
        return f"file:{path}"

    def test_every_set_is_scored_over_all_its_tokens(self):
        half = len(TEXT) // 2
        for name, text in (("one", TEXT[:2 * half]), ("other", TEXT[half:2 * half] + TEXT[:half])):
            (self.folder / name).write_text(text)
            run("data", "import-text", "--from", self.folder / name, "--tokens", "characters", "--valid", 0.5, "--name", name, "--out",
                self.folder / f"{name}.h5").check_returncode()
        out = self.folder / "scored"
        run("train", "--data", self.folder / "one.h5", *GPT, "--windows", "random", "--epochs", 1, "--out", out).check_returncode()
        for one, other in (("train", "valid"), ("valid", "train")):
            scores = [run("evaluate", out / "checkpoint.h5", "--data", self.folder / f"{name}.h5", "--subset", subset).stdout.partition("error")[2]
                      for name, subset in (("one", one), ("other", other))]
            self.assertIn("bits per byte", scores[0])
            self.assertEqual(*scores)

    def test_what_does_not_fit_is_refused_in_one_sentence(self):
        mlp = ["--model", "8-4", *GPT[2:]]
        bytes_of = self.folder / "bytes.h5"
        run("data", "import-text", "--from", self.text, "--name", "b", "--out", bytes_of).check_returncode()
        out = self.folder / "for-refusals"
        run("train", *self.task, "--epochs", 1, "--max-blocks", 1, "--out", out).check_returncode()
        checkpoint = out / "checkpoint.h5"
        table = self.folder / "table.h5"
        run("data", "generate", "--out", table, "--samples", 50, "--dim", 8, "--classes", 4, "--valid", 5, "--test", 5).check_returncode()
        for words, part in (
                (["train", "--data", self.data, *mlp], "holds a text, which model '8-4' cannot read"),
                (["train", "--data", table, *GPT], "'" + str(table) + "' has features"),
                (["train", "--data", self.data, "--model", "gpt:vocabulary=9", *GPT[2:]], "give the model as many tokens"),
                (["train", "--data", self.data, "--model", self.network("input tokens=9 context=8", "p = positions e context=4"), *GPT[2:]], "windows of 4 tokens"),
                (["train", "--data", table, "--model", self.network("input 6", "p = attention input heads=1"), *GPT[2:]], "is for windows of a text"),
                (["train", "--data", table, "--model", self.network("input 6", "p = rotary input"), *GPT[2:]], "is for windows of a text"),
                (["simulate", "--device", "meta", "--platform", PLATFORM, "--workers", 2, "--data", table, *GPT, "--epochs", 1], "has features"),
                (["data", "partition", self.data, "--workers", 2, "--blocks", 2], "no partition is stored"),
                (["train", "--data", self.data, "--model", "gpt:context=100000", *GPT[2:]], "fewer than a window of 100000"),
                (["train", *self.task, "--loss", "ctc"], "loss 'ctc' needs no alignment"),
                (["train", *self.task, "--chunks", "8"], "--chunks applies to recurrent models only"),
                (["train", *self.task, "--context", "1+1"], "--context"),
                (["train", "--data", table, *mlp, "--windows", "random"], "--windows applies to models of texts only"),
                (["evaluate", checkpoint, "--data", bytes_of], "was trained on a text of"),
                (["evaluate", checkpoint, "--data", table], "was trained on a text of"),
                (["evaluate", checkpoint, checkpoint, "--data", self.data, "--subset", "valid"], "holds a text"),
                (["sample", checkpoint, "--prompt", "Ω"], "the prompt has"),
                (["sample", checkpoint, "--prompt="], "--prompt needs a value"),
                (["sample", table], "not a Paragrad checkpoint"),
                (["data", "import-text", "--from", self.text, "--tokens", "bpe", "--name", "n", "--out", self.folder / "n.h5"], "bpe:FOLDER"),
                (["data", "import-text", "--from", self.text, "--tokens", f"bpe:{self.folder / 'none'}", "--name", "n", "--out",
                  self.folder / "n.h5"], "is not a folder: give the one with encoder.json and vocab.bpe"),
                (["data", "import-text", "--from", self.folder / "none.txt", "--name", "n", "--out", self.folder / "n.h5"], "none.txt"),
                (["data", "import-text", "--from", checkpoint, "--tokens", "characters", "--name", "n", "--out", self.folder / "n.h5"], "is not UTF-8 at byte")):
            with self.subTest(words=words):
                refused = run(*words)
                self.assert_refused(refused, part)
                self.assertEqual(refused.stdout, "")


if __name__ == "__main__":
    unittest.main()
