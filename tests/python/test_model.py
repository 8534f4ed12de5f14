"""Models written in Python: the weights of the same models of Paragrad's own, in all worlds the same, and sentences for what goes wrong."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import models
import numpy as np
import paragrad as pg
import pytest
from test_strategy import README, launch, words

STRATEGIES = {"data_parallel": {"bucket_bytes": 300}, "bmuf": {}, "diloco": {"optimiser": "adamw", "learning_rate": 0.01}, "sparta": {"mask_share": 0.2},
              "streaming_diloco": {"fragments": 2, "outer_delay": 2}, "noloco": {}}


@pytest.fixture(scope="session")
def short(tmp_path_factory) -> dict:
    data = tmp_path_factory.mktemp("data") / "short.h5"
    pg.command("data", "generate", out=data, samples=1200, valid=120, test=120, dim=8, classes=6)
    return {"data": data, "learning_rate": 0.1, "epochs": 2, "blocks": 3, "minibatch": 16}


@pytest.fixture(scope="session")
def start(short) -> np.ndarray:
    """The initial weights of Paragrad's own network."""
    return pg.train(model="8-12-6:sigmoid", **short | {"learning_rate": 1e-30, "epochs": 1}).weights


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_model_in_python_is_trained_like_the_same_one_in_cpp(short, start, strategy):
    options = {"workers": 4, "platform": "k40m-fdr", "strategy": strategy} | short | STRATEGIES[strategy]
    own, mine = pg.simulate(model="8-12-6:sigmoid", **options), pg.simulate(model=models.Perceptron(start), **options)
    np.testing.assert_allclose(mine.weights, own.weights, atol=2e-5)
    assert mine.result["sent_bytes"] == own.result["sent_bytes"]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("kind", [models.Perceptron, models.Noisy])
def test_it_ends_in_the_same_weights_in_all_worlds(short, strategy, kind, mpiexec, tmp_path):
    options = short | STRATEGIES[strategy] | {"strategy": strategy}
    emulated = pg.simulate(model=kind(), workers=3, platform="k40m-fdr", **options)
    assert pg.simulate(model=kind(), workers=3, platform="k40m-fdr", host_threads=1, **options).weights_sha256 == emulated.weights_sha256
    assert pg.train(model=kind(), workers=3, **options).weights_sha256 == emulated.weights_sha256
    done = launch(mpiexec, tmp_path, f"""
        import paragrad as pg, models
        run = pg.train(model=models.{kind.__name__}(), **{words(options)})
        if run:
            print(run.weights_sha256)
        """)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [emulated.weights_sha256]


@pytest.mark.parametrize("kind", [models.Perceptron, models.Noisy])
def test_a_run_goes_on_where_it_ended(short, kind, tmp_path, monkeypatch):
    options = short | {"workers": 2, "strategy": "bmuf", "platform": "k40m-fdr", "model": kind(), "checkpoint_every": 1}
    whole = pg.simulate(**options)
    monkeypatch.setenv("PARAGRAD_TEST_COUNTS", str(tmp_path / "counts"))
    with pytest.raises(pg.Error, match="backward: AssertionError: as the test wants it"):
        pg.simulate(**options, out=tmp_path / "run")
    assert pg.simulate(**options, out=tmp_path / "run", resume=True).weights_sha256 == whole.weights_sha256
    assert whole.manifest["model_source"]["class"].endswith(kind.__name__)
    with pytest.raises(pg.Error, match="cannot resume: .* 'model'"):
        pg.simulate(**options | {"model": models.Perceptron(sizes=(8, 13, 6))}, out=tmp_path / "run", resume=True)


def test_it_predicts(short, tmp_path):
    x = np.random.default_rng(1).normal(size=(9, 8)).astype(np.float32)
    run = pg.train(model=models.Perceptron(), out=tmp_path / "run", **short)
    trained = models.Perceptron(run.weights)
    scores = trained.forward({name: values.astype(np.float32) for name, values in trained.initial.items()}, x, None)[0]
    wanted = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    np.testing.assert_allclose(pg.predict(run, x), wanted, rtol=1e-4)
    np.testing.assert_allclose(pg.predict(pg.Run(tmp_path / "run"), x, network=models.Perceptron()), wanted, rtol=1e-4)
    with pytest.raises(pg.Error, match="from Python only: give the model itself"):
        pg.predict(pg.Run(tmp_path / "run"), x)
    with pytest.raises(pg.Error, match="this is not the model 'Perceptron'"):
        pg.predict(pg.Run(tmp_path / "run"), x, network=models.Noisy())


def test_its_own_loss_trains_like_paragrads(short, start, mpiexec, tmp_path):
    options = short | {"strategy": "bmuf"}
    emulated = {"workers": 3, "platform": "k40m-fdr"}
    own = pg.simulate(model=models.Perceptron(start), **options, **emulated)
    mine = pg.simulate(model=models.OwnLoss(start), **options, **emulated)
    np.testing.assert_allclose(mine.weights, own.weights, atol=2e-5)
    for value in ("valid_loss", "valid_error", "train_loss"):
        assert mine.progress[-1][value] == pytest.approx(own.progress[-1][value], abs=1e-5)
    done = launch(mpiexec, tmp_path, f"""
        import numpy as np, paragrad as pg, models
        run = pg.train(model=models.OwnLoss(np.array({start.tolist()}, np.float32)), **{words(options)})
        if run:
            print(run.weights_sha256)
        """)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [mine.weights_sha256]
    assert pg.predict(mine, np.zeros((3, 8), np.float32)).shape == (3, 6)
    with pytest.raises(pg.Error, match="`loss` is the model's own: leave it out"):
        pg.simulate(model=models.OwnLoss(start), **options | {"loss": "focal"}, **emulated)


def test_its_own_loss_may_be_of_a_regression():
    random = np.random.default_rng(1)
    x = random.normal(size=(400, 8)).astype(np.float32)
    options = {"data": (x, (x @ random.normal(size=(8, 6))).astype(np.float32)), "learning_rate": 0.01, "epochs": 2, "minibatch": 20, "blocks": 2}
    own, mine = pg.train(model=models.Perceptron(), loss="squared_error", **options), pg.train(model=models.SquaredLoss(), **options)
    np.testing.assert_allclose(mine.weights, own.weights, atol=2e-5)
    assert mine.result["valid_loss"] == pytest.approx(own.result["valid_loss"], rel=1e-5)


def test_a_minibatch_may_be_cut(short):
    options = short | {"workers": 2, "strategy": "bmuf"}
    whole, cut = (pg.train(model=models.Perceptron(), **options | more) for more in ({}, {"micro_batch": 5}))
    np.testing.assert_allclose(cut.weights, whole.weights, atol=2e-5)
    with pytest.raises(pg.Error, match="micro-batch"):
        pg.train(model=models.Noisy(), **options, micro_batch=5)  # its buffer depends on the whole one


@pytest.mark.parametrize("more, message", [({"tensor_parallel": 2}, "tensor-parallel"), ({"sync_batch_norm": True}, "networks of Paragrad's own"),
                                           ({"pretrain_epochs": 1}, "pretrain")])
def test_what_needs_layers_of_paragrads_own_is_refused(short, more, message):
    with pytest.raises(pg.Error, match=message) as raised:
        pg.simulate(model=models.Perceptron(), workers=2, platform="k40m-fdr", strategy="data_parallel", **short | more)
    assert "\n" not in str(raised.value)


def test_a_timing_run_needs_its_sizes_only(short):
    options = short | {"platform": "k40m-fdr", "workers": 4, "strategy": "bmuf"}
    timed = pg.simulate(model=models.Divides(), **options | {"device": "meta"})
    assert timed.result["training_s"] == pytest.approx(pg.simulate(model=models.Perceptron(), **options).result["training_s"])


@pytest.mark.parametrize("kind, message", [
    (models.WrongShape, r"WrongShape.forward must return outputs of the shape \(16, 6\), not float32 of the shape \(16, 5\)"),
    (models.OneResult, "OneResult.forward must return its outputs and what backward needs, not ndarray"),
    (models.Forgets, "Forgets.backward must return a dict of the gradients of layer1.weight, layer1.bias, .*, not .'layer1.weight'"),
    (models.Transposes, r"Transposes.backward must return a gradient of layer1.weight of the shape \(8, 12\), not float32 of the shape \(12, 8\)"),
    (models.Divides, "Divides.backward: ZeroDivisionError: integer division or modulo by zero .*models.py, line"),
    (models.Trains, "Trains.backward: ValueError: .* read-only"),
    (models.Draws, r"Draws.forward draws from a global generator .* make one from forward's argument seed, as numpy.random.default_rng\(seed\)"),
    (models.Keeps, "Keeps keeps layer2.weight, which is a worker's memory: copy"),
    (models.LosesSamples, r"LosesSamples.loss must return a gradient of the shape \(16, 6\), not float32 of the shape \(15, 6\)"),
    (models.LosesGradient, "LosesGradient.loss must return the mean loss, a number, and its gradient, not float"),
    (models.IsNaN, "the loss became nan"),
    (models.Whole, r"'layer1.weight' of Whole.parameters\(\) must have floating-point numbers, not int64"),
    (models.Empty, r"Empty.parameters\(\) must name at least one array"),
    (models.CountsOthers, "CountsOthers has no layer 'layer3': its parameters name the layers layer1, layer2"),
    (models.Same, "Same has both a parameter and a buffer 'layer1.bias'"),
    (models.Commands, "a strategy, a model or a compressor cannot run commands or predict while it trains"),
    (models.NoOutputs, "NoOutputs.outputs is missing"),
    (models.TextInputs, "TextInputs.inputs must be a whole number of at least 1, not '8'"),
    (models.OneToken, "OneToken.tokens must be the size of the vocabulary and the tokens of a window, not 7"),
    (models.NegativeWork, r"NegativeWork.flops\(\) must return a dict of counts by layer, not"),
    (models.ListOfArrays, r"ListOfArrays.parameters\(\) must return a dict of arrays, not list"),
    (models.TwoLines, r"the names in TwoLines.parameters\(\) must be printable texts, not 'a.nb'"),
    (models.FailsEarly, "FailsEarly.parameters: KeyError: 'x'")])
@pytest.mark.parametrize("emulated", [True, False])
def test_what_goes_wrong_is_said_in_a_sentence(short, kind, message, emulated):
    world = {"platform": "k40m-fdr"} if emulated else {}
    with pytest.raises(pg.Error, match=message) as raised:
        (pg.simulate if emulated else pg.train)(model=kind(), workers=2, strategy="bmuf", **world, **short)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("model, message", [
    (models.Perceptron, "model must be a text or an object of a class derived from paragrad.Model, not"),
    (3, "model must be a text or an object of a class derived from paragrad.Model, not int")])
def test_what_is_no_model_is_refused(short, model, message):
    with pytest.raises(pg.Error, match=message):
        pg.train(model=model, **short)


def test_ranks_with_other_initial_weights_are_refused(short, mpiexec, tmp_path):
    done = launch(mpiexec, tmp_path, f"""
        import os
        import numpy as np, paragrad as pg, models
        rank = int(os.environ.get("PMI_RANK", os.environ.get("OMPI_COMM_WORLD_RANK", 0)))
        pg.train(model=models.Perceptron(np.full(186, rank, np.float32)), strategy="bmuf", **{words(short)})
        """)
    assert done.returncode != 0
    assert "differs from rank 0: --model differs; start all ranks with the same options" in done.stderr


def test_the_program_says_that_it_cannot_use_the_model(short, tmp_path):
    pg.train(model=models.Perceptron(), out=tmp_path / "run", **short)
    with pytest.raises(pg.Error, match="a model in Python, here 'Perceptron', can be used from Python only"):
        pg.command("evaluate", tmp_path / "run/checkpoint.h5", data=short["data"])
    if not (program := pg.training._program()):
        pytest.skip("the program is not built")
    done = subprocess.run([program, "evaluate", tmp_path / "run/checkpoint.h5", "--data", short["data"]], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "in Python" in done.stderr


def test_what_a_model_keeps_of_its_inputs_outlives_the_run(short):
    model = models.KeepsInputs()
    pg.train(model=model, **short)
    inputs, kept = (np.concatenate(each) for each in (model.inputs_seen, model.kept))
    np.testing.assert_array_equal(kept, inputs)


def test_a_model_may_have_a_method_fit(short):
    class Fits(models.Perceptron):
        def fit(self, x, y):
            raise AssertionError

    pg.train(model=Fits(), **short | {"epochs": 1})


def test_its_hash_is_of_what_it_computes_and_not_of_where_it_begins(short, tmp_path):
    x = np.zeros((2, 8), np.float32)
    pg.train(model=models.Scaled(2.0), out=tmp_path / "run", **short | {"epochs": 1})
    pg.predict(pg.Run(tmp_path / "run"), x, network=models.Scaled(2.0, np.ones(186, np.float32)))
    with pytest.raises(pg.Error, match="this is not the model 'Scaled'"):
        pg.predict(pg.Run(tmp_path / "run"), x, network=models.Scaled(3.0))


def test_it_needs_a_device_of_the_host(short):
    with pytest.raises(pg.Error, match="needs arrays in host memory, which its device does not have: give --device cpu"):
        pg.train(model=models.Perceptron(), **short | {"device": "isolated"})


def test_ctrl_c_ends_an_endless_loop(short, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(f"""import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import models, paragrad as pg
pg.train(model=models.Endless(), **{words(short)})
""")
    process = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode != 0
    assert errors.strip().splitlines()[-1].startswith("KeyboardInterrupt: the training was interrupted")


def test_the_model_and_the_compressor_of_the_readme_train():
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    names = {"np": np, "pg": pg}
    for kind in ("Perceptron", "Sign"):
        exec(compile(next(block for block in blocks if f"class {kind}(" in block), str(README), "exec"), names)
    random = np.random.default_rng(1)
    y = random.integers(0, 4, 2000)
    x = random.normal(size=(2000, 20)) + 2 * np.eye(4, 20)[y]
    run = pg.simulate(model=names["Perceptron"](), data=(x, y), workers=4, platform="k40m-fdr", strategy="data_parallel", compression=names["Sign"](),
                      gather_codes=True, learning_rate=0.05, epochs=6, minibatch=32)
    assert run.result["valid_error"] < 0.25


def test_numpy_is_all_that_it_needs():
    script = "import sys, paragrad as pg; pg.Model; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip() == "False"
