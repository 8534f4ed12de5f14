#!/usr/bin/env python3
"""Documentation is executed: the ```sh blocks of the READMEs run as printed, and what is pasted below one is what comes out."""

import os
import random
import re
import shutil
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

from image_files import npy, write_npz
from paragrad_cli import MPIEXEC, PROGRAM, ROOT

BLOCK = re.compile(r"^```sh\n(.*?)^```\n(?:```\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
FASHION_MNIST = Path("/usr/share/datasets/fashion-mnist")
PYTHON = re.compile(r"^```python\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
WITH_FASHION_MNIST = ["README.md", "src/nn/README.md", "sim/README.md", "src/speech/README.md", "src/strategies/README.md", "src/train/README.md"]


def all_pages() -> list[Path]:
    """Of the source, without what was built or run here."""
    left_out = ("build", "runs", "report", "gpu-bundle", ".")
    return sorted(page for page in ROOT.rglob("*.md") if not any(part.startswith(left_out) for part in page.relative_to(ROOT).parts))


def anchors(page: Path) -> set[str]:
    """Of the headings, as GitHub makes them."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(page.read_text())}


def run_blocks(test: unittest.TestCase, document: str, folder: Path) -> None:
    environment = {**os.environ, "PATH": f"{Path(PROGRAM).parent}:{os.environ['PATH']}"}
    blocks = BLOCK.findall((ROOT / document).read_text())
    test.assertTrue(blocks, document)
    for commands, expected in blocks:
        with test.subTest(document=document, commands=commands):
            done = subprocess.run(["sh", "-ec", commands], cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
            test.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            if expected:
                test.assertEqual(done.stdout, expected)


class Documents(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="paragrad-readme-"))
        self.addCleanup(shutil.rmtree, self.folder)

    @unittest.skipUnless(FASHION_MNIST.exists(), "needs the package dataset-fashion-mnist")
    def test_the_commands_of_the_data_page_print_what_is_pasted(self):
        self.write_points(PYTHON.findall((ROOT / "data/README.md").read_text()))
        run_blocks(self, "data/README.md", self.folder)

    def write_points(self, statements: list[str]) -> None:
        """What the page's Python saves, by NumPy where it is installed."""
        draw = random.Random(1)
        y = [i % 3 for i in range(200)]
        x = [[draw.gauss(label, 0.3), draw.gauss(-label, 0.3)] for label in y]
        try:
            import numpy
        except ImportError:
            self.assertEqual(statements, ['numpy.savez("points.npz", x_train=x, y_train=y)\n'])
            write_npz(self.folder / "points.npz", {"x_train": npy((200, 2), struct.pack("<400d", *sum(x, [])), "<f8"),
                                                   "y_train": npy((200,), struct.pack("<200q", *y), "<i8")})
        else:
            for statement in statements:
                exec(statement.replace('"points', f'"{self.folder}/points'), {"numpy": numpy, "x": numpy.array(x), "y": numpy.array(y)})

    @unittest.skipUnless(MPIEXEC and FASHION_MNIST.exists(), "needs MPI and the package dataset-fashion-mnist")
    def test_the_commands_of_the_other_pages_run(self):
        (self.folder / "build").mkdir()
        (self.folder / "data").mkdir()
        (self.folder / "build/paragrad").symlink_to(PROGRAM)
        (self.folder / "sim").symlink_to(ROOT / "sim")
        made = subprocess.run([PROGRAM, "data", "import-idx", "--from", FASHION_MNIST, "--name", "fashion-mnist", "--valid", "5000", "--out",
                               self.folder / "data/fashion-mnist.h5"], capture_output=True, text=True)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.make_text()
        for page in WITH_FASHION_MNIST:
            run_blocks(self, page, self.folder)
            shutil.rmtree(self.folder / "runs", ignore_errors=True)

    def make_text(self) -> None:
        """data/kjv.h5 of the front page; of other words where the package bible-kjv-text is missing."""
        verses = subprocess.run(["bible", "-f", "gen1:1-gen9:29"], capture_output=True, text=True).stdout if shutil.which("bible") else ""
        (self.folder / "verses.txt").write_text(verses or "In the beginning was the word of the page.\n" * 400)
        subprocess.run([PROGRAM, "data", "import-text", "--from", self.folder / "verses.txt", "--tokens", "characters", "--valid", "0.05", "--name",
                        "kjv", "--out", self.folder / "data/kjv.h5"], check=True, capture_output=True)

    def test_every_make_target_on_the_pages_exists(self):
        pages = "\n".join(page.read_text() for page in all_pages() if page.name != "CHANGELOG.md")  # which names what is gone
        targets = set(re.findall(r"(?:^|`)make ((?:[a-z][a-z0-9_-]*)(?: data-[a-z-]+)*)(?![\w<-])", pages, re.MULTILINE))
        self.assertIn("demo", targets)
        for target in sorted(targets):
            with self.subTest(target=target):
                done = subprocess.run(["make", "-n", *target.split()], cwd=ROOT, capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_every_link_on_the_pages_leads_somewhere(self):
        self.assertGreater(len(all_pages()), 50)
        for page in all_pages():
            for link in LINK.findall(page.read_text()):
                if link.startswith(("https://", "http://")):
                    continue
                with self.subTest(page=page.relative_to(ROOT), link=link):
                    path, _, anchor = link.partition("#")
                    target = page.parent / path if path else page
                    self.assertTrue(target.exists())
                    if anchor and target.suffix == ".md":
                        self.assertIn(anchor, anchors(target))

    def test_the_front_page_is_short(self):
        self.assertLessEqual(len((ROOT / "README.md").read_text().split()), 1200)

    def test_every_experiment_has_a_page_and_stands_on_the_page_of_all(self):
        text = (ROOT / "experiments/README.md").read_text()
        configured = sorted(path.parent.name for path in (ROOT / "experiments").glob("*/config.toml"))
        linked = re.findall(r"^\| \[(\w+)\]\((\w+)/README\.md\)", text, re.MULTILINE)
        self.assertEqual(sorted(name for name, _ in linked), configured)
        for name, folder in linked:
            with self.subTest(experiment=name):
                self.assertEqual(name, folder)
                self.assertTrue((ROOT / "experiments" / name / "README.md").exists())


if __name__ == "__main__":
    unittest.main()
