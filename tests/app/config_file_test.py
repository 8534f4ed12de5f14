#!/usr/bin/env python3
"""Files of options, --config and config.toml: what they may hold, what is wrong in them, and that TOML is what is written."""

import os
import re
import shutil
import tomllib
import unittest

from paragrad_cli import PLATFORM, CliTest, run, weights, without


class ConfigFile(CliTest):
    def refused(self, text: str, *parts: str) -> None:
        path = self.folder / "options.toml"
        path.write_text(text)
        result = run("train", "--config", path, "--data", self.data, "--model", "8-6")
        self.assert_refused(result, *parts)
        self.assertNotIn("INI", result.stderr)

    def test_what_is_wrong_is_named_with_file_and_line(self):
        for text, parts in (
            ("learning-rate = 0.1\n\nlearning_rat = 0.2\n", ["options.toml', line 3", "'learning_rat'", "did you mean learning-rate?"]),
            ("wholly-unknown-thing = 1\n", ["line 1", "unknown key 'wholly-unknown-thing'", "paragrad train --help"]),
            ("# remark\nminibatch = -1\n", ["line 2", "--minibatch: '-1' is not a whole number"]),
            ("minibatch = nan\n", ["line 1", "--minibatch: 'nan'"]),
            ("minibatch = \n", ["line 1", "a value is missing"]),
            ("minibatch\n", ["line 1", "'minibatch' is not 'key = value'"]),
            ("[training]\nminibatch = 8\n", ["line 1", "'[training]' is not 'key = value'"]),
            ("minibatch = 8\nepochs = 1\nminibatch = 9\n", ["line 3", "'minibatch' is already set in line 1"]),
            ("model = \"8-6\n", ["line 1", "an unterminated string"]),
            ("overwrite = true\n", ["line 1", "'overwrite' can be given on the command line only"]),
            ("schedule-rates = [0.1, 0.2\n", ["line 1", "array", "end"]),
            ("minibatch = 8 # so\nclip = \"norm\" \"x\"\n", ["line 2", "expected a comment", "saw '\"'"]),
            ("minibatch = [8, 9]\n", ["line 1", "'minibatch' takes one value"]),
            ('model = "8\\d6"\n', ["line 1", "a backslash", "escape"]),
            ('model = "8\\u00"', ["line 1", "escape"]),
            ("minibatch = []\n", ["line 1", "'minibatch' takes one value"]),
            ('keep-best = ""\n', ["line 1", "'keep-best' must be true or false"]),
        ):
            with self.subTest(text=text):
                self.refused(text, *parts)

    def test_a_hash_within_quotes_is_no_remark(self):
        path = self.folder / "hash.toml"
        path.write_text(f'out = "{self.folder}/a#b" # a remark\n')
        self.assertIn("a#b", run("train", *self.task, "--config", path).stdout)
        self.assertTrue((self.folder / "a#b/config.toml").exists())

    def test_a_list_may_continue_over_lines_with_remarks_and_brackets_in_quotes(self):
        path = self.folder / "lists.toml"
        for text in ('bytes = ["1kB", # small ]\n  "2kB"]  # [\n', "bytes = ['1kB',\n'2kB'\n]\n", 'bytes = "1kB,2kB"\n'):
            path.write_text(text)
            with self.subTest(text=text):
                result = run("collective", "--config", path, "--workers", 2, "--platform", PLATFORM)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.assertEqual(re.findall(r"^ring +2 +(\w+)", result.stdout, re.MULTILINE), ["1kB", "2kB"])

    def test_a_byte_order_mark_is_no_part_of_the_first_key(self):
        path = self.folder / "mark.toml"
        path.write_text("seed = 7\n", encoding="utf-8-sig")
        self.assertEqual(weights(run("train", *self.task, "--config", path)), weights(run("train", *self.task, "--seed", 7)))

    def test_any_path_is_read_back_from_the_folder_of_the_run(self):
        for name in ('quo"ted', "apo'strophe", 'both"\'', "back\\slash\\n", "line\nbreak", "tab\t", "h#sh", "'", "äöü\u2028"):
            with self.subTest(name=name):
                data, out = self.folder / name, self.folder / "of-path"
                shutil.copy(self.data, data)
                first = run("train", *[str(data) if word == self.data else word for word in self.task], "--out", out, "--overwrite", "--tensorboard")
                self.assertEqual(tomllib.loads((out / "config.toml").read_text())["data"], str(data))
                self.assertEqual(weights(run("train", "--config", out / "config.toml", "--out", self.folder / "again", "--overwrite")), weights(first))

    def test_a_line_that_is_not_toml_is_shown_as_it_should_be(self):
        for line, right in (("strategy = bmuf  # averages", 'strategy = "bmuf"'), ("data = /a b.h5", 'data = "/a b.h5"'), ("minibatch=8-6", 'minibatch="8-6"'),
                            ("keep-best = True", "keep-best = true"), ("schedule-rates = [.1, 1e-2,010]", "schedule-rates = [0.1, 1e-2,10]"),
                            ("seed = 18446744073709551615", 'seed = "18446744073709551615"'), ("learning-rate = .5", "learning-rate = 0.5"),
                            ('data = a"b', 'data = "a\\"b"'), ("model = 1.2.3", 'model = "1.2.3"')):
            with self.subTest(line=line):
                self.refused(f"epochs = 1\n{line}\n", f"line 2: not TOML: write {right}")
                self.assertEqual(list(tomllib.loads(right)), [line.split()[0].split("=")[0]])
        self.refused('schedule-rates = [\n 0.1,\n auto,\n]\n', 'line 3: not TOML: write "auto",')
        for text, said in (("x.y = 1\n", "'x.y = 1' is not 'key = value'"), ("[[x]]\na = 1\n", "'[[x]]' is not 'key = value'"),
                           ("schedule-rates = [[0.1]]\n", "is a nested list"), ("out = 2020-02-02\n", "is a date or a time"),
                           ('data = "\\data"\n', "a backslash"), ("data = '\n", "an unterminated string"), ('a = "é", b\n', "not TOML")):
            with self.subTest(text=text):
                self.refused(text, f"line 1: {said}" if said[0] in "'na" and "is a" not in said else said)

    def test_numbers_in_the_spelling_of_toml(self):
        path, first = self.folder / "numbers.toml", weights(run("train", *self.task, "--seed", 1000))
        for text in ("seed = 1_000\n", "seed = +1000\n", 'seed = "1000"\n', "# é\r\nseed\t= 1000 # é\r\n"):
            path.write_text(text)
            with self.subTest(text=text):
                self.assertEqual(weights(run("train", *self.task, "--config", path)), first)

    def test_every_spelling_of_a_value_is_recorded_as_toml_and_read_back(self):
        spelt = {"learning-rate": (".5", "5.", "+.5", "1e-2", "0.10"), "minibatch": ("016", "+16"), "seed": (str(2**64 - 1), "007"),
                 "epochs": ("1",), "shuffle": ("1", "false", "on")}
        out = self.folder / "spelt"
        for option, values in spelt.items():
            for value in values:
                with self.subTest(option=option, value=value):
                    first = run("train", *without(self.task, f"--{option}"), f"--{option}={value}", "--out", out, "--overwrite")
                    config = tomllib.loads((out / "config.toml").read_text())
                    if option != "shuffle":
                        self.assertEqual(float(config[option]), float(value))
                    again = run("train", "--config", out / "config.toml", "--out", self.folder / "spelt-again", "--overwrite")
                    self.assertEqual(weights(again), weights(first))
        for name in ("007", "5", "1e5", "0x", "0x1f", ".5", "nan", "true", "1_0", "2020-02-02", "[1]", "s"):
            with self.subTest(folder=name):
                run("train", *self.task, "--out", name, cwd=self.folder).check_returncode()
                self.assertEqual(str(tomllib.loads((self.folder / name / "config.toml").read_text())["out"]).lower(), {"5": "5", "1e5": "100000.0"}.get(name, name))
                again = run("train", "--config", f"{name}/config.toml", "--overwrite", cwd=self.folder)
                self.assertIn(f"{name}", again.stdout)

    def test_what_is_not_utf8_cannot_be_recorded(self):
        data = os.fsencode(self.folder) + b"/latin-\xe9.h5"
        shutil.copy(self.data, data)
        task = [os.fsdecode(data) if word == self.data else word for word in self.task]
        self.assertEqual(run("train", *task).returncode, 0)
        self.assert_refused(run("train", *task, "--out", self.folder / "latin"), "--data: ", r"latin-\xe9.h5", "is not UTF-8")
        self.assertFalse((self.folder / "latin").exists())

    def test_the_command_line_wins(self):
        path = self.folder / "epochs.toml"
        path.write_text("seed = 7\nlearning-rate = 0.5\n")
        self.assertEqual(weights(run("train", *self.task, "--config", path)), weights(run("train", *self.task, "--seed", 7)))


if __name__ == "__main__":
    unittest.main()
