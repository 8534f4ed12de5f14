#!/usr/bin/env python3
"""What is left after a power cut, by hand."""

import unittest

from power_cut import Change, Recording

OLD = {"a": b"old"}
WRITTEN = [Change("open", "a.tmp"), Change("write", "a.tmp", 0, b"newer")]
SYNCHRONISED = [Change("fsync", "a.tmp")]
RENAMED = [Change("rename", "a", 0, b"a.tmp")]
NAMED = [Change("fsync", ".")]
SEEDS = range(40)


def recording(changes: list[Change], after: dict, before: dict = OLD) -> Recording:
    return Recording(before, changes, after)


def outcomes(changes: list[Change], before: dict = OLD) -> list[dict]:
    """Of a cut after the last change."""
    disk = Recording(before, changes, apply(changes, before)).disk(len(changes))
    return [disk.after_cut(keep) for keep in ("nothing", "names", *(f"some:{seed}" for seed in SEEDS))]


def apply(changes: list[Change], before: dict) -> dict:
    disk = Recording(before, [], before).disk(0)
    for change in changes:
        disk.apply(change)
    return disk.content()


class PowerCut(unittest.TestCase):
    def test_a_file_replaced_in_the_right_order_is_the_old_or_the_new_one(self):
        changes = WRITTEN + SYNCHRONISED + RENAMED + NAMED
        whole = recording(changes, {"a": b"newer"})
        for cut in whole.cuts(len(SEEDS)):
            self.assertIn(whole.after_cut(cut)["a"], (b"old", b"newer"), cut)
        self.assertEqual(outcomes(changes), [{"a": b"newer"}] * len(outcomes(changes)))

    def test_a_file_renamed_before_its_bytes_are_synchronised_may_be_empty_or_torn(self):
        left = [tree.get("a") for tree in outcomes(WRITTEN + RENAMED + NAMED)]
        self.assertEqual(left[:2], [b"", b""])
        self.assertIn(b"newer", left)
        self.assertIn(bytes(5), left)
        self.assertTrue(any(content not in (b"", b"newer", bytes(5)) for content in left), "no garbage")

    def test_a_name_is_lost_until_its_folder_is_synchronised(self):
        left = outcomes(WRITTEN + SYNCHRONISED + RENAMED)
        self.assertEqual(left[:2], [OLD, {"a": b"newer"}])
        self.assertEqual({tuple(tree.items()) for tree in left},
                         {(("a", b"old"),), (("a", b"old"), ("a.tmp", b"newer")), (("a", b"newer"),)})

    def test_a_new_folder_is_lost_until_the_folder_above_it_is_synchronised(self):
        below = [Change("mkdir", "f"), Change("open", "f/b"), Change("fsync", "f")]
        self.assertEqual(outcomes(below)[0], OLD)
        self.assertEqual(outcomes(below + NAMED)[0], {**OLD, "f": None, "f/b": b""})
        self.assertEqual(outcomes([Change("mkdir", "f"), Change("open", "f/b"), *NAMED])[0], {**OLD, "f": None})

    def test_a_removed_file_comes_back_until_its_folder_is_synchronised(self):
        self.assertEqual(outcomes([Change("unlink", "a")])[0], OLD)
        self.assertEqual(outcomes([Change("unlink", "a"), *NAMED])[0], {})

    def test_names_in_one_folder_survive_in_order(self):
        for tree in outcomes([Change("unlink", "a"), Change("open", "b"), Change("open", "c")]):
            self.assertIn(set(tree), ({"a"}, set(), {"b"}, {"b", "c"}))

    def test_sectors_survive_one_by_one(self):
        before = {"a": b"o" * 1536}
        left = {tree["a"] for tree in outcomes([Change("pwrite", "a", 256, b"n" * 1024)], before)}
        pieces = [(256, 512), (512, 1024), (1024, 1280)]
        self.assertGreater(len(left), 4)
        for content in left:
            for begin, end in pieces:
                self.assertIn(content[begin:end], (b"o" * (end - begin), b"n" * (end - begin)))
            self.assertEqual(content[:256] + content[1280:], b"o" * 512)

    def test_what_was_synchronised_before_stays(self):
        for tree in outcomes([Change("write", "a", 3, b" and new"), Change("fsync", "a"), Change("write", "a", 11, b" and lost")]):
            self.assertTrue(tree["a"].startswith(b"old and new"))

    def test_a_result_that_was_not_synchronised_is_reported_at_the_end_only(self):
        whole = recording(WRITTEN + RENAMED + NAMED, {"a": b"newer"})
        self.assertEqual([cut for cut in whole.cuts(0) if whole.lost(cut)], ["cut=4 keep=nothing"])
        self.assertEqual(whole.lost(whole.end), ["a"])
        self.assertEqual(recording(WRITTEN + SYNCHRONISED + RENAMED + NAMED, {"a": b"newer"}).lost("cut=5 keep=nothing"), [])

    def test_a_journal_that_misses_a_call_is_refused(self):
        with self.assertRaisesRegex(ValueError, "does not explain the content of a$"):
            recording(WRITTEN[:1] + RENAMED, {"a": b"newer"})
        with self.assertRaisesRegex(ValueError, "does not explain the content of b$"):
            recording([], {**OLD, "b": b""})
        with self.assertRaisesRegex(ValueError, "no entry for the creation of a.tmp"):
            recording(WRITTEN[1:], {})

    def test_no_content_is_tried_twice(self):
        whole = recording(WRITTEN + RENAMED, {"a": b"newer"})
        left = [tuple(whole.after_cut(cut).items()) for cut in whole.cuts(9) if not cut.startswith("cut=3 ")]
        self.assertEqual(len(left), len(set(left)))
        self.assertGreater(len(left), 2)

    def test_a_cut_has_the_same_effect_every_time(self):
        whole = recording(WRITTEN + RENAMED, {"a": b"newer"})
        again = recording(WRITTEN + RENAMED, {"a": b"newer"})
        self.assertEqual(whole.cuts(9), again.cuts(9))
        for cut in whole.cuts(9):
            self.assertEqual(whole.after_cut(cut), again.after_cut(cut))


if __name__ == "__main__":
    unittest.main()
