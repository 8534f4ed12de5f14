"""What remains of runs and of the data of arrays: in other processes, after errors, when Python ends."""

import copy
import os
import pickle
import re
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import paragrad as pg
import pytest

X = np.random.default_rng(1).normal(size=(400, 6))
Y = np.argmax(X[:, :3], axis=1)
OPTIONS = {"data": (X, Y), "model": "6-8-3:relu", "learning_rate": 0.1, "epochs": 2, "blocks": 4}
SCRIPT = f"""
    import numpy as np, os, sys, paragrad as pg
    X = np.random.default_rng(1).normal(size=(400, 6))
    Y = np.argmax(X[:, :3], axis=1)
    options = {{"data": (X, Y)}} | {({key: value for key, value in OPTIONS.items() if key != "data"})!r}
"""


def trained(seed: int, out: str | None = None) -> pg.Run:
    return pg.train(seed=seed, out=out, **OPTIONS)


def python(script: str, *arguments, cwd: Path | None = None) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-X", "dev", "-c", textwrap.dedent(SCRIPT) + textwrap.dedent(script), *map(str, arguments)],
                          capture_output=True, text=True, timeout=60, cwd=cwd)


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_runs_of_a_process_pool_keep_their_folders(start, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with ProcessPoolExecutor(2, mp_context=get_context(start)) as pool:
        runs = [*pool.map(trained, [1, 2]), *pool.map(trained, [1, 2], ["relative-1", "relative-2"])]
    assert [run.weights_sha256 for run in runs] == [trained(seed).weights_sha256 for seed in (1, 2)] * 2
    assert all(len(run.history) == 2 and run.weights.size and run.report for run in runs)
    assert [run.is_temporary for run in runs] == [True, True, False, False]
    folders = [run.folder for run in runs[:2]]
    del runs
    assert not any(folder.exists() for folder in folders)


def test_a_copy_of_a_run_has_a_folder_of_its_own(tmp_path, monkeypatch):
    run = trained(1)
    copies = [copy.copy(run), copy.deepcopy(run), pickle.loads(pickle.dumps(run))]
    del run
    assert len({each.weights_sha256 for each in copies}) == 1
    monkeypatch.chdir(tmp_path)
    pg.train(out="run", **OPTIONS)
    saved = pickle.dumps(pg.Run("run"))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    assert pickle.loads(saved).weights_sha256 == copies[0].weights_sha256


def test_a_forked_process_leaves_the_folders_of_its_parent():
    run = trained(1)
    process = get_context("fork").Process(target=run.__dict__.clear)  # drops what deletes the folder
    process.start()
    process.join()
    done = python("""
        run = pg.train(**options)
        if not os.fork():
            del run
            sys.exit()
        os.wait()
        print(run.weights_sha256 == pg.train(**options).weights_sha256)
        """)
    assert process.exitcode == 0 and run.folder.exists() and done.stdout == "True\n", done.stderr


def test_a_deleted_temporary_run_says_so():
    folder = trained(1).folder
    with pytest.raises(pg.Error, match="it was temporary, and deleted with the object that the training returned: give `out`"):
        pg.Run(folder)
    with pytest.raises(pg.Error, match="is missing; it was temporary"):
        pg.command("compare", trained(1).folder, folder)
    assert len(re.findall(r" sgd\b", pg.command("compare", trained(1), trained(2)))) == 2
    with pytest.raises(pg.Error, match="no manifest.json$"):
        pg.Run("paragrad-mine/run")
    run = trained(1)
    other = pg.Run(run.folder)
    del run
    with pytest.raises(pg.Error, match="it was temporary"):
        other.result


def test_temporary_folders_give_no_warning_and_go_with_the_process(tmp_path):
    done = python("""
        import tempfile; tempfile.tempdir = sys.argv[1]
        kept = pg.train(**options)
        for _ in range(3):
            pg.train(**options)
        try:
            pg.train(**options | {"learning_rate": 1e30})
        except pg.Error:
            pass
        print(len(os.listdir(sys.argv[1])))
        """, tmp_path)
    assert done.stderr == "" and int(done.stdout) == 3  # the run, the one that failed, and the data
    assert not list(tmp_path.iterdir())


def test_a_run_that_fails_keeps_its_folder_for_a_while():
    with pytest.raises(pg.Error, match="the loss became .* its folder '.*' is deleted when Python ends or the next run without `out` fails") as failed:
        pg.train(**OPTIONS | {"learning_rate": 1e30, "epochs": 5})
    folder = Path(str(failed.value).split("its folder '")[1].split("'")[0])
    assert not pg.Run(folder).finished
    with pytest.raises(pg.Error, match="unknown option") as refused:
        pg.train(**OPTIONS, learning_rte=1)
    assert "its folder" not in str(refused.value) and folder.exists()


@pytest.mark.parametrize("out", [False, True])
@pytest.mark.parametrize("saves", [False, True])
def test_an_interrupted_run_says_what_is_left_and_how_to_go_on(tmp_path, out, saves):
    if saves and not out:
        pytest.skip("checkpoint_every needs out")
    more = ({"out": str(tmp_path / "run")} if out else {}) | ({"checkpoint_every": 1} if saves else {})
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(SCRIPT) + textwrap.dedent(f"""
            print("begins", flush=True)
            try:
                pg.train(**options | {{"epochs": 1000000}}, **{more!r})
            except KeyboardInterrupt as error:
                print(error)
            """)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begins\n"
        for _ in range(200):
            if not out or (tmp_path / "run/state/latest.json" if saves else tmp_path / "run/metrics.jsonl").exists():
                break
            signal.sigtimedwait([], 0.05)
        signal.sigtimedwait([], 1)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=20)[0]
    assert ("resume=True continues it" in said) == saves and ("its state was not saved, which needs checkpoint_every" in said) == (not saves)
    assert ("give `out` to keep it" in said) == (not out)


def test_arrays_are_saved_with_their_run_which_another_process_repeats(tmp_path):
    first = pg.train(out=tmp_path / "runs/first", **OPTIONS)
    second = pg.train(out=tmp_path / "runs/second", **OPTIONS)  # shares the disk's blocks with the first one
    assert (first.folder / Path(first.config["data"]).name).samefile(first.config["data"])
    assert os.stat(first.config["data"]).st_ino == os.stat(second.config["data"]).st_ino
    assert not list((tmp_path / "runs").glob("*.h5"))
    again = pg.train(out=second.folder, overwrite=True, **OPTIONS | {"data": (X + 1, Y)})
    assert [str(path) for path in second.folder.glob("*.h5") if path.name != "checkpoint.h5"] == [again.config["data"]]
    with pytest.raises(pg.Error, match="unknown option"):
        pg.train(out=tmp_path / "runs/refused", typo=1, **OPTIONS)
    assert not (tmp_path / "runs/refused").exists()
    done = python("""
        folder, out = sys.argv[1:]
        print(pg.train(config=f"{folder}/config.toml", out=f"{out}/again").weights_sha256)
        """, first.folder, tmp_path)
    assert done.stdout.split() == [first.weights_sha256], done.stderr


def test_a_training_on_arrays_resumes_in_another_process(tmp_path):
    script = """
        import strategies
        print(pg.train(strategy=strategies.Momentum, out="run", checkpoint_every=1, resume=True, **options).weights_sha256)
        """
    environment = os.environ | {"PYTHONPATH": f"{Path(__file__).parent}:{os.environ.get('PYTHONPATH', '')}"}
    said = []
    for fails_at, change in (("6", ""), ("0", "options['data'] = (X + 1, Y)"), ("0", "")):
        said.append(subprocess.run([sys.executable, "-c", textwrap.dedent(SCRIPT) + change + textwrap.dedent(script)], capture_output=True, text=True,
                                   cwd=tmp_path, env=environment | {"PARAGRAD_TEST_FAILS_AT": fails_at}, timeout=60))
    assert "stopped for the test" in said[0].stderr
    assert "Error: cannot resume" in said[1].stderr and "data" in said[1].stderr
    import strategies
    assert said[2].stdout.strip() == pg.train(strategy=strategies.Momentum, **OPTIONS).weights_sha256, said[2].stderr
    assert len(list((tmp_path / "run").glob("data-*.h5"))) == 1


@pytest.mark.parametrize("name", ["x", "x_train", "X_train", "train_features"])
def test_three_dimensions_of_numbers_are_refused_as_they_have_two_meanings(name, tmp_path):
    x, y = np.zeros((50, 4, 3)), np.arange(50) % 3
    answers = {"x": "y", "x_train": "y_train", "X_train": "y_train", "train_features": "y_train"}[name]
    with pytest.raises(pg.Error, match=rf"{name} of the shape \(50, 4, 3\) is either images or sequences: .* lengths_train=\[4\] \* 50"):
        pg.dataset(**{name: x, answers: y}, out=tmp_path / "x.h5")
    with pytest.raises(pg.Error, match="either images or sequences"):
        pg.train(data=(x, y), model="12-3", learning_rate=0.1, epochs=1)
    pg.dataset(**{name: x[..., None], answers: y}, out=tmp_path / "images.h5")
    pg.dataset(**{name: x.astype(np.uint8), answers: y}, out=tmp_path / "pixels.h5")
    pg.dataset(**{name: x.reshape(-1, 3), answers: y.repeat(4), "lengths_train": [4] * 50}, out=tmp_path / "sequences.h5")
