"""Every option of a simulated training changes its weights, its records or its simulated times: an option without effect is a failure.

A new option needs a line in VALUES, with a value that changes something and the options without which it has nothing to change."""

import json
import unittest

from catalogue_test import CATALOGUES, OF_TRAINING
from option_values import VALUES, OptionValues, flat, paired
from paragrad_cli import PLATFORM, run, weights

# They change files, screens or speed, and their own tests say how; fast-collectives must not change a time.
ELSEWHERE = {"help", "config", "out", "overwrite", "checkpoint-every", "resume", "rescale", "tensorboard", "quiet", "timeline", "timeline-events",
             "sync-stats", "record", "replay", "host-threads", "fast-collectives", "worker-timeout"}
ADMIT = {"nodes": ("17", 17, "--devices-per-node 1"), "oversubscribe": ("true", 65, "")}  # what is refused without them
# Servers that let fetches wait have one transport.
REFUSED = {("bounded_staleness", "server-transport"), ("backup_workers", "server-transport")}
OPTIONS = [o["name"] for o in json.loads(run("help", "simulate", "--format", "json").stdout)[0]["options"]]


class OptionEffects(OptionValues):
    def records_of(self, words: list[str]) -> tuple[str, str]:
        """What a training of these options and values amounts to: its weights, and its records."""
        given = self.training({"--platform": PLATFORM, "--workers": "2"} | paired(words))
        if given.get("--device") == "meta":
            given = {"--train-samples": "200"} | given
            del given["--data"]
        out = self.new_folder()
        done = run("simulate", "--quiet", *flat(given), "--out", out)
        self.assertEqual(done.returncode, 0, f"{' '.join(map(str, done.args))}\n{done.stderr}")
        return "" if given.get("--device") == "meta" else weights(done), (out / "metrics.jsonl").read_text()

    def check(self, option: str, base: list[str]) -> None:
        words = base + self.needed(option)
        changed = words + self.given(option)
        self.assertTrue(self.records_of(changed) != self.records_of(words), f"{' '.join(changed)} changes nothing")

    def test_every_option_of_every_entry_changes_something(self):
        for kind, entries in OF_TRAINING.items():
            for entry in entries:
                if entry["name"] in ("nccl", "native", "ctc"):  # of libraries that emulated workers do not have; needs sequences
                    continue
                for option in entry["options"]:
                    if not option["kind"] or option["name"] in ELSEWHERE or (entry["name"], option["name"]) in REFUSED:
                        continue
                    with self.subTest(kind=kind, entry=entry["name"], option=option["name"]):
                        self.check(option["name"], self.chosen(kind, entry))

    def test_every_option_of_a_training_changes_something(self):
        of_entries = {o["name"] for entries in CATALOGUES.values() for e in entries for o in e["options"]}
        with_servers = 0
        for option in OPTIONS:
            if option in ELSEWHERE or option in ADMIT or option in of_entries:
                continue
            with self.subTest(option=option):
                self.check(option, ["--strategy", "bmuf"])
            words = flat(self.training({"--workers": "2", "--platform": PLATFORM, "--strategy": "async_sgd"}
                                       | paired(self.needed(option) + self.given(option))))
            if run("simulate", *words, "--quiet").returncode == 0:
                with_servers += 1
                with self.subTest(option=option, strategy="async_sgd"):
                    self.check(option, ["--strategy", "async_sgd"])
        self.assertGreater(with_servers, 30)

    def test_options_without_which_a_training_is_refused(self):
        for option, (value, workers, needs) in ADMIT.items():
            with self.subTest(option=option):
                words = ["--strategy", "bmuf", *needs.split()]
                self.assert_refused(self.simulate(workers, *words), f"--{option}")
                weights(self.simulate(workers, *words, f"--{option}", value))

    def test_the_lists_are_of_options_that_exist(self):
        self.assertEqual({*VALUES, *ELSEWHERE, *ADMIT}, {*OPTIONS})


if __name__ == "__main__":
    unittest.main()
