"""The line that shows how far a training is."""

import re
import sys
import time

import paragrad as pg
import pytest
import strategies
from paragrad.progress import PERIOD_S, line_of, progress_of


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
    with progress_of(run.folder):
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
