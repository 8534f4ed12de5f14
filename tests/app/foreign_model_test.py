#!/usr/bin/env python3
"""A model and a file that do not belong together: every command that brings them together numbers the file's classes by their names, as the
model's, or refuses in a sentence that names what differs."""

import json
import re
import unittest
from pathlib import Path

from image_files import png, write_folders
from paragrad_cli import ROOT, FolderTest, run, weights

WORDS = ("cat", "dog", "eel")
PLACES = {"cat": 0, "dog": 1, "eel": 2, "zebra": 0, "Cat": 0}  # where the features of a word are not 0


class ForeignModel(FolderTest):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.ours = cls.speech("ours", WORDS)
        cls.model = cls.trained("ours-run", cls.ours)

    @classmethod
    def speech(cls, name: str, words: tuple, classes: tuple = (), context: str = "0+0") -> Path:
        """Recordings of these words, of 6 frames each, whose classes are numbered in the order of `classes`."""
        classes = classes or words
        folder = cls.folder / name
        folder.mkdir()
        features, alignments = [], []
        for i, word in enumerate(words * 4):
            frames = "\n".join(" ".join(str(float(PLACES[word] == d) + 0.01 * i) for d in range(3)) for _ in range(6))
            features.append(f"u{i:02} [\n{frames} ]\n")
            alignments.append(f"u{i:02} " + " ".join([str(classes.index(word))] * 6) + "\n")
        (folder / "features.ark").write_text("".join(features))
        (folder / "ali.ark").write_text("".join(alignments))
        (folder / "names").write_text("".join(f"{word}/0\n" for word in classes))
        out = cls.folder / f"{name}.h5"
        made = run("data", "import-kaldi", "--features", folder / "features.ark", "--alignments", folder / "ali.ark", "--class-names",
                   folder / "names", "--context", context, "--cmvn", "none", "--name", name, "--out", out)
        assert made.returncode == 0, made.stderr
        return out

    @classmethod
    def trained(cls, name: str, data: Path, model: str = "3-8-3", *more) -> Path:
        out = cls.folder / name
        done = run("train", "--data", data, "--model", model, "--learning-rate", "0.5", "--epochs", "10", "--quiet", "--out", out, *more)
        assert done.returncode == 0, done.stderr
        return out / "checkpoint.h5"

    def commands(self, model: Path, data: Path) -> dict[str, list]:
        """Every command that applies a model to a file."""
        return {"evaluate": ["evaluate", model, "--data", data, "--subset", "train"],
                "several workers": ["evaluate", model, "--data", data, "--subset", "train", "--workers", 2, "--platform", ROOT / "sim/platforms/k40m-fdr.toml"],
                "ensemble": ["evaluate", model, model, "--data", data, "--subset", "train"],
                "decode": ["decode", model, "--data", data, "--subset", "train"],
                "align": ["align", model, "--data", data, "--out", self.folder / "aligned.h5"],
                "sharpness": ["sharpness", model, "--data", data]}

    def outcome(self, command: list) -> str:
        done = run(*command)
        self.assertEqual(done.returncode, 0, done.stderr)
        return re.sub(r"\b(train|test) of [\w-]+ ", r"\1 ", done.stdout.split("\ncontent")[0])

    def test_the_table_of_commands_is_complete(self):
        """A new command that reads a checkpoint must be added to commands()."""
        sources = {path.stem.removesuffix("_command") for path in (ROOT / "src/app").glob("*_command.cpp")
                   if re.search(r"CheckpointArguments::describe|ScoringArguments::describe", path.read_text())}
        self.assertEqual(sources, {"evaluate", "decode", "align", "sharpness"})

    def test_classes_in_another_order_are_numbered_by_their_names(self):
        other = self.speech("other-order", WORDS, ("dog", "eel", "cat"))
        for (name, command), (_, here) in zip(self.commands(self.model, other).items(), self.commands(self.model, self.ours).items()):
            with self.subTest(name):
                self.assertEqual(self.outcome(command), self.outcome(here))
        done = run("evaluate", self.model, "--data", other, "--subset", "train")
        self.assertIn("error 0.00 %", done.stdout)
        aligned = json.loads(run("data", "info", self.folder / "aligned.h5").stdout)
        self.assertEqual(aligned["class_names"], ["cat/0", "dog/0", "eel/0"])

    def test_classes_that_a_file_lacks_do_not_shift_the_others(self):
        other = self.speech("without-cat", ("dog", "eel"))
        for name, command in self.commands(self.model, other).items():
            with self.subTest(name):
                done = run(*command)
                self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("error 0.00 %", run("evaluate", self.model, "--data", other, "--subset", "train").stdout)

    def test_classes_that_the_model_does_not_know_are_refused(self):
        for name in ("zebra", "Cat"):
            other = self.speech(f"with-{name}", (name, "dog", "eel"))
            for command in self.commands(self.model, other).values():
                with self.subTest(name, command=command[0]):
                    self.assert_refused(run(*command), str(other), f"'{name}/0' is none of cat/0, dog/0, eel/0")

    def test_a_training_does_not_begin_with_a_model_of_other_classes(self):
        def begin(data: Path):
            return run("train", "--data", data, "--init", self.model, "--model", "3-8-3", "--learning-rate", "0.1", "--epochs", "1", "--quiet")

        self.assertEqual(begin(self.ours).returncode, 0)
        for name, words, classes in (("init-order", WORDS, ("dog", "eel", "cat")), ("init-zebra", ("zebra", "dog", "eel"), ())):
            self.assert_refused(begin(self.speech(name, words, classes)), str(self.model), "classes", "'cat/0'")

    def test_columns_of_a_table_in_another_order_are_refused(self):
        rows = [(i % 2, i * 7 % 5, "dog" if i % 2 else "cat") for i in range(80)]

        def table(name: str, header: str, *order: int) -> Path:
            (self.folder / f"{name}.csv").write_text(header + "".join(",".join(str(row[c]) for c in order) + "\n" for row in rows))
            out = self.folder / f"table-{name}.h5"
            made = run("data", "import-csv", "--from", self.folder / f"{name}.csv", "--name", name, "--out", out)
            self.assertEqual(made.returncode, 0, made.stderr)
            return out

        here, turned, unnamed = table("here", "a,b,kind\n", 0, 1, 2), table("turned", "b,a,kind\n", 1, 0, 2), table("unnamed", "", 0, 1, 2)
        self.assertEqual(json.loads(run("data", "info", here).stdout)["feature_names"], ["a", "b"])
        model = self.trained("table-run", here, "2-8-2")
        for command in ("evaluate", "sharpness"):
            for data in (here, unnamed):
                self.assertEqual(run(command, model, "--data", data, "--subset", "train").returncode, 0)
            self.assert_refused(run(command, model, "--data", turned, "--subset", "train"), "the features a, b", "has b, a")
        self.assert_refused(run("train", "--data", turned, "--init", model, "--model", "2-8-2", "--learning-rate", "0.1", "--epochs", "1"),
                            "the features a, b", "has b, a")

    def test_networks_of_an_ensemble_have_the_same_classes(self):
        other = self.trained("other-run", self.speech("ensemble-order", WORDS, ("dog", "eel", "cat")))
        self.assert_refused(run("evaluate", self.model, other, "--data", self.ours, "--subset", "train"), str(self.model), str(other),
                            "cat/0, dog/0, eel/0", "dog/0, eel/0, cat/0")

    def test_contexts_of_the_same_number_of_frames_are_not_mixed_up(self):
        wide = self.speech("wide", WORDS, context="2+0")
        model = self.trained("wide-run", wide, "9-8-3")
        for command in self.commands(model, self.ours).values():
            with self.subTest(command[0]):
                self.assert_refused(run(*command, "--context", "0+2"), "2+0", "0+2", "context")
                self.assertEqual(run(*command, "--context", "2+0").returncode, 0)

    def test_images_of_another_shape_are_refused(self):
        for name, shape in (("high", (8, 2)), ("broad", (2, 8))):
            write_folders(self.folder / name, [(f"{subset}/{label}/{i}.png", png(*shape, 1, bytes((200 * (label == "b") + i,)) * 16))
                                               for subset in ("train", "test") for label in "ab" for i in range(4)])
            made = run("data", "import-images", "--from", self.folder / name, "--valid", 0, "--name", name, "--out", self.folder / f"{name}.h5")
            self.assertEqual(made.returncode, 0, made.stderr)
        model = self.trained("high-run", self.folder / "high.h5", "16-4-2", "--blocks", 2)
        for command in (["evaluate"], ["sharpness"]):
            self.assertEqual(run(*command, model, "--data", self.folder / "high.h5").returncode, 0)
            self.assert_refused(run(*command, model, "--data", self.folder / "broad.h5"), "8x2x1", "2x8x1")

    def test_other_numbers_of_features_and_classes_are_refused(self):
        for dim, classes, word in ((8, 3, "8 features"), (3, 2, "2 classes")):
            other = self.folder / f"other-{dim}-{classes}.h5"
            made = run("data", "generate", "--out", other, "--samples", 60, "--valid", 10, "--test", 10, "--dim", dim, "--classes", classes)
            self.assertEqual(made.returncode, 0, made.stderr)
            for command in (["evaluate"], ["sharpness"]):
                self.assert_refused(run(*command, self.model, "--data", other), str(other), word)

    def test_checkpoints_of_older_versions_and_files_without_names_are_compared_by_what_is_known(self):
        old, data = ROOT / "tests/data/foreign_checkpoint.h5", ROOT / "tests/data/foreign.h5"
        self.assertEqual(run("evaluate", old, "--data", data, "--subset", "valid").returncode, 0)
        unnamed = self.folder / "unnamed.h5"
        made = run("data", "generate", "--out", unnamed, "--samples", 60, "--valid", 10, "--test", 10, "--dim", 3, "--classes", 3)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual(run("evaluate", self.model, "--data", unnamed).returncode, 0)
        model = self.trained("unnamed-run", unnamed)
        self.assertEqual(run("evaluate", model, "--data", self.ours, "--subset", "train").returncode, 0)

    def test_knowing_the_data_changes_no_weights(self):
        def trained(data: Path) -> str:
            return weights(run("train", "--data", data, "--model", "3-8-3", "--learning-rate", "0.5", "--epochs", "1", "--quiet"))

        self.assertEqual(trained(self.ours), trained(self.speech("other-names", WORDS)))


if __name__ == "__main__":
    unittest.main()
