#!/usr/bin/env python3
"""The report page says what the runs say, and says it when there are none."""

import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "notebooks"))

import toy  # noqa: E402

VOID = {"meta", "link", "br", "wbr", "path", "use", "rect"}


def write_page(root: Path, out: Path) -> str:
    """The page that the Python at `root` writes."""
    done = subprocess.run([toy.ROOT / "src/setup/python.sh", "matplotlib", "--", root / "experiments/page", out],
                          capture_output=True, text=True, timeout=120)
    if done.returncode == 2 and "no Python here" in done.stderr:
        raise unittest.SkipTest(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return out.read_text()


class Outline(HTMLParser):
    """Ids, links, and elements that are not closed in their order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found[key] for key in ("href", "src", "xlink:href") if key in found]
        self.open += [tag] if tag not in VOID else []

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attributes)
        self.open = self.open[:-1] if tag not in VOID else self.open

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID and self.open.pop() != tag:
            self.wrong.append(tag)


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(tempfile.mkdtemp(prefix="paragrad-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.root = root = toy.build(cls.folder / "copy")
        cls.without_runs = write_page(root, cls.folder / "without.html")
        toy.run_it(root)
        cls.page = write_page(root, cls.folder / "with.html")
        cls.again = write_page(root, cls.folder / "again.html")

    def test_the_same_runs_give_the_same_bytes(self):
        self.assertEqual(self.page, self.again)

    def test_question_claims_and_published_values_are_there(self):
        self.assertIn("Are two workers faster than <em>one</em>, by <code>speed_up</code>?", self.page)
        self.assertRegex(self.page, r"<td>ma-2</td><td>1\.9</td><td>1\.\d+</td>")
        self.assertIn("Source: A publication, of 2016.", self.page)
        self.assertIn("make verify-toy  # seconds", self.page)

    def test_an_outcome_has_its_size_and_smoke_is_not_evidence(self):
        def row(outcome: str, claim: str, size: str) -> str:
            return f"{outcome}</span></td><td>{claim}</td><td>{size}</td>"

        mark = r'<span class="badge not-evidence">.{,60} not evidence</span>'
        self.assertRegex(self.page, row("holds", r"two workers are faster than one<br><code>ma-2.speed_up 1\.\d+ &gt; 1</code>",
                                        f"smoke<br>run here {mark}"))
        self.assertRegex(self.page, row("FAILS", r"two workers are a thousand times as fast<span class=\"aside\"> \(stated after a result, "
                                        r"contradicting an earlier claim\)</span><br>.{,80}", f"smoke<br>run here {mark}"))
        self.assertRegex(self.page, row("holds", "sixty-four &lt;workers&gt; err .{,150}", "full<br>recorded"))
        self.assertRegex(self.page, row("not run", "sixty-four workers are faster than two", "full<br>not run"))
        self.assertRegex(self.page, f"<h3>Figures: size smoke, run here {mark}</h3>")
        self.assertIn("<h3>Results: size full, recorded</h3>", self.page)
        for total in ("<b>1</b> claims hold", "<b>0</b> are undecided", "<b>0</b> fail",
                      "<b>3</b> judged at size smoke only: not evidence", "<b>1</b> not run"):
            self.assertIn(total, self.page)

    def test_it_has_the_experiments_title_and_says_what_is_missing(self):
        self.assertRegex(self.page, r'<a href="#toy">A toy</a><br><code>toy</code>')
        root = self.folder / "undescribed"
        shutil.copytree(self.root, root, symlinks=True)
        for name in ("bare", "brief"):
            shutil.copytree(root / "experiments/toy", root / f"experiments/{name}", ignore=shutil.ignore_patterns("runs", "*.json", "*.md"))
        (root / "experiments/brief/README.md").write_text("Words.\n")
        with (root / "experiments/README.md").open("a") as overview:
            overview.write("| [gone](gone/README.md) | A publication | a question | a result |\n")
        page = write_page(root, self.folder / "undescribed.html")
        for sentence in ("experiments/bare has no README.md", "experiments/README.md has no line for experiments/bare",
                         "experiments/brief/README.md lacks a heading", "experiments/brief/README.md lacks a paragraph **Question.**",
                         "experiments/brief/README.md lacks a block of commands (```sh)",
                         "experiments/README.md has a line for 'gone', but there is no experiments/gone/config.toml"):
            self.assertIn(f'<p class="missing">{html.escape(sentence)}.</p>', page)
        self.assertIn('<h2 id="bare-title">bare</h2>', page)
        self.assertEqual(page.count("neither run here nor recorded</span>"), 4)  # in the overview and in the sections of both
        self.assertEqual((Outline(page).wrong, Outline(page).open), ([], []))

    def test_records_of_a_larger_size_are_drawn_before_the_runs(self):
        root = self.folder / "recorded"
        shutil.copytree(self.root, root, symlinks=True)
        values = {run: {1: {"test_error": 0.1 * workers, "sent_bytes": 1e6 * workers, "training_s": 8 / workers, "machine": "a machine"}}
                  for run, workers in (("sgd", 1), ("ma-2", 2), ("ma-4", 4))}
        (root / "experiments/toy/expected.json").write_text(json.dumps({"full": {"toy": values}}))
        page = write_page(root, self.folder / "recorded.html")
        first, second = page[page.index("<h3>Figures: size full, recorded</h3>"):].split("<h3>Figures: size smoke, run here")
        self.assertEqual(re.findall(r"<figcaption><strong>(.*?)</strong>", first),
                         ["Error and costs", "Speed-up by strategy", "The best strategy"])
        for words in ("experiments/toy/expected.json", "a machine", "make verify-toy SIZE=full"):
            self.assertIn(words, first)
        self.assertIn("Error and costs", second)
        self.assertIn("<tr><td>ma-2</td><td>20.00 %</td><td>2 MB</td><td>4</td></tr>", page)

    def test_a_run_has_one_colour_in_all_figures_and_its_seeds_a_band(self):
        colours: dict[str, set[str]] = {}
        curves = [chart for chart in re.findall(r"<svg role.*?</svg>", self.page, re.DOTALL) if "validation error (%)" in chart]
        self.assertEqual(len(curves), 3)
        for chart in curves:
            legend = chart[chart.index('id="toy-curves'):][-100000:].split("-legend_1")[1]
            names = re.findall(r">([\w-]+)</text>", legend)
            self.assertEqual(names, [name for name in ("sgd", "ma-2", "ma-4", "async-2") if name in names])
            for name, colour in zip(names, re.findall(r"stroke: ([^;]+); stroke-width: 1\.5", legend)):
                colours.setdefault(name, set()).add(colour)
            self.assertEqual(chart.count("fill-opacity: 0.2"), len(names))
        self.assertEqual({name: len(found) for name, found in colours.items()}, {name: 1 for name in ("sgd", "ma-2", "ma-4", "async-2")})
        self.assertEqual(len(set.union(*colours.values())), 4)
        self.assertIn("mean of 2 seeds, in a band from the lowest to the highest", self.page)

    def test_its_light_scheme_has_the_colours_of_the_package(self):
        drawing, styles = ((toy.ROOT / name).read_text() for name in ("src/python/paragrad/drawing.py", "experiments/page/page.css"))
        light = dict(re.findall(r"--(\w+): (#\w{6});", styles.split("@media")[0]))
        colours = re.findall(r'"(#\w{6})"', re.search(r"COLOURS = \(.*\)", drawing)[0] + re.search(r"INK, MUTED.*", drawing)[0])
        self.assertEqual([light[name] for name in ("blue", "amber", "sky", "ink", "muted", "line", "paper")],
                         [colours[place] for place in (0, 4, 5, 7, 8, 9, 10)])
        charts = "".join(re.findall(r"<svg role.*?</svg>", self.page, re.DOTALL))
        self.assertEqual([colours[place] for place in (0, 4, 5, 7, 8, 9, 10) if colours[place] in charts], [])
        self.assertIn(colours[1], charts)

    def test_recorded_values_that_do_not_come_out_again_are_named(self):
        self.assertRegex(self.page, r"FAILS</span> test_error repeats: 2 values, largest difference [\d.]+ \(tolerance 0.1 absolute\)")
        self.assertRegex(self.page, r"toy sgd seed 2: test_error 0\.\d+, recorded -1\n")
        self.assertIn("toy ma-2 seed 1: no recorded test_error", self.page)
        self.assertNotIn("Do recorded values repeat?", self.without_runs)

    def test_what_the_runs_hold_is_drawn_with_the_manifests_behind_it(self):
        figures = re.findall(r"<figure>.*?</figure>", self.page, re.DOTALL)
        titles = [re.search(r"<figcaption><strong>(.*?)</strong>", figure)[1] for figure in figures]
        self.assertEqual(titles, ["Learning curves over epochs", "Learning curves over simulated time (ms)",
                                  "Learning curves over data sent per worker (kB)", "Time to accuracy", "Speed-up over workers",
                                  "Staleness of gradients", "Error and costs", "Speed-up by strategy", "The best strategy"])
        for figure in figures:
            self.assertRegex(figure, r'<svg role="img" aria-label="[^"]{20,}"')
            for fact in ("commit", "core", "platform", "k40m-fdr", "sha256", "manifest.json", "make run-toy SIZE=smoke"):
                self.assertIn(fact, figure)
        self.assertIn(">published</text>", figures[4])
        self.assertIn(">ideal</text>", figures[4])

    def test_differences_are_taken_seed_by_seed(self):
        def errors(run: str) -> list[float]:
            folder = self.root / "experiments/toy/runs/smoke/toy"
            return [100 * json.loads((folder / f"{run}-s{seed}/manifest.json").read_text())["result"]["test_error"] for seed in (1, 2)]

        for run in ("ma-2", "ma-4"):
            first, second = (ours - theirs for ours, theirs in zip(errors(run), errors("sgd")))
            half = 12.706 * abs(first - second) / 2  # of the 95 % interval of a mean of two
            self.assertIn(f"<td>{run}</td><td>sgd</td><td>{(first + second) / 2:+.2f} ± {half:.2f}</td>", self.page)

    def test_a_picture_of_errors_over_costs_is_drawn_from_the_records(self):
        picture = self.picture(toy.ROOT, "local_sgd_family")
        for words in ("test error (%)", "sent per worker", "simulated time", "sync", "diloco_adamw", "nbm"):
            self.assertIn(f">{words}</text>", picture)
        self.assertIn("[[table]] with costs", self.no_picture(toy.ROOT, "one_bit"))

    def test_a_picture_of_differences_over_the_data_sets_is_drawn_from_the_records(self):
        root = self.folder / "along"
        shutil.copytree(self.root, root)
        config, second = root / "experiments/toy/config.toml", '\n[[data]]\nname = "more"\nfile = "data/toy.h5"\n'
        text = config.read_text()
        config.write_text(text + second)
        self.assertIn("more than one data set", self.no_picture(root, "toy"))
        config.write_text(text.replace('file = "data/toy.h5"\n', 'file = "data/toy.h5"\nat = 3\n').replace(
            'against = "sgd"\n', 'against = "sgd"\nalong = "hours of data"\n') + second + "at = 30\n")
        self.assertIn("recorded on two data sets", self.no_picture(root, "toy"))
        recorded = {data: {run: {seed: {"test_error": error + seed / 100} for seed in (1, 2)} for run, error in (("sgd", 0.2), ("ma-2", 0.3), ("ma-4", 0.4))}
                    for data in ("toy", "more")}
        (root / "experiments/toy/expected.json").write_text(json.dumps({"smoke": recorded}))
        picture = self.picture(root, "toy")
        for words in ("hours of data", "test error minus that of sgd (points)", "ma-2", "ma-4", "3", "30"):
            self.assertIn(f">{words}</text>", picture)

    def draw(self, root: Path, name: str) -> subprocess.CompletedProcess:
        size = [] if root == toy.ROOT else ["--size", "smoke"]
        return subprocess.run([toy.ROOT / "src/setup/python.sh", "matplotlib", "--", root / "experiments/page/pictures.py",
                               name, *size, self.folder / "picture.svg"], capture_output=True, text=True, timeout=60)

    def picture(self, root: Path, name: str) -> str:
        done = self.draw(root, name)
        self.assertEqual(done.returncode, 0, done.stderr)
        return (self.folder / "picture.svg").read_text()

    def no_picture(self, root: Path, name: str) -> str:
        """The reason."""
        done = self.draw(root, name)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        return done.stderr

    def test_the_table_says_what_the_size_of_the_test_set_adds(self):
        results = [json.loads(path.read_text()) for path in (self.root / "experiments/toy/runs/smoke/toy").glob("*/manifest.json")]
        errors = sorted(result["result"]["test_error"] for result in results)
        self.assertEqual(len(errors), 8)
        median, samples = (errors[3] + errors[4]) / 2, results[0]["data"]["samples"]["test"]
        half = 196 * (median * (1 - median) / samples) ** 0.5
        self.assertIn(f"With {samples} test samples, every test error is uncertain by at least ± {half:.2f} points", html.unescape(self.page))

    def test_runs_of_earlier_versions_have_no_bytes(self):
        root = self.folder / "earlier"
        shutil.copytree(self.root, root)
        for path in (root / "experiments/toy/runs").rglob("ma-*/manifest.json"):
            manifest = json.loads(path.read_text())
            records = [json.loads(line) for line in (path.parent / "metrics.jsonl").read_text().splitlines()]
            for record in [manifest["result"], *records]:
                del record["sent_bytes"]
            path.write_text(json.dumps(manifest))
            (path.parent / "metrics.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
        page = write_page(root, self.folder / "earlier.html")
        for text, bytes_sent in ((self.page, r"0\.0[\d.]+"), (page, "-")):
            self.assertIn("<button type=\"button\">sent MB</button>", text)
            self.assertRegex(text, rf"<td>ma-2</td><td>2x4</td>(<td>[^<]*</td>)+<td>[\d.]+ %</td><td>{bytes_sent}</td><td>[\d.]+</td>")
            self.assertRegex(text, r"<td>sgd</td><td>1x4</td>(<td>[^<]*</td>)+<td>0\.0 %</td><td>0</td><td>1\.00</td>")
        drawn = r'aria-label="Line charts of test error \(%\) over sent per worker and over simulated time: ma, sgd"'
        self.assertRegex(self.page, drawn)
        self.assertRegex(self.page, r"<td>ma-2</td><td>[\d.]+ ± [\d.]+</td><td>\d+</td><td>0\.0[\d]+</td>")
        self.assertRegex(page, r"<td>ma-2</td><td>[\d.]+ ± [\d.]+</td><td>-</td><td>0\.0[\d]+</td>")
        chart = r'aria-label="Line chart of validation error \(%\) over data sent per worker \(kB\): ([^"]*)"'
        self.assertEqual(re.findall(chart, self.page), ["ma-2, ma-4, async-2"])
        self.assertEqual(re.findall(chart, page), ["async-2"])

    def test_without_runs_it_says_so_and_shows_what_is_recorded(self):
        self.assertIn("There are no runs here", self.without_runs)
        self.assertNotIn("<figure>", self.without_runs)
        self.assertIn("<b>1</b> claims hold", self.without_runs)
        self.assertIn("<tr><td>large</td><td>50.00 %</td></tr>", self.without_runs)

    def test_runs_are_left_out_until_their_baseline_has_run(self):
        root = self.folder / "partly"
        shutil.copytree(self.root, root, symlinks=True)
        shutil.rmtree(root / "experiments/toy/runs/smoke/toy/sgd-s1")
        page = write_page(root, self.folder / "partly.html")
        self.assertIn("ma-4", self.page)
        self.assertEqual(page, self.without_runs)

    def test_what_files_hold_is_text_on_the_page(self):
        attack = '<img src=x onerror="alert(1)"> & </td>'
        root = self.folder / "attacked"
        shutil.copytree(self.root, root)
        for path in (root / "experiments/toy/runs").rglob("manifest.json"):
            manifest = json.loads(path.read_text())
            manifest["program"]["compiler"] = manifest["host"]["processor"] = attack
            manifest["platform"]["name"] = manifest["data"]["name"] = attack
            path.write_text(json.dumps(manifest))
        for name, old, new in (("config.toml", '"two workers are faster than one"', f"'{attack}'"),
                               ("config.toml", '"a speed-up of a publication"', f"'{attack}'"),
                               ("config.toml", '"speed-up by strategy"', f"'{attack}'"),
                               ("README.md", "A toy", attack), ("README.md", "than *one*", attack), ("README.md", "# seconds", attack),
                               ("published.csv", "A publication", attack)):
            path = root / "experiments/toy" / name
            self.assertIn(old, path.read_text())
            path.write_text(path.read_text().replace(old, new))
        page = write_page(root, self.folder / "attacked.html")
        self.assertNotIn("<img", page)
        self.assertGreater(page.count("&lt;img src=x onerror="), 8)
        outline = Outline(page)
        self.assertEqual((outline.wrong, outline.open), ([], []))

    def test_it_is_well_formed_and_stands_alone(self):
        for text in (self.page, self.without_runs):
            outline = Outline(text)
            self.assertEqual((outline.wrong, outline.open), ([], []))
            self.assertEqual(len(outline.ids), len(set(outline.ids)))
            inside = {f"#{name}" for name in outline.ids} | {"data:,"}
            self.assertEqual([link for link in outline.links if link not in inside], [])
            self.assertNotRegex(text.replace("http://www.w3.org/1999/xlink", ""), r"https?://|@import|src=")


if __name__ == "__main__":
    unittest.main()
