#!/usr/bin/env python3
"""Learning curves of runs: `paragrad plot`, and the Python package that draws them."""

import html
import json
import os
import re
import shutil
import statistics
import struct
import subprocess
import sys
import unittest
from pathlib import Path
from types import SimpleNamespace

from paragrad_cli import PLATFORM, ROOT, CliTest, run

sys.path.insert(0, str(ROOT / "src/python"))

from paragrad.labels import by_seed, labels_of  # noqa: E402

WITH_MATPLOTLIB = [str(ROOT / "src/setup/python.sh"), "matplotlib", "--"]
CAN_DRAW = subprocess.run([*WITH_MATPLOTLIB, "-c", ""], capture_output=True).returncode == 0


def texts(svg: Path) -> list[str]:
    return [html.unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg.read_text())]


def labels(svg: Path) -> list[str]:
    return [text for text in texts(svg) if "=" in text]


def fake(folder: str, seed: int = 1, world: str = "simulation", workers: int = 4, **options) -> SimpleNamespace:
    config = {name.replace("_", "-"): value for name, value in options.items()} | {"out": folder, "seed": seed}
    about = {"seed": seed, "world": world, "workers": workers}
    return SimpleNamespace(folder=Path(folder), is_temporary=False, config=config, about=about)


class Labels(unittest.TestCase):
    def labels(self, *runs: SimpleNamespace) -> list[str]:
        return labels_of(by_seed(runs))

    def test_a_label_is_the_options_that_differ_in_the_order_of_the_configuration(self):
        self.assertEqual(self.labels(fake("a", model="8-6", strategy="sgd", blocks=4, learning_rate=0.1, workers=1),
                                     fake("b", model="8-6", strategy="bmuf", blocks=4, learning_rate=0.05)),
                         ["strategy=sgd, learning-rate=0.1, workers=1", "strategy=bmuf, learning-rate=0.05, workers=4"])

    def test_an_option_that_only_some_have_is_named_if_nothing_else_tells_them_apart(self):
        sgd, bmuf = fake("a", strategy="sgd"), fake("b", strategy="bmuf", bmuf_kind="nbm")
        self.assertEqual(self.labels(sgd, bmuf), ["strategy=sgd", "strategy=bmuf"])
        self.assertEqual(self.labels(sgd, bmuf, fake("c", strategy="bmuf", bmuf_kind="cbm")),
                         ["strategy=sgd", "strategy=bmuf, bmuf-kind=nbm", "strategy=bmuf, bmuf-kind=cbm"])
        self.assertEqual(self.labels(fake("a", strategy="sgd", l2=0.1), fake("b", strategy="sgd"), bmuf),
                         ["strategy=sgd, l2=0.1", "strategy=sgd", "strategy=bmuf"])

    def test_an_option_that_some_lack_is_left_out_only_if_it_has_its_default(self):
        averaging = fake("a", strategy="model_averaging")
        defaults = {"gradient-bits": 32, "compression": "none", "bucket-bytes": 0}
        for option, value in (("gradient-bits", 1), ("compression", "top_k:0.1"), ("bucket-bytes", 300), ("init", "first.h5")):
            given = fake("b", strategy="data_parallel", **{"gradient-bits": 32, "compression": "none", "bucket-bytes": 0} | {option: value})
            with self.subTest(option=option):
                self.assertEqual(labels_of(by_seed([averaging, given]), defaults),
                                 ["strategy=model_averaging", f"strategy=data_parallel, {option}={value}"])
        plain = fake("b", strategy="data_parallel", gradient_bits=32)
        self.assertEqual(labels_of(by_seed([averaging, plain]), defaults), ["strategy=model_averaging", "strategy=data_parallel"])

    def test_platforms_and_data_files_are_named_without_their_folders(self):
        self.assertEqual(self.labels(fake("a", platform="sim/platforms/k40m-fdr.toml"), fake("b", platform="/p/ethernet-1g.toml")),
                         ["platform=k40m-fdr", "platform=ethernet-1g"])

    def test_options_without_effect_make_no_difference(self):
        one, other = fake("a", quiet=True, timeline=False), fake("b", seed=2, quiet=False, timeline=True)
        self.assertEqual([len(group.runs) for group in by_seed([one, other])], [2])
        self.assertEqual(self.labels(one, other), ["seeds 1, 2"])

    def test_seeds_are_put_together_although_each_starts_from_its_own_checkpoint(self):
        runs = [fake(f"r{seed}", seed=seed, init=f"first-s{seed}/checkpoint.h5") for seed in (1, 2)]
        self.assertEqual([len(group.runs) for group in by_seed(runs)], [2])
        runs = [fake(f"r{seed}", seed=seed, init=f"batch1/first-s{seed}/checkpoint.h5") for seed in (1, 2)]
        self.assertEqual([len(group.runs) for group in by_seed(runs)], [2])
        self.assertEqual([len(group.runs) for group in by_seed([fake("a", init="x.h5"), fake("b", seed=2, init="y.h5")])], [1, 1])

    def test_without_a_difference_a_label_is_the_folder(self):
        self.assertEqual(self.labels(fake("runs/a")), ["runs/a"])
        self.assertEqual(self.labels(fake("runs/a", l2=0), fake("runs/b", l2=0)), ["runs/a", "runs/b"])
        self.assertEqual(self.labels(fake("a"), fake("b", l2=0)), ["a", "l2=0"])
        self.assertEqual(self.labels(fake("a", strategy="sgd"), fake("b", strategy="sgd"), fake("c", strategy="bmuf")),
                         ["strategy=sgd, a", "strategy=sgd, b", "strategy=bmuf"])


class Names(unittest.TestCase):
    def test_the_program_knows_those_of_the_package(self):
        command, package = ((ROOT / "src" / name).read_text() for name in ("app/plot_command.cpp", "python/paragrad/plotting.py"))
        for axis in ("y", "x"):
            names = re.findall(r'"(\w+)"', re.search(rf'"{axis}", {axis}, {{(.*?)}}', command)[1])
            self.assertEqual(names, re.findall(r'"(\w+)":', re.search(rf"^{axis.upper()} = {{(.*?)}}", package, re.MULTILINE)[1]))
            self.assertGreater(len(names), 2)


@unittest.skipUnless(CAN_DRAW, "needs a Python with matplotlib")
class Plot(CliTest):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.sgd, cls.bmuf = ([cls.folder / f"{name}-{seed}" for seed in (1, 2, 3)] for name in ("sgd", "bmuf"))
        cls.real, cls.timed = cls.folder / "real", cls.folder / "timed"
        case = cls()
        for seed in (1, 2, 3):
            case.simulate(1, "--seed", seed, "--out", cls.sgd[seed - 1]).check_returncode()
            case.simulate(2, "--strategy", "bmuf", "--seed", seed, "--out", cls.bmuf[seed - 1]).check_returncode()
        run("train", *case.task, "--out", cls.real).check_returncode()
        run("simulate", "--device", "meta", "--workers", 2, "--platform", PLATFORM, "--model", "8-6", "--train-samples", 600,
            "--minibatch", 16, "--strategy", "model_averaging", "--out", cls.timed).check_returncode()

    def runTest(self) -> None:
        """For the case of setUpClass."""

    def plot(self, *arguments, out: str = "plot.svg") -> Path:
        done = run("plot", *arguments, "--out", out, cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr, done.stdout), (0, "", out.replace(",", "\n") + "\n"))
        return self.folder / out.split(",")[0]

    def python(self, script: str, *runs: Path) -> object:
        """The JSON that a script of the Python package prints."""
        done = subprocess.run([*WITH_MATPLOTLIB, "-c", f"import json, sys; from paragrad import Error, plot; {script}", *runs],
                              capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT / "src/python")})
        self.assertEqual(done.stderr, "")
        return json.loads(done.stdout)

    def test_the_caller_names_curves_any_column_and_the_figure(self):
        titles, names, rates = self.python(
            "figure = plot({'one': sys.argv[1:3], 'two': sys.argv[3]}, y='learning_rate', x='optimise_s', title='Rates'); (axes,) = figure.axes; "
            "print(json.dumps([[axes.get_title('left'), axes.get_xlabel(), axes.get_ylabel()], [text.get_text() for text in figure.legends[0].texts], "
            "list(axes.lines[0].get_ydata())]))", self.sgd[0], self.sgd[1], self.bmuf[0])
        self.assertRegex(titles[1], r"^optimise \((s|ms|µs)\)$")
        self.assertEqual([titles[0], titles[2]], ["Rates", "learning rate"])
        self.assertEqual(names, ["one (2 seeds)", "two"])
        self.assertEqual(rates, [record["learning_rate"] for record in map(json.loads, (self.sgd[0] / "metrics.jsonl").read_text().splitlines())
                                 if "epoch" in record])

    def test_names_and_columns_that_do_not_fit_the_runs_are_refused(self):
        script = ("said = []\nfor runs, y in (({'a': sys.argv[1:]}, 'error'), (sys.argv[1:], 'errors')):\n"
                  "    try:\n        plot(runs, y)\n    except Error as error:\n        said.append(str(error))\n"
                  "print(json.dumps(said))")
        mixed, column = self.python("\n" + script, self.sgd[0], self.bmuf[0])
        self.assertIn("are both named 'a', but their seed is not the only difference", mixed)
        self.assertRegex(column, "unknown y 'errors'; known: error, loss, accuracy, train_error, train_loss; columns of these runs: .*valid_error")

    def test_runs_that_differ_in_their_seed_are_one_curve_with_a_band_and_curves_come_in_the_order_of_the_runs(self):
        svg = self.plot(self.bmuf[0], *self.sgd, *self.bmuf[1:])
        self.assertEqual(labels(svg), ["strategy=bmuf, workers=2 (3 seeds)", "strategy=sgd, workers=1 (3 seeds)"])
        self.assertIn("epochs", texts(svg))
        self.assertIn("validation error (%)", texts(svg))
        self.assertIn("line: mean of the seeds; band: from the lowest to the highest", texts(svg))
        self.assertEqual(re.findall(r'id="((?:band|curve)-\d+)"', svg.read_text()), ["band-1", "band-2", "curve-1", "curve-2"])

    def test_single_runs_have_no_band(self):
        svg = self.plot(self.sgd[0], self.bmuf[0], "--y", "train_loss", "--x", "time", "--log-x", "--log-y")
        self.assertEqual(labels(svg), ["strategy=sgd, workers=1", "strategy=bmuf, workers=2"])
        self.assertNotIn("band", svg.read_text())
        self.assertIn("training loss", texts(svg))
        self.assertIn("simulated time (ms)", texts(svg))

    def test_the_curve_is_the_mean_and_the_band_reaches_from_the_lowest_to_the_highest(self):
        at, middle, corners = self.python("axes = plot(sys.argv[1:], y='loss', x='bytes').axes[0]; "
                                          "(line,), (band,) = axes.lines, axes.collections; "
                                          "print(json.dumps([list(line.get_xdata()), list(line.get_ydata()), "
                                          "band.get_paths()[0].vertices.tolist()]))", *self.bmuf)
        records = [[record for line in (folder / "metrics.jsonl").read_text().splitlines() if "epoch" in (record := json.loads(line))]
                   for folder in self.bmuf]
        losses = [[of_epoch[i]["valid_loss"] for of_epoch in records] for i in range(2)]
        for i in range(2):
            self.assertAlmostEqual(at[i] * 1000, sum(record["sent_bytes"] for record in records[0][:i + 1]))
            self.assertAlmostEqual(middle[i], statistics.fmean(losses[i]))
            heights = [y for x, y in corners if x == at[i]]
            self.assertAlmostEqual(min(heights), min(losses[i]))
            self.assertAlmostEqual(max(heights), max(losses[i]))

    def test_a_png_has_twice_the_pixels_and_the_same_runs_give_the_same_bytes(self):
        first = [self.plot(*self.sgd, out=f"{name}.svg,{name}.png").read_bytes() for name in ("one", "two")]
        self.assertEqual(first[0], first[1])
        pngs = [(self.folder / f"{name}.png").read_bytes() for name in ("one", "two")]
        self.assertEqual(pngs[0], pngs[1])
        self.assertEqual(pngs[0][:8], b"\x89PNG\r\n\x1a\n")
        width, height = struct.unpack(">II", pngs[0][16:24])
        points = re.search(r'width="([\d.]+)pt" height="([\d.]+)pt"', first[0].decode())
        self.assertAlmostEqual(width, 2 * float(points[1]) * 96 / 72, delta=1)
        self.assertAlmostEqual(height, 2 * float(points[2]) * 96 / 72, delta=1)

    def test_what_sends_nothing_is_named_where_bytes_are_the_axis(self):
        svg = self.plot(self.sgd[0], self.bmuf[0], "--y", "train_error", "--x", "bytes")
        self.assertEqual(labels(svg), ["sends nothing: strategy=sgd, workers=1", "strategy=bmuf, workers=2"])
        self.assertIn("data sent per worker (kB)", texts(svg))
        self.assert_refused(run("plot", self.sgd[0], "--x", "bytes"), "sends anything", "over epochs or time")

    def test_an_unfinished_run_is_drawn_as_far_as_it_has_come_and_named(self):
        part = self.folder / "part"
        shutil.copytree(self.bmuf[0], part)
        manifest = json.loads((part / "manifest.json").read_text())
        for key in ("result", "finished"):
            del manifest[key]
        (part / "manifest.json").write_text(json.dumps(manifest))
        lines = (part / "metrics.jsonl").read_text().splitlines(keepends=True)
        (part / "metrics.jsonl").write_text(lines[0] + lines[1][:100])
        svg = self.plot(part, self.bmuf[1], out="part.svg")
        self.assertIn(f"unfinished: {part}", "".join(texts(svg)))
        (part / "metrics.jsonl").write_text("")
        self.assert_refused(run("plot", part), "part' has no validation error yet")

    def test_the_folder_of_a_search_stands_for_its_runs_in_the_order_of_their_names(self):
        options, search = self.folder / "search.toml", self.folder / "search"
        options.write_text(f'data = "{self.data}"\nmodel = "8-6"\nworkers = 2\nplatform = "{PLATFORM}"\nblocks = 2\nepochs = 2\n'
                           'learning-rate = 0.1\nstrategy = ["model_averaging", "bmuf"]\n')
        run("search", options, "--seeds", "1,2", "--out", search).check_returncode()
        svg = self.plot(search, out="search.svg")
        self.assertEqual(labels(svg), ["strategy=model_averaging (2 seeds)", "strategy=bmuf (2 seeds)"])
        runs = [search / name for name in ("001-s1", "001-s2", "002-s1", "002-s2")]
        self.assertEqual(svg.read_bytes(), self.plot(*runs, out="runs.svg").read_bytes())
        (search / "manifest.json").unlink()  # as while it runs
        (search / "002-s1/metrics.jsonl").write_text("")
        self.assertEqual(labels(self.plot(search, out="part.svg")), ["strategy=model_averaging (2 seeds)", "strategy=bmuf"])
        for metrics in search.glob("*/metrics.jsonl"):
            metrics.write_text("")
        self.assert_refused(run("plot", search), "no run of the search", "has recorded anything yet")

    def test_the_best_configuration_of_each_method_is_drawn_under_its_name(self):
        options, search = self.folder / "methods.toml", self.folder / "methods"
        options.write_text(f'data = "{self.data}"\nmodel = "8-6"\nworkers = 2\nplatform = "{PLATFORM}"\nblocks = 2\nepochs = 2\n'
                           '[[run]]\nname = "all, at once"\nstrategy = "data_parallel"\nlearning-rate = [0.001, 0.1]\n'
                           '[[run]]\nstrategy = "bmuf"\nlearning-rate = [0.001, 0.1]\n[[run]]\nname = "none"\nstrategy = "bmuf"\n'
                           'model = "9-6"\nlearning-rate = 0.1\n')
        self.assertEqual(run("search", options, "--seeds", "1,2", "--out", search).returncode, 2)  # the data have 8 features
        best = json.loads((search / "results.json").read_text())["configurations"]
        names = [{"all, at once": "all, at once", "bmuf": "bmuf"}[one["method"]] for one in best if one["options"]["learning-rate"] == "0.1"
                 and one["method"] != "none"]
        svg = self.plot(search, "--best", "--x", "bytes", "--title", "Each at its best", out="best.svg")
        self.assertEqual([text for text in texts(svg) if "seeds)" in text], [f"{name} (2 seeds)" for name in names])
        self.assertIn("Each at its best", texts(svg))
        self.assertIn("Wide", texts(self.plot(*self.sgd[:1], *self.bmuf[:1], "--names", "Wide,Flat", out="names.svg")))

    def test_accuracy_is_what_the_error_leaves(self):
        ys, errors = self.python("y = lambda of: list(plot(sys.argv[1], of).axes[0].lines[0].get_ydata()); "
                                 "print(json.dumps([y('accuracy'), y('error')]))", self.sgd[0])
        for accuracy, error in zip(ys, errors, strict=True):
            self.assertAlmostEqual(accuracy, 100 - error)

    def test_a_pdf_has_the_figure_and_the_same_runs_give_the_same_bytes(self):
        one, other = (self.plot(*self.sgd, out=f"{name}.pdf").read_bytes() for name in ("one", "other"))
        self.assertEqual(one, other)
        self.assertEqual(one[:5], b"%PDF-")

    def test_clocks_are_not_mixed(self):
        self.assert_refused(run("plot", self.real, self.sgd[0], "--x", "time"), "real' are not", "sgd-1' are simulated")
        self.assertIn("world=simulation", labels(self.plot(self.real, self.sgd[0]))[1])
        self.assertIn("wall-clock time", "".join(texts(self.plot(self.real, "--x", "time"))))

    def test_what_cannot_be_drawn_is_refused(self):
        elsewhere = self.folder / "measured"
        elsewhere.mkdir()
        (elsewhere / "manifest.json").write_text('{"run": {"world": "simulation"}}')
        sgd = self.sgd[0]
        for arguments, *parts in (
            ([self.folder], "is not a run folder: it has no manifest.json"), ([elsewhere], "not the folder of a training"),
            ([self.timed], "timed' has no validation error"), ([sgd, sgd], "sgd-1' is given twice"),
            ([sgd, "--y", "errors"], "--y: 'errors'", "train_loss"), ([sgd, "--x", "t"], "--x: 't'", "epochs, time, bytes"),
            ([sgd, "--out", f"{self.folder}/a.svg,b.jpg"], "'b.jpg'", ".svg, .pdf or .png"),
            ([sgd, "--names", "a,b"], "a name for each curve, 1 in all, not 2"), ([sgd, "--best"], "sgd-1' is not the folder of a search"),
            ([sgd, "--out", f"{self.folder}/none/a.svg"], "cannot write", "No such file or directory"), ([], "runs is required"),
        ):
            with self.subTest(arguments=arguments):
                self.assert_refused(run("plot", *arguments), *parts)
        self.assertFalse((self.folder / "a.svg").exists())

    def test_a_python_without_matplotlib_is_passed_over(self):
        bare = self.folder / "bare"
        bare.mkdir()
        (bare / "python3").write_text("#!/bin/sh\nexit 1\n")
        (bare / "python3").chmod(0o755)
        done = run("plot", self.sgd[0], cwd=self.folder, env=os.environ | {"PATH": str(bare)})
        if subprocess.run(["/usr/bin/python3", "-c", "import matplotlib"], capture_output=True).returncode == 0:
            self.assertEqual((done.returncode, done.stdout), (0, "plot.svg\n"), done.stderr)
        else:
            self.assert_refused(done, "install python3-matplotlib")


if __name__ == "__main__":
    unittest.main()
