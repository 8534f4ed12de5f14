"""A copy of the project's Python with one small experiment, really run: what the tests of its readers read."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/app"))

from paragrad_cli import PROGRAM, run  # noqa: E402

CONFIG = """
baseline = "sgd"

[options]
platform = "sim/platforms/k40m-fdr.toml"
model = "8-12-6:sigmoid"
learning-rate = 0.1
minibatch = 16
blocks = 4

[size.smoke]
seeds = [1, 2]
runs = ["sgd", "ma-*", "async-2"]
options = { epochs = 3, timeline = true }

[size.full]
options = { epochs = 3 }

[[data]]
name = "toy"
file = "data/toy.h5"

[[run]]
name = "sgd"
strategy = "sgd"
workers = 1

[[run]]
name = "ma-{workers}"
strategy = "model_averaging"
each = { workers = [2, 4] }

[[run]]
name = "async-2"
strategy = "async_sgd"
optimiser = "sgd"
momentum = 0
workers = 2

[[run]]
name = "large"
strategy = "model_averaging"
workers = 64

[[claim]]
text = "two workers are faster than one"
stated = "before"
left = "ma-2.speed_up"
op = ">"
right = 1

[[claim]]
text = "two workers are a thousand times as fast"
stated = "reversed"
left = "ma-2.speed_up"
op = ">="
right = 1000

[[claim]]
text = "sixty-four <workers> err in at most 90 %"
stated = "after"
sizes = ["full"]
left = "large.test_error"
op = "<="
right = 0.9

[[claim]]
text = "sixty-four workers are faster than two"
stated = "before"
sizes = ["full"]
left = "large.samples_per_s"
op = ">"
right = "ma-2.samples_per_s"

[[published]]
text = "a speed-up of a publication"
column = "speed_up"
metric = "speed_up"
rows = ["ma-*"]
within = 10
stated = "after"

[[table]]
title = "results"

[[table]]
title = "against one worker"
runs = ["ma-*"]
against = "sgd"

[[table]]
title = "error and costs"
runs = ["sgd", "ma-*"]
costs = ["sent_bytes", "training_s"]

[[table]]
title = "speed-up by strategy"
runs = ["ma-*"]
rows = "workers"
columns = "strategy"
value = "speed_up"

[[table]]
title = "the best strategy"
rows = "workers"
columns = "minibatch"
value = "test_error"
least = "strategy"

[[repeats]]
metric = "test_error"
absolute = 0.1
"""

FILES = {
    "experiments/toy/config.toml": CONFIG,
    "experiments/toy/README.md": "# A toy\n\n**Question.** Are [two workers](x.md) faster than *one*,\nby `speed_up`?\n\n"
                                 "```sh\nmake verify-toy  # seconds\n```\n",
    "experiments/toy/published.csv": "# A publication,\n# of 2016.\nrun,speed_up\nsgd,1\nma-2,1.9\nma-4,3.5\n",
    "experiments/toy/expected.json": '{"full": {"toy": {"large": {"1": {"test_error": 0.5}}}},'
                                       ' "smoke": {"toy": {"sgd": {"1": {"test_error": 0.5}, "2": {"test_error": -1}}}}}\n',
    "experiments/README.md": "| | from | question | came out |\n|---|---|---|---|\n| [toy](toy/README.md) | A publication | are two faster | yes |\n",
    "CMakeLists.txt": "",
}


def build(folder: Path) -> Path:
    """The copy's root; its experiment has not been run."""
    for part in ("experiments/harness", "experiments/page", "notebooks", "src/python", "sim/platforms"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    subprocess.run([sys.executable, folder / "experiments/harness", "lock", "toy"], check=True, capture_output=True)
    return folder


def make_data(folder: Path) -> None:
    (folder / "data").mkdir()
    made = run("data", "generate", "--out", str(folder / "data/toy.h5"), "--samples", 500, "--valid", 60, "--test", 60, "--dim", 8,
               "--classes", 6, "--sequence-length", 20)
    assert made.returncode == 0, made.stderr


def run_it(folder: Path) -> None:
    make_data(folder)
    subprocess.run([sys.executable, folder / "experiments/harness", "--program", PROGRAM, "run", "toy", "--size", "smoke"],
                   check=True, stdout=subprocess.DEVNULL)
