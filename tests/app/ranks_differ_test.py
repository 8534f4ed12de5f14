#!/usr/bin/env python3
"""Ranks that would not do the same work are refused before it begins, with what differs and on which rank."""

import re
import shutil
import subprocess
import unittest
from pathlib import Path

from paragrad_cli import MPIEXEC, PROGRAM, CliTest, run, weights

OPTION = re.compile(r"^  (--[\w-]+)(?: ([A-Z]+)(?:,\.\.\.)?(?::(\{[^}]*\}|[^=\n]*?))?(?:=(\S*))?)?(?: REQUIRED)?(?: {2,}|$)", re.MULTILINE)
# Files and folders are compared by what is in them; the others change what a rank prints, or how fast it reads.
FREE = {"--config", "--data", "--help", "--init", "--out", "--quiet", "--read-ahead", "--record", "--replay"}
TEXTS = {"--model": "8-10-6:sigmoid", "--context": "1+1", "--chunks": "1-4+1", "--python-class": "a:B"}


def other_value(kind: str, limits: str, by_default: str) -> str | None:
    """A value that is not the default; None of a flag."""
    if not kind:
        return None
    if kind == "BOOLEAN":
        return "false" if by_default == "true" else "true"
    if limits.startswith("{"):
        return next(value for value in limits[1:-1].split(",") if value != by_default)
    if kind in ("INT", "UINT"):
        least = int(limits.split()[0])
        return str(next(value for value in (2, 3) if str(value) != by_default and value >= least))
    return "0.25" if by_default != "0.25" else "0.5"


class Differences(CliTest):
    def together(self, *commands: list[str]) -> subprocess.CompletedProcess:
        """A rank for each command line."""
        if not MPIEXEC:
            raise unittest.SkipTest("needs an MPI that starts ranks together")
        words = []
        for command in commands:
            words += [":"] * bool(words) + ["-n", "1", PROGRAM, *map(str, command)]
        return subprocess.run([MPIEXEC, *words], capture_output=True, text=True, timeout=60)

    def assert_differ(self, result: subprocess.CompletedProcess, *parts: str) -> None:
        self.assert_refused(result, "differs from rank 0: ", "start all ranks with the same options and files", *parts)

    def options(self) -> list[tuple[str, list[str]]]:
        found = []
        for name, kind, limits, by_default in OPTION.findall(run("train", "--help").stdout.partition("Examples:")[0]):
            if name in FREE:
                continue
            value = TEXTS[name] if name in TEXTS else other_value(kind, limits, by_default)
            found.append((name, [name] if value is None else [f"{name}={value}"]))
        return found

    def test_every_option_of_a_training_is_compared(self):
        """Some of them are refused for their own sake where they have no effect, or the others are."""
        task = ["train", "--data", self.data, "--model", "8-12-6:sigmoid", "--strategy", "bmuf", "--blocks", "4", "--quiet", "--epochs", "1"]
        compared = 0
        options = self.options()
        for name, words in options:
            rate = [] if name in ("--learning-rate", "--lr-per-sample") else ["--learning-rate=0.1"]
            zero = rate or ["--learning-rate=0.1"]
            here = [word for word in task if word != self.option_value(task, name)] if name in task else task
            here = [word for word in here if word != name]
            result = self.together([*task, *zero], [*here, *rate, *words])
            with self.subTest(option=name):
                self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
                self.assertIn(name, result.stderr)
                self.assertNotIn("weights", result.stdout)
            compared += "rank 1 differs from rank 0: " in result.stderr
        self.assertGreater(len(options), 90)
        self.assertGreater(compared, 40)

    @staticmethod
    def option_value(task: list[str], name: str) -> str:
        return task[task.index(name) + 1]

    def test_what_differs_and_on_which_rank_is_named(self):
        task = ["train", *self.task]
        faster = [word if word != "0.1" else "0.2" for word in task]
        self.assert_differ(self.together(task, task, faster), "rank 2", "--learning-rate is 0.2 instead of 0.1")
        self.assert_differ(self.together(task, [*faster, "--seed", "7"]), "rank 1", "--seed is 7 instead of 1", "--learning-rate")
        out = self.folder / "of-zero"
        self.assert_differ(self.together([*task, "--out", out], task), "--out is not given instead of given")
        self.assertFalse((out / "metrics.jsonl").exists())

    def test_ranks_that_share_workers_and_ranks_of_servers_are_compared(self):
        task = ["train", *self.task, "--strategy", "bmuf"]
        self.assert_differ(self.together([*task, "--workers", "4"], [*task, "--workers", "6"]), "--workers is 6 instead of 4")
        self.assert_differ(self.together([*task, "--workers", "4"], task), "--workers is 0 instead of 4")
        self.assert_differ(self.together([*task, "--workers", "4"], [*task, "--workers", "4", "--seed", "2"]), "--seed")
        servers = ["train", *self.task, "--strategy", "async_sgd", "--servers", "1"]
        self.assert_differ(self.together(servers, servers, [*servers, "--push-every", "2"]), "rank 2", "--push-every is 2 instead of 1")
        self.assert_differ(self.together(servers, task, servers), "rank 1", "--strategy is bmuf instead of async_sgd")

    def test_what_concerns_one_rank_alone_may_differ(self):
        task = ["train", *self.task, "--strategy", "bmuf"]
        talks = [word for word in task if word != "--quiet"]
        self.assertNotEqual(talks, task)
        self.assertEqual(weights(self.together([*task, "--read-ahead", "false"], talks)), weights(run("train", *task[1:], ranks=2)))
        calibrate = ["calibrate", "--out", self.folder / "a.toml", "--largest-message"]
        result = self.together([*calibrate, "100kB", "--quiet"], [*calibrate, "200kB"])
        self.assert_differ(result, "rank 1 differs from rank 0: --largest-message is 200kB instead of 100kB; start")

    def test_paths_may_differ_and_contents_may_not(self):
        task = ["train", *self.task, "--strategy", "bmuf"]
        copy, other = self.folder / "copy.h5", self.folder / "other.h5"
        shutil.copy(self.data, copy)
        run("data", "generate", "--out", other, "--samples", 500, "--valid", 60, "--test", 60, "--dim", 8, "--classes", 6,
            "--sequence-length", 20, "--seed", 5).check_returncode()
        at = lambda path: [str(path) if word == self.data else word for word in task]
        self.assertEqual(weights(self.together(task, at(copy))), weights(run("train", *task[1:], ranks=2)))
        self.assert_differ(self.together(task, at(other)), "rank 1", "the content_sha256 of the data file is ")

    def test_options_from_a_file_are_compared_as_if_typed(self):
        config = self.folder / "options.toml"
        task = ["train", "--strategy", "bmuf", *[word for word in self.task if word not in ("--minibatch", "16")]]
        config.write_text("minibatch = 16\n")
        weights(self.together([*task, "--minibatch", "16"], [*task, "--config", config]))
        config.write_text("minibatch = 8\n")
        self.assert_differ(self.together([*task, "--minibatch", "16"], [*task, "--config", config]), "--minibatch is 8 instead of 16")

    def test_what_one_rank_prints_is_its_own(self):
        quiet = ["train", "--strategy", "bmuf", *self.task]
        weights(self.together([word for word in quiet if word != "--quiet"], quiet))

    def test_other_commands_are_compared(self):
        runs = [self.folder / f"run-{seed}" for seed in (1, 2)]
        for seed, out in zip((1, 2), runs):
            run("train", *self.task, "--seed", seed, "--out", out).check_returncode()
        one, two = (out / "checkpoint.h5" for out in runs)
        evaluate = ["evaluate", one, "--data", self.data]
        self.assert_differ(self.together(evaluate, [*evaluate, "--subset", "valid"]), "--subset is valid instead of test")
        self.assert_differ(self.together(evaluate, ["evaluate", two, "--data", self.data]), "the SHA-256 of the checkpoint's weights")
        self.assert_differ(self.together(evaluate, ["evaluate", one, two, "--data", self.data]), "(1 of 2)")
        sharpness = ["sharpness", one, "--data", self.data, "--samples", "20", "--steps", "1"]
        self.assert_differ(self.together(sharpness, [*sharpness, "--epsilon", "0.1"]), "--epsilon is 0.1")
        collective = ["collective", "--bytes", "4kB"]
        self.assert_differ(self.together(collective, ["collective", "--bytes", "8kB"]), "--bytes is 8kB instead of 4kB")
        calibrate = ["calibrate", "--passes", "1", "--largest-message", "1kB", "--out", self.folder / "new.toml"]
        self.assert_differ(self.together(calibrate, [*calibrate, "--device", "reference"]), "--device is reference instead of cpu")
        self.assert_differ(self.together(calibrate, collective), "the command is collective instead of calibrate")
        self.assert_differ(self.together(["train", *self.task], evaluate), "the command is evaluate instead of train")

    def test_an_option_that_one_rank_refuses_ends_all(self):
        task = ["train", *self.task]
        for wrong in (["--strategy", "nosuch"], ["--no-such-option"], ["--l2", "many"]):
            for commands in ([task, [*task, *wrong]], [[*task, *wrong], task]):
                result = self.together(*commands)
                with self.subTest(wrong=wrong):
                    self.assertNotEqual(result.returncode, 0)
                    self.assertIn(wrong[-1], result.stderr)


if __name__ == "__main__":
    unittest.main()
