#!/usr/bin/env python3
"""Which word of a command line is an option's value, for every option of every command."""

import collections
import re
import unittest

from paragrad_cli import FolderTest, help_commands, run

COMMANDS = [[name] for name in help_commands() if name != "data"] + [["data", name] for name in help_commands("data")]
OPTION = re.compile(r"^  (?:-\w,)?(--[\w-]+)(?: ([A-Z]+)\S*)?", re.MULTILINE)


class EmptyValues(FolderTest):
    """--help as the next word tells whether an option has taken it for its value."""

    def options(self) -> list[tuple[list[str], str, str]]:
        return [(command, name, kind) for command in COMMANDS
                for name, kind in OPTION.findall(run(*command, "--help").stdout.partition("Examples:")[0]) if name != "--help"]

    def test_no_option_takes_another_one_for_its_value(self):
        options = self.options()
        for command, name, kind in options:
            after = run(*command, name, "--help")
            with self.subTest(command=command, option=name):
                if kind and kind != "BOOLEAN":
                    self.assert_refused(after, f"{name} needs a value, and '--help' is an option; if it is the value, write {name}=--help")
                else:
                    self.assertEqual((after.returncode, after.stderr), (0, ""))
        self.assertGreater(len(options), 300)

    def test_every_flag_takes_true_false_or_nothing(self):
        flags = collections.defaultdict(list)
        for command, name, kind in self.options():
            if kind == "BOOLEAN":
                flags[tuple(command)].append(name)
        self.assertGreater(sum(map(len, flags.values())), 60)
        for command, names in flags.items():
            for form in ("{}", "{} true", "{} false", "{}=true", "{}=false"):
                accepted = run(*command, *(word for name in names for word in form.format(name).split()), "--help")
                with self.subTest(command=command, form=form):
                    self.assertEqual((accepted.returncode, accepted.stderr), (0, ""))
            with self.subTest(command=command):
                refused = run(*command, f"{names[-1]}=maybe")
                self.assert_refused(refused, "")
                self.assertRegex(refused.stderr, f"{names[-1]}: 'maybe' is neither true nor false|required")

    def test_an_empty_value_is_refused_and_takes_no_other_word(self):
        for command, name, kind in self.options():
            for words in [[f"{name}="], [name, ""]] if kind and command == ["train"] else [[f"{name}="]]:
                alone, before_help = run(*command, *words), run(*command, *words, "--help")
                with self.subTest(command=command, words=words, kind=kind):
                    self.assert_refused(alone, "")
                    self.assertRegex(alone.stderr, f"{name} needs a value, which cannot be empty|{name}= has an empty value|{name}: '' (is not a|has "
                                                   "an empty element)|required")
                    if before_help.returncode == 0:
                        self.assertIn("Usage: ", before_help.stdout)
                    else:
                        self.assert_refused(before_help, name)

    def test_the_letter_of_a_paper_is_no_request_for_help(self):
        for letter in ("H", "h"):
            self.assert_refused(run("train", f"--{letter}", "500"), f"unknown option '--{letter}'; here it is --sync-period, in samples of each worker")

    def test_an_option_at_the_end_needs_its_value(self):
        self.assert_refused(run("train", "--model"), "--model needs a value")

    def test_what_looks_like_an_option_can_be_a_value(self):
        out = self.folder / "named.h5"
        run("data", "generate", "--out", out, "--samples", 20, "--valid", 0, "--test", 0, "--name=--seed=5").check_returncode()
        self.assertIn("--seed=5", run("data", "info", out).stdout)
        self.assert_refused(run("data", "generate", "--out", out, "--overwrite", "--name=", "--seed=5"), "--name needs a value, which cannot be empty")


if __name__ == "__main__":
    unittest.main()
