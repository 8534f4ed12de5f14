#!/usr/bin/env python3
"""What a shell gets of the program: lines without control characters where they are asked for."""

import os
import pty
import select
import unittest
from pathlib import Path

from paragrad_cli import PROGRAM, CliTest

BUILD = Path(PROGRAM).resolve().parent


class Terminal:
    """A command that has a terminal."""

    def __init__(self, command: list[str], environment: dict[str, str], folder: Path) -> None:
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, environment)

    def type(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def read(self, until: str | None = None) -> str:
        """What is written until this text comes, or the command ends, or nothing comes for 10 s."""
        written = ""
        while (until is None or until not in written) and select.select([self.terminal], [], [], 10.0)[0]:
            try:
                written += os.read(self.terminal, 65536).decode(errors="replace")
            except OSError:  # the other side has ended
                break
        return written

    def close(self) -> None:
        os.close(self.terminal)
        os.waitpid(self.child, 0)


class Progress(CliTest):
    def lines_of_a_training(self, **variables: str) -> str:
        environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | {"TERM": "xterm"} | variables
        terminal = Terminal([str(BUILD / "paragrad"), "train", *(word for word in self.task if word != "--quiet")], environment, self.folder)
        self.addCleanup(terminal.close)
        return terminal.read()

    def test_the_line_of_progress_is_left_out_where_plain_lines_are_asked_for(self):
        self.assertIn("\r\x1b[K", self.lines_of_a_training())
        self.assertIn("\x1b[K", self.lines_of_a_training(NO_COLOR=""))
        for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            written = self.lines_of_a_training(**variables)
            with self.subTest(variables=variables):
                self.assertNotIn("\x1b", written)
                self.assertNotIn("\r", written.replace("\r\n", "\n"))
                self.assertEqual(sum(line.startswith("sweep") for line in written.splitlines()), 2)


if __name__ == "__main__":
    unittest.main()
