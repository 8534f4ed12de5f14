#!/usr/bin/env python3
"""What make mutants may do to a line, and which lines it draws."""

import itertools
import sys
import tempfile
import unittest
from collections import Counter
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from mutants import AREAS, ROOT, Judgement, Mutant, Results, argued, drawn, table
from mutations import MAKERS, SHARES, blanked, mutants

LINES = [(str(file.relative_to(ROOT)), place, line) for area in AREAS for file in sorted((ROOT / area).rglob("*"))
         if file.suffix in (".cpp", ".hpp") for place, line in enumerate(file.read_text().splitlines(), 1)]


class Mutations(unittest.TestCase):
    def test_each_kind_on_lines_that_have_it(self):
        for kind, line, expected in [
            ("dropped statement", "  sums_.clear();", ["  ;"]),
            ("dropped statement", "  count += 2;  // of both", ["  ;"]),
            ("dropped statement", "  if (!filters()) return;", ["  ;"]),
            ("dropped statement", "  return f(x);", []),
            ("dropped statement", "  const int count = f(x);", []),
            ("dropped statement", "  Scheduler(const Scheduler&) = delete;", []),  # no code of its own
            ("dropped statement", "  state.add(\"sums\", sums_);", []),  # a kind of its own
            ("dropped state", "  state.add(\"sums\", sums_.span(), core::Rescale::sum);", ["  ;"]),
            ("dropped state", "  Bmuf::describe_state(state);", ["  ;"]),
            ("ignored option", "  list.number(\"rate\", options.rate, core::below_one, \"a rate\");",
             ["  list.number(\"rate\", *new auto(options.rate), core::below_one, \"a rate\");"]),
            ("swapped arguments", "  scale(a, f(b, c), d);", ["  scale(f(b, c), a, d);", "  scale(a, d, f(b, c));", "  scale(a, f(c, b), d);"]),
            ("swapped arguments", "  x = std::max(a, b);", []),
            ("swapped arguments", "void scale(float a, float b) {", []),
            ("operator", "  if (a < b && c) x += y;", ["  if (a <= b && c) x += y;", "  if (a < b || c) x += y;", "  if (a < b && c) x -= y;"]),
            ("operator", "  std::vector<int> a{b->c, *d};", []),
            ("constant", "  x[1] = 0.5f;  // 3", ["  x[2] = 0.5f;  // 3", "  x[0] = 0.5f;  // 3", "  x[1] = (2 * 0.5f);  // 3"]),
            ("constant", "  virtual void run() = 0;", []),
            ("constant", "  say(\"1 or 2\", v2_);", []),
            ("condition", "  if (a(b)) return !c;", ["  if (!(a(b))) return !c;", "  if (true || (a(b))) return !c;", "  if (false && (a(b))) return !c;",
                                                      "  if (a(b)) return c;"]),
            ("condition", "  x = a ? b : c;", ["  x = a ? c : b;"]),
        ]:
            with self.subTest(kind=kind, line=line):
                self.assertEqual(mutants(line, kind), expected)

    def test_no_kind_changes_a_comment_a_text_or_a_directive(self):
        for line in ["// if (a < b) x += 1;", "/// f(a, b);", "#if A == 1", "  // 2", "", "static_assert(a == 1);"]:
            for kind in MAKERS:
                self.assertEqual(mutants(line, kind), [], line)
        self.assertEqual(blanked('f("a, b", \'c\');  // d'), 'f("    ", \' \');      ')

    def test_every_mutant_of_the_tree_differs_in_its_code_alone(self):
        for file, place, line in LINES:
            for kind in MAKERS:
                for other in mutants(line, kind):
                    self.assertNotEqual(other.strip(), line.strip(), f"{file}:{place}")
                    self.assertNotIn("\n", other)

    def test_draws_have_the_shares_of_the_kinds_and_repeat_from_the_seed(self):
        first, again, other = (list(itertools.islice(drawn(LINES, seed), 400)) for seed in (1, 1, 2))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)
        self.assertEqual(Counter(mutant.kind for mutant in first), {kind: 20 * share for kind, share in SHARES.items()})
        self.assertGreater(len({mutant.area for mutant in first}), len(AREAS) - 3)
        self.assertEqual([mutant.number for mutant in first], list(range(1, 401)))

    def test_results_are_read_again_without_gaps_and_half_a_line_of_a_killed_process_is_dropped(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "results.jsonl")
            results = Results(path)
            for number, verdict in ((1, "killed"), (2, "refused"), (3, "survived"), (5, "killed")):
                results.add(Mutant(number, "src/optim/adam.cpp", 1, "constant", "a", "b"), verdict, "unit_optim", 1)
            path.write_text(path.read_text() + '{"mutant": {"num')
            again = Results(path)
            self.assertEqual([one.mutant.number for one in again.first(9)], [1, 3])
            self.assertEqual(again.known, results.known)
            again.add(Mutant(4, "sim/a.cpp", 1, "constant", "a", "b"), "killed", "unit_sim", 1)
            self.assertEqual([one.mutant.number for one in Results(path).first(3)], [1, 3, 4])

    def test_equivalent_mutants_do_not_count_and_a_folder_without_others_has_no_score(self):
        one = Mutant(1, "src/optim/adam.cpp", 1, "constant", "a", "b")
        judgements = [Judgement(one, verdict) for verdict in ("killed", "killed", "survived", "equivalent", "argued")]
        rows = table([*judgements, Judgement(replace(one, file="sim/a.cpp"), "equivalent")]).splitlines()
        self.assertIn("| src/optim | 5 | 2 | 1 | 1 | 1 | 67 % |", rows)
        self.assertIn("| sim | 1 | 0 | 0 | 1 | 0 | – |", rows)

    def test_the_tests_that_judge_exist(self):
        known = (ROOT / "tests/CMakeLists.txt").read_text()
        for area, tests in AREAS.items():
            self.assertTrue((ROOT / area).is_dir(), area)
            for name in tests["unit"]:
                self.assertIn(f"paragrad_test({name} ", known)
            for name in tests["app"]:
                self.assertTrue(name.startswith("mpi_") or f"paragrad_python_test({name} " in known, name)

    def test_what_is_said_of_equivalent_mutants_is_about_lines_that_exist(self):
        for (file, before, after), why in argued().items():
            self.assertIn(before, [line.strip() for line in (ROOT / file).read_text().splitlines()], file)
            self.assertNotEqual(before, after)
            self.assertTrue(why.endswith("."), why)


if __name__ == "__main__":
    unittest.main()
