"""Modules of PyTorch as models; needs PyTorch (make peers)."""

import copy

import numpy as np
import paragrad as pg
import pytest
from test_strategy import launch

torch = pytest.importorskip("torch")
import modules  # noqa: E402

STRATEGIES = ["data_parallel", "model_averaging", "bmuf", "diloco", "streaming_diloco", "noloco"]


def images(count=240, side=8):
    random = np.random.default_rng(1)
    y = random.integers(0, 10, count)
    x = random.normal(size=(count, 3, side, side)).astype(np.float32)
    x[np.arange(count), y % 3, y % side] += 2
    return {"x_train": x[:160], "y_train": y[:160], "x_valid": x[160:200], "y_valid": y[160:200], "x_test": x[200:], "y_test": y[200:]}


def made(kind):
    torch.manual_seed(5)
    return kind()


def resnet():
    return made(lambda: modules.ResNet(depth=8, width=4))


def gpt():
    return made(modules.GPT)


@pytest.fixture(scope="session")
def text(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    random = np.random.default_rng(1)
    (folder / "text.txt").write_bytes(bytes(random.choice(list(b"abcdefgh "), 9000).tolist()))
    pg.command("data", "import-text", **{"from": folder / "text.txt"}, out=folder / "text.h5", tokens="bytes", valid=0.1, name="letters")
    return folder / "text.h5"


OF_IMAGES = {"learning_rate": 0.05, "epochs": 2, "blocks": 2, "minibatch": 10}
OF_TEXT = {"learning_rate": 0.003, "optimiser": "adamw", "epochs": 1, "blocks": 2, "minibatch": 4, "max_blocks": 2}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_residual_network_ends_in_the_same_weights_in_all_worlds(strategy, mpiexec, tmp_path):
    options = OF_IMAGES | {"strategy": strategy}
    emulated = pg.simulate(model=pg.torch(resnet()), data=images(), workers=3, platform="k40m-fdr", **options)
    assert pg.train(model=pg.torch(resnet()), data=images(), workers=3, **options).weights_sha256 == emulated.weights_sha256
    done = launch(mpiexec, tmp_path, f"""
        import paragrad as pg, test_torch
        run = pg.train(model=pg.torch(test_torch.resnet()), data=test_torch.images(), **{options})
        if run:
            print(run.weights_sha256)
        """)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [emulated.weights_sha256]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_transformer_ends_in_the_same_weights_emulated_and_in_one_process(text, strategy):
    options = OF_TEXT | {"strategy": strategy, "data": text, "workers": 2}
    model = pg.torch(gpt(), tokens=(256, 16))
    emulated = pg.simulate(model=model, platform="k40m-fdr", **options)
    assert pg.train(model=pg.torch(gpt(), tokens=(256, 16)), **options).weights_sha256 == emulated.weights_sha256
    assert emulated.result["valid_loss"] < np.log(256)


def test_a_module_is_trained_as_by_hand():
    """With plain SGD, one minibatch after the other in the order of the data."""
    class Linear(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = torch.nn.Linear(8, 12), torch.nn.Linear(12, 10)

        def forward(self, x):
            return self.two(torch.relu(self.one(x)))

    random = np.random.default_rng(2)
    x, y = random.normal(size=(64, 8)).astype(np.float32), random.integers(0, 10, 64)
    module = made(Linear)
    before = copy.deepcopy(module.state_dict())
    run = pg.train(model=pg.torch(module), data={"x_train": x, "y_train": y, "x_valid": x[:8], "y_valid": y[:8]}, learning_rate=0.1, momentum=0, epochs=3,
                   blocks=1, minibatch=64)
    assert all(torch.equal(before[name], value) for name, value in module.state_dict().items())
    optimiser = torch.optim.SGD(module.parameters(), 0.1)
    for _ in range(3):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(module(torch.from_numpy(x)), torch.from_numpy(y)).backward()
        optimiser.step()
    flat = np.concatenate([p.detach().numpy().ravel() for p in module.parameters()])
    np.testing.assert_allclose(run.weights, flat, atol=2e-6)
    wanted = module(torch.from_numpy(x)).softmax(1).detach().numpy()
    np.testing.assert_allclose(pg.predict(run, x), wanted, rtol=1e-4)


def test_a_transformer_is_trained_like_paragrads_own(text):
    sizes = {"vocabulary": 256, "context": 16, "width": 16, "heads": 2, "layers": 2}
    own = "gpt:" + ",".join(f"{name}={size}" for name, size in sizes.items())
    options = {"data": text, "learning_rate": 0.1, "blocks": 2, "minibatch": 4, "epochs": 1, "workers": 2, "strategy": "bmuf"}
    start = pg.train(**options | {"model": own, "learning_rate": 1e-30, "max_blocks": 1}).weights
    wanted, found = (pg.train(model=model, **options) for model in (own, pg.torch(modules.OwnGPT(start, **sizes), tokens=(256, 16))))
    assert found.result["valid_loss"] == pytest.approx(wanted.result["valid_loss"], abs=1e-4)
    np.testing.assert_allclose(found.weights, wanted.weights, atol=1e-4)


def test_a_residual_network_is_trained_like_paragrads_own(tmp_path):
    data = pg.dataset(**images(), layout="channels-first", out=tmp_path / "images.h5")
    options = OF_IMAGES | {"data": data, "workers": 2, "strategy": "data_parallel", "minibatch": 20, "epochs": 8, "learning_rate": 0.01}
    own = "zoo:resnet:depth=8,side=8"
    start = pg.train(**options | {"model": own, "learning_rate": 1e-30, "epochs": 1}).weights
    module = modules.OwnResNet(start, depth=8)
    assert module.used == sum(p.numel() for p in module.parameters())
    wanted, found = (pg.train(model=model, **options) for model in (own, pg.torch(module, inputs=(3, 8, 8))))
    for one, other in zip(wanted.progress, found.progress):
        assert other["train_loss"] == pytest.approx(one["train_loss"], abs=1e-4), one["epoch"]


def test_a_loss_of_pytorch_trains_like_paragrads(text):
    sizes = {"vocabulary": 256, "context": 16, "width": 16, "heads": 2, "layers": 1}
    options = {"data": text, "learning_rate": 0.1, "blocks": 2, "minibatch": 4, "max_blocks": 1, "workers": 2, "strategy": "bmuf"}
    start = np.random.default_rng(1).normal(0, 0.05, 256 * 16 + 16 * 16 + 3 * 32 + 16 * 48 + 48 + 16 * 16 + 16 + 2 * 16 * 64 + 64 + 16).astype(np.float32)

    def by_token(outputs, y):
        return torch.nn.functional.cross_entropy(outputs.flatten(0, 1), y.flatten())

    own, mine = (pg.train(model=pg.torch(modules.OwnGPT(start, **sizes), tokens=(256, 16), loss=loss), **options) for loss in (None, by_token))
    assert mine.result["valid_loss"] == pytest.approx(own.result["valid_loss"], abs=1e-5)
    np.testing.assert_allclose(mine.weights, own.weights, atol=2e-4)


def test_work_follows_from_pytorchs_own_count(text):
    model = pg.torch(resnet())
    model._fit((3, 8, 8))
    assert model.flops()["conv"] == 2 * 3 * 4 * 9 * 64
    assert model.flops()["head"] == 2 * 16 * 10
    transformer = pg.torch(gpt(), tokens=(256, 16))
    transformer._fit((16,))
    width, layers = 16, 2
    products = layers * 2 * 12 * width * width + 2 * 256 * width   # of every token
    attention = layers * 2 * 2 * 16 * width                        # with all 16 tokens
    assert sum(transformer.flops().values()) == products + attention
    assert transformer.flops()["tokens"] == transformer.flops()["positions"] == 0


def test_buffers_that_training_changes_are_a_workers_own(mpiexec, tmp_path):
    random = np.random.default_rng(1)
    data = (random.normal(size=(300, 8)).astype(np.float32), random.integers(0, 10, 300))
    options = {"data": data, "learning_rate": 0.05, "epochs": 2, "blocks": 3, "minibatch": 10, "strategy": "bmuf", "workers": 2}
    module = modules.Counts()
    hashes = {pg.simulate(model=pg.torch(module), platform="k40m-fdr", host_threads=threads, **options).weights_sha256 for threads in (1, 2)}
    run = pg.train(model=pg.torch(module), **options)
    assert {run.weights_sha256} == hashes
    assert torch.equal(module.mean, torch.full((8,), 0.5))
    assert run.weights.size == 8 * 10 + 10 + 8
    with pytest.raises(pg.Error, match="Sometimes changes its buffer 'shifts' in some minibatches only"):
        pg.train(model=pg.torch(modules.Sometimes()), **options)


def test_a_network_with_running_means_of_its_own_is_trained_further():
    module = resnet()
    module.train()(torch.randn(5, 3, 8, 8))
    module.eval()
    run = pg.train(model=pg.torch(module), data=images(), learning_rate=1e-30, epochs=1)
    assert not module.training
    wanted = module(torch.from_numpy(images()["x_test"])).softmax(1).detach().numpy()
    trained = pg.predict(run, images()["x_test"])
    assert trained.shape == wanted.shape and not np.allclose(trained, wanted)  # the means moved on, from where they were


def test_it_predicts_in_another_process_with_the_same_module_only(tmp_path):
    x, y = np.random.default_rng(1).normal(size=(40, 8)).astype(np.float32), np.arange(40) % 10
    run = pg.train(model=pg.torch(made(modules.Counts)), data=(x, y), learning_rate=0.1, epochs=1, minibatch=8, out=tmp_path / "run")
    again = pg.predict(pg.Run(tmp_path / "run"), x, network=pg.torch(modules.Counts()))
    np.testing.assert_array_equal(again, pg.predict(run, x))
    assert run.manifest["model_source"]["class"] == "modules:Counts" and "class Counts" in run.manifest["model_source"]["source"]
    with pytest.raises(pg.Error, match="this is not the model 'Counts' of the run"):
        pg.predict(pg.Run(tmp_path / "run"), x, network=pg.torch(modules.Counts(scale=5.0)))
    with pytest.raises(pg.Error, match=r"write paragrad.torch\(MODULE\)"):
        pg.predict(pg.Run(tmp_path / "run"), x, network=modules.Counts())


def test_a_loss_with_weights_has_one_hash():
    from paragrad.model import GivenModel
    hashes = set()
    for weight in (1, 1, 2):
        model = pg.torch(torch.nn.Linear(8, 4), inputs=8, loss=torch.nn.CrossEntropyLoss(weight=torch.full((4,), float(weight))))
        model._fit((8,))
        hashes.add(GivenModel(model).sha256)
    assert len(hashes) == 2


def test_tied_weights_may_belong_to_the_head(text):
    run = pg.train(model=pg.torch(modules.HeadFirst(), tokens=(256, 16)), data=text, learning_rate=0.1, epochs=1, minibatch=4, max_blocks=1, blocks=4)
    assert run.weights.size == 256 * 16


def test_running_means_are_averaged_and_saved():
    model = pg.torch(resnet())
    run = pg.train(model=model, data=images(), workers=2, strategy="bmuf", **OF_IMAGES)
    count = sum(p.numel() for p in model.module.parameters())
    assert run.weights.size == count + sum(b.numel() for b in model.module.buffers() if b.is_floating_point())
    assert pg.predict(run, images()["x_test"]).shape == (40, 10)


@pytest.mark.parametrize("module, message", [
    (lambda: torch.nn.Linear(8, 3).double(), "must be float32 on the CPU"),
    (lambda: torch.nn.Linear(9, 3), "cannot take two samples of the shape"),
    (lambda: torch.nn.LSTM(8, 3), "must return a tensor of the shape"),
    (lambda: torch.nn.Sequential(torch.nn.Linear(8, 3), torch.nn.BatchNorm1d(3, momentum=None)), "has momentum=None"),
    (lambda: "8-3", "takes a torch.nn.Module, not str"),
    (lambda: torch.nn.Linear(8, 3).requires_grad_(False), "has requires_grad=False")])
def test_what_cannot_be_trained_is_refused(module, message):
    x, y = np.zeros((40, 8), np.float32), np.zeros(40, int)
    with pytest.raises(pg.Error, match=message) as raised:
        pg.train(model=pg.torch(module()), data=(x, y), learning_rate=0.1)
    assert "\n" not in str(raised.value)


def test_a_module_without_torch_around_it_is_named():
    with pytest.raises(pg.Error, match=r"not Linear: write paragrad.torch\(MODULE\)"):
        pg.train(model=torch.nn.Linear(8, 3), data=(np.zeros((40, 8)), np.zeros(40, int)), learning_rate=0.1)
