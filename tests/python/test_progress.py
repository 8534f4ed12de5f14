"""The line that shows how far a training is."""

import re
import sys
import time

import numpy as np
import paragrad as pg
import pytest
import strategies
from paragrad.progress import PERIOD_S, followed, line_of


def test_a_line_shows_each_epoch_and_is_deleted_in_the_end(four, tmp_path, capsys):
    pg.simulate(out=tmp_path / "run", **four | {"strategy": strategies.Averaging})  # whose records are not shown
    run = pg.simulate(progress=True, out=tmp_path / "run", overwrite=True, **four | {"strategy": strategies.Sleeps})
    printed = capsys.readouterr()
    assert printed.out == ""
    first, *_, last, end = printed.err.removeprefix("\r").split("\r")
    record = run.progress[0]
    assert first == (f"epoch 1 of 2, training error {100 * record['train_error']:.2f} %, "
                     f"validation error {100 * record['valid_error']:.2f} %")
    assert last.strip() == end == "" and len(last) >= len(first)


def test_at_the_prompt_it_is_shown_without_being_asked_for(four, capsys, monkeypatch):
    for at_the_prompt in (False, True):
        if at_the_prompt:
            monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
        pg.simulate(**four | {"strategy": strategies.Sleeps})
        assert ("epoch 1 of 2" in capsys.readouterr().err) == at_the_prompt
    pg.simulate(progress=False, **four | {"strategy": strategies.Sleeps})
    assert capsys.readouterr().err == ""


def test_the_record_of_the_result_is_not_an_epoch(four, tmp_path, capsys):
    run = pg.simulate(out=tmp_path / "run", **four | {"strategy": strategies.Averaging})
    (metrics := run.folder / "metrics.jsonl").rename(whole := tmp_path / "metrics.jsonl")
    with followed(run.folder, True, None):
        metrics.write_text(whole.read_text())
        time.sleep(3 * PERIOD_S)
    assert "epoch" not in run.metrics[-1]
    assert capsys.readouterr().err.startswith("\repoch 2 of 2,")


def test_it_ends_with_a_training_that_fails(four, capsys):
    with pytest.raises(pg.Error):
        pg.simulate(progress=True, **four | {"learning_rate": 1e30})
    assert re.fullmatch(r"\s*", capsys.readouterr().err)


@pytest.mark.parametrize("record, epochs, line", [
    ({"epoch": 3, "train_error": 0.5, "valid_error": None}, None, "epoch 3, training error 50.00 %"),
    ({"phase": "pretrain", "layer": 2, "epoch": 1}, 10, "pretraining: layer 2, epoch 1"),
])
def test_it_shows_what_a_record_has(record, epochs, line):
    assert line_of(record, epochs) == line


def test_a_function_is_called_with_the_record_of_each_epoch(four, tmp_path, capsys):
    options = four | {"epochs": 5, "out": tmp_path / "run", "checkpoint_every": 1}
    for more in ({}, {"overwrite": True, "progress": True}):
        records = []
        run = pg.simulate(**options | more, on_epoch=records.append)
        assert records == [record for record in run.metrics if "epoch" in record]
        assert [record["epoch"] for record in records] == [1, 2, 3, 4, 5]


def test_a_resumed_run_calls_it_for_new_epochs(four, tmp_path, monkeypatch):
    options = four | {"strategy": strategies.Momentum, "epochs": 3, "out": tmp_path / "run", "checkpoint_every": 1}
    monkeypatch.setenv("PARAGRAD_TEST_FAILS_AT", "5")
    first, then = [], []
    with pytest.raises(pg.Error):
        pg.simulate(**options, on_epoch=first.append)
    monkeypatch.setenv("PARAGRAD_TEST_FAILS_AT", "0")
    pg.simulate(**options, resume=True, on_epoch=then.append)
    assert [record["epoch"] for record in first + then] == [1, 2, 3]


def test_what_it_raises_is_raised_after_the_training(four, tmp_path):
    def fails(record):
        calls.append(record["epoch"])
        raise LookupError(record["epoch"])

    calls = []
    with pytest.raises(LookupError, match="1"):
        pg.simulate(**four, out=tmp_path / "run", on_epoch=fails)
    assert calls == [1]
    assert pg.Run(tmp_path / "run").finished
    with pytest.raises(pg.Error, match="on_epoch must be a function of a record, not list"):
        pg.simulate(**four, on_epoch=[])


def test_a_run_introduces_itself_predicts_and_begins_another(four, task, tmp_path):
    run = pg.simulate(**four, out=tmp_path / "run<1>")
    assert re.fullmatch(r"Run\('.*run<1>', model_averaging, 4 emulated workers, test error [\d.]+ %\)", repr(run))
    assert "run&lt;1&gt;" in run._repr_html_() and "<td>model_averaging</td>" in run._repr_html_()
    x = np.random.default_rng(1).normal(size=(3, 20)).astype(np.float32)
    np.testing.assert_array_equal(run.predict(x), pg.predict(run, x))
    again = pg.train(**task | {"learning_rate": 1e-30, "epochs": 1}, init=run)
    np.testing.assert_array_equal(again.weights, run.weights)
    assert pg.__version__ == pg.command("--version").split()[1]
    assert repr(pg.Run(tmp_path / "run<1>")) == repr(run)
