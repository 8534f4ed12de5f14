#!/usr/bin/env python3
"""Mistyped names, and words that users of other programs type first: the error names what was meant."""

import json
import re
import unittest

from paragrad_cli import PLATFORM, ROOT, CliTest, FolderTest, help_commands, run

COMMANDS = [[name] for name in help_commands() if name != "data"] + [["data", name] for name in help_commands("data")]
HELP = {tuple(command): run(*command, "--help").stdout for command in COMMANDS}
OPTIONS = {command: set(re.findall(r"(?m)^  (?:-\w,)?--([a-z0-9-]+)", text)) for command, text in HELP.items()}
ROWS = re.findall(r'(?m)^WORD\("([^"]+)", "([^"]+)", "([^"]*)", "([^"]*)"\)$', (ROOT / "src/cli/foreign_words.def").read_text())


def folded(name: str) -> str:
    return re.sub("[^a-z0-9]", "", name.lower())


def entries(kind: str) -> list[str]:
    """The names of a kind, as --help of training lists them or, of activation functions, their catalogue."""
    if kind == "activation function":
        return re.findall(r"(?m)^ACTIVATION\((\w+),", (ROOT / "src/backend/activations.def").read_text())
    return re.search(rf"(?m)^  --{kind} TEXT:{{([^}}]+)}}", HELP[("train",)])[1].split(",")


def answering(row: tuple[str, str, str, str], word: str) -> tuple[str, ...] | None:
    """A command that has the option of the row and for which no earlier row has the word."""
    earlier = [here for kind, words, here, _ in ROWS[: ROWS.index(row)] if kind == "option" and folded(word) in map(folded, words.split())]
    for command, options in OPTIONS.items():
        if row[2] in options and folded(word) not in map(folded, options) and not options & set(earlier):
            return command
    return None


class ForeignWords(FolderTest):
    def rows(self, *kinds: str) -> list[tuple[tuple[str, str, str, str], list[str]]]:
        """Of these kinds; of names of entries if none is given."""
        return [(row, row[1].split()) for row in ROWS
                if row[0] in kinds or not kinds and row[0] not in ("option", "command", "data command")]

    def test_the_table_is_read_as_a_whole(self):
        lines = (ROOT / "src/cli/foreign_words.def").read_text().splitlines()
        self.assertEqual(len(ROWS), sum(line.startswith("WORD") for line in lines))
        self.assertGreater(len(ROWS), 100)

    def test_options(self):
        for row, words in self.rows("option"):
            with self.subTest(row=row):
                for word in words:
                    self.assertIsNotNone(answering(row, word), f"no command answers --{word} with --{row[2]}")
                word, remark = words[-1], f", {row[3]}" if row[3] else ""
                dashes = "-" if len(word) == 1 else "--"
                self.assert_refused(run(*answering(row, word), f"{dashes}{word}", "1"),
                                    f"unknown option '{dashes}{word}'; here it is --{row[2]}{remark} (see paragrad ")

    def test_commands(self):
        for (kind, _, here, remark), words in self.rows("command", "data command"):
            with self.subTest(words=words):
                above = kind.split()[:-1]
                known = help_commands(*above)
                self.assertFalse(set(words) & set(known))
                if here:
                    self.assertIn(here, known)
                answer = f"here it is {here}" if here else ""
                self.assert_refused(run(*above, words[-1]), f"unknown {kind} '{words[-1]}'; {answer}", remark)

    def test_names_of_entries(self):
        for (kind, _, here, remark), words in self.rows():
            with self.subTest(kind=kind, words=words):
                known = entries(kind)
                self.assertFalse(set(map(folded, words)) & set(map(folded, known)))
                if here:
                    self.assertIn(here.partition(":")[0], known)
                answer, shown = f"here it is {here}" if here else "", re.sub("`([^`]+)`", r"--\1", remark)
                typed = ["--model", f"8-6:{words[-1]}"] if kind == "activation function" else ["--model", "8-6", f"--{kind}", words[-1]]
                self.assert_refused(run("train", "--data", "none.h5", *typed),
                                    f"unknown {kind} '{words[-1]}'; {answer}", shown)

    def test_remarks_name_options_that_exist(self):
        known = set.union(*OPTIONS.values()) | {"version"}
        for (_, _, _, remark) in ROWS:
            for named in re.findall(r"--([a-z][a-z-]+)|`([^`]+)`", remark):
                self.assertIn("".join(named), known)

    def test_no_word_is_in_two_rows_of_names(self):
        for kind in {row[0] for row in ROWS} - {"option"}:
            words = [folded(word) for row in ROWS if row[0] == kind for word in row[1].split()]
            self.assertEqual(sorted(words), sorted(set(words)), kind)


class Mistakes(CliTest):
    def test_names_are_found_in_spite_of_mistakes(self):
        for arguments, message in (
            (["train", "--learning_rate", 1], "unknown option '--learning_rate'; did you mean --learning-rate? (see"),
            (["train", "--Batch_Size=32"], "unknown option '--Batch_Size'; here it is --minibatch, of all workers together"),
            (["train", "-np", 4], "unknown option '-np'; here it is --workers"),
            (["train", "--strat", "bmuf"], "unknown option '--strat'; did you mean --strategy?"),
            (["train", *self.task, "--strategy", "bmfu"], "unknown strategy 'bmfu'; did you mean bmuf? (known: sgd, data_parallel"),
            (["train", *self.task, "--optimiser", "AdamW2"], "unknown optimiser 'AdamW2'; did you mean adamw? (known: "),
            (["train", *self.task, "--strategy", "bmuf", "--bmuf-kind", "nmb"], "'nmb' is unknown; did you mean nbm? (known: cbm, nbm"),
            (["train", *self.task, "--device", "gpu:0"], "unknown device 'gpu:0'; here it is cuda"),
            (["trian"], "unknown command 'trian'; did you mean train? (known: data, train"),
            (["import-numpy"], "unknown command 'import-numpy'; here it is data import-numpy"),
            (["data", "import-npz"], "here it is import-numpy"),
            (["data", "varify"], "unknown data command 'varify'; did you mean verify? (known: "),
        ):
            with self.subTest(arguments=arguments):
                self.assert_refused(run(*arguments), message)

    def test_an_unknown_option_is_told_before_what_is_missing_or_wrong(self):
        self.assert_refused(run("train", "--lr", "0.1"), "unknown option '--lr'; here it is --learning-rate (see paragrad train --help)")
        self.assert_refused(run("evaluate", "--dataset", "a.h5"), "unknown option '--dataset'; here it is --data")
        self.assert_refused(run("train", *self.task, "--seed", "many", "--nonsense"), "unknown option '--nonsense' (see")
        self.assert_refused(run("train"), "--data is required")

    def test_files_of_options_get_the_same_answers(self):
        path = self.folder / "habits.toml"
        for line, message in (("lr = 0.1", "unknown key 'lr'; here it is learning-rate"),
                              ("batch_size = 8", "unknown key 'batch_size'; here it is minibatch"),
                              ('strategy = "fsdp"', "unknown strategy 'fsdp'; no strategy shards the parameters"),
                              ('compression = "1bit"', "unknown compression '1bit'; here it is bits:1")):
            path.write_text(f"epochs = 1\n{line}\n")
            with self.subTest(line=line):
                self.assert_refused(run("train", *self.task[:6], "--config", path), f"{path}', line 2: {message}")
        path.write_text("weight-decay = [0, 0.1]\n")
        self.assert_refused(run("search", path, "--out", self.folder / "keys"), "line 1: unknown key 'weight-decay'; here it is l2")
        path.write_text(f'data = "{self.data}"\nmodel = "8-6"\nlearning-rate = 0.1\nplatform = "{PLATFORM}"\nstrategy = "ddp"\n')
        searched = run("search", path, "--out", self.folder / "values")
        self.assert_refused(searched, "configuration 001", "unknown strategy 'ddp'; here it is data_parallel")

    def test_help_answers_in_the_same_words(self):
        for name, message in (("ddp", "nothing is called 'ddp'; here it is data_parallel ("),
                              ("lr", "nothing is called 'lr'; here it is --learning-rate ("),
                              ("learn", "nothing is called 'learn'; here it is train ("),
                              ("bmfu", "nothing is called 'bmfu'; did you mean bmuf? ("),
                              ("nothing_like_it", "nothing is called 'nothing_like_it'; 'paragrad help all' lists")):
            with self.subTest(name=name):
                self.assert_refused(run("help", name), message)
                self.assert_refused(run("help", name, "--format", "json"), message)

    def test_help_of_an_entry_in_json(self):
        momentum = json.loads(run("help", "momentum", "--format", "json").stdout)
        self.assertEqual([(one["kind"], [entry["name"] for entry in one["entries"]]) for one in momentum], [("optimiser", ["momentum"])])
        optimisers = json.loads(run("help", "optimiser", "--format", "json").stdout)
        self.assertIn(momentum[0]["entries"][0], optimisers[0]["entries"])
        train, data = (json.loads(run("help", name, "--format", "json").stdout)[-1] for name in ("train", "data"))
        self.assertEqual({f"--{one['name']}" for one in train["options"]}, set(re.findall(r"^  (?:-\w,)?(--[\w-]+)", HELP[("train",)], re.MULTILINE)))
        self.assertIn({"name": "momentum", "kind": "FLOAT", "range": "0 to below 1", "values": [], "default": "0.9"},
                      [{key: one[key] for key in ("name", "kind", "range", "values", "default")} for one in train["options"]])
        both = json.loads(run("help", "collective", "--format", "json").stdout)  # a catalogue and a command
        self.assertEqual([one.get("kind") or one["command"] for one in both], ["collective", "collective"])
        self.assertIn("import-csv", [one["command"] for one in data["commands"]])
        self.assert_refused(run("help", "ema-decay", "--format", "json"), "'ema-decay' is an option")

    def test_help_of_an_option_says_what_the_commands_say(self):
        for command in (("train",), ("search",), ("data", "import-csv")):
            for name in re.findall(r"^  (?:-\w,)?--([\w-]+)", HELP[command].partition("Examples:")[0], re.MULTILINE):
                if name in help_commands():
                    continue
                shown = run("help", name)
                with self.subTest(name=name):
                    self.assertEqual((shown.returncode, shown.stderr), (0, ""))
                    self.assertRegex(shown.stdout, rf"(?m)^--{name}\b")
                    self.assertRegex(shown.stdout, rf"(?m)^  option of (.*, )?{' '.join(command)}(,|$)")


class Divergence(CliTest):
    MESSAGE = "the training loss of the last epoch, "

    def train(self, *arguments: str) -> str:
        result = run("train", "--data", self.data, "--model", "8-12-6:sigmoid", "--epochs", 3, "--blocks", 4, "--quiet", *arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def test_a_finite_loss_above_that_of_equal_outputs_is_told(self):
        told = self.train("--learning-rate", 300)
        loss, limit = re.search(self.MESSAGE + r"([\d.e+]+), is above ([\d.]+), the loss of a model with the same output for all 6 classes", told).groups()
        self.assertEqual(limit, "1.792")
        self.assertGreater(float(loss), 1.8)
        self.assertIn("is above 0.4167, ", self.train("--learning-rate", 1, "--loss", "squared_error", "--optimiser", "adam"))

    def test_a_training_that_learns_is_not_accused(self):
        self.assertNotIn(self.MESSAGE, self.train("--learning-rate", 0.5))


if __name__ == "__main__":
    unittest.main()
