"""What the tests of searches share."""

import json
import re
import subprocess
import tomllib
from pathlib import Path

from paragrad_cli import PLATFORM, CliTest, run


def as_toml(value: str) -> str:
    """With quotation marks, if it needs them."""
    try:
        tomllib.loads(f"key = {value}")
        return value
    except tomllib.TOMLDecodeError:
        return json.dumps(value)


class SearchCase(CliTest):
    def setUp(self) -> None:
        self.out = self.folder / self._testMethodName
        self.file = self.folder / f"{self._testMethodName}.toml"

    def write(self, **options: str) -> None:
        values = {"data": self.data, "model": "8-12-6:sigmoid", "workers": "2", "platform": PLATFORM, "blocks": "4", "epochs": "4",
                  "minibatch": "16", "strategy": '["model_averaging", "bmuf"]', "learning-rate": "[0.05, 0.2]"} | options
        self.file.write_text("".join(f"{key} = {as_toml(value)}\n" for key, value in values.items() if value))

    def search(self, *words, status: int = 0, **more) -> subprocess.CompletedProcess:
        done = run("search", self.file, "--out", self.out, *words, **more)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def results(self) -> dict:
        return json.loads((self.out / "results.json").read_text())

    def manifest(self, name: str) -> dict:
        return json.loads((self.out / name / "manifest.json").read_text())

    def table(self, text: str) -> list[list[str]]:
        """The cells of the lines after the head."""
        lines = text.splitlines()
        head = next(i for i, line in enumerate(lines) if line.startswith("run "))
        return [re.split(r"  +", line.strip()) for line in lines[head + 1:-1]]
