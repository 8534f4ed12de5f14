#!/usr/bin/env python3
"""The fault driver distinguishes correct from incorrect behaviour."""

import unittest

from faults import Call, Ended, Mode, out_of_order, plans, wrong_exit


def calls(*made: str) -> list[Call]:
    return [Call(number, *(name, True, 8, path)) for number, (name, path) in enumerate((line.split() for line in made), 1)]


class Judgement(unittest.TestCase):
    def test_a_failure_is_one_sentence_and_exit_code_2(self):
        plan = "at=1 do=fail errno=EIO"
        self.assertEqual(wrong_exit(Ended(0, "", ""), plan, False), "")
        self.assertEqual(wrong_exit(Ended(2, "", "paragrad: cannot write 'x'\n"), plan, False), "")
        for ended in (Ended(2, "", ""), Ended(2, "", "paragrad: one\nparagrad: two\n"), Ended(2, "", "a trace\nparagrad: one\n"),
                      Ended(2, "", "paragrad: cannot create 'x': HDF5 gives no reason\n"), Ended(1, "", "paragrad: internal error: one\n"), Ended(-9, "", ""), Ended(-11, "", ""), Ended(124, "", "")):
            self.assertNotEqual(wrong_exit(ended, plan, False), "", ended)

    def test_death_is_for_those_that_are_killed(self):
        self.assertEqual(wrong_exit(Ended(-9, "", ""), "at=1 do=tear", False), "")
        self.assertEqual(wrong_exit(Ended(-9, "", ""), "at=1 do=fail errno=EIO then=after:rename:x", False), "")
        self.assertNotEqual(wrong_exit(Ended(-11, "", ""), "at=1 do=kill", False), "")

    def test_a_fault_beyond_the_last_call_is_for_ranks_and_harmless(self):
        plan, beyond = "at=9 do=fail_on errno=EIO", "call 9 was to be hit, and there were 8"
        self.assertEqual(wrong_exit(Ended(0, "", "", beyond), plan, True), "")
        self.assertIn(beyond, wrong_exit(Ended(0, "", "", beyond), plan, False))
        self.assertIn(beyond, wrong_exit(Ended(2, "", "paragrad: cannot write 'x'\n", beyond), plan, True))

    def test_a_name_comes_after_the_bytes_and_a_removal_after_the_name(self):
        self.assertEqual(out_of_order(calls("pwrite /f/a.tmp", "fsync /f/a.tmp", "rename /f/a", "fsync /f", "unlink /f/b")), [])
        self.assertIn("call 2 names /f/a", out_of_order(calls("pwrite /f/a.tmp", "rename /f/a", "fsync /f"))[0])
        self.assertIn("call 4 names /f/a", out_of_order(calls("pwrite /f/a.tmp", "fsync /f/a.tmp", "pwrite /f/a.tmp", "rename /f/a"))[0])
        self.assertIn("call 2 removes /f/b", out_of_order(calls("rename /f/a", "unlink /f/b", "fsync /f"))[0])

    def test_every_call_that_a_mode_concerns_is_tried_once(self):
        made = calls("open /f/a", "pwrite /f/a", "close /f/a")
        modes = [Mode("one", "do=fail", lambda _: True), Mode("two", "do=tear", lambda call: call.name == "pwrite")]
        self.assertEqual([plan for _, plan in plans(made, modes)], ["at=1 do=fail", "at=2 do=fail", "at=3 do=fail", "at=2 do=tear"])


if __name__ == "__main__":
    unittest.main()
