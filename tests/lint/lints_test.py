#!/usr/bin/env python3
"""In a small project, the lints find files that do not compile by themselves, and folders above their budget."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import alone
import drawn
import options

FILES = {"src/text.hpp": '#pragma once\n#include <string>\nstruct Text { int size; };\n',
         "src/text.cpp": '#include "text.hpp"\nint size_of(const Text& text) { return text.size; }\n',
         "src/user.cpp": '#include "text.hpp"\nstd::string user;\n',
         "src/user_of_user.hpp": '#pragma once\n#include "text.hpp"\ninline std::string second;\n',
         "src/other.cpp": "#include <vector>\nstd::vector<int> other;\n",
         "tests/text_test.cpp": "#include <cstring>\nint test(const char* text) { return std::strlen(text) > 1; }\n"}
BATCH = ("src/text.cpp", "src/user.cpp", "src/other.cpp")


class Project(unittest.TestCase):
    def setUp(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="paragrad-lints-"))
        self.addCleanup(shutil.rmtree, self.root)
        for name, text in FILES.items():
            self.write(name, text)
        for tool in ("history.py", "lint/alone.py", "lint/size.py"):
            self.write(f"tests/{tool}", (HERE.parent / tool).read_text())
        self.write(".gitignore", "build\n")
        self.write("build/Unity/batch.cxx", "".join(f'#include "{self.root / name}"\n' for name in BATCH))
        commands = [{"directory": str(self.root), "file": file, "command": f"env X=1 ccache c++ -O3 -include p.h -std=c++20 -Isrc -MD -MF x.d -o x.o -c {file}"}
                    for file in (str(self.root / "build/Unity/batch.cxx"), "tests/text_test.cpp")]
        self.write("build/compile_commands.json", json.dumps(commands))
        self.git("init", "-q")
        self.commit()

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def git(self, *arguments: str) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        return subprocess.run(["git", *who, *arguments], cwd=self.root, capture_output=True, text=True, check=True).stdout.strip()

    def commit(self) -> str:
        self.git("add", ".")
        self.git("commit", "-qm", "x")
        return self.git("rev-parse", "HEAD")

    def alone(self, *arguments: str, **environment: str) -> tuple[int, str]:
        done = subprocess.run([sys.executable, "tests/lint/alone.py", "build", *arguments], cwd=self.root, capture_output=True, text=True,
                              env=os.environ | {"XDG_CACHE_HOME": str(self.root / "build/cache")} | environment)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout

    def test_files_that_include_what_they_use_pass_and_are_remembered(self):
        status, said = self.alone("--all")
        self.assertEqual(status, 0, said)
        self.assertIn("5 of 5 files compile by themselves (all files", said)  # text.hpp by text.cpp, which includes it first
        self.write("src/other.cpp", FILES["src/other.cpp"] + "\n")
        _, said = self.alone("--since=" + self.git("rev-list", "--max-parents=0", "HEAD"))
        self.assertIn("(1 that have changed", said)
        again = self.alone("--since=HEAD")[1]
        self.assertRegex(again, r"(\d+) of \1 files compile by themselves; \1 were known to")

    def test_unchanged_files_fail_whose_header_has_lost_an_include(self):
        passed = self.git("rev-parse", "HEAD")
        self.write("src/text.hpp", FILES["src/text.hpp"].replace("#include <string>\n", ""))
        for commits in (False, True):
            if commits:
                self.commit()
            status, said = self.alone(PARAGRAD_PASSED=passed)
            self.assertEqual(status, 1)
            for name in ("src/user.cpp", "src/user_of_user.hpp"):
                self.assertIn(f"{name} does not compile by itself", said)
            self.assertNotIn("src/text.cpp", said)

    def test_unchanged_files_fail_whose_name_has_moved_to_another_header(self):
        self.write("src/more.hpp", '#pragma once\n#include "text.hpp"\nstruct More { Text text; };\n')
        self.write("src/reader.cpp", '#include "more.hpp"\nint read(const More& more) { return more.text.size; }\nText kept;\n')
        self.commit()
        self.write("src/place.hpp", FILES["src/text.hpp"])
        self.write("src/text.hpp", "#pragma once\n#include <string>\n")
        self.write("src/more.hpp", '#pragma once\n#include "place.hpp"\nstruct More { Text text; };\n')
        listed = self.alone("--since=HEAD", "--list")[1].split()
        self.assertIn("src/text.cpp", listed)  # has lost Text
        self.write("src/more.hpp", '#pragma once\nstruct Text;\nstruct More { Text* text; };\n')
        status, said = self.alone("--since=HEAD")
        self.assertEqual(status, 1)
        for name in ("src/text.cpp", "src/reader.cpp"):  # have lost Text, and size
            self.assertIn(f"{name} does not compile by itself", said)

    def test_what_a_header_gains_or_says_in_comments_cannot_break_files_that_have_not_changed(self):
        self.write("src/text.hpp", '// size\n#pragma once\n#include <string>\n#include <vector>\nstruct Text { long size; int more; };\n')
        self.assertIn("(1 that have changed", self.alone("--since=HEAD")[1])

    def test_a_source_and_a_test_that_lack_an_include_fail(self):
        for name, include in (("src/other.cpp", "#include <vector>\n"), ("tests/text_test.cpp", "#include <cstring>\n")):
            with self.subTest(name):
                self.write(name, FILES[name].replace(include, ""))
                status, said = self.alone("--since=HEAD")
                self.assertEqual(status, 1)
                self.assertIn(f"{name} does not compile by itself", said)
                self.write(name, FILES[name])

    def test_a_header_of_a_library_that_is_missing_is_no_fault_but_one_of_the_project_is(self):
        self.write("src/other.cpp", "#include <cuda_missing.h>\n")
        status, said = self.alone("--since=HEAD")
        self.assertEqual(status, 0)
        self.assertIn("LEFT OUT: src/other.cpp", said)
        self.write("src/other.cpp", '#include "missing.hpp"\n')
        self.assertEqual(self.alone("--since=HEAD")[0], 1)

    def test_the_compiler_is_found_in_any_command(self):
        for words in (["/usr/bin/cmake", "-E", "env", "A=b", "/usr/bin/ccache", "/usr/bin/c++"], ["/usr/lib/ccache/g++-12"], ["clang++"],
                      ["/usr/bin/cc"]):
            self.assertEqual(alone.Commands.cleaned([*words, "-O3", "-c", "x.cpp"], "x.cpp")[0], words[-1])

    def test_a_new_file_is_checked_before_it_is_added(self):
        self.write("src/new.cpp", "std::string text;\n")
        self.assertEqual(self.alone("--since=HEAD")[0], 1)

    def size(self, budget: str) -> tuple[int, str]:
        self.write("tests/lint/budget.toml", budget)
        done = subprocess.run([sys.executable, "tests/lint/size.py"], cwd=self.root, capture_output=True, text=True)
        return done.returncode, done.stdout

    def test_a_folder_above_its_budget_is_named(self):
        tests = "tests = 1000\n"
        self.assertEqual(self.size(tests + "src = 12\n")[0], 0)
        status, said = self.size(tests + "src = 11\n")
        self.assertEqual(status, 1)
        self.assertIn("src: remove lines", said)
        self.assertEqual(self.size(tests)[0], 1)
        self.assertIn("sim: nothing is left", self.size(tests + "src = 12\nsim = 5\n")[1])


def listed(name: str, **fixtures: list[str]) -> dict:
    """A test as ctest lists it."""
    return {"name": name, "properties": [{"name": f"FIXTURES_{kind}", "value": values} for kind, values in fixtures.items()]}


def labelled(name: str, label: str) -> dict:
    return {"name": name, "properties": [{"name": "LABELS", "value": ["unit", label]}]}


class Options(unittest.TestCase):
    def found(self, text: str, path: str = "src/user.cpp") -> list[str]:
        described = {"src/owner.cpp": 'list.number("half-life", half_life, limits, "help");\nlist.text(own_option, value, "help");\n',
                     "src/owner.hpp": 'inline constexpr const char* own_option = "its-own";\n'}
        return options.names_elsewhere(described | {path: text + "\n"})

    def test_a_file_that_knows_an_option_of_another_by_its_name_is_found(self):
        for text in ('const std::set<std::string> free{"half-life", "seed"};', 'given("--half-life")', 'words.push_back("--half-life=");',
                     'core::format("--half-life={}", 3)', 'set("its-own");'):
            with self.subTest(text):
                self.assertEqual(len(self.found(text)), 1)
                self.assertIn("src/owner.cpp", self.found(text)[0])

    def test_references_in_descriptions_messages_and_dictionaries_are_not(self):
        for text in ('list.uses("half-life");', 'list.described("half-life").when(x, "needs it");', 'throw ConfigError("--half-life is too long");',
                     '/// "half-life"', 'list.number("other", other, limits, "help").when(x, "needs `half-life`");'):
            with self.subTest(text):
                self.assertEqual(self.found(text), [])
        self.assertEqual(self.found('WORD("option", "hl", "half-life", "")', "src/cli/foreign_words.def"), [])


class Drawing(unittest.TestCase):
    NAMES = [f"experiment_{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    TESTS = [*(listed(name, SETUP=[f"runs_of_{name[-1]}"]) for name in NAMES),
             listed("report_browser", REQUIRED=["runs_of_a", "runs_of_z"]), listed("unit_core"), {"name": "bare"}]

    def test_ten_consecutive_commits_run_every_experiment_and_each_a_few(self):
        everything = {*self.NAMES, "report_browser"}
        for first in (1, 7, 754):
            runs = [everything - set(drawn.left_out(self.TESTS, number, set())) for number in range(first, first + drawn.EVERY)]
            self.assertEqual(set().union(*runs), everything)
            self.assertLessEqual(max(map(len, runs)), 3 + 2)

    def test_what_has_changed_is_run_with_the_runs_that_it_needs(self):
        names = drawn.left_out(self.TESTS, 5, drawn.changed({drawn.ROOT / "experiments/page/charts.py", drawn.ROOT / "README.md"}))
        for name in ("report_browser", "experiment_a", "experiment_z"):
            self.assertNotIn(name, names)
        self.assertIn("experiment_b", names)
        self.assertEqual(drawn.changed({drawn.ROOT / "experiments/balance/config.toml"}), {"experiment_balance"})

    def test_consecutive_commits_run_every_slow_test_and_every_program_under_sanitizers(self):
        for every, label in ((drawn.SLOW_EVERY, "slow"), (drawn.SANITIZED_EVERY, drawn.PROGRAM)):
            tests = [labelled(f"unit_{letter}{file}", "slow" if label == "slow" else label + letter) for letter in "abcdefgh" for file in "xy"]
            names = {test["name"] for test in tests}
            runs = [names - set(drawn.left_out([*tests, listed("unit_core")], number, set())) for number in range(30, 30 + every)]
            self.assertEqual(set().union(*runs), names)
            self.assertEqual(sum(map(len, runs)), len(names))
            self.assertEqual(drawn.left_out(tests, 30, names), [])
            if label == drawn.PROGRAM:  # all tests of a program or none
                self.assertTrue(all({f"{name[:-1]}x", f"{name[:-1]}y"} <= run for run in runs for name in run))
        self.assertIn("app_outside", drawn.changed({drawn.ROOT / "tests/app/outside_test.py"}))

    def test_every_test_in_python_is_run(self):
        folder = drawn.ROOT / "tests"
        lists = "".join(path.read_text() for path in [*folder.rglob("CMakeLists.txt"), *folder.rglob("*.cmake")])
        self.assertEqual([str(test) for test in folder.rglob("*_test.py") if f"/{test.name}" not in lists], [])


if __name__ == "__main__":
    unittest.main()
