#!/usr/bin/env python3
"""Several checkpoints are scored by themselves and together, alike in all worlds."""

import re
import unittest

from paragrad_cli import PLATFORM, CliTest, run

SCORES = re.compile(r"error ([\d.]+) %, loss ([\d.]+)")


class Ensemble(CliTest):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.checkpoints = []
        for seed, model in enumerate(("8-16-6:relu", "8-16-6:relu", "8-12-8-6:sigmoid")):
            trained = run("train", "--data", cls.data, "--model", model, "--learning-rate", "0.1", "--epochs", "3", "--blocks", "2",
                          "--seed", seed, "--quiet", "--out", cls.folder / str(seed))
            assert trained.returncode == 0, trained.stderr
            cls.checkpoints.append(str(cls.folder / str(seed) / "checkpoint.h5"))

    def scores(self, *words, **more) -> list[tuple[float, float]]:
        """Error and loss of every line."""
        done = run("evaluate", *words, "--data", self.data, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [(float(error), float(loss)) for error, loss in SCORES.findall(done.stdout)]

    def test_several_networks_are_scored_alone_and_together(self):
        alone = [self.scores(path)[0] for path in self.checkpoints]
        together = self.scores(*self.checkpoints)
        self.assertEqual(together[:3], alone)
        self.assertEqual(len(together), 4)
        self.assertLess(together[3][1], sum(loss for _, loss in alone) / 3)
        self.assertEqual(self.scores(self.checkpoints[0], self.checkpoints[0])[2], alone[0])

    def test_workers_score_what_one_process_scores(self):
        expected = self.scores(*self.checkpoints)
        self.assertEqual(self.scores(*self.checkpoints, "--workers", 3, "--platform", PLATFORM), expected)
        self.assertEqual(self.scores(*self.checkpoints, ranks=2), expected)

    def test_what_cannot_be_averaged_is_refused(self):
        other = str(self.folder / "other.h5")
        run("data", "generate", "--out", other, "--samples", 60, "--valid", 10, "--test", 0, "--dim", 8, "--classes", 6)
        for words, *parts in (
            ((*self.checkpoints[:2], "--data", self.data, "--loss", "squared_error"), "--loss", "cross_entropy"),
            ((self.checkpoints[0], str(self.folder / "none.h5"), "--data", self.data), "none.h5"),
            ((*self.checkpoints[:2], "--data", other), "other.h5", "no samples"),
            (("--data", self.data), "checkpoint"),
        ):
            with self.subTest(words=words):
                self.assert_refused(run("evaluate", *words), *parts)


if __name__ == "__main__":
    unittest.main()
