"""What a notebook or script does with the package."""

import json
import re
import signal
import subprocess
import sys
import textwrap
import threading
import warnings
from pathlib import Path

import numpy as np
import paragrad as pg
import pytest

README = Path(__file__).parents[2] / "src/python/README.md"


@pytest.fixture(scope="module")
def points() -> tuple[np.ndarray, np.ndarray]:
    """Four clouds of points."""
    random = np.random.default_rng(1)
    y = random.integers(0, 4, 1000)
    return random.normal(size=(1000, 6)) + 3 * np.eye(4, 6)[y], y


@pytest.fixture(scope="module")
def run(points) -> pg.Run:
    return pg.simulate(workers=2, platform="k40m-fdr", strategy="bmuf", data=points, model="6-16-4:relu", learning_rate=0.1, epochs=3,
                       blocks=5)


@pytest.mark.parametrize("package, statement", [("pandas", "pg.Run(sys.argv[1]).history"), ("matplotlib", "pg.plot([pg.Run(sys.argv[1])])"),
                                                ("numpy", "pg.dataset([1], [1], out='x.h5')")])
def test_a_package_that_is_missing_is_named_in_one_sentence(run, package, statement):
    script = f"import sys\nsys.modules[{package!r}] = None\nimport paragrad as pg\ntry:\n    {statement}\nexcept pg.Error as error:\n    print(error)"
    said = subprocess.run([sys.executable, "-c", script, run.folder], capture_output=True, text=True)
    assert said.stdout.endswith(f"needs the package {package}, which this Python does not have: pip install {package}\n"), said.stderr


def test_a_run_is_that_of_the_program(run, task, tmp_path):
    options = {name: value for name, value in task.items() if name != "data"}
    mine = pg.train(data=task["data"], out=tmp_path / "mine", **options)
    repeated = pg.command("train", config=mine.folder / "config.toml", out=tmp_path / "again")
    assert f"weights sha256 {mine.weights_sha256}" in mine.report and mine.report.splitlines()[0] == repeated.splitlines()[0]
    assert mine.weights_sha256 in repeated
    assert list(mine.history["epoch"]) == [1, 2] and mine.config["learning-rate"] == 0.1


def test_a_temporary_run_goes_with_its_result(task):
    mine = pg.train(**task)
    folder = mine.folder
    assert folder.exists()
    del mine
    assert not folder.exists()


def test_weights_are_those_of_the_checkpoint(run):
    assert run.weights.dtype == np.float32 and run.weights.shape == (6 * 16 + 16 + 16 * 4 + 4,)


def test_arrays_become_one_data_file_whatever_their_order(points, tmp_path):
    x, y = points
    files = [pg.dataset(x, y, out=tmp_path / "c.h5", valid=100), pg.dataset(np.asfortranarray(x), y, out=tmp_path / "f.h5", valid=100),
             pg.dataset(x_train=x, y_train=y, out=tmp_path / "n.h5", valid=100)]
    assert len({json.loads(pg.command("data", "info", file))["content_sha256"] for file in files}) == 1


def test_a_pair_of_arrays_and_the_same_arrays_by_name_are_not_the_same_file(points):
    x, y = points
    of_pair, of_dict = (pg.train(data=data, model="6-4", learning_rate=0.1, epochs=1, blocks=5).manifest["data"]["samples"]
                        for data in ((x, y), {"x": x, "y": y}))
    assert of_pair == {"train": 800, "valid": 100, "test": 100} and of_dict == {"train": 1000, "valid": 0, "test": 0}


@pytest.mark.parametrize("wrong, sentence", [
    ({"normalize": True}, "unknown array or option 'normalize'; did you mean normalise"),
    ({"validation": 100}, "unknown array or option 'validation'; known: .* valid, "),
    ({"x_vaild": np.zeros((3, 6))}, "unknown array or option 'x_vaild'; did you mean x_valid"),
    ({"source": None}, "unknown array or option 'source'; known: x, y, x_train"),
])
def test_a_misspelt_array_or_option_is_refused(points, wrong, sentence, tmp_path):
    with pytest.raises(pg.Error, match=sentence):
        pg.dataset(*points, out=tmp_path / "x.h5", **wrong)
    assert not (tmp_path / "x.h5").exists()


def test_arrays_may_have_any_name_that_the_import_finds(points, tmp_path):
    x, y = points
    for number, names in enumerate([("X", "Y"), ("X_train", "y_train"), ("train_images", "train_labels")]):
        made = pg.dataset(**dict(zip(names, points)), val_features=x[:9], validation_targets=y[:9], out=tmp_path / f"{number}.h5")
        assert json.loads(pg.command("data", "info", made))["valid"]["samples"] == 9


@pytest.mark.parametrize("data, sentence", [
    ({"x_train": np.zeros((3, 6)), "y_train": [0, 1, 2], "x_vaild": np.zeros((3, 6))}, "unknown array 'x_vaild'; did you mean x_valid"),
    ((None, [1, 2]), "x must be an array of numbers, not NoneType"),
    ((3, [1, 2]), "x must be an array of numbers, not int"),
    (([[1, 2], [3]], [1, 2]), "x is not an array: its rows differ in length"),
    ((np.zeros((3, 2), "datetime64[s]"), [1, 2, 3]), r"x must be an array of numbers, not of datetime64\[s\]"),
    ((np.array([["a"], ["b"], ["c"]]), [1, 2, 3]), "x must be an array of numbers, not of <U1"),
    ((np.zeros((3, 2)), [1, "b", None]), "y must be an array of numbers, not of object"),
])
def test_what_are_no_arrays_of_numbers_is_refused(data, sentence):
    with pytest.raises(pg.Error, match=sentence):
        pg.train(data=data, model="2-3", learning_rate=0.1, epochs=1)


class Table(dict):
    """As much of a data frame as is needed: pandas and Polars have more."""

    columns = property(list)


@pytest.mark.parametrize("kind", ["a table of arrays", "pandas"])
def test_a_column_of_a_table_is_predicted_from_the_others(points, kind):
    x, y = points
    table = Table({f"x{k}": x[:, k] for k in range(6)} | {"colour": np.array(["red", "green", "blue", "white"])[y]})
    if kind == "pandas":
        table = pytest.importorskip("pandas").DataFrame(table)
    words = {"model": "6-16-4:relu", "learning_rate": 0.1, "epochs": 3, "blocks": 5}
    mine = pg.train(data=(table, "colour"), **words)
    assert mine.weights_sha256 == pg.train(data=(x, np.asarray(table["colour"])), **words).weights_sha256
    assert mine.result["test_error"] < 0.2
    if kind == "pandas":
        nullable = table.convert_dtypes()
        assert mine.weights_sha256 == pg.train(data=(nullable, "colour"), **words).weights_sha256
        nullable.loc[3, "x0"] = None
        with pytest.raises(pg.Error, match="column 'x0' of the table has missing values"):
            pg.train(data=(nullable, "colour"), **words)
    for wrong, sentence in [((table, "color"), "the table has no column 'color'; did you mean colour"), ((x, "colour"), "a pair of ndarray and the text 'colour'"),
                            ((table, "x0"), "column 'colour' of the table does not hold numbers"), ((Table(y=y), "y"), "has no column but 'y'")]:
        with pytest.raises(pg.Error, match=sentence):
            pg.train(data=wrong, **words)


def test_clients_may_have_names(points):
    x, y = points
    words = {"model": "6-4", "learning_rate": 0.1, "epochs": 1, "blocks": 2, "workers": 3, "platform": "k40m-fdr", "strategy": "diloco", "partition": "grouped:client"}
    names = np.array(["ann", "bob", "cleo"])[np.arange(1000) % 3]
    run = pg.simulate(data={"x": x, "y": y, "clients": names}, **words)
    assert run.weights_sha256 == pg.simulate(data={"x": x, "y": y, "clients": np.arange(1000) % 3}, **words).weights_sha256
    assert run.about["partition"]["samples"] == [333, 334]
    assert "training error" in repr(run), "there is no other"
    for wrong, sentence in [(0.5 * y, "whole number"), (y[:9], "a whole number for each of the 1000 samples"), (y - 1, "-1, but a client is a whole number of at least 0"),
                            (y + 2**40, "but a client is")]:
        with pytest.raises(pg.Error, match=sentence):
            pg.simulate(data={"x": x, "y": y, "clients": wrong}, **words)
    with pytest.raises(pg.Error, match="no clients"):
        pg.simulate(data=points, **words)


def test_an_optimiser_may_have_a_customary_learning_rate(points):
    words = {"data": points, "model": "6-4", "epochs": 1, "blocks": 2, "optimiser": "adamw"}
    assert pg.train(**words).weights_sha256 == pg.train(learning_rate=0.001, **words).weights_sha256
    with pytest.raises(pg.Error, match="a learning rate is missing.*momentum has no customary one"):
        pg.train(**words | {"optimiser": "momentum"})


def test_predictions_are_probabilities_that_evaluate_scores_alike(points, tmp_path):
    x, y = points
    data = {"x_train": x[:800], "y_train": y[:800], "x_test": x[800:], "y_test": y[800:]}
    mine = pg.train(data=data, model="6-16-4:relu", learning_rate=0.1, epochs=3, blocks=5)
    found = pg.predict(mine, x[800:])
    assert found.shape == (200, 4) and np.allclose(found.sum(axis=1), 1)
    assert np.mean(found.argmax(axis=1) != y[800:]) == pytest.approx(mine.result["test_error"])
    assert np.mean(found.argmax(axis=1) != y[800:]) < 0.2
    assert np.array_equal(pg.predict(mine.folder / "checkpoint.h5", x[800:803]), found[:3])
    for wrong, sentence in [(x[:, :5], "6 inputs"), (x[0], "6 inputs"), (x[:0], "x has no samples"), ([[1, 2], [3]], "rows differ"),
                            (x[:3].astype(np.uint8), "was not trained on uint8")]:
        with pytest.raises(pg.Error, match=sentence):
            pg.predict(mine, wrong)


def test_predictions_for_uint8_need_uint8_as_the_training_did(points):
    x, y = points
    x = np.clip(40 * x + 100, 0, 255).astype(np.uint8)
    mine = pg.train(data={"x_train": x, "y_train": y}, model="6-4", learning_rate=0.1, epochs=2, blocks=5)
    with pytest.raises(pg.Error, match="trained on uint8, .* x must be uint8, too, not int64"):
        pg.predict(mine, x.astype(int))
    np.testing.assert_allclose(pg.predict(mine, x), pg.predict(mine, x / 255), rtol=1e-4)


@pytest.mark.parametrize("options", [{"scale": "none"}, {"scale": "bytes"}, {"normalise": True}])
def test_a_run_predicts_for_uint8_as_its_training_scaled_it(points, options, tmp_path):
    x, y = points
    x = np.clip(2 * x + 20, 0, 40).astype(np.uint8)
    with pytest.raises(pg.Error, match="table of uint8"):
        pg.dataset(x, y, out=tmp_path / "x.h5")
    data = pg.dataset(x_train=x, y_train=y, x_test=x[:300], y_test=y[:300], out=tmp_path / "x.h5", **options)
    mine = pg.train(data=data, model="6-8-4", learning_rate=0.05, epochs=2, blocks=5)
    found = pg.predict(mine, x[:300])
    assert np.mean(found.argmax(axis=1) != y[:300]) == pytest.approx(mine.result["test_error"])
    assert np.array_equal(found[:1], pg.predict(mine, x[:1])), "whatever the largest value is"


def test_what_is_probably_not_meant_becomes_a_warning(points, tmp_path):
    x, y = points
    for arrays, sentence in [((x, 7000 * y), "of 21001 classes have no training sample"), ((x, 0 * y), "the same label"), ((x, 1.0 * y), "whole numbers"),
                             ((np.c_[np.arange(1000), x], y), "counts the samples"), ((x + 1e7, y), "float32, .* rounds feature . by up to 0.[45]")]:
        with pytest.warns(UserWarning, match=sentence):
            pg.dataset(*arrays, out=tmp_path / "x.h5")


def test_ordinary_arrays_give_no_warning(points, tmp_path):
    data = pg.dataset(*points, out=tmp_path / "x.h5")
    mine = pg.train(data=data, model="6-4", learning_rate=0.1, epochs=1, blocks=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        pg.dataset(*points, out=tmp_path / "x.h5")
        pg.predict(mine, points[0][:3])


def test_features_are_normalised_before_they_are_rounded(points, tmp_path):
    x = np.c_[5.4e6 + 0.2 * points[0][:, 0], 1.7e9 + 900 * points[0][:, 1], 16777216 + (points[1] % 2)]
    plain = pg.dataset((x - x.mean(0)) / x.std(0), points[1], out=tmp_path / "plain.h5")
    mine = pg.dataset(x, points[1], normalise=True, out=tmp_path / "mine.h5")
    task = dict(model="3-4", learning_rate=0.1, epochs=1, blocks=2, seed=1)
    np.testing.assert_allclose(pg.train(data=mine, **task).weights, pg.train(data=plain, **task).weights, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("make", [lambda z: np.ma.masked_equal(z, -9999.), lambda z: np.ma.masked_less(z, 0), lambda z: np.ma.array(z, mask=z < 0),
                                  lambda z: list(np.ma.masked_equal(z, -9999.)), lambda z: [[*row] for row in np.ma.masked_equal(z, -9999.)]])
def test_a_masked_array_is_refused_if_it_hides_a_value(points, make, tmp_path):
    x, y = points
    z = np.where(x < -1, -9999., x)
    for given in [dict(x=make(z), y=y), dict(x_train=x, y_train=y, x_test=make(z), y_test=y), dict(x=x, y=np.ma.array(y, mask=x[:, 0] > 1))]:
        with pytest.raises(pg.Error, match=r"(x|y|x_test) is a masked array, and some of its values are masked"):
            pg.dataset(out=tmp_path / "x.h5", **given)
    with pytest.raises(pg.Error, match="x is a masked array"):
        pg.train(data=(make(z), y), model="6-4", learning_rate=0.1, epochs=1)
    assert not (tmp_path / "x.h5").exists()
    pg.dataset(np.ma.masked_equal(x, -9999.), y, out=tmp_path / "x.h5")  # nothing is masked


def test_a_run_predicts_with_the_context_of_its_training(points):
    x, y = points
    lengths = np.full(10, 100)
    data = {"x_train": x, "y_train": y, "lengths_train": lengths, "x_test": x[:300], "y_test": y[:300], "lengths_test": lengths[:3]}
    mine = pg.train(data=data, context="1+2", model="24-4", learning_rate=0.1, epochs=2, blocks=5)
    found = pg.predict(mine, x[:300], lengths[:3])
    assert np.mean(found.argmax(axis=1) != y[:300]) == pytest.approx(mine.result["test_error"])
    with pytest.raises(pg.Error, match=r"trained with `context` 1\+2: give the lengths"):
        pg.predict(mine, x[:300])
    frames = np.clip(np.arange(300)[:, None] // 100 * 100 + np.clip(np.arange(300)[:, None] % 100 + [-1, 0, 1, 2], 0, 99), 0, 299)
    spliced = x[frames].reshape(300, 24)
    np.testing.assert_allclose(pg.predict(mine.folder / "checkpoint.h5", spliced), found, rtol=1e-4, atol=1e-6)


def test_damaged_and_unfinished_runs_are_errors(task, tmp_path):
    mine = pg.train(**task, out=tmp_path / "run")
    for name, content in [("cost.json", "x"), ("cost.json", "[]"), ("manifest.json", "{"), ("manifest.json", "3"), ("metrics.jsonl", "\xff\n")]:
        whole = (mine.folder / name).read_bytes() if name != "cost.json" else b"{}"
        (mine.folder / name).write_bytes(content.encode("latin-1"))
        with pytest.raises(pg.Error, match=f"{name}' is damaged"):
            pg.Run(mine.folder).result
        (mine.folder / name).write_bytes(whole)
    manifest = json.loads((mine.folder / "manifest.json").read_text())
    (mine.folder / "manifest.json").write_text(json.dumps({key: value for key, value in manifest.items() if key != "result"}))
    with pytest.raises(pg.Error, match="has not finished"):
        pg.Run(mine.folder).staleness


def test_targets_are_predicted_as_they_are(points):
    x, _ = points
    y = x[:, :2] @ [[1.0, 2.0], [0.5, -1.0]] + 3
    data = {"x_train": x[:800], "y_train": y[:800], "x_test": x[800:], "y_test": y[800:]}
    mine = pg.train(data=data, model="6-2", loss="squared_error", learning_rate=0.01, epochs=10, blocks=5)
    found = pg.predict(mine, x[800:])
    unexplained = np.sum((found - y[800:]) ** 2) / 200 / np.var(y[:800], axis=0).sum()
    assert found.shape == (200, 2) and unexplained == pytest.approx(mine.result["test_error"], rel=1e-4)
    assert unexplained < 0.01


def test_a_classifier_that_was_trained_on_the_squared_error_predicts_its_outputs(points):
    x, y = points
    mine = pg.train(data={"x_train": x, "y_train": y, "x_test": x, "y_test": y}, model="6-4", loss="squared_error", learning_rate=0.02, epochs=5, blocks=5)
    found = pg.predict(mine, x)
    assert np.mean(found.argmax(axis=1) != y) == pytest.approx(mine.result["test_error"])
    assert np.mean((found - np.eye(4)[y]) ** 2) * 2 == pytest.approx(mine.result["test_loss"], rel=1e-4)


@pytest.mark.parametrize("wrong, sentence", [
    ({"learning_rte": 0.1}, "unknown option '--learning_rte|unknown option '--learning-rte'; did you mean --learning-rate?"),
    ({"strategy": "ddp"}, "here it is data_parallel"),
    ({"platform": "k40"}, "built in: "),
    ({"data": 3}, "must be a path, a pair"),
    ({"data": "nowhere.h5"}, "nowhere.h5"),
    ({"epochs": -1}, "--epochs"),
])
def test_an_error_is_the_programs_sentence(four, wrong, sentence):
    with pytest.raises(pg.Error, match=sentence):
        pg.simulate(**four | wrong)


def test_numbers_of_numpy_are_passed_as_they_are(task):
    """Their texts are shorter."""
    options = task | {"learning_rate": np.float32(0.1), "epochs": np.int64(1), "shuffle": np.bool_(True)}
    assert pg.train(**options).config["learning-rate"] == float(np.float32(0.1)) != 0.1
    assert pg.train(**options | {"learning_rate": np.array([0.1])}).config["learning-rate"] == 0.1


def test_runs_of_two_threads_wait_for_each_other(four):
    found = []
    threads = [threading.Thread(target=lambda: found.append(pg.simulate(**four).weights_sha256)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3 and len(set(found)) == 1


def test_control_c_ends_a_training_and_the_next_one_is_as_usual(tmp_path, task):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(f"""
        import paragrad as pg
        task = dict(data={str(task["data"])!r}, model="20-32-5:relu", learning_rate=0.1, blocks=3)
        print("begins", flush=True)
        try:
            pg.train(epochs=1000000, **task)
        except KeyboardInterrupt:
            print(pg.train(epochs=2, **task).weights_sha256)
        """))
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begins\n"
        threading.Event().wait(0.7)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=20)[0].strip() == pg.train(**task | {"epochs": 2}).weights_sha256


def test_the_readme_does_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    newcomer = next(block for block in blocks if "default_rng" in block)
    assert len(newcomer.strip().splitlines()) <= 12
    exec(newcomer, {"__name__": "__main__"})
    assert (tmp_path / "strategies.svg").read_text().count("strategy=") >= 3


@pytest.mark.parametrize("y", [["cat", "dog", "owl"] * 4, np.array(["cat", "dog", "owl"] * 4, dtype=object), np.array([b"cat", b"dog", b"owl"] * 4)])
def test_labels_that_are_texts_name_the_classes(y, tmp_path):
    x = np.arange(24.0).reshape(12, 2) % 7
    pg.dataset(x, y, out=tmp_path / "named.h5")
    assert json.loads(pg.command("data", "info", tmp_path / "named.h5"))["class_names"] == ["cat", "dog", "owl"]
    run = pg.train(data=(x, y), model="2-3", learning_rate=0.1, epochs=1, blocks=1)
    assert pg.predict(run, x).shape == (12, 3)


def test_sequences_x_frames_x_features(tmp_path):
    x, y = np.arange(48.0).reshape(4, 6, 2) % 5, np.arange(24).reshape(4, 6) % 3
    first = pg.dataset(x, y, layout="sequences", out=tmp_path / "whole.h5")
    second = pg.dataset(x.reshape(24, 2), y.reshape(24), lengths_train=[6] * 4, out=tmp_path / "flat.h5")
    one, other = (json.loads(pg.command("data", "info", path))["content_sha256"] for path in (first, second))
    assert one == other
