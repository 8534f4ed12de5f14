"""Tests of `paragrad data import-…`."""

import json
import subprocess

from paragrad_cli import FolderTest, run


class ImportTest(FolderTest):
    """Each test has a folder of its own, `own`, and imports to its out.h5."""

    ALWAYS: tuple = ()  # options unless a test gives them

    def setUp(self) -> None:
        self.own = self.folder / self.id().rsplit(".", 1)[1]
        self.own.mkdir()

    def imported(self, command: str, source, *more) -> subprocess.CompletedProcess:
        always = () if self.ALWAYS and self.ALWAYS[0] in more else self.ALWAYS
        return run("data", command, "--from", source, "--out", self.own / "out.h5", "--name", "own", *always, *more)

    def content(self, command: str, source, *more) -> str:
        """The content hash of the data file that is made."""
        done = self.imported(command, source, *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        verified = run("data", "verify", self.own / "out.h5")
        self.assertEqual(verified.returncode, 0, verified.stderr)
        return done.stdout.splitlines()[1]

    def refused(self, command: str, source, *words: str, more: tuple = ()) -> None:
        out = self.own / "out.h5"
        out.unlink(missing_ok=True)
        self.assert_refused(self.imported(command, source, *more), *words)
        self.assertFalse(out.exists())

    def info(self) -> dict:
        return json.loads(run("data", "info", self.own / "out.h5").stdout)
