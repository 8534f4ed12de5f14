#!/usr/bin/env python3
"""The sharpness around a checkpoint is about the same however many workers measure it, and what has none is refused."""

import json
import unittest

from paragrad_cli import PLATFORM, CliTest, run


class Sharpness(CliTest):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        trained = run("train", "--data", cls.data, "--model", "8-16-6:relu", "--learning-rate", "0.1", "--epochs", "3", "--blocks", "2",
                      "--quiet", "--out", cls.folder / "run")
        assert trained.returncode == 0, trained.stderr
        cls.checkpoint = str(cls.folder / "run" / "checkpoint.h5")

    def measured(self, *words, **more) -> dict[str, float]:
        result = self.folder / "sharpness.json"
        done = run("sharpness", self.checkpoint, "--data", self.data, "--result", result, *words, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(result.read_text())
        self.assertIn(f"sharpness {found['sharpness']:.4g}, loss {found['sharpness_loss']:.4f}", done.stdout)
        return found

    def test_workers_find_what_one_process_finds_but_for_rounding(self):
        expected = self.measured()
        self.assertGreater(expected["sharpness"], 0)
        for words, more in ((("--workers", 3, "--platform", PLATFORM), {}), ((), {"ranks": 2})):
            with self.subTest(words=words, more=more):
                for name, value in self.measured(*words, **more).items():
                    self.assertAlmostEqual(value, expected[name], delta=1e-3 * expected[name])

    def test_subsets_have_a_sharpness_of_their_own(self):
        whole, few, test = (self.measured(*words) for words in ((), ("--samples", 20), ("--subset", "test")))
        self.assertEqual(len({found["sharpness_loss"] for found in (whole, few, test)}), 3)

    def test_what_has_no_sharpness_is_refused(self):
        for words, *parts in (
            (("--epsilon", "0"), "--epsilon", "above 0"),
            (("--subset", "best"), "best", "train, valid, test"),
            (("--chunks", "1-2+1"), "--chunks"),
            (("--device", "meta"), "meta", "computes nothing"),
        ):
            with self.subTest(words=words):
                self.assert_refused(run("sharpness", self.checkpoint, "--data", self.data, *words), *parts)
        self.assert_refused(run("sharpness", self.folder / "none.h5", "--data", self.data), "none.h5")


if __name__ == "__main__":
    unittest.main()
