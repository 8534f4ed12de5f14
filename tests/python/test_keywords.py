"""The options of commands as keywords: what help(), dir() and type checkers see."""

import inspect
import json
import os
import pydoc
import subprocess
import sys
from pathlib import Path

import paragrad as pg
import pytest
from paragrad import _core, keywords, labels

PACKAGE = Path(keywords.__file__).parent  # of the checkout or, by its link, of the build


def test_labels_leave_out_the_options_that_are_described_as_without_effect():
    assert labels.WITHOUT_EFFECT == _core.options_without_effect()


@pytest.mark.parametrize("command", keywords.TRAININGS)
def test_every_option_is_a_keyword_with_its_help(command):
    described = json.loads(pg.command("help", command, format="json"))[-1]["options"]
    assert len(described) > 100
    function = getattr(pg, command)
    parameters, text = inspect.signature(function).parameters, " ".join(pydoc.render_doc(function, renderer=pydoc.plaintext).split())
    for option in described:
        name = option["name"].replace("-", "_")
        if name == "help":
            continue
        assert name.isidentifier() and name in parameters
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
        if name not in keywords.PARAMETERS[command]:
            assert f"{name} ({option['kind']}" in text
            assert " ".join(option["help"].split()) in text
    assert parameters["minibatch"].default == int(next(o["default"] for o in described if o["name"] == "minibatch"))
    assert parameters["shuffle"].default is False


def test_dir_lists_what_the_package_offers():
    assert set(pg.__all__) <= set(dir(pg)) and {"simulate", "train", "predict", "dataset"} <= set(dir(pg))


SCRIPT = """import numpy as np
import paragrad as pg
from pathlib import Path

class Mine(pg.Strategy):
    pass

run = pg.simulate(workers=4, platform=Path("p.toml"), strategy=Mine, data=(np.zeros((3, 2)), [0, 1, 0]), model="2-2", learning_rate=1,
                  block_momentum=np.float32(0.5), schedule_rates=[0.1, 0.05], shuffle=False, seed=None, init=Path("a.h5"))
print(run.weights_sha256)
if (trained := pg.train(data="x.h5", workers=2, minibatch=np.int64(8), out="run")) is not None:
    print(trained.folder)
pg.plot({"one": run}, out="p.svg")
"""


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """What mypy says of a script: a line per mistake."""
    pytest.importorskip("mypy")
    folder = tmp_path_factory.mktemp("typed")
    links = folder / "path"
    links.mkdir()
    built = next(path for path in (PACKAGE, *(Path(entry) / "paragrad" for entry in sys.path)) if (path / "_options.pyi").exists())
    (links / "paragrad").symlink_to(built)

    def check(text: str) -> list[str]:
        script = folder / "script.py"
        script.write_text(text)
        done = subprocess.run([sys.executable, "-m", "mypy", "--follow-imports=silent", f"--cache-dir={folder / 'cache'}", "--no-error-summary",
                               script.name], cwd=folder, env=os.environ | {"MYPYPATH": str(links)}, capture_output=True, text=True)
        assert done.stderr == ""
        return done.stdout.splitlines()

    return check


def test_a_type_checker_accepts_a_script(checked):
    assert checked(SCRIPT) == []


@pytest.mark.parametrize(("old", "new", "said"), [
    ("learning_rate", "learning_rat", 'Unexpected keyword argument "learning_rat" for "simulate"; did you mean "learning_rate"?'),
    ("minibatch=np", "mini_batch=np", 'Unexpected keyword argument "mini_batch" for "train"'),
    ("learning_rate=1", 'learning_rate="fast"', 'Argument "learning_rate" to "simulate" has incompatible type "str"'),
    ("shuffle=False", "shuffle=3", 'Argument "shuffle" to "simulate" has incompatible type "int"'),
    ("workers=4", "workers=[4]", 'Argument "workers" to "simulate" has incompatible type'),
    ("trained.folder", "trained.foldr", '"Run" has no attribute "foldr"'),
    ("pg.plot", "pg.plott", "plott"),
])
def test_a_type_checker_finds_a_mistake(checked, old, new, said):
    assert old in SCRIPT
    mistakes = checked(SCRIPT.replace(old, new, 1))
    assert any(said in line for line in mistakes), mistakes
