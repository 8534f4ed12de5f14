#!/usr/bin/env python3
"""What would have no effect in an experiment's files is refused, by name."""

import json
import shutil
import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/notebooks"), str(ROOT / "experiments/harness")]

import toy  # noqa: E402
from config import UserError  # noqa: E402
from grammar import check  # noqa: E402

TUNE = '[tune]\noption = "momentum"\nmeasure = "valid_error"\nseeds = [1]\n[tune.grid]\nsgd = [0.5]\nma = [0.5, 0.9]\nlarge = [0.9]\n'
CLAIM = '[[claim]]\ntext = "a claim"\nstated = "before"\nleft = "{left}"\nop = "{op}"\nright = {right}\n{more}\n'


def claim(left: str = "ma-2.test_error", op: str = "<", right: str = "1", more: str = "") -> str:
    return CLAIM.format(left=left, op=op, right=right, more=more)


class Config(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(tempfile.mkdtemp(prefix="paragrad-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.root = toy.build(cls.folder / "copy")
        cls.experiment = cls.root / "experiments/toy"
        (cls.experiment / "expected.json").unlink()

    def harness(self, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run([sys.executable, self.root / "experiments/harness", "--program", toy.PROGRAM, *words],
                              capture_output=True, text=True, timeout=60)

    def refused(self, command: subprocess.CompletedProcess, *parts: str) -> None:
        self.assertEqual(command.returncode, 2, command.stdout + command.stderr)
        self.assertEqual(len(command.stderr.splitlines()), 1, command.stderr)
        for part in parts:
            self.assertIn(part, command.stderr)

    def with_config(self, *changes: tuple[str, str], added: str = "", words: tuple[str, ...] = ("commands", "toy", "--size", "smoke")) \
            -> subprocess.CompletedProcess:
        text = toy.CONFIG
        for old, new in changes:
            self.assertIn(old, text)
            text = text.replace(old, new, 1)
        (self.experiment / "config.toml").write_text(text + added)
        return self.harness(*words)

    def test_the_toy_itself_is_accepted(self):
        self.assertEqual(self.with_config().returncode, 0)

    def test_unknown_keys_are_named_with_the_key_that_was_meant(self):
        for old, new, *parts in (
            ('baseline = "sgd"', 'basline = "sgd"', "'basline'", "'baseline'"),
            ("[size.full]", "[size.fall]", "'fall'", "'full'"),
            ("seeds = [1, 2]", "seed = [1, 2]", "[size.smoke]", "'seed'", "'seeds'"),
            ('file = "data/toy.h5"', 'file = "data/toy.h5"\noptionl = true', "[[data]] 'toy'", "'optionl'", "'optional'"),
            ('sizes = ["full"]', 'size = ["full"]', "[[claim]] 'sixty-four", "'size'", "'sizes'"),
            ('sizes = ["full"]', 'sizes = ["large"]', "[[claim]] 'sixty-four", "'large'"),
            ("within = 10", "withing = 10", "[[published]]", "'withing'", "'within'"),
            ('least = "strategy"', 'lest = "strategy"', "[[table]] 'the best strategy'", "'lest'", "'least'"),
            ("absolute = 0.1", "absolut = 0.1", "[[repeats]] 'test_error'", "'absolut'", "'absolute'"),
            ('model = "8-12', 'modell = "8-12', "`paragrad simulate`", "'modell'", "'model'"),
            ('momentum = 0\n', 'momentun = 0\n', "`paragrad simulate`", "'momentun'", "'momentum'"),
            ('text = "two workers are faster than one"\n', "", "[[claim]]", "lacks 'text'"),
            ('stated = "reversed"', 'stated = "revised"', "[[claim]] 'two workers are a thousand", "'revised'", "'reversed'"),
            ('stated = "reversed"\n', "", "[[claim]] 'two workers are a thousand", "lacks 'stated'"),
            ('within = 10\nstated = "after"', "within = 10", "[[published]]", "lacks 'stated'"),
            ("within = 10\n", "", "[[published]]", "'stated'", "but no bound"),
        ):
            with self.subTest(new=new):
                self.refused(self.with_config((old, new)), "experiments/toy/config.toml", *parts)

    def test_patterns_that_fit_no_run_are_named(self):
        for old, new, *parts in (
            ('"ma-*", "async-2"]', '"ma-*", "asynch-*"]', "[size.smoke]", "'asynch-*'"),
            ("[size.full]", '[size.full]\ndata = ["toi"]', "[size.full]", "'toi'"),
            ('rows = ["ma-*"]', 'rows = ["am-*"]', "[[published]]", "'am-*'"),
            ('runs = ["ma-*"]\nrows', 'runs = ["am-*"]\nrows', "[[table]] 'speed-up", "'am-*'"),
            ("absolute = 0.1", 'absolute = 0.1\nruns = ["am-*"]', "[[repeats]]", "'am-*'"),
            ("[size.full]", '[size.full]\nruns = ["sgd"]', "'large'", "belongs to no size"),
            ('baseline = "sgd"', 'baseline = "sdg"', "baseline", "did you mean 'sgd'"),
            ('rows = "workers"', 'rows = "wrokers"', "[[table]]", "'wrokers'"),
            ('against = "sgd"', 'against = "sdg"', "[[table]] 'against one worker'", "'sdg'", "'ma-2'"),
            ('against = "sgd"', 'against = "sgd"\nalong = "frames"', "[[table]] 'against one worker'", "'along'", "two [[data]] have 'at'"),
            ('title = "results"', 'title = "results"\nalong = "frames"', "[[table]] 'results'", "lacks 'against'"),
            ('file = "data/toy.h5"', 'file = "data/toy.h5"\nat = 3', "[[data]] 'toy'", "'at'", "no [[table]] has 'along'"),
            ("absolute = 0.1", "absolute = 0.1\ndeviations = 5", "[[repeats]] 'test_error'", "'deviations' and another tolerance"),
            ("absolute = 0.1", "deviations = 5", "[[repeats]] 'test_error'", "a single seed of size full"),
            ('against = "sgd"', 'against = "sgd"\ncurves = 2', "[[table]] 'against one worker'", "'against' and 'curves'"),
            ('against = "sgd"', 'against = "{wrokers}"', "[[table]] 'against one worker'", "{wrokers}", "'ma-2'"),
            ('name = "async-2"', 'name = "sgd"', "2 runs have the name 'sgd'"),
            ('title = "results"', 'title = "results"\nmap = "test_error"', "[[table]] 'results' lacks 'places'"),
            ('title = "results"', 'title = "results"\nmap = "a_{x}"\nplaces = { x = ["1"] }', "places has two lists"),
            ('title = "results"', 'title = "results"\nmap = "a_{x}_{y}_{z}"\nplaces = { x = ["1"], y = ["2"] }', "map uses {z}"),
            ('title = "results"', 'title = "results"\nmap = "a_{x}_{y}"\nplaces = { x = [], y = ["2"] }', "'x' has to be a list of strings"),
        ):
            with self.subTest(new=new):
                self.refused(self.with_config((old, new)), "experiments/toy/config.toml", *parts)

    def test_a_claim_that_can_never_be_judged_is_named(self):
        for added, *parts in (
            (claim("ma-3.test_error"), "size smoke", "'ma-3'", "did you mean 'ma-"),
            (claim("large.test_error"), "size smoke", "'large'"),
            (claim("test_error"), "'test_error' is neither a number nor run.metric"),
            (claim("least(am-*).test_error"), "size smoke", "'am-*' in least matches no run"),
            (claim("least(ma-*, workers).test_error"), "'least(ma-*, workers).test_error' is neither"),
            (claim("rank(ma-*).test_error"), "'rank(ma-*).test_error' is neither"),
            (claim("most(ma-*).test_error"), "'most(ma-*).test_error' is neither"),
            (claim(op="=="), "unknown op '=='"),
            (claim(more='data = ["toi"]'), "'toi' in data matches no data set"),
            (claim("ma-{n}.test_error", more="each = { n = [2, 4], m = [1] }"), "lists of each differ in length"),
            (claim(more="each = { n = [2, 4] }"), "each has 'n'"),
            (claim("ma-{n}.test_error"), "{n}"),
        ):
            with self.subTest(added=added):
                self.refused(self.with_config(added=added), "experiments/toy/config.toml", "[[claim]] 'a claim'", *parts)

    def test_options_that_the_harness_sets_are_refused(self):
        initial = '[initial]\nstrategy = "sgd"\nworkers = 1\n'
        for old, new, added, said in (
            ("[options]", "[options]\nseed = 3", "", "the run 'sgd' sets 'seed', which the seeds of the size set"),
            ("[options]", '[options]\ndata = "data/toy.h5"', "", "the run 'sgd' sets 'data', which [[data]] sets"),
            ("[options]", '[options]\ninit = "x.h5"', initial, "the run 'sgd' sets 'init', which [initial] sets"),
            ("[options]", "[options]\nhost-threads = 2", "", "the run 'sgd' sets 'host-threads', which the harness sets itself"),
            ("[options]", '[options]\nconfig = "x.toml"', "", "the run 'sgd' sets 'config', but options have to be in config.toml itself"),
            ("[options]", "[options]\nhelp = true", "", "the run 'sgd' sets 'help', with which nothing is run"),
            ("each = {", 'out = "x"\neach = {', "", "the run 'ma-2' sets 'out', which the harness sets itself"),
            ("each = {", "each = { resume = [true, false],", "", "the run 'ma-2' sets 'resume', which the harness sets itself"),
            ("options = { epochs = 3 }", "options = { quiet = true }", "", "the run 'sgd' sets 'quiet', which the harness sets itself"),
            ("[[run]]", "options = { seed = 3 }\n[[run]]", "", "[[data]] 'toy' sets 'seed', which the seeds of the size set"),
            ("[options]", "[options]", initial + "seed = 3", "[initial] sets 'seed', which the seeds of the size set"),
            ("[options]", "[options]", '[sharpness]\nresult = "x"', "[sharpness] sets 'result', which the harness sets itself"),
            ("[options]", "[options]", TUNE.replace('"momentum"', '"seed"'), "[tune] sets 'seed', which the seeds of the size set"),
        ):
            with self.subTest(said=said):
                self.refused(self.with_config((old, new), added=added), f"experiments/toy/config.toml: {said}")
        self.assertEqual(self.with_config(added=initial + 'init = "x.h5"').returncode, 0)  # the model that [initial] starts from

    def test_a_tuning_that_tunes_nothing_is_named(self):
        self.refused(self.with_config(added=TUNE), "no value for toy sgd: make tune-toy")  # as it should be
        for changes, added, *parts in (
            ([], TUNE.replace("sgd = [0.5]", "sgd = []"), "[tune.grid]", "'sgd'"),
            ([], TUNE + "async = [0.1]\n", "[tune.grid]", "'async'"),
            ([], TUNE.replace("ma = ", "nbm = "), "[tune.grid]", "'nbm'"),
            ([], TUNE.replace("seeds = [1]", "seeds = []"), "[tune]", "'seeds'"),
            ([], TUNE.replace("valid_error", "word_error"), "[tune]", "'word_error'"),
            ([], TUNE.replace("seeds = [1]", "seeds = [1]\nkeep = 0.5"), "[tune]", "'keep'", "'rungs'"),
            ([("learning-rate = 0.1", "learning-rate = 0.1\nmomentum = 0.9")], TUNE, "[tune] tunes nothing", "momentum"),
            ([('file = "data/toy.h5"', 'file = "data/toy.h5"\ntune = { grid = { mas = [0.5] } }')], TUNE, "[[data]] 'toy'", "'mas'", "did you mean 'ma'"),
            ([('file = "data/toy.h5"', 'file = "data/toy.h5"\ntune = { grid = { ma = [] } }')], TUNE, "[[data]] 'toy'", "'ma' has to be"),
            ([('file = "data/toy.h5"', 'file = "data/toy.h5"\ntune = { keep = 0.5 }')], TUNE, "[[data]] 'toy'", "'keep'", "'rungs'"),
            ([('file = "data/toy.h5"', 'file = "data/toy.h5"\ntune = { rungs = [] }')], "", "[[data]] 'toy'", "there is no [tune]"),
            ([('file = "data/toy.h5"', 'file = "data/toy.h5"\ntune = { seeds = [2] }')], TUNE, "[[data]] 'toy'", "'seeds'"),
            ([("learning-rate = 0.1", "")], TUNE.replace('"momentum"', '"learning-rat"') + "async = [1]\n", "'learning-rat'"),
            ([('file = "data/toy.h5"', 'file = "data/toy.h5"\ntuned_on = "toi"')], TUNE, "'toi'"),
        ):
            with self.subTest(parts=parts):
                self.refused(self.with_config(*changes, added=added, words=("tune", "toy", "--size", "smoke")), "config.toml", *parts)
        self.refused(self.with_config(words=("tune", "toy")), "toy has nothing to tune")

    def test_recorded_and_tuned_values_of_nothing_are_named(self):
        for file, text, *parts in (
            ("expected.json", {"smal": {}}, "'smal'"),
            ("expected.json", {"smoke": {"toi": {}}}, "toi"),
            ("expected.json", {"smoke": {"toy": {"ma-3": {}}}}, "toy ma-3"),
            ("expected.json", {"smoke": {"toy": {"ma-2": {"3": {}}}}}, "toy ma-2 3"),
            ("expected.json", {"smoke": {"toy": {"ma-2": {"1": {"valid_error": 0}}}}}, "toy ma-2 1 valid_error"),
            ("tuned.toml", "[toy]\nma-2 = 0.5\n", "'ma-2'"),
        ):
            with self.subTest(parts=parts):
                path = self.experiment / file
                path.write_text(text if isinstance(text, str) else json.dumps(text))
                self.addCleanup(path.unlink, missing_ok=True)
                self.refused(self.with_config(words=("verify", "toy", "--size", "smoke")), f"experiments/toy/{file}", *parts)
                path.unlink()

    def test_damaged_files_are_named(self):
        conflict = "<<<<<<< HEAD\n{}\n=======\n"
        for file, text in (("expected.json", conflict), ("trials.json", conflict), ("expected.json", "[]"), ("expected.json", '{"smoke": {"toy": 3}}')):
            with self.subTest(file=file, text=text):
                path = self.experiment / file
                self.addCleanup(path.unlink, missing_ok=True)
                path.write_text(text)
                self.refused(self.with_config(words=("verify", "toy", "--size", "smoke")), f"experiments/toy/{file} is not", "restore it from the history")
                if file == "expected.json":
                    for command in ("judge", "recheck", "cost"):
                        self.refused(self.harness(command, "toy"), f"experiments/toy/{file} is not", "restore it from the history")
                path.unlink()
        (self.experiment / "config.toml").write_bytes(toy.CONFIG.encode() + "# é".encode("latin-1"))
        self.refused(self.harness("judge", "toy"), "experiments/toy/config.toml is not valid TOML", "0xe9")
        self.refused(self.harness("cost", "toi"), "no experiment 'toi'")
        self.refused(self.with_config(words=("--program", str(self.root), "run", "toy")), f"there is no program {self.root}")

    def test_options_of_other_commands_are_refused(self):
        self.refused(self.with_config(words=("verify", "toy", "--run", "sgd")), "--run", "worlds")
        self.refused(self.with_config(words=("run", "toy", "--platform", "x.toml")), "--platform", "predict")
        self.refused(self.with_config(words=("verify", "toy", "--missing")), "--missing", "record", "tune")
        self.refused(self.with_config(words=("verify", "toy", "--data", "toy")), "--data", "record", "tune")

    def test_an_experiment_that_no_page_shows_is_reported_by_name(self):
        self.assertEqual(self.with_config(words=("sources",)).returncode, 0)
        shutil.copytree(self.experiment, self.root / "experiments/hidden")
        self.addCleanup(shutil.rmtree, self.root / "experiments/hidden")
        (self.root / "experiments/hidden/README.md").unlink()
        lint = subprocess.run([sys.executable, toy.ROOT / "tests/lint/experiments.py", self.root], capture_output=True, text=True)
        self.assertEqual(lint.returncode, 1)
        self.assertEqual(lint.stdout.splitlines(), ["experiments/hidden has no README.md",
                                                    "experiments/README.md has no line for experiments/hidden"])


class Types(unittest.TestCase):
    def refused(self, old: str, new: str, *parts: str, added: str = "") -> None:
        self.assertIn(old, toy.CONFIG)
        with self.subTest(new=new, added=added), self.assertRaises(UserError) as found:
            check("toy/config.toml", tomllib.loads(toy.CONFIG.replace(old, new, 1) + added))
        if hasattr(found, "exception"):
            for part in ("toy/config.toml", *parts):
                self.assertIn(part, str(found.exception))
            self.assertNotIn("\n", str(found.exception))

    def test_what_a_value_has_to_be_is_said_where_it_is_not(self):
        for old, new, *parts in (
            ("[options]", "[[options]]", "'options' has to be a table"),
            ("[[data]]", "[data]", "'data' has to be tables in double brackets, [[data]]"),
            ("[[repeats]]", "[repeats]", "'repeats' has to be tables in double brackets, [[repeats]]"),
            ('baseline = "sgd"', 'baseline = "sgd"\nsize.laptop = 2', "[size]: 'laptop' has to be a table"),
            ("seeds = [1, 2]", "seeds = 2", "[size.smoke]: 'seeds' has to be a list of different integers"),
            ("seeds = [1, 2]", "seeds = []", "[size.smoke]: 'seeds'"),
            ("seeds = [1, 2]", "seeds = [1, 1]", "[size.smoke]: 'seeds'"),
            ("seeds = [1, 2]", "seeds = [1, 2.5]", "[size.smoke]: 'seeds'"),
            ("seeds = [1, 2]", "seeds = [true]", "[size.smoke]: 'seeds'"),
            ("minibatch = 16", "minibatch = 2026-11-27", "[options]: 'minibatch' has to be a string, a number, true or false"),
            ("minibatch = 16", "minibatch = { of = 16 }", "[options]: 'minibatch'"),
            ("momentum = 0\n", "momentum = 00:00:00\n", "[[run]] 'async-2': 'momentum'"),
            ("{ workers = [2, 4] }", "{ workers = 2 }", "[[run]] 'ma-{workers}': each: 'workers' has to be a list with at least one value"),
            ("{ workers = [2, 4] }", '{ workers = "24" }', "[[run]] 'ma-{workers}': each: 'workers'"),
            ("{ workers = [2, 4] }", "{ workers = [] }", "[[run]] 'ma-{workers}': each: 'workers'"),
            ("{ workers = [2, 4] }", "[2, 4]", "[[run]] 'ma-{workers}': 'each' has to be a table"),
            ('name = "async-2"', "name = 1", "[[run]] 1: 'name' has to be a string"),
            ('file = "data/toy.h5"', 'file = "data/toy.h5"\noptional = "yes"', "[[data]] 'toy': 'optional' has to be true or false"),
            ("right = 1000", "right = true", "[[claim]] 'two workers are a thousand times as fast': 'right' has to be a number or run.metric"),
            ('sizes = ["full"]', 'sizes = "full"', "[[claim]] 'sixty-four <workers> err in at most 90 %': 'sizes' has to be a list of strings"),
            ("within = 10", 'within = "10 %"', "[[published]] 'a speed-up of a publication': 'within' has to be a number"),
            ('title = "results"', 'title = "results"\ncurves = 0', "[[table]] 'results': 'curves' has to be an integer of at least 1"),
            ('title = "results"', 'title = "results"\ncolumns = "test_error"', "[[table]] 'results': 'columns' has to be a list of metrics"),
            ('columns = "strategy"', 'columns = ["strategy"]', "[[table]] 'speed-up by strategy': 'columns' has to be an option"),
            ("absolute = 0.1", 'absolute = "0.1"', "[[repeats]] 'test_error': 'absolute' has to be a number"),
        ):
            self.refused(old, new, *parts)
        self.refused("[options]", "[options]", "[tune.grid]: 'sgd' has to be a list of numbers", added=TUNE.replace("sgd = [0.5]", "sgd = 0.5"))
        self.refused("[options]", "[options]", "[tune.grid]: 'sgd'", added=TUNE.replace("sgd = [0.5]", 'sgd = [0.5, "x"]'))

    def test_braces_without_an_option_are_named(self):
        for name in ("ma-{", "ma-}", "{}", "{0}", "{workers.x}", "{workers[0]}", "{strategy:d}"):
            self.refused('name = "ma-{workers}"', f'name = "{name}"', f"'{name}' has braces that are not around a name")
        self.refused('baseline = "sgd"', 'baseline = "{"', "'{' has braces")
        self.refused('against = "sgd"', 'against = "{"', "'{' has braces")
        self.refused("[options]", "[options]", "'ma-{n}{.test_error' has braces", added=claim("ma-{n}{.test_error", more="each = { n = [2, 4] }"))
        self.refused('name = "ma-{workers}"', 'name = "ma-{wrokers}"', "lacks 'wrokers', which a run's name")


if __name__ == "__main__":
    unittest.main()
