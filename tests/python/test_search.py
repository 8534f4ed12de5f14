"""paragrad.search: a search's folder as an object, and what cannot be searched."""

import json

import paragrad as pg
import pytest

from strategies import Averaging


@pytest.fixture(scope="module")
def found(task, tmp_path_factory) -> pg.Search:
    options = {name: value for name, value in task.items() if name != "learning_rate"} | {"workers": 2, "platform": "k40m-fdr"}
    return pg.search([{"name": "BMUF", "strategy": "bmuf", "learning_rate": [0.001, 0.1]},
                      {"strategy": "data_parallel", "gradient_bits": 1, "learning_rate": [0.001, 0.1]}],
                     out=tmp_path_factory.mktemp("search") / "found", seeds=[1, 2], **options)


def test_a_search_gives_its_runs_and_the_best_of_each_method(found, task):
    assert [run.folder.name for run in found.runs] == [f"00{number}-s{seed}" for number in (1, 2, 3, 4) for seed in (1, 2)]
    assert set(found.best) == {"BMUF", "data_parallel, gradient-bits=1"}
    for method, runs in found.best.items():
        errors = {one["run"]: sum(one["valid_error"]) for one in found.table if one["method"] == method}
        assert [run.folder.name for run in runs] == [f"{min(errors, key=errors.get)}-s{seed}" for seed in (1, 2)]
    assert "best of each method" in found.report
    run = found.best["BMUF"][1]
    alone = pg.simulate(**task | {"learning_rate": run.config["learning-rate"]}, workers=2, platform="k40m-fdr", strategy="bmuf", seed=2)
    assert run.weights_sha256 == alone.weights_sha256
    assert repr(found) == f"Search('{found.folder}')"


def test_a_folder_of_the_program_is_opened_and_drawn(found, tmp_path):
    again = pg.Search(str(found.folder))
    assert again.table == found.table
    assert "BMUF" in pg.command("compare", found, means=True) or "bmuf" in pg.command("compare", found, means=True)
    pytest.importorskip("matplotlib")
    pg.plot(found.folder, best=True, x="bytes", out=tmp_path / "one.svg")
    pg.plot(found.best, x="bytes", out=tmp_path / "other.svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "other.svg").read_bytes()
    with pytest.raises(pg.Error, match="two searches have the method 'BMUF'"):
        pg.plot([found.folder, found.folder], best=True)


def test_the_same_call_continues_and_another_is_refused(found, task, tmp_path):
    options = {name: value for name, value in task.items() if name != "epochs"} | {"workers": 2, "platform": "k40m-fdr", "out": tmp_path / "one"}
    first = pg.search(strategy=["bmuf", "diloco"], epochs=1, **options)
    records = {run.folder: (run.folder / "metrics.jsonl").stat().st_mtime_ns for run in first.runs}
    again = pg.search(strategy=["bmuf", "diloco"], epochs=1, **options)
    assert {run.folder: (run.folder / "metrics.jsonl").stat().st_mtime_ns for run in again.runs} == records
    assert list(again.best) == [f"configuration {again.table[0]['run']}"]
    with pytest.raises(pg.Error, match="holds another search"):
        pg.search(strategy=["bmuf", "diloco"], epochs=2, **options)
    assert "epochs = 1" in (tmp_path / "one/search.toml").read_text()


def test_arrays_are_saved_next_to_the_runs(tmp_path):
    np = pytest.importorskip("numpy")
    x = np.random.default_rng(1).normal(size=(300, 4)).astype("float32")
    found = pg.search(data=(x, (x[:, 0] > 0).astype("int32")), model="4-8-2:relu", strategy="data_parallel", workers=2, platform="k40m-fdr",
                      learning_rate=[0.01, 0.1], out=tmp_path / "arrays")
    assert {json.loads((run.folder / "manifest.json").read_text())["data"]["path"] for run in found.runs} == \
        {str(path) for path in found.folder.glob("data-*.h5")}


@pytest.mark.parametrize("more, sentence", [
    ({"strategy": Averaging}, "runs of a search are other processes"),
    ({"runs": {"strategy": "bmuf"}}, "a list of dicts"),
    ({"runs": ["bmuf"]}, "a list of dicts"),
    ({"runs": [{"data": ([[0.0]], [1])}]}, "the data of a method must be a data file"),
    ({"learning_rate": [[0.1], [0.2]]}, "learning_rate must be a text, a number or a list of them, not a list within a list"),
    ({"platform": "a\udc80b"}, "platform must be a text"),
    ({"name": "x"}, "belongs to a method"),
    ({"rungs": [1], "device": "meta", "data": None, "train_samples": 1000, "learning_rate": None}, "which timing runs cannot be"),
    ({"strategy": "bmuf", "progress": True}, "progress is for one run"),
    ({"strategy": "bmuf", "learnin_rate": 0.1}, "did you mean learning-rate"),
    ({"strategy": ["bmuf", "sgd"], "block_momentum": 0.5}, "block-momentum"),
    ({"strategy": "bmuf", "measure": "luck"}, "luck"),
])
def test_what_cannot_be_searched_is_refused_before_anything_trains(task, tmp_path, more, sentence):
    with pytest.raises(pg.Error, match=sentence):
        pg.search(**task | {"workers": 2, "platform": "k40m-fdr", "out": tmp_path / "none"} | more)
    assert not (tmp_path / "none/search.json").exists()
    with pytest.raises(pg.Error, match="is not a search, or it has not been ranked"):
        pg.Search(tmp_path / "none").table


def test_what_a_folder_holds_is_not_replaced(task, tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own/search.toml").write_text("epochs = 7\n")
    run = pg.simulate(**task, workers=2, platform="k40m-fdr", strategy="bmuf", out=tmp_path / "run")
    for out, sentence in ((tmp_path / "own", "was not written by paragrad.search"), (run.folder, "contains a run"), ("", "a folder of its own")):
        with pytest.raises(pg.Error, match=sentence):
            pg.search(**task | {"workers": 2, "platform": "k40m-fdr", "strategy": "bmuf", "out": out})
    assert (tmp_path / "own/search.toml").read_text() == "epochs = 7\n"
    assert not (run.folder / "search.toml").exists()


@pytest.mark.parametrize("results", [
    {}, [], {"measure": "valid_error", "seeds": [1]}, {"measure": "valid_error", "seeds": [1], "configurations": [1]},
    {"measure": "valid_error", "seeds": [1], "configurations": [{"run": "001", "valid_error": None}]},
    {"measure": None, "seeds": [1], "configurations": [{"run": "001", "valid_error": [0.5]}]},
    {"measure": "valid_error", "seeds": [1], "configurations": [{"run": "001", "valid_error": [0.5], "method": [1]}]},
])
def test_damaged_results_are_an_error(tmp_path, results):
    (tmp_path / "results.json").write_text(json.dumps(results))
    with pytest.raises(pg.Error):
        pg.Search(tmp_path).best


def test_any_name_is_drawn_as_it_is_written(found, tmp_path):
    pytest.importorskip("matplotlib")
    pg.plot(found, best=True, names=["_first", r"$\foo$ & $5"], title="$x", out=tmp_path / "names.svg")
    drawn = (tmp_path / "names.svg").read_text()
    assert all(text in drawn for text in ("_first (2 seeds)", r"$\foo$ &amp; $5", "$x"))
    for names in (["", "b"], ["a"], [1, 2], "ab"):
        with pytest.raises(pg.Error, match="name"):
            pg.plot(found, best=True, names=names)
