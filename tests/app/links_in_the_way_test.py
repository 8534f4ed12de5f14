#!/usr/bin/env python3
"""No link that somebody put in the way of an output leads to another file: each command replaces the link, or refuses it in one sentence,
and the file that it leads to keeps its bytes. The names are those of all files that the command writes, also for a moment only."""

import os
import re
import shutil
import unittest
from collections.abc import Callable
from pathlib import Path

from paragrad_cli import MPIEXEC, PLATFORM, PROGRAM, ROOT, CliTest, run

VICTIM = b"a file of the user's that nobody asked to change\n"
PASSING = {  # files that are gone when the command has ended
    "train": (".lock", "state/progress.txt", "state/latest.json", "state/latest.json.tmp", "state/0-1-1/worker-00000.h5",
              "state/0-1-1/worker-00000.h5.tmp"),
    "search": (".lock", "001-s1.failure", "001-s1/.lock"),
    "launch": (".lock", ".launch", "state/progress.txt", "state/latest.json.tmp"),
}


class LinksInTheWay(CliTest):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        made = run("train", "--data", cls.data, "--model", "8-12-6", "--learning-rate", "0.1", "--epochs", "1", "--quiet", "--out", cls.folder / "run")
        assert made.returncode == 0, made.stderr
        cls.checkpoint = cls.folder / "run/checkpoint.h5"
        (cls.folder / "search.toml").write_text(f'data = "{cls.data}"\nmodel = "8-12-6"\nlearning-rate = [0.1, 1e30]\nepochs = 1\n')
        (cls.folder / "table.csv").write_text("".join(f"{i},{i * 7 % 5},{i % 2}\n" for i in range(20)))
        (cls.folder / "a.cntk").write_text("SGD=[\nepochSize=0\nminibatchSize=256\nlearningRatesPerMB=0.1\nmaxEpochs=2\n]\n")

    def commands(self, out: Path) -> dict[str, list]:
        """The commands that write to a folder `out`, with all files that they can write there."""
        task = ["--data", self.data, "--model", "8-12-6", "--learning-rate", "0.1", "--epochs", "2", "--blocks", "2", "--quiet"]
        return {
            "train": ["train", *task, "--out", out, "--checkpoint-every", 1, "--resume", "--tensorboard", "--timeline"],
            "simulate": ["simulate", *task, "--out", out, "--workers", 2, "--platform", PLATFORM, "--strategy", "async_sgd",
                         "--record", out / "order.txt"],
            "search": ["search", self.folder / "search.toml", "--command", "train", "--out", out],
            "jobs": ["search", self.folder / "search.toml", "--command", "train", "--out", self.folder / "jobs", "--write-jobs", out / "jobs.sbatch", "--parts", 2],
            "collective": ["collective", "--workers", 4, "--bytes", "1kB", "--platform", PLATFORM, "--out", out],
            "generate": ["data", "generate", "--out", out / "x.h5", "--samples", 50, "--valid", 5, "--test", 5, "--dim", 2, "--classes", 2],
            "import-csv": ["data", "import-csv", "--from", self.folder / "table.csv", "--name", "t", "--out", out / "x.h5"],
            "import-cntk": ["import-cntk", self.folder / "a.cntk", "--out", out / "a.toml"],
            "sharpness": ["sharpness", self.checkpoint, "--data", self.data, "--samples", 20, "--result", out / "result.json"],
            "partition": ["data", "partition", out / "task.h5", "--workers", 2, "--blocks", 2],
            "launch": ["launch", "--ranks", 1, "--launcher", f"{MPIEXEC} -n {{ranks}}", "--", "train", *task, "--out", out, "--strategy", "bmuf",
                       "--workers", 2, "--checkpoint-every", 1, "--resume"],
        }

    def prepared(self, name: str) -> Path:
        out = self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        shutil.rmtree(self.folder / "jobs", ignore_errors=True)
        out.mkdir()
        if name == "partition":
            shutil.copy(self.data, out / "task.h5")
        return out

    def run_one(self, name: str, out: Path):
        return run(*self.commands(out)[name], timeout=100)

    def names(self, name: str) -> list[str]:
        """All that an undisturbed run writes."""
        out = self.prepared(name)
        before = set(out.rglob("*"))
        done = self.run_one(name, out)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        written = [str(path.relative_to(out)) for path in sorted(out.rglob("*")) if path.is_file() and path not in before]
        changed = [str(path.relative_to(out)) for path in before]
        self.assertTrue(written or changed)
        named_by_user = {str(part.relative_to(out)) for part in self.commands(out)[name] if isinstance(part, Path) and out in part.parents}
        fixed = [file for file in written if file not in named_by_user]
        return [*fixed, *(f"{file}.tmp" for file in (*written, *changed)), *PASSING.get(name, ())]

    def check(self, name: str, make_link: Callable[[Path, Path], None], kind: str) -> None:
        victim = self.folder / "victim"
        for file in self.names(name):
            with self.subTest(command=name, file=file, kind=kind):
                victim.write_bytes(VICTIM)
                out = self.prepared(name)
                (out / file).parent.mkdir(parents=True, exist_ok=True)
                make_link(victim, out / file)
                done = self.run_one(name, out)
                self.assertEqual(victim.read_bytes(), VICTIM)
                self.assertIn(done.returncode, (0, 2), done.stderr)
                if done.returncode == 2:
                    said = [line for line in done.stderr.splitlines() if line.startswith("paragrad: ")]
                    self.assertEqual(len(said), 1, done.stderr)
                    self.assertRegex(said[0], re.escape(str(out)))

    def test_every_command_with_an_output_is_in_the_table(self):
        """A new command that writes must be added to commands(), or stand here with the writer that it shares."""
        shared = {"align": "generate", "calibrate": "import-cntk", "decode": "sharpness", "goodput": "collective", "data": "generate",
                  "fit": "import-cntk", "scale": "nothing",
                  "plot": "Python's", "help": "nothing", "completion": "nothing", "manual": "nothing"}
        known = {name.split("-")[0] for name in self.commands(self.folder)} | {"import-cntk"} | set(shared)
        writers = {path.stem.removesuffix("_command").replace("_", "-") for path in (ROOT / "src/app").rglob("*_command.cpp")
                   if re.search(r'"--(out|result|record|write-jobs)"|add_training_options|MeasurementFolder', path.read_text())}
        self.assertLessEqual(writers, known)

    def test_symbolic_links(self):
        for name in self.commands(self.folder):
            if name != "launch" or MPIEXEC:
                self.check(name, lambda victim, link: link.symlink_to(victim), "symbolic")

    def test_hard_links(self):
        for name in ("train", "search", "generate", "sharpness"):
            self.check(name, lambda victim, link: os.link(victim, link), "hard")

    def test_pipes(self):
        for name in ("train", "generate", "sharpness"):
            self.check(name, lambda victim, link: os.mkfifo(link), "pipe")

    def test_a_link_that_the_user_names_as_the_output_stays_one(self):
        for name in ("generate", "import-cntk", "sharpness"):
            out = self.prepared(name)
            path = next(part for part in self.commands(out)[name] if isinstance(part, Path) and out in part.parents)
            path.symlink_to(self.folder / f"target-of-{name}")
            self.assertEqual(self.run_one(name, out).returncode, 0)
            self.assertTrue(path.is_symlink())
            self.assertGreater((self.folder / f"target-of-{name}").stat().st_size, 0)


if __name__ == "__main__":
    unittest.main()
