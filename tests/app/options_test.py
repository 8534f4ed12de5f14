#!/usr/bin/env python3
"""Options: what a number may be, what --config may hold, and that no option is taken which does nothing."""

import itertools
import re
import resource
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
            (["--strategy", "bmuf", "--outer-momentum", 0.5], ["--outer-momentum is an option of the strategies diloco, streaming_diloco, eager_diloco and async_local_sgd", "bmuf"]),
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
            (["--strategy", "diloco", "--outer-compression", "bits:4", "--collective", "tree"], ["--collective", "none, fp16, bf16, power_sgd and partial", "bits:4"]),
            (["--strategy", "streaming_diloco", "--balance", "true"], ["--balance", "streaming_diloco does not use it"]),
            (["--strategy", "data_parallel", "--outer-compression", "bits:4"], ["--outer-compression", "slowmo, diloco, streaming_diloco, eager_diloco and fed_adam"]),
            (["--strategy", "diloco", "--outer-compression", "top_k:2"], ["--outer-compression: '2' is not a number above 0 to 1"]),
            (["--strategy", "diloco", "--outer-compression", "bits:2", "--quantise-threshold", "mean"], ["--quantise-threshold applies to gradients of 1 bit", "bits:2"]),
            (["--strategy", "data_parallel", "--error-feedback", "true"], ["--error-feedback", "power_sgd", "none"]),
            (["--strategy", "data_parallel", "--gradient-bits", 1, "--collective", "tree"], ["--collective", "none, fp16, bf16, power_sgd and partial", "bits:1"]),
            (["--strategy", "data_parallel", "--gradient-bits", 2, "--quantise-threshold", "mean"], ["--quantise-threshold", "1 bit"]),
            (["--strategy", "data_parallel", "--overlap", "true"], ["--overlap", "--bucket-bytes"]),
            (["--strategy", "data_parallel", "--overlap", "true", "--bucket-bytes", 64, "--buffered", "true"], ["--overlap", "--buffered"]),
            (["--strategy", "bmuf", "--optimiser", "sgd", "--momentum", 0.9], ["--momentum is an option of the optimisers momentum, nesterov, lars, qhm and delayed_nesterov"]),
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

    def test_a_customary_learning_rate_is_said_and_recorded_and_others_are_asked_for(self):
        task = [word for word in self.task if word not in ("--learning-rate", "0.1", "--quiet")]
        for optimiser, rate in (("adamw", "0.001"), ("lion", "0.0001"), ("adadelta", "1")):
            out = self.new_folder()
            taken = run("train", *task, "--optimiser", optimiser, "--out", out)
            self.assertEqual(weights(taken), weights(run("train", *task, "--optimiser", optimiser, "--learning-rate", rate)))
            self.assertTrue(taken.stdout.startswith(f"learning rate {rate}, which is customary for {optimiser}, as none was given\n"), taken.stdout)
            self.assertIn(f"learning-rate={rate}\n", (out / "config.toml").read_text())
            self.assertEqual(weights(run("train", "--config", out / "config.toml", "--out", self.new_folder())), weights(taken))
            self.assertIn("is complete", run("train", *task, "--optimiser", optimiser, "--out", out, "--resume").stdout)
            self.assertIn(f"{optimiser} {rate}", run("train", "--help").stdout.replace("\n", " "))
        for words in (["--optimiser", "momentum"], ["--optimiser", "muon"]):
            self.assert_refused(run("train", *task, *words), "give --learning-rate or --lr-per-sample", f"{words[1]} has no customary one")
        self.assert_refused(run("train", *task, "--optimiser", "adamw", "--learning-rate-per", "sample"), "give --learning-rate or --lr-per-sample")

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
