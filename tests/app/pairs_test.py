"""Any two features of a training that may be combined end in the same weights and records emulated and among workers in real
time; others are refused.

A feature is an option with a value other than its default, or an entry of a catalogue, with what it needs (option_values.py). The commit's
number draws PAIRS of all pairs; PAIRS=all takes all (make pairs, about ten minutes)."""

import itertools
import json
import os
import random
import subprocess
import unittest

from catalogue_test import OF_TRAINING
from option_values import VALUES, OptionValues, flat, paired
from paragrad_cli import PLATFORM, ROOT, outcome, run

PAIRS = os.environ.get("PAIRS", "120")
TRAINED = {o["name"] for o in json.loads(run("help", "train", "--format", "json").stdout)[0]["options"]}
# Balance follows measured times, and servers take gradients in the order of their arrival; the others belong to other features' needs.
NOT_EQUAL = {"balance", "device", "data", "model", "init", "workers", "platform"}
ASYNCHRONOUS = {e["name"] for e in OF_TRAINING["strategy"] if "servers" in {o["name"] for o in e["options"]}}


def commit_number() -> int:
    done = subprocess.run(["git", "rev-list", "--count", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return int(done.stdout) if done.returncode == 0 else 0


class Pairs(OptionValues):
    def features(self) -> dict[str, dict[str, str]]:
        """Options and values of each feature."""
        found = {}
        for kind in ("strategy", "compression", "optimiser", "schedule", "loss"):
            for entry in OF_TRAINING[kind]:
                if entry["name"] in ASYNCHRONOUS | {"ctc", "sgd", "none"}:
                    continue
                own = paired(self.chosen(kind, entry))
                if kind not in ("strategy", "compression"):
                    del own["--strategy"]
                found[f"{kind} {entry['name']}"] = own
                for option in entry["options"]:
                    if option["name"] in VALUES.keys() & TRAINED - NOT_EQUAL:
                        found.setdefault(option["name"], own | paired(self.needed(option["name"]) + self.given(option["name"])))
        for option in VALUES.keys() & TRAINED - NOT_EQUAL - {o["name"] for e in sum(OF_TRAINING.values(), []) for o in e["options"]}:
            found[option] = paired(self.needed(option) + self.given(option))
        return {name: options for name, options in sorted(found.items()) if options.get("--strategy") not in ASYNCHRONOUS}

    def test_pairs_of_features_agree_in_both_worlds_or_are_refused(self):
        features = self.features()
        pairs = [(a, b) for a, b in itertools.combinations(features, 2)
                 if all(features[a][option] == features[b][option] for option in features[a].keys() & features[b].keys())]
        if PAIRS != "all":
            pairs = random.Random(commit_number()).sample(pairs, int(PAIRS))
        trained = 0
        print(f"{len(pairs)} pairs of {len(features)} features", flush=True)
        for a, b in pairs:
            with self.subTest(pair=(a, b)):
                words = flat(self.training({"--strategy": "data_parallel"} | features[a] | features[b]))
                here, there = self.new_folder(), self.folder / "real"
                emulated = run("simulate", "--quiet", "--workers", 2, "--platform", PLATFORM, *words, "--out", here)
                real = run("train", "--quiet", "--workers", 2, *words, "--out", there, "--overwrite")
                if emulated.returncode == 0:
                    self.assertEqual(outcome(real, there), outcome(emulated, here), " ".join(words))
                    trained += 1
                else:
                    self.assert_refused(emulated)
                    self.assert_refused(real)
        self.assertGreater(trained, len(pairs) / 2)


if __name__ == "__main__":
    unittest.main()
