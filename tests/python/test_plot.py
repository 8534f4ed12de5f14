"""Figures of runs that this process has made. What figures show is tested in tests/app/plot_test.py."""

import base64

import paragrad as pg
import pytest
import strategies

pytest.importorskip("matplotlib")


def labels(figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_a_strategy_in_python_is_named_by_its_class(four):
    runs = [pg.simulate(**four | {"strategy": strategy}) for strategy in (strategies.Gossip(weight=0.25), "model_averaging")]
    assert labels(pg.plot(runs)) == ['strategy=Gossip, python-arguments={"weight": 0.25}', "strategy=model_averaging"]


def test_a_run_without_a_folder_of_its_own_is_named_by_strategy_and_workers(four, tmp_path):
    assert labels(pg.plot(pg.simulate(**four | {"strategy": "bmuf"}))) == ["strategy=bmuf, workers=4"]
    assert labels(pg.plot(pg.simulate(out=tmp_path / "run", **four | {"strategy": "bmuf"}))) == [str(tmp_path / "run")]


def test_a_notebook_shows_the_file_that_would_be_written(four, tmp_path):
    figure = pg.plot(pg.simulate(**four | {"strategy": "bmuf"}), out=tmp_path / "run.png")
    shown, about = figure._repr_mimebundle_(include=None, exclude=None)
    assert base64.b64decode(shown["image/png"]) == (tmp_path / "run.png").read_bytes()
    assert about["image/png"]["width"] == 600


def test_the_keys_of_a_dict_name_the_curves(four, tmp_path):
    runs = [pg.simulate(seed=seed, out=tmp_path / str(seed), **four | {"strategy": "bmuf"}) for seed in (1, 2)]
    assert labels(pg.plot({"both": runs})) == ["both (2 seeds)"]
    assert labels(pg.plot({"first": runs[0], "second": tmp_path / "2"})) == ["first", "second"]
    for wrong, message in [({"empty": []}, "no run to plot as 'empty'"), ({}, "no run to plot"), ([], "no run to plot"),
                           ({"a": runs, "b": runs[1]}, "given twice"), ({"a": [runs[0], runs[0]]}, "given twice")]:
        with pytest.raises(pg.Error, match=message):
            pg.plot(wrong)


def test_figures_of_ones_own_in_the_same_style_have_powers_of_ten_on_logarithmic_axes():
    import matplotlib.pyplot
    from paragrad.drawing import STYLE
    with matplotlib.style.context(STYLE):
        figure, axes = matplotlib.pyplot.subplots()
        axes.loglog([1, 1000], [1, 1000])
        figure.canvas.draw()
        shown = [label for label in axes.get_xticklabels() if "mathdefault" in label.get_text()]
    assert shown and all(label.get_parse_math() for label in shown)
