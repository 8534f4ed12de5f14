#!/usr/bin/env python3
"""Options: what a number may be, what --config may hold, and that no option is taken which does nothing."""

import itertools
import os
import re
import resource
import shutil
import tomllib
import unittest

from paragrad_cli import PLATFORM, CliTest, FolderTest, help_commands, run, weights, without

COMMANDS = [[name] for name in help_commands() if name != "data"] + [["data", name] for name in help_commands("data")]
NUMBER = re.compile(r"^  (--[\w-]+) (UINT|INT|FLOAT)(,\.\.\.)?:([\w .+-]+?)(?:=\S*)?(?: REQUIRED)?(?: {2,}|$)", re.MULTILINE)


def numbers(command: list[str]) -> dict[str, tuple[str, str]]:
    """The options of a number: kind, and range as --help tells it."""
    return {name: (kind, limits) for name, kind, _, limits in NUMBER.findall(run(*command, "--help").stdout)}


def allows(kind: str, limits: str, text: str) -> bool:
    """Whether a text is a number within a range of --help."""
    if not re.fullmatch(r"-?\d+" if kind != "FLOAT" else r"-?\d+(\.\d*)?(e-?\d+)?", text):
        return False
    value = float(text)
    if limits == "any number":
        return True
    if limits.endswith(" or more"):
        return value >= float(limits.split()[0])
    if limits.startswith("above ") and " to " not in limits:
        return value > float(limits.split()[1])
    least, most = (part.split() for part in limits.split(" to "))
    above = value > float(least[-1]) if least[0] == "above" else value >= float(least[-1])
    return above and (value < float(most[-1]) if most[0] == "below" else value <= float(most[-1]))


# One parser refuses these for all options, so each option is given only two of them in turn, besides -1.
NO_NUMBERS = ("nan", "inf", "-inf", "99999999999999999999", "1e999", "", "several", "1x", "0x10", " 1")


class Numbers(unittest.TestCase):
    def test_every_option_of_a_number_tells_its_range_and_refuses_what_is_outside(self):
        found, texts = 0, itertools.cycle(NO_NUMBERS)
        for command in COMMANDS:
            for name, (kind, limits) in numbers(command).items():
                found += 1
                for text in ("-1", next(texts), next(texts)):
                    if allows(kind, limits, text):
                        continue
                    refused = run(*command, f"{name}", text)
                    with self.subTest(command=command, option=name, text=text):
                        self.assertEqual(refused.returncode, 2, refused.stderr)
                        self.assertEqual(len(refused.stderr.splitlines()), 1, refused.stderr)
                        self.assertIn(f"{name}: '{text}' is not a", refused.stderr)
        self.assertGreater(found, 90)

    def test_defaults_lie_in_their_ranges(self):
        """UINT:1 to 1024=64, FLOAT:above 0 to below 1=0.5, FLOAT:0 or more=0"""
        number = r"-?[\d.]+(?:e[+-]?\d+)?"
        text = re.compile(rf"^  (--[\w-]+) (?:UINT|INT|FLOAT)(?:,\.\.\.)?:(above )?({number})(?: or more| to (below )?({number}))?=({number}(?:,{number})*)\s",
                          re.MULTILINE)
        found = 0
        for command in COMMANDS:
            for option, above, least, below, most, values in text.findall(run(*command, "--help").stdout):
                found += 1
                for value in map(float, values.split(",")):
                    with self.subTest(command=command, option=option):
                        self.assertTrue(value > float(least) if above else value >= float(least))
                        self.assertTrue(not most or (value < float(most) if below else value <= float(most)))
        self.assertGreater(found, 150)

    def test_help_shows_no_number_without_a_range(self):
        for command in COMMANDS:
            with self.subTest(command=command):
                self.assertEqual(re.findall(r"^  --[\w-]+ (?:UINT|INT|FLOAT)(?![:,])", run(*command, "--help").stdout, re.MULTILINE), [])

    def test_ten_is_ten_whatever_stands_before_it(self):
        """And not eight, as C reads 010."""
        self.assertIn("workers", run("collective", "--workers", "010", "--bytes", "4kB", "--platform", PLATFORM).stdout)
        self.assertRegex(run("collective", "--workers", "010", "--bytes", "4kB", "--platform", PLATFORM).stdout, r"ring +10 ")

    def test_a_list_has_no_empty_pieces(self):
        for option, text in (("--bytes", "8,,8"), ("--bytes", "8B,"), ("--workers", ",2"), ("--workers", "2,,4")):
            refused = run("collective", "--platform", PLATFORM, option, text)
            with self.subTest(option=option, text=text):
                self.assertEqual(refused.returncode, 2)
                self.assertIn(f"{option}: '{text}' has an empty element", refused.stderr)


class Zeros(CliTest):
    def test_zero_is_allowed_where_help_says_what_it_means(self):
        found = re.findall(r"^  (--[\w-]+) (?:INT|UINT|FLOAT):[^\n]*(?:\n {20,})?[^\n]*?\(0: ", run("train", "--help").stdout, re.MULTILINE)
        self.assertIn("--workers", found)
        for name in found:
            task = dict(zip(self.task[:-1:2], self.task[1::2])) | {"--epochs": "1"} | {name: "0"}  # without --quiet
            zero = run("train", *itertools.chain(*task.items()))
            with self.subTest(option=name):
                if zero.returncode != 0:
                    self.assert_refused(zero, name)
                    self.assertRegex(zero.stderr, "is an option of|needs --|applies to|has no effect|pretrain")


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
            ("model = \"8-6\n", ["line 1", "a string does not end in its line"]),
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
                           ("schedule-rates = [[0.1]]\n", "is a list with a list in it"), ("out = 2020-02-02\n", "is a date or a time"),
                           ('data = "\\data"\n', "a backslash"), ("data = '\n", "a string does not end"), ('a = "é", b\n', "not TOML")):
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


class BrokenText(CliTest):
    def test_what_is_quoted_is_escaped_and_shortened(self):
        broken = "bm\x1b[31muf\n\x07\udcff"
        for arguments in (["--strategy", broken], ["--minibatch", broken], [f"--{broken}"], ["--out", broken + "/x", "--data", broken]):
            base = [a for a in self.task if a not in ("--minibatch", "16") and not ("--data" in arguments and a in ("--data", self.data))]
            result = run("train", *base, *arguments, errors="surrogateescape")
            with self.subTest(arguments=arguments):
                self.assert_refused(result)
                self.assertNotRegex(result.stderr.removesuffix("\n"), r"[\x00-\x1f\x7f]|\udcff")
                self.assertIn(r"bm\x1b[31muf\n\x07\xff", result.stderr)
        path = self.folder / "broken.toml"
        path.write_bytes(b"learning-\x1b[2Jrate = 1\n")
        self.assert_refused(run("train", *self.task, "--config", path), r"learning-\x1b[2Jrate")
        for option in ("--strategy", "--out", "--model", "--minibatch"):
            base = [a for a in self.task if a not in ("--minibatch", "16", "--model", "8-12-6:sigmoid")]
            result = run("train", *base, *(["--model", "8-6"] if option != "--model" else []), option, "x" * 10000)
            with self.subTest(option=option):
                self.assert_refused(result)
                self.assertLess(len(result.stderr), 1500)

    def test_names_of_files_and_data_sets_are_escaped_in_what_is_printed(self):
        data = self.folder / "na\x1b[1mme.h5"
        made = run("data", "generate", "--out", data, "--name", "evil\x1b]0;title\x07\nset", "--samples", 60, "--valid", 20, "--test", 20,
                   "--dim", 8, "--classes", 6)
        out = self.folder / "ru\x1b[1mn"
        task = [str(data) if a == self.data else a for a in self.task]
        trained = run("train", *task, "--out", out)
        scored = run("evaluate", out / "checkpoint.h5", "--data", data)
        compared = run("compare", out)
        for result in (made, trained, scored, compared, run("data", "info", data), run("data", "verify", data)):
            with self.subTest(command=result.args[1:3]):
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertNotIn("\x1b", result.stdout)
                self.assertNotIn("\x07", result.stdout)
        self.assertIn(r"evil\x1b]0;title\x07\nset", scored.stdout)

    def test_markdown_takes_a_path_as_text(self):
        out = self.folder / "a|b<script>`c`[d](e)&amp;*f*"
        run("train", *self.task, "--out", out)
        line = run("compare", out, "--format", "markdown").stdout.splitlines()[2]
        self.assertIn(r"a\|b\<script\>\`c\`\[d\](e)\&amp;\*f\*", line)


class Unused(CliTest):
    """An option that does nothing is refused, and says whose it is."""

    def train(self, *arguments: object):
        given = [str(a) for a in arguments]
        base = self.task
        for option in given:
            if option in base:
                at = base.index(option)
                base = base[:at] + base[at + 2:]
        if "--lr-per-sample" in given:
            base = [a for a in base if a not in ("--learning-rate", "0.1")]
        return run("simulate", "--workers", 1 if "sgd" == given[1:2] else 2, "--platform", PLATFORM, *base, *given)

    def test_options_of_another_strategy_optimiser_schedule_or_compression(self):
        for arguments, parts in (
            (["--strategy", "model_averaging", "--gradient-bits", 1], ["--gradient-bits", "data_parallel and post_local_sgd", "model_averaging"]),
            (["--strategy", "bmuf", "--outer-momentum", 0.5], ["--outer-momentum is an option of the strategy diloco", "bmuf"]),
            (["--strategy", "bmuf", "--outer-momentum", 0.9], ["--outer-momentum"]),  # the default, which bmuf does not use either
            (["--strategy", "diloco", "--reset-local-momentum", "true"], ["--reset-local-momentum", "diloco"]),
            (["--strategy", "bmuf_adam", "--optimiser", "adam", "--reset-local-momentum", "true"], ["--reset-local-momentum"]),
            (["--strategy", "data_parallel", "--block-momentum", 0.5], ["--block-momentum", "bmuf and bmuf_adam"]),
            (["--strategy", "data_parallel", "--push-every", 2], ["--push-every", "async_sgd"]),
            (["--strategy", "data_parallel", "--worker-timeout", 5], ["--worker-timeout"]),
            (["--strategy", "async_sgd", "--elastic-rate", 0.1], ["--elastic-rate", "easgd"]),
            (["--strategy", "async_sgd", "--collective", "tree"], ["--collective", "async_sgd does not use it"]),
            (["--strategy", "bmuf", "--slow-momentum", 0.1], ["slowmo"]),
            (["--strategy", "bmuf", "--bucket-bytes", 4096], ["--bucket-bytes", "data_parallel"]),
            (["--strategy", "bmuf", "--compression", "fp16"], ["--compression", "data_parallel"]),
            (["--strategy", "bmuf", "--workers-per-node", 2], ["--workers-per-node", "hierarchical and auto", "ring"]),
            (["--strategy", "data_parallel", "--error-feedback", "true"], ["--error-feedback", "power_sgd", "none"]),
            (["--strategy", "data_parallel", "--gradient-bits", 1, "--collective", "tree"], ["--collective", "none, power_sgd and partial", "bits:1"]),
            (["--strategy", "data_parallel", "--gradient-bits", 2, "--quantise-threshold", "mean"], ["--quantise-threshold", "1 bit"]),
            (["--strategy", "data_parallel", "--overlap", "true"], ["--overlap", "--bucket-bytes"]),
            (["--strategy", "data_parallel", "--overlap", "true", "--bucket-bytes", 64, "--buffered", "true"], ["--overlap", "--buffered"]),
            (["--strategy", "bmuf", "--optimiser", "sgd", "--momentum", 0.9], ["--momentum is an option of the optimisers momentum, nesterov, lars and qhm"]),
            (["--strategy", "bmuf", "--beta1", 0.5], ["--beta1 is an option of the optimisers adam"]),
            (["--strategy", "bmuf", "--optimiser", "adam", "--lars-trust", 0.5], ["lars"]),
            (["--strategy", "bmuf", "--schedule-factor", 0.5], ["--schedule-factor", "exponential, step, multi_step and newbob", "constant"]),
            (["--strategy", "bmuf", "--schedule", "exponential", "--schedule-every", 2], ["--schedule-every", "step"]),
            (["--strategy", "bmuf", "--newbob-restore", "true"], ["newbob"]),
            (["--strategy", "bmuf", "--l2-on", "weights"], ["--l2-on", "--l2"]),
            (["--strategy", "bmuf", "--loss", "squared_error", "--label-smoothing", 0.1], ["--label-smoothing", "cross_entropy", "squared_error"]),
        ):
            with self.subTest(arguments=arguments):
                self.assert_refused(self.train(*arguments), *parts)

    def test_options_of_what_is_not_there(self):
        for arguments, parts in (
            (["--chunks", "10"], ["--chunks", "recurrent", "8-12-6"]),
            (["--clip", "norm"], ["--clip", "--clip-gradient"]),
            (["--minibatch-max", 512], ["--minibatch-max", "--auto-minibatch"]),
            (["--cd-steps", 2], ["--cd-steps", "--pretrain-epochs"]),
            (["--visible-units", "gaussian"], ["--visible-units", "--pretrain-epochs"]),
            (["--sample-bytes", 8], ["--sample-bytes", "--io"]),
            (["--timeline-events", 8], ["--timeline-events", "--timeline"]),
            (["--fast-collectives", "off"], ["--fast-collectives", "--device meta"]),
            (["--overwrite"], ["--overwrite", "--out"]),
            (["--learning-rate", 0.1, "--lr-per-sample", 0.1], ["--learning-rate", "--lr-per-sample"]),
            (["--lr-per-sample", 0.001, "--learning-rate-per", "minibatch"], ["--learning-rate-per", "--lr-per-sample"]),
            (["--momentum", 0.5, "--momentum-time-constant", 100], ["--momentum", "--momentum-time-constant"]),
            (["--blocks", 4, "--sync-period", 50], ["--blocks", "--sync-period"]),
        ):
            with self.subTest(arguments=arguments):
                self.assert_refused(self.train("--strategy", "bmuf", *arguments), *parts)

    def test_so_in_the_file_of_config(self):
        path = self.folder / "unused.toml"
        path.write_text("outer-momentum = 0.5\n")
        self.assert_refused(self.train("--strategy", "bmuf", "--config", path), "--outer-momentum", "diloco")

    def test_a_value_that_switches_off_what_is_not_there_is_no_mistake(self):
        plain = weights(self.train("--strategy", "bmuf", "--optimiser", "sgd"))
        for off in (["--momentum", 0], ["--gradient-bits", 32], ["--compression", "none"], ["--buffered", "false"], ["--overlap", "false"],
                    ["--auto-minibatch", "false"], ["--momentum-time-constant", 0], ["--servers", 0]):
            with self.subTest(off=off):
                self.assertEqual(weights(self.train("--strategy", "bmuf", "--optimiser", "sgd", *off)), plain)

    def test_a_run_records_the_options_that_it_uses_and_is_repeated_by_them(self):
        for i, (used, unused, arguments) in enumerate((
            ({"block-momentum", "bmuf-kind", "momentum", "learning-rate", "blocks"},
             {"outer-momentum", "gradient-bits", "push-every", "beta1", "schedule-factor", "chunks", "lr-per-sample", "cd-steps"},
             ["--strategy", "bmuf"]),
            ({"gradient-bits", "error-feedback", "quantise-threshold", "lr-per-sample", "beta2", "schedule-every", "sync-period"},
             {"collective", "momentum", "block-momentum", "learning-rate", "blocks", "compression", "learning-rate-per"},
             ["--strategy", "data_parallel", "--gradient-bits", 1, "--lr-per-sample", 0.002, "--optimiser", "adam", "--schedule", "step"]),
            ({"push-every", "staleness-bound", "worker-timeout"}, {"collective", "momentum", "elastic-rate"},
             ["--strategy", "bounded_staleness", "--optimiser", "sgd"]),
        )):
            out, again = self.folder / f"used{i}", self.folder / f"used{i}-again"
            if "sync-period" in used:
                arguments = [*arguments, "--sync-period", 100]
            with self.subTest(arguments=arguments):
                base = self.task
                if "--lr-per-sample" in arguments:
                    base = [a for a in base if a not in ("--learning-rate", "0.1", "--blocks", "4")]
                first = run("simulate", "--workers", 2, "--platform", PLATFORM, *base, *arguments, "--out", out)
                recorded = set(tomllib.loads((out / "config.toml").read_text()))
                self.assertLessEqual(used, recorded)
                self.assertFalse(unused & recorded, unused & recorded)
                self.assertEqual(weights(run("simulate", "--config", out / "config.toml", "--out", again)), weights(first))

    def test_options_of_other_commands(self):
        checkpoint = self.folder / "other/checkpoint.h5"
        run("train", *self.task, "--out", checkpoint.parent)
        self.assert_refused(run("evaluate", checkpoint, "--data", self.data, "--chunks", "10"), "--chunks", "recurrent")
        table = ["collective", "--workers", 2, "--bytes", "4kB", "--platform", PLATFORM]
        self.assert_refused(run(*table, "--workers-per-node", 2), "--workers-per-node", "hierarchical and auto")
        self.assert_refused(run(*table, "--overwrite"), "--overwrite", "--out")
        self.assert_refused(run("calibrate", "--passes", 1, "--largest-message", "1MB", "--out", self.folder / "p.toml"), "--largest-message", "mpiexec")
        self.assert_refused(run("data", "import-kaldi", "--features", "a", "--alignments", "b", "--name", "x", "--out", "c", "--test-alignments", "d"),
                            "--test-alignments", "--test-features")
        self.assert_refused(run("data", "import-kaldi", "--features", "a", "--alignments", "b", "--name", "x", "--out", "c", "--seed", 2),
                            "--seed", "--valid")


class Machine(CliTest):
    def test_more_host_threads_than_are_of_use_are_not_started(self):
        few = self.simulate(4, "--strategy", "bmuf", "--host-threads", 2)
        for many in (1000000, 2000000000):
            result = self.simulate(4, "--strategy", "bmuf", "--host-threads", many)
            self.assertEqual(weights(result), weights(few))
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
            self.assertRegex(result.stderr, rf"--host-threads {many} is more than the \d+ cores of this machine can use: using \d+")

    def test_threads_that_the_machine_does_not_give_are_done_without(self):
        def little_memory() -> None:  # for the stacks of 256 threads
            resource.setrlimit(resource.RLIMIT_AS, (1800 << 20, 1800 << 20))

        result = self.simulate(2, "--strategy", "bmuf", "--host-threads", 256, preexec_fn=little_memory)
        self.assertEqual(weights(result), weights(self.simulate(2, "--strategy", "bmuf")))
        self.assertRegex(result.stderr, r"only \d+ of 256 host threads could be started")


class TimedSteps(FolderTest):
    def timed(self, *more: object) -> str:
        result = run("simulate", "--device", "meta", "--workers", 256, "--platform", "sim/platforms/p100-edr-nvlink.toml", "--nodes", 64, "--model",
                     "zoo:resnet50", "--train-samples", 1281167, "--minibatch", 65536, "--strategy", "data_parallel", "--epochs", 1,
                     "--max-blocks", 1, "--max-steps", 2, *more, cwd=PLATFORM.split("sim/")[0])
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_a_timing_run_says_so_where_a_block_does_not_hold_its_minibatches(self):
        self.assertIn("timed 1 minibatch of 42705 samples in each block instead of 2 of 65536: a block holds no more; "
                      "--blocks 9 gives full minibatches", self.timed())
        self.assertNotIn("instead of", self.timed("--blocks", 9))
        self.assertIn("timed 2 minibatches, the last of 62580 samples", self.timed("--blocks", 10))


if __name__ == "__main__":
    unittest.main()
