"""Damaged run folders are errors of their own, whatever is wrong with them."""

import itertools
import json
import random
import subprocess
import sys
import textwrap
from pathlib import Path

import paragrad as pg
import pytest

pytest.importorskip("matplotlib")

OTHERS = [None, True, 0, -1, 1e300, "x", "", [], {}, [1], {"a": 1}, "\ud800"]
READINGS = ["about", "finished", "clock", "result", "metrics", "pretraining", "progress", "history", "weights_sha256", "curve", "staleness", "timeline",
            "features", "config", "manifest", "weights"]


@pytest.fixture(scope="module")
def run(task, tmp_path_factory) -> pg.Run:
    return pg.simulate(out=tmp_path_factory.mktemp("damage") / "run", workers=2, platform="k40m-fdr", strategy="bmuf", timeline=True, **task | {"epochs": 3})


FIGURES = itertools.cycle([{}, {"x": "time"}, {"x": "bytes"}, {"y": "loss"}])


def read_all(folder: Path) -> int:
    """The number of errors. Raises what is none. Draws the next figure only, as that takes time."""
    errors = 0
    for name in READINGS:
        try:
            getattr(pg.Run(folder), name)
        except pg.Error:
            errors += 1
    try:
        pg.plot([pg.Run(folder)], **next(FIGURES))
    except pg.Error:
        errors += 1
    return errors


def places(value, path=()):
    """Paths to all values in it."""
    yield path
    for key, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(each, (*path, key))


def with_other(value, path: tuple, other):
    """other: ... removes the value."""
    if not path:
        return {} if other is ... else other
    copied = value.copy()
    if other is ... and len(path) == 1:
        del copied[path[0]]
    else:
        copied[path[0]] = with_other(value[path[0]], path[1:], other)
    return copied


def damage(folder: Path, name: str, change) -> int:
    whole = (folder / name).read_bytes()
    try:
        change(folder / name)
        return read_all(folder)
    finally:
        (folder / name).write_bytes(whole)


def test_nothing_is_wrong_with_the_whole_run(run):
    assert [read_all(run.folder) for _ in range(4)] == [0] * 4


@pytest.mark.parametrize("name", ["manifest.json", "timeline.json"])
def test_values_of_other_types_in_json(run, name):
    whole = json.loads((run.folder / name).read_text())
    if name == "timeline.json":
        whole["traceEvents"] = whole["traceEvents"][:6]
    drawn = random.Random(1)
    errors = 0
    for path in places(whole):
        if path[:1] in (("program",), ("host",)) and len(path) > 2:
            continue
        for other in drawn.sample([*OTHERS, ...], 2):
            errors += damage(run.folder, name, lambda file: file.write_text(json.dumps(with_other(whole, path, other))))
    assert errors > 20


def test_values_of_other_types_in_the_records(run):
    lines = [json.loads(line) for line in (run.folder / "metrics.jsonl").read_text().splitlines()]
    drawn = random.Random(2)
    errors = 0
    for index, record in enumerate(lines):
        for path in [*places(record)][:: 2]:
            for other in drawn.sample([*OTHERS, ...], 2):
                changed = lines.copy()
                changed[index] = with_other(record, path, other)
                errors += damage(run.folder, "metrics.jsonl", lambda file: file.write_text("".join(f"{json.dumps(line)}\n" for line in changed)))
    assert errors > 20


@pytest.mark.parametrize("name", ["manifest.json", "metrics.jsonl", "config.toml", "timeline.json", "checkpoint.h5"])
@pytest.mark.parametrize("content", [b"", b"\xff\xfe\n", b"[" * 100000, b"{}", b"{}\n", b"[]\n", b"3\n", b"null\n", b"a = 1\n", b"\0" * 1000,
                                     b"init = 3\nseed = 'x'\n", b"init = 2020-01-01\n"])
def test_other_contents_of_every_file(run, name, content):
    damage(run.folder, name, lambda file: file.write_bytes(content))


def test_missing_files(run):
    for name in ("metrics.jsonl", "config.toml", "timeline.json", "checkpoint.h5"):
        assert damage(run.folder, name, Path.unlink) > 0 or name == "metrics.jsonl"


def test_figures_use_nothing_that_matplotlib_will_remove(run, tmp_path):
    script = f"""
        import paragrad as pg
        for options in ({{}}, {{"log_x": True}}, {{"log_y": True}}, {{"x": "time"}}, {{"x": "bytes"}}):
            pg.plot({str(run.folder)!r}, out=["a.svg", "a.png"], **options)._repr_mimebundle_()
        """
    done = subprocess.run([sys.executable, "-W", "error", "-c", textwrap.dedent(script)], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_data_file_of_arrays_takes_their_memory_once_more(tmp_path):
    script = """
        import resource
        import numpy as np
        import paragrad as pg

        def most_bytes() -> int:
            return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

        x, y = np.ones((200_000, 200), np.float32), np.arange(200_000) % 4
        x[:, 0] = y
        before = most_bytes()
        pg.dataset(x, y, out="x.h5")
        assert most_bytes() - before < 1.4 * x.nbytes, (most_bytes() - before) / x.nbytes
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
