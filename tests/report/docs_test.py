#!/usr/bin/env python3
"""The site of all pages: what they link to goes with them, and code stays as it is. Built as a whole where `make docs` has installed its tools."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "src/setup"))

import docs  # noqa: E402

BUILD = Path(os.environ.get("PARAGRAD", ROOT / "build/paragrad")).resolve().parent


class Site(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="paragrad-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def test_every_link_of_a_copied_page_leads_to_a_copied_file(self):
        pages = [ROOT / name for name in docs.pages_of_repository()]
        self.assertGreater(len(pages), 50)
        for page in pages:
            docs.copy_page(page, self.folder)
        links = 0
        for page in pages:
            copy = self.folder / page.relative_to(ROOT)
            for _, path, _ in docs.LINK.findall(re.sub(r"^```.*?^```", "", copy.read_text(), flags=re.MULTILINE | re.DOTALL)):
                if path and "://" not in path and not path.startswith("mailto:"):
                    links += 1
                    self.assertTrue((copy.parent / path).is_file(), f"{page}: {path}")
        self.assertGreater(links, 200)

    def test_shapes_are_no_links_and_code_stays_as_it_is(self):
        for text, expected in (("rows [samples][classes]", "rows [samples]\\[classes]"), ("`x[0][1]` and [a][b]", "`x[0][1]` and [a]\\[b]"),
                               ("```\nx[0][1]\n```\n", "```\nx[0][1]\n```\n")):
            self.assertEqual(docs.markdown_of(text, ROOT / "README.md", self.folder), expected)

    def test_the_whole_site_is_built_without_a_warning(self):
        if not (BUILD / "docs/bin/mkdocs").exists():
            self.skipTest("make docs has not been called")
        done = subprocess.run([BUILD / "docs/bin/python", ROOT / "src/setup/docs.py", self.folder], capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("simulate", (self.folder / "site/python/index.html").read_text())
        self.assertTrue((self.folder / "site/notebooks/01_quickstart.html").exists())


if __name__ == "__main__":
    unittest.main()
