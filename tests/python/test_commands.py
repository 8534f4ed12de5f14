"""Commands that this process runs: what they start, and what they return."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import paragrad as pg
import pytest
from paragrad import _core, training


@pytest.fixture
def search_file(task, tmp_path) -> Path:
    """The options of two short runs."""
    options = task | {"workers": 2, "platform": "k40m-fdr", "strategy": "model_averaging", "learning_rate": [0.05, 0.1]}
    file = tmp_path / "search.toml"
    file.write_text("".join(f"{name.replace('_', '-')} = {json.dumps(value, default=str)}\n" for name, value in options.items()))
    return file


def test_a_search_starts_the_program_and_no_file_that_is_named_like_a_command(search_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("simulate", "search"):
        Path(name).write_text("open('executed', 'w')")
    assert "best by valid_error" in pg.command("search", search_file, out="out")
    assert not Path("executed").exists()
    assert pg.Run("out/001-s1").finished and pg.Run("out/002-s1").finished
    with pytest.raises(pg.Error, match="'out' is not the folder of a training"):
        pg.Run("out").weights_sha256


def test_the_jobs_of_a_search_start_the_program(search_file, tmp_path):
    pg.command("search", search_file, out=tmp_path / "out", write_jobs=tmp_path / "array.sbatch")
    program = training._program()
    assert f"{program} search" in (tmp_path / "array.sbatch").read_text()
    assert subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.startswith("paragrad ")


def test_launch_starts_the_program_and_leaves_the_signals_as_they_were(task, mpiexec, tmp_path):
    words = ["launch", "--ranks=2", f"--launcher={mpiexec} -n {{ranks}}", "--", "train", "--workers=2", "--strategy=model_averaging",
             *training.words_of(task), "--quiet", f"--out={tmp_path / 'run'}"]
    script = f"import os, signal, paragrad as pg; pg.command(*{words!r}); os.kill(os.getpid(), signal.SIGTERM)"
    assert subprocess.run([sys.executable, "-c", script], timeout=60).returncode == -signal.SIGTERM
    assert pg.Run(tmp_path / "run").finished


def test_without_the_program_a_search_is_refused(search_file, tmp_path):
    _core.set_program("")
    try:
        with pytest.raises(pg.Error, match="neither installed nor built with the Python package"):
            pg.command("search", search_file, out=tmp_path / "out")
    finally:
        _core.set_program(training._program())


def test_control_c_ends_a_search_and_its_runs(search_file, tmp_path):
    search_file.write_text(search_file.read_text().replace("epochs = 2", "epochs = 1000000"))
    script = f"import paragrad as pg; pg.command('search', {str(search_file)!r}, out={str(tmp_path / 'out')!r})"
    with subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 20
        while not list(tmp_path.glob("out/*/metrics.jsonl")) and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        assert "KeyboardInterrupt" in process.communicate(timeout=20)[1]


def test_a_command_returns_what_it_and_its_processes_print(task, tmp_path, capfd):
    run = pg.train(**task, out=tmp_path / "run")
    assert pg.command("--version").startswith("paragrad ") and "\nHDF5 " in pg.command("--version")
    assert "Usage: paragrad" in pg.command("--help")
    pytest.importorskip("matplotlib")
    assert pg.command("plot", run.folder, out=tmp_path / "curve.svg") == f"{tmp_path / 'curve.svg'}\n"
    assert capfd.readouterr().out == ""
