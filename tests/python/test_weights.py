"""Weights of samples: one of weight k is like k of weight 1."""

import numpy as np
import paragrad as pg
import pytest

ORDER = np.random.default_rng(3)
X = ORDER.normal(size=(60, 3)).astype(np.float32)
CLASSES = (X @ [[1, 0], [0, 1], [-1, 2]]).argmax(axis=1)
TARGETS = (X @ [[1.0], [2], [-1]] + 1).astype(np.float32)
WEIGHTS = ORDER.integers(0, 4, size=60)


def trained(y, weights=None, **options):
    """Gradient descent on whole sets, with a rate per sample, so that a sample counts the same whatever their number."""
    arrays = {"x_train": X, "y_train": y} if weights is None else {"x_train": X, "y_train": y, "weights_train": weights}
    if weights is None:
        arrays = {name: array.repeat(WEIGHTS, axis=0) for name, array in arrays.items()}
    return pg.train(data=arrays, model="3-5-" + ("2" if y is CLASSES else "1"), lr_per_sample=0.01, optimiser="sgd", minibatch=0,
                    blocks=1, epochs=20, **options)


@pytest.mark.parametrize("y, options", [(CLASSES, {}), (CLASSES, {"label_smoothing": 0.1}), (CLASSES, {"loss": "focal"}),
                                        (CLASSES, {"loss": "squared_error"}), (TARGETS, {"loss": "squared_error"})])
def test_a_weight_is_a_number_of_repetitions(y, options):
    weighted, repeated, plain = trained(y, WEIGHTS, **options), trained(y, **options), trained(y, np.ones(60), **options)
    for mine, theirs, other in zip(weighted.weights, repeated.weights, plain.weights):
        np.testing.assert_allclose(mine, theirs, atol=2e-5)
    assert max(abs(mine - other).max() for mine, other in zip(weighted.weights, plain.weights)) > 1e-3
    rows = WEIGHTS.sum()
    assert weighted.result["train_loss"] * len(X) == pytest.approx(repeated.result["train_loss"] * rows, rel=1e-5)


def test_the_unexplained_variance_does_not_depend_on_the_size_of_weights():
    runs = [pg.train(data={"x_train": X, "y_train": TARGETS, "weights_train": 1 + WEIGHTS, "x_valid": X, "y_valid": TARGETS, "weights_valid": factor * (1 + WEIGHTS)},
                     model="3-5-1", loss="squared_error", learning_rate=0.02, epochs=3, blocks=1) for factor in (1, 8)]
    one, eight = (run.result for run in runs)
    assert 0 < one["valid_error"] < 1 and eight["valid_error"] == pytest.approx(one["valid_error"])
    assert eight["valid_loss"] == pytest.approx(8 * one["valid_loss"])


def test_weighted_trainings_end_in_the_same_weights_in_all_worlds(task, mpiexec, tmp_path):
    pg.dataset(x_train=X, y_train=CLASSES, weights_train=WEIGHTS / 3, x_valid=X, y_valid=CLASSES, weights_valid=WEIGHTS, out=tmp_path / "x.h5")
    options = {"data": tmp_path / "x.h5", "model": "3-5-2", "learning_rate": 0.1, "strategy": "bmuf", "epochs": 2, "blocks": 2}
    simulated = pg.simulate(**options, workers=2, platform="k40m-fdr")
    assert pg.train(**options, workers=2).weights_sha256 == simulated.weights_sha256


@pytest.mark.parametrize("arrays, options, sentence", [
    ({"weights_train": -WEIGHTS}, {}, "but a weight is a finite number of at least 0"),
    ({"weights_train": WEIGHTS[1:]}, {}, "give a number for each of the 60 samples"),
    ({"weights_train": WEIGHTS, "x_valid": X, "y_valid": CLASSES}, {}, "'weights_valid' is missing"),
    ({"weights_valid": WEIGHTS, "x_valid": X, "y_valid": CLASSES}, {}, "'weights_valid' is there, but not that of the training set"),
    ({"weights_train": WEIGHTS, "weights_test": WEIGHTS}, {}, "contains 'weights_test' but no features for it"),
    ({"weights_train": 0 * WEIGHTS}, {}, "all weights of the training set of"),
    ({"weights_train": WEIGHTS}, {"pretrain_epochs": 1, "visible_units": "gaussian"}, "pretraining does not take"),
    ({"weights_train": WEIGHTS, "lengths_train": [30, 30]}, {"loss": "ctc", "model": "3-lstm4-3"}, "the loss ctc does not take"),
])
def test_weights_that_cannot_be_used_are_refused(arrays, options, sentence):
    with pytest.raises(pg.Error, match=sentence):
        pg.train(**{"data": {"x_train": X, "y_train": CLASSES} | arrays, "model": "3-5-2", "learning_rate": 0.1, "epochs": 1, "blocks": 1} | options)
