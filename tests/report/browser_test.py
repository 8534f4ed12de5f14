#!/usr/bin/env python3
"""The report page of the runs that are here, in a headless Chromium: it loads, all is drawn, it fits a phone."""

import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import browser
from page_test import toy, write_page

NEEDED = ("bmuf_images", "collectives", "async_tradeoff")  # curves and speed-ups, crossovers, staleness


@unittest.skipUnless(browser.PROGRAM, "needs chromium (Debian: chromium-headless-shell)")
class InABrowser(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(tempfile.mkdtemp(prefix="paragrad-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.page = cls.folder / "index.html"
        write_page(toy.ROOT, cls.page)
        cls.browser = browser.Browser(cls.folder / "profile")
        cls.addClassCleanup(cls.browser.close)

    def open(self, width: int, **more) -> None:
        self.browser.open(self.page.as_uri(), width, **more)

    def test_it_loads_without_complaints_and_asks_for_nothing_else(self):
        self.open(1400)
        self.assertEqual(self.browser.happened("Runtime.exceptionThrown"), [])
        self.assertEqual(self.browser.happened("Runtime.consoleAPICalled"), [])
        self.assertEqual(self.browser.happened("Log.entryAdded"), [])
        asked = [event["request"]["url"] for event in self.browser.happened("Network.requestWillBeSent")]
        self.assertEqual([url for url in asked if not url.startswith("data:")], [self.page.as_uri()])

    def test_the_front_pages_figure_is_an_image_of_its_own(self):
        figure = self.folder / "front.svg"
        subprocess.run([toy.ROOT / "src/setup/python.sh", "matplotlib", "--", toy.ROOT / "experiments/page/pictures.py",
                        "bmuf_images", "--size", "smoke", figure], check=True, timeout=60)
        self.browser.open(figure.as_uri(), 800)
        self.assertEqual(self.browser.happened("Log.entryAdded"), [])
        text = self.browser.evaluate("document.documentElement.textContent")
        for words in ("one worker", "16 workers, model averaging", "64, block momentum", "simulated time (s)"):
            self.assertIn(words, text)
        self.assertNotIn("var(", figure.read_text())

    def test_every_figure_is_drawn(self):
        self.open(1400)
        figures = self.browser.evaluate("""[...document.querySelectorAll("figure svg")].map(svg => ({
            name: svg.getAttribute("aria-label"), width: svg.getBoundingClientRect().width, height: svg.getBoundingClientRect().height,
            paths: svg.querySelectorAll("path").length, words: svg.textContent.trim().length,
            outside: [...svg.querySelectorAll("text")].filter(text => {
              const [inner, outer] = [text.getBoundingClientRect(), svg.getBoundingClientRect()];
              return inner.left < outer.left - 2 || inner.right > outer.right + 2
                  || inner.top < outer.top - 2 || inner.bottom > outer.bottom + 2; }).map(text => text.textContent)}))""")
        for figure in figures:
            with self.subTest(figure=figure["name"]):
                self.assertGreater(figure["width"], 300)
                self.assertGreater(figure["height"], 60)
                self.assertGreater(figure["paths"], 5)
                self.assertGreater(figure["words"], 10)
                self.assertEqual(figure["outside"], [])
        for name in NEEDED:
            self.assertGreater(self.browser.evaluate(f"document.querySelectorAll('#{name} figure svg').length"), 0, name)

    def test_it_is_never_wider_than_the_window(self):
        for width in (400, 1400):
            for dark in (False, True):
                with self.subTest(width=width, dark=dark):
                    self.open(width, dark=dark)
                    self.browser.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
                    self.assertEqual(self.browser.evaluate("innerWidth"), width)
                    self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), width)
                    claims = "[...document.querySelectorAll('.claims')].filter(table => table.offsetWidth > table.parentElement.clientWidth)"
                    self.assertEqual(self.browser.evaluate(f"{claims}.length"), 0)

    def test_a_table_is_sorted_by_the_head_that_is_pressed(self):
        self.open(1400)
        cells = "[...document.querySelectorAll('.overview tbody tr')].map(row => row.cells[0].querySelector('a').textContent)"
        before = self.browser.evaluate(cells)
        press = "document.querySelector('.overview th button').click()"
        self.browser.evaluate(press)
        self.assertEqual(self.browser.evaluate(cells), sorted(before))
        self.browser.evaluate(press)
        self.assertEqual(self.browser.evaluate(cells), sorted(before, reverse=True))


if __name__ == "__main__":
    unittest.main()
