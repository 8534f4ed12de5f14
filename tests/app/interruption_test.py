#!/usr/bin/env python3
"""SIGINT and SIGTERM: one sentence tells what is saved and which command continues, and that command does."""

import json
import signal
import subprocess
import time
import unittest
from pathlib import Path

from paragrad_cli import MPIEXEC, PLATFORM, PROGRAM, CliTest, run, weights, without


class Interrupted(CliTest):
    @property
    def long(self) -> list[str]:
        return ["--data", self.data, "--model", "8-300-6:sigmoid", "--learning-rate", "0.1", "--epochs", "100000", "--blocks", "5", "--minibatch",
                "4", "--quiet"]

    @property
    def printed(self) -> Path:
        """What the last command printed on stdout."""
        return self.folder / "printed"

    def interrupted(self, command: list, when, number: int = signal.SIGINT, ranks: int = 0) -> str:
        """What it prints on stderr when it gets the signal as soon as `when` is true."""
        launcher = [MPIEXEC, "-n", str(ranks)] if ranks else []
        with self.printed.open("w") as printed:
            process = subprocess.Popen([*launcher, PROGRAM, *map(str, command)], stdout=printed, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        deadline = time.monotonic() + 40
        while not when():
            if process.poll() is not None:
                self.fail(f"it ended by itself: {process.communicate()}, {self.printed.read_text()}")
            self.assertLess(time.monotonic(), deadline, "nothing happened")
            time.sleep(0.005)
        process.send_signal(number)
        _, said = process.communicate(timeout=20)
        if not ranks:
            self.assertEqual(process.returncode, -number, said)  # the shell sees the signal
            self.assertEqual(len(said.splitlines()), 1, said)
        return said

    @staticmethod
    def begins(out: Path):
        """Whether a run that is started after this call has begun in the folder."""
        def manifest() -> int:
            return (out / "manifest.json").stat().st_mtime_ns if (out / "manifest.json").exists() else 0
        before = manifest()
        return lambda: manifest() not in (0, before)

    @staticmethod
    def records(out: Path) -> int:
        return len((out / "metrics.jsonl").read_text().splitlines()) if (out / "metrics.jsonl").exists() else 0

    @staticmethod
    def state(out: Path) -> str:
        """Of the last state: phase-epoch-block."""
        try:
            return json.loads((out / "state/latest.json").read_text())["set"]
        except (OSError, ValueError):
            return ""

    def seen(self, out: Path) -> list[str]:
        """The states seen so far: the notice follows a state at once, but a signal may come in between."""
        self.states = getattr(self, "states", {})
        return self.states.setdefault(out, [""]).append(self.state(out)) or self.states[out]

    def command(self, name: str, out: Path | None, *more: str) -> list:
        emulated = ["--workers", "2", "--platform", PLATFORM] if name == "simulate" else []
        return [name, *emulated, "--strategy", "model_averaging", *self.long, *(["--out", out] if out else []), *more]

    def slow(self, name: str, out: Path, *more: str) -> list:
        """Whose first epoch takes long."""
        words = {"4": "1", "8-300-6:sigmoid": "8-3000-6:sigmoid"}
        return [words.get(word, word) for word in self.command(name, out, *more)]

    def test_without_a_run_folder_nothing_is_saved(self):
        for name in ("train", "simulate"):
            command = [word for word in self.command(name, None) if word != "--quiet"]
            said = self.interrupted(command, lambda: "epoch" in self.printed.read_text())
            with self.subTest(command=name):
                self.assertEqual(said, "paragrad: interrupted: nothing is saved; with --out and --checkpoint-every, a run can be continued "
                                       "with --resume\n")

    def test_records_without_a_state_cannot_be_continued(self):
        for name in ("train", "simulate"):
            for number in (signal.SIGINT, signal.SIGTERM):
                out = self.folder / f"records-{name}-{number}"
                said = self.interrupted(self.command(name, out), lambda: self.records(out) >= 2, number)
                with self.subTest(command=name, signal=number):
                    self.assertRegex(said, rf"^paragrad: interrupted: {out} has the records of \d+ epochs?, but no state to continue from, which "
                                           r"--checkpoint-every saves; the same command with --overwrite starts again\n$")
                    again = self.command(name, out, "--overwrite", "--max-blocks", "1")
                    self.interrupted(again, self.begins(out))

    def test_a_state_is_named_and_the_same_command_continues_from_it(self):
        for name in ("train", "simulate"):
            out = self.folder / f"state-{name}"
            command = self.command(name, out, "--checkpoint-every", "2")
            said = self.interrupted(command, lambda: len(set(self.seen(out))) > 2)
            with self.subTest(command=name):
                self.assertRegex(said, r"^paragrad: interrupted: the state after (block \d of )?epoch \d+ is saved in .*; the same command with "
                                       r"--resume continues the run\n$")
                before = len(set(self.seen(out)))
                again = self.interrupted([*command, "--resume"], lambda: len(set(self.seen(out))) > before + 2)
                self.assertIn("; the same command continues the run\n", again)

    def test_values_in_the_spelling_of_another_version_continue(self):
        """Earlier versions wrote 0 and 1 for truth values, and numbers as they were given, into config.toml, whose text identifies states."""
        for name, before, now in (("keep-best", "0", "false"), ("shuffle", "1", "true"), ("learning-rate", "0.1", ".1"), ("l2", "0.0", "0")):
            out = self.folder / f"spelling-{name}"
            command = without(self.command("train", out, "--checkpoint-every", "2"), f"--{name}")
            self.interrupted([*command, f"--{name}={before}"], lambda: len(set(self.seen(out))) > 1)
            seen = len(set(self.seen(out)))
            with self.subTest(option=name):
                again = self.interrupted([*command, f"--{name}={now}", "--resume"], lambda: len(set(self.seen(out))) > seen + 1)
                self.assertIn("; the same command continues the run\n", again)
                self.assertIn(f"{name}={before}\n", (out / "config.toml").read_text())

    def test_a_folder_whose_numbers_are_no_toml_is_compared_by_their_values(self):
        out = self.folder / "no-toml"
        command = self.command("train", out, "--checkpoint-every", "2")
        self.interrupted(command, lambda: len(set(self.seen(out))) > 1)
        config = out / "config.toml"
        text = config.read_text()
        config.write_text(text.replace("learning-rate=0.1\n", "learning-rate=.1\n").replace("seed=1\n", "seed=01\n"))
        self.assertNotEqual(config.read_text(), text)
        self.assert_refused(run(*command, "--resume"), "the state was saved by a run with different options")
        self.assert_refused(run(*command, "--resume", "--seed", "2"), "was started with 01 for 'seed', not with 2")

    def test_before_the_first_epoch_the_same_command_starts_again(self):
        for more, resume in ([], []), (["--checkpoint-every", "100000"], ["--resume"]):
            out = self.folder / f"early{len(more)}"
            command = self.slow("train", out, *more)
            said = self.interrupted(command, lambda: (out / "manifest.json").exists())
            with self.subTest(more=more):
                self.assertEqual(said, f"paragrad: interrupted: nothing is saved in {out} yet; the same command"
                                       f"{' with --resume' if resume else ''} starts again\n")
                self.interrupted([*command, *resume], self.begins(out))

    def test_while_it_is_prepared_the_same_command_starts_the_training(self):
        for name in ("train", "simulate"):
            out = self.folder / f"prepared-{name}"
            said = self.interrupted(self.slow(name, out, "--checkpoint-every", "100000"), out.exists)
            with self.subTest(command=name):
                self.assertIn(said, ("paragrad: interrupted before the training began; the same command starts it\n",
                                     f"paragrad: interrupted: nothing is saved in {out} yet; the same command with --resume starts again\n"))

    def test_a_search_tells_how_many_runs_have_ended_and_continues(self):
        options, out = self.folder / "search.toml", self.folder / "search"
        options.write_text(f'data = "{self.data}"\nmodel = "8-300-6:sigmoid"\nlearning-rate = [0.1, 0.2]\nepochs = [1, 60]\nblocks = 2\n'
                           f'workers = 2\nplatform = "{PLATFORM}"\nstrategy = "bmuf"\n')
        command = ["search", options, "--jobs", "1", "--out", out]
        said = self.interrupted(command, lambda: (out / "001-s1/manifest.json").exists() and (out / "002-s1").exists())
        self.assertRegex(said, rf"^paragrad: interrupted: \d of 4 runs in {out} have ended; the same command continues the search\n$")
        done = run(*command)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotRegex(done.stdout, r"(?m)^001-s1 ")  # not run again

    @unittest.skipUnless(MPIEXEC, "needs an MPI that starts ranks together")
    def test_of_several_ranks_one_tells(self):
        out = self.folder / "ranks"
        said = self.interrupted(self.command("train", out, "--checkpoint-every", "2"), lambda: len(set(self.seen(out))) > 2, ranks=2)
        self.assertEqual(said.count("interrupted: the state after "), 1, said)
        self.assertEqual(said.count("interrupted: "), 1, said)
        before = self.state(out)
        self.assertNotEqual(before, "")

    def test_an_ignored_signal_stays_ignored(self):
        done = run("train", *self.task)
        ignoring = subprocess.run(["sh", "-c", 'trap "" INT; "$@" & kill -INT $!; wait $!', "sh", PROGRAM, "train", *self.task],
                                  capture_output=True, text=True, timeout=60)
        self.assertEqual(weights(ignoring), weights(done))


if __name__ == "__main__":
    unittest.main()
