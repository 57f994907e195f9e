"""p_vision: fit, evaluate and predict with all kinds of data, callbacks and metrics."""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import p_vision
import pyburn
from p_vision import Dense, Input, Sequential, callbacks, losses, metrics
from p_vision.optimizers import Wrapped
from pyburn import nn

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3)).astype(np.float32)
Y = (X @ np.array([[1.0], [-2.0], [0.5]], np.float32)).astype(np.float32)
LABELS = (Y[:, 0] > 0).astype(np.int64)


def regression(**compiled: Any) -> Any:
    pyburn.manual_seed(0)
    model = Sequential([Input((3,)), Dense(1)])
    model.compile(**{"optimizer": p_vision.SGD(0.1), "loss": "mse", **compiled})
    return model


class Rows:
    """A dataset of examples."""

    def __len__(self) -> int:
        return len(X)

    def __getitem__(self, index: int) -> Any:
        return pyburn.tensor(X[index]), float(Y[index, 0])


def generator() -> Any:
    while True:
        yield X[:8], Y[:8]


@pytest.mark.parametrize(
    "data",
    [
        ((X, Y), {}),
        (((X, Y),), {}),
        ((pyburn.tensor(X), pyburn.tensor(Y)), {}),
        ((X.tolist(), Y.tolist()), {}),
        (([(X[:20], Y[:20]), (X[20:], Y[20:])],), {}),
        ((Rows(),), {}),
        ((generator(),), {"steps_per_epoch": 5}),
    ],
    ids=["arrays", "pair", "tensors", "lists", "batches", "dataset", "generator"],
)
def test_data_of_all_kinds(data: Any) -> None:
    args, options = data
    history = regression().fit(*args, epochs=4, verbose=0, **options)
    assert history.history["loss"][-1] < 0.5 * history.history["loss"][0]


def test_batches_hold_every_example_once() -> None:
    seen: list[int] = []

    def spy(y_true: Any, y_pred: Any) -> Any:
        seen.extend(int(v) for v in y_true[:, 0])
        return y_pred.sum(-1) * 0

    model = regression(loss=spy)
    numbers = np.arange(40, dtype=np.float32)[:, None]
    model.fit(X, numbers, batch_size=7, verbose=0)
    assert sorted(seen) == list(range(40)) != seen
    seen.clear()
    model.fit(X, numbers, batch_size=7, verbose=0, shuffle=False, validation_split=0.25)
    assert seen == list(range(40))  # the last quarter is for validation


def test_the_logs_are_exact_over_uneven_batches() -> None:
    model = regression(metrics=["mae", "mse", p_vision.RootMeanSquaredError()])
    loss, mae, mse, rmse = model.evaluate(X, Y, batch_size=7, verbose=0)
    error = model.predict(X, verbose=0) - Y
    assert loss == pytest.approx(float((error**2).mean()), rel=1e-5) == pytest.approx(mse, rel=1e-5)
    assert mae == pytest.approx(float(np.abs(error).mean()), rel=1e-5) and rmse == pytest.approx(math.sqrt(mse), rel=1e-5)
    assert model.metrics_names == ["loss", "mae", "mse", "root_mean_squared_error"]
    assert model.evaluate(X, Y, verbose=0, return_dict=True).keys() == {"loss", "mae", "mse", "root_mean_squared_error"}


def test_a_model_that_is_not_compiled_finds_its_loss() -> None:
    classes = Sequential([Input((3,)), Dense(2)])
    found = classes.train((X, LABELS), epochs=5, verbose=0).history["loss"]
    assert found[-1] < found[0]
    assert classes._objective.loss == losses.SparseCategoricalCrossentropy(from_logits=True)
    softmax = Sequential([Input((3,)), Dense(2, activation="softmax")])
    softmax.train(X, LABELS, verbose=0)
    assert softmax._objective.loss == losses.SparseCategoricalCrossentropy()
    numbers = Sequential([Input((3,)), Dense(1), p_vision.ReLU()])
    numbers.train(X, Y, verbose=0)
    assert isinstance(numbers._objective.loss, losses.MeanSquaredError)
    with pytest.raises(ValueError, match="needs targets"):
        Sequential([Input((3,)), Dense(1)]).train(X, verbose=0)


def test_one_batch_at_a_time() -> None:
    model = regression(metrics=["mae"])
    first = model.train_on_batch(X, Y)
    assert model.test_on_batch(X, Y)[0] < first[0]
    assert set(model.train_on_batch(X, Y, return_dict=True)) == {"loss", "mae"}
    assert model.predict_on_batch(X).shape == (40, 1)


def test_weights_of_examples_and_classes() -> None:
    model = regression()
    every, some = model.test_on_batch(X, Y), model.test_on_batch(X, Y, sample_weight=np.r_[np.ones(20), np.zeros(20)].astype(np.float32))
    assert some == pytest.approx(model.test_on_batch(X[:20], Y[:20]) / 2, rel=1e-5) and some != every
    pyburn.manual_seed(0)
    model = Sequential([Input((3,)), Dense(2, activation="softmax")])
    model.compile(p_vision.SGD(0.5), "sparse_categorical_crossentropy", weighted_metrics=["accuracy"])
    model.fit(X, LABELS, epochs=20, verbose=0, class_weight={0: 1e-4, 1: 1.0})
    assert model.predict(X, verbose=0).argmax(-1).mean() > LABELS.mean() + 0.1  # the class that counts


def test_metrics_equal_what_they_mean() -> None:
    p, y = RNG.random(200).astype(np.float32), RNG.integers(0, 2, 200)
    found = {name: metrics.get(name) for name in ("accuracy", "precision", "recall", "auc")}
    for start in range(0, 200, 64):
        for metric in found.values():
            metric.update_state(pyburn.tensor(y[start : start + 64]), pyburn.tensor(p[start : start + 64]))
    said = p > 0.5
    assert found["accuracy"].result() == pytest.approx((said == y).mean())
    assert found["precision"].result() == pytest.approx(y[said].mean()) and found["recall"].result() == pytest.approx(said[y == 1].mean())
    pairs = (p[y == 1][:, None] > p[y == 0][None]).mean()
    assert found["auc"].result() == pytest.approx(pairs, abs=0.01)
    scores, classes = pyburn.tensor(RNG.random((9, 6)).astype(np.float32)), pyburn.tensor(RNG.integers(0, 6, 9))
    top = metrics.sparse_top_k_categorical_accuracy(classes, scores, 6)
    assert top.sum() == 9
    with pytest.raises(ValueError, match="did you mean 'accuracy'"):
        metrics.get("acuracy")


def test_callbacks_are_called(tmp_path: Path) -> None:
    model = regression()
    events: list[str] = []
    spy = callbacks.LambdaCallback(
        on_train_begin=lambda logs: events.append("begin"),
        on_epoch_end=lambda epoch, logs: events.append(f"epoch {epoch} {sorted(logs)}"),
        on_train_batch_end=lambda batch, logs: events.append(f"batch {batch}") if batch == 0 else None,
        on_train_end=lambda logs: events.append("end"),
    )
    path = tmp_path / "run" / "{epoch:02d}-{val_loss:.2f}.pyburn"
    used = [spy, callbacks.CSVLogger(tmp_path / "log.csv"), callbacks.ModelCheckpoint(path, save_best_only=True)]
    history = model.fit(X, Y, epochs=2, validation_split=0.2, callbacks=used, verbose=0)
    assert events == ["begin", "batch 0", "epoch 0 ['loss', 'val_loss']", "batch 0", "epoch 1 ['loss', 'val_loss']", "end"]
    rows = list(csv.DictReader((tmp_path / "log.csv").open()))
    assert [float(row["val_loss"]) for row in rows] == history.history["val_loss"]
    files = sorted((tmp_path / "run").iterdir())
    assert [file.name[:2] for file in files] == ["01", "02"]
    again = p_vision.load_model(files[-1])
    assert again.evaluate(X[32:], Y[32:], verbose=0) == pytest.approx(history.history["val_loss"][-1], rel=1e-5)
    with pytest.raises(TypeError, match="on_epoch_end"):
        callbacks.LambdaCallback(on_epoch_stop=print)


def test_early_stopping_restores_the_best() -> None:
    model = regression(optimizer=p_vision.SGD(2.5))  # diverges
    stop = callbacks.EarlyStopping("loss", patience=2, restore_best_weights=True)
    history = model.fit(X, Y, epochs=50, verbose=0, callbacks=[stop], shuffle=False)
    assert len(history.epoch) < 10 and stop.stopped_epoch == history.epoch[-1]
    assert model.evaluate(X, Y, verbose=0) < history.history["loss"][-1]
    with pytest.warns(UserWarning, match="no 'val_loss' to watch: this epoch has loss"):
        assert len(model.fit(X, Y, epochs=3, verbose=0, callbacks=[callbacks.EarlyStopping()]).epoch) == 3


@pytest.mark.filterwarnings("ignore:.*to watch")
def test_epochs_that_are_not_validated_are_not_watched(tmp_path: Path) -> None:
    model = regression(optimizer=p_vision.SGD(0.0))  # nothing improves
    stop, plateau = callbacks.EarlyStopping(patience=2), callbacks.ReduceLROnPlateau(patience=1, factor=0.5)
    keep = callbacks.ModelCheckpoint(tmp_path / "{epoch}.pyburn", save_best_only=True)
    options = {"validation_split": 0.2, "validation_freq": 3, "epochs": 20, "verbose": 0}
    history = model.fit(X, Y, callbacks=[stop, plateau, keep], **options)
    assert len(history.epoch) == 9 and len(history.history["val_loss"]) == 3  # after 3 the best, after 6 and 9 none
    assert [path.name for path in tmp_path.iterdir()] == ["3.pyburn"]


@pytest.mark.parametrize(
    ("metric", "name", "sign"),
    [
        (metrics.AUC(name="roc"), "val_roc", 1),
        (metrics.R2Score(), "r2_score", 1),
        (metrics.MeanIoU(2), "val_mean_io_u", 1),
        (metrics.FBetaScore(), "val_fbeta_score", 1),
        (metrics.CosineSimilarity(), "val_cosine_similarity", 1),
        (metrics.MeanAbsoluteError(name="auc"), "auc", -1),
        ("accuracy", "val_accuracy", 1),
        ("mae", "val_mae", -1),
        ("mae", "val_loss", -1),
    ],
)
def test_metrics_say_what_is_better(metric: Any, name: str, sign: float, tmp_path: Path) -> None:
    model = Sequential([Input((3,)), Dense(1, activation="sigmoid")])
    model.compile("sgd", "mse", metrics=[metric])
    values = iter([0.2, 0.5, 0.3])

    class Pretend(callbacks.Callback):
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            logs[name] = next(values)

    keep = callbacks.ModelCheckpoint(tmp_path / "{epoch}.pyburn", monitor=name, save_best_only=True)
    model.fit(X, (Y > 0).astype(np.float32), epochs=3, verbose=0, callbacks=[Pretend(), keep])
    assert sorted(path.name for path in tmp_path.iterdir()) == (["1.pyburn", "2.pyburn"] if sign > 0 else ["1.pyburn"])


def test_learning_rates() -> None:
    model = regression()
    schedule = callbacks.LearningRateScheduler(lambda epoch, rate: rate / 2)
    assert model.fit(X, Y, epochs=3, verbose=0, callbacks=[schedule]).history["learning_rate"] == pytest.approx([0.05, 0.025, 0.0125])
    plateau = callbacks.ReduceLROnPlateau("loss", factor=0.5, patience=1, min_delta=1e9, min_lr=0.002)
    rates = model.fit(X, Y, epochs=4, verbose=0, callbacks=[plateau]).history["learning_rate"]
    assert rates[0] > rates[-1] and float(model.optimizer.learning_rate) == pytest.approx(0.002)
    model = regression(optimizer=p_vision.SGD(p_vision.ExponentialDecay(0.1, 5, 0.5)))
    model.fit(X, Y, batch_size=8, verbose=0)
    assert float(model.optimizer.learning_rate) == pytest.approx(0.05)
    assert p_vision.CosineDecay(0.0, 10, warmup_target=1.0, warmup_steps=10)(5) == 0.5
    assert p_vision.PiecewiseConstantDecay([3, 6], [1.0, 0.5, 0.1])(4) == 0.5
    assert p_vision.PolynomialDecay(1.0, 10, 0.0)(5) == 0.5


def test_optimizers_and_losses_of_pyburn_are_accepted() -> None:
    model = regression(loss=nn.MSELoss())
    model.compile(pyburn.optim.SGD(model.parameters(), lr=0.1), nn.MSELoss())
    assert isinstance(model.optimizer, Wrapped) and len(model.weights) == 2  # the loss is no part of the model
    found = model.fit(X, Y, epochs=3, verbose=0).history["loss"]
    assert found[-1] < 0.5 * found[0]
    model.compile(lambda parameters: pyburn.optim.Adam(parameters, lr=0.1), "mae")
    model.fit(X, Y, verbose=0)
    with pytest.raises(ValueError, match="there is no optimizer 'adm'; did you mean 'adam'"):
        model.compile("adm")


def test_nan_stops_when_asked() -> None:
    model = regression(optimizer=p_vision.SGD(1e30))
    history = model.fit(X, Y, epochs=20, verbose=0, callbacks=[callbacks.TerminateOnNaN()])
    assert len(history.epoch) < 20


class Labelled:
    """What a table of pandas does after rows were taken out of it at random: its [] looks for labels."""

    def __init__(self, rows: np.ndarray) -> None:
        self.rows = rows
        self.iloc = self

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, label: Any) -> Any:
        raise KeyError(label)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.rows.astype(dtype) if dtype is not None else self.rows

    def to_numpy(self) -> np.ndarray:
        return self.rows


def test_tables_with_labels_are_arrays() -> None:
    mixed = X.astype(object)  # columns of several kinds
    found = [
        regression().fit(x, y, epochs=2, shuffle=False, validation_split=0.25, verbose=0).history
        for x, y in ((X, Y), (Labelled(X), Labelled(Y)), (Labelled(mixed), Labelled(Y)))
    ]
    assert found[0] == found[1] == found[2]
    model = regression()
    model.fit(Labelled(X), Labelled(Y), verbose=0)  # shuffled
    np.testing.assert_array_equal(model.predict(Labelled(X), verbose=0), model.predict(X, verbose=0))
    assert model.evaluate(Labelled(X), Labelled(Y), verbose=0) == model.evaluate(X, Y, verbose=0)
    np.testing.assert_array_equal(model.predict_on_batch(Labelled(X)), model.predict_on_batch(X))
    lookup = p_vision.layers.StringLookup(vocabulary=["a", "b"])
    text = Input((1,), dtype="string")
    words = p_vision.Model(text, lookup(text))
    texts = np.array([["b"], ["a"], ["c"]], dtype=object)
    for given in (texts, Labelled(texts), texts.astype(str)):
        assert words.predict(given, verbose=0).tolist() == [[2], [1], [0]]


def test_progress_is_printed(capsys: Any) -> None:
    model = regression()
    model.fit(X, Y, epochs=2, verbose=2)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Epoch 1/2" and "loss: " in lines[1] and lines[1].startswith("2/2") and len(lines) == 4
    model.fit(X, Y, verbose=0)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.fit(X, Y[:3], verbose=0), "same number of samples"),
        (lambda m: m.fit(verbose=0), "there is no data"),
        (lambda m: m.fit(X, Y, batch_size=0), "batch_size"),
        (lambda m: m.fit(Rows(), validation_split=0.5), "validation_data"),
        (lambda m: m.fit(X, np.ones((40, 3, 2), np.float32), verbose=0), "differ in shape"),
        (lambda m: m.train(True, Y), "sets the mode"),
        (lambda m: m.set_weights([np.ones((3, 1))]), "expected 2 arrays"),
        (lambda m: m.set_weights([np.ones((3, 2)), np.ones(1)]), "has the shape"),
        (lambda m: m.predict([], verbose=0), "no data|examples"),
    ],
)
def test_mistakes(call: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        call(regression())


PREDICTED = np.array([[0.1, 0.6, 0.3], [0.5, 0.2, 0.3], [0.2, 0.3, 0.5]], "float32")
TRUE = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 1]], "float32")


@pytest.mark.parametrize(
    ("metric", "expected"),  # what Keras 3.15 gives
    [
        (metrics.Precision(top_k=1), 0.8),
        (metrics.Precision(top_k=2), 0.5),
        (metrics.Precision(top_k=2, class_id=2), 0.4),
        (metrics.Precision(thresholds=[0.2, 0.4]), [0.5, 0.8]),
        (metrics.Precision(class_id=1), 1.0),
        (metrics.Precision(0.25, 2), 0.5),
        (metrics.Recall(top_k=1), 0.8),
        (metrics.Recall(top_k=2), 1.0),
        (metrics.Recall(thresholds=[0.2, 0.4]), [1.0, 0.8]),
        (metrics.TruePositives(thresholds=[0.2, 0.55]), [5.0, 3.0]),
    ],
    ids=repr,
)
def test_counts_of_the_best_and_of_several_thresholds(metric: Any, expected: Any) -> None:
    metric.update_state(TRUE, PREDICTED)
    metric.update_state(TRUE[:1], PREDICTED[:1], sample_weight=[2.0])
    np.testing.assert_allclose(metric.result(), expected, rtol=1e-6)
    again = type(metric).from_config(metric.get_config())
    again.update_state(TRUE, PREDICTED)
    again.update_state(TRUE[:1], PREDICTED[:1], sample_weight=[2.0])
    np.testing.assert_allclose(again.result(), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("options", "expected"),  # what Keras 3.15 gives
    [
        ({"multi_label": True}, 0.5833333134651184),
        ({"thresholds": [0.25, 0.5]}, 0.8333333730697632),
        ({"summation_method": "minoring"}, 0.7777777910232544),
        ({"multi_label": True, "label_weights": [1.0, 2.0, 3.0]}, 0.7083333134651184),
        ({"summation_method": "majoring", "curve": "PR"}, 0.888888955116272),
    ],
)
def test_areas_are_those_of_keras(options: Any, expected: float) -> None:
    metric = metrics.AUC(**options)
    metric.update_state(TRUE, PREDICTED)
    assert metric.result() == pytest.approx(expected, rel=1e-5)


def test_wrong_options_of_counts_are_named() -> None:
    with pytest.raises(ValueError, match="top_k is a positive number"):
        metrics.Precision(top_k=0)
    with pytest.raises(ValueError, match="between 0 and 1"):
        metrics.Recall(thresholds=[0.5, 2])
    with pytest.raises(ValueError, match="num_labels is 2"):
        metrics.AUC(multi_label=True, num_labels=2).update_state(TRUE, PREDICTED)


def test_callbacks_and_losses_that_are_none_are_named() -> None:
    model = Sequential([Input((2,)), Dense(1)])
    with pytest.raises(ValueError, match="no loss 'mes'"):
        model.compile("sgd", "mes")
    model.compile("sgd", "mse")
    for wrong in ([3], callbacks.EarlyStopping):
        with pytest.raises(TypeError, match="derive from Callback"):
            model.fit(np.ones((4, 2)), np.ones(4), callbacks=wrong, verbose=0)
    alone = callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: setattr(model, "stop_training", True))
    assert len(model.fit(np.ones((4, 2)), np.ones(4), epochs=5, callbacks=alone, verbose=0).epoch) == 1


ELEMENTWISE = ["MeanSquaredError", "MeanAbsoluteError", "MeanSquaredLogarithmicError", "MeanAbsolutePercentageError", "Huber", "LogCosh"]


@pytest.mark.parametrize("name", [*ELEMENTWISE, "Hinge", "Poisson", "KLDivergence"])
@pytest.mark.parametrize(("true", "pred"), [((8, 10), (8, 1)), ((8, 1), (8, 10)), ((1, 10), (8, 10)), ((8, 4, 10), (8, 4, 1))])
def test_losses_broadcast_as_keras_does(name: str, true: Any, pred: Any) -> None:
    generator = np.random.default_rng(1)
    y_true, y_pred = (generator.uniform(0.1, 0.9, shape).astype(np.float32) for shape in (true, pred))
    loss = getattr(p_vision.losses, name)()
    whole = np.broadcast_arrays(y_true, y_pred)
    expected = loss(*(np.ascontiguousarray(x) for x in whole))
    assert float(loss(y_true, y_pred)) == pytest.approx(float(expected), rel=1e-5)


def test_the_last_axis_is_dropped_or_added_before_losses_broadcast() -> None:
    """Keras's rule: (8, 4, 1) becomes (8, 4), and (8) beside (8, 1) becomes (8, 1)."""
    a, b = np.arange(32, dtype=np.float32).reshape(8, 4), np.ones((8, 4, 1), np.float32)
    assert tuple(p_vision.losses.mean_squared_error(a, b).shape) == (8,)
    assert tuple(p_vision.losses.mean_squared_error(b, a).shape) == (8,)
    assert tuple(p_vision.losses.mean_squared_error(a[:, 0], a[:, :1]).shape) == (8,)
    assert float(p_vision.losses.MeanSquaredError()(a[:, 0], a[:, :1])) == 0
    with pytest.raises(pyburn.ShapeError, match="differ in shape"):
        p_vision.losses.binary_crossentropy(a, b[:, 0])


def test_a_model_is_trained_with_targets_that_broadcast() -> None:
    model = regression()
    history = model.fit(X, np.repeat(Y.reshape(-1, 1), 10, axis=1), epochs=2, verbose=0)
    assert history.history["loss"][1] < history.history["loss"][0]


def test_fit_of_a_model_without_weights() -> None:
    model = p_vision.Sequential([p_vision.layers.Input((2, 2)), p_vision.layers.Flatten(), p_vision.layers.Rescaling(2.0)])
    model.compile("adam", "mse", metrics=["mae"])
    x = np.ones((8, 2, 2), np.float32)
    with pytest.warns(UserWarning, match="does not have any trainable weights"):
        history = model.fit(x, np.zeros((8, 4), np.float32), epochs=2, verbose=0, validation_split=0.5)
    assert history.history == {"loss": [4.0] * 2, "mae": [2.0] * 2, "val_loss": [4.0] * 2, "val_mae": [2.0] * 2}
    assert model.evaluate(x, np.zeros((8, 4), np.float32), verbose=0) == [4.0, 2.0]
    assert model.predict(x, verbose=0).shape == (8, 4)


def test_fit_of_a_model_whose_weights_are_frozen() -> None:
    model = regression()
    model.trainable = False
    before = model.get_weights()
    with pytest.warns(UserWarning, match="does not have any trainable weights"):
        model.fit(X, Y, epochs=1, verbose=0)
    for old, new in zip(before, model.get_weights()):
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize("options", [{}, {"clipnorm": 0.1}, {"global_clipnorm": 0.1}, {"clipvalue": 0.1}, {"use_ema": True}], ids=str)
def test_fit_reads_nothing_from_the_device_per_step(options: dict[str, Any]) -> None:
    from pyburn.backend.numpy_backend import NumpyBackend

    class Counting(NumpyBackend):
        name = "keras_counting"
        reads = 0

        def download(self, array: Any, dtype: Any) -> Any:
            Counting.reads += 1
            return super().download(array, dtype)

    pyburn.backend.register("keras_counting", Counting)
    model = p_vision.Sequential([p_vision.layers.Input((3,)), p_vision.layers.Dense(4, "relu"), p_vision.layers.Dense(2, "softmax")])
    model.backend = "keras_counting"
    metrics = ["accuracy", p_vision.metrics.SparseTopKCategoricalAccuracy(1)]
    model.compile(p_vision.optimizers.Adam(**options), "sparse_categorical_crossentropy", metrics=metrics)
    x, y = np.random.default_rng(0).random((160, 3), np.float32), np.arange(160) % 2
    Counting.reads = 0
    model.fit(x, y, batch_size=4, epochs=1, verbose=0, shuffle=False)
    assert Counting.reads <= 12  # of 40 steps


def test_mistakes_get_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    x, classes = np.ones((6, 4), "float32"), np.array([0, 1, 2, 0, 1, 2])
    model = p_vision.Sequential([p_vision.Input((4,)), p_vision.Dense(3, activation="softmax")])
    with pytest.raises(TypeError, match="loss_weights are numbers: got 'accuracy'; metrics are given by name"):
        model.compile("adam", "mse", ["accuracy"])
    model.compile("adam", "categorical_crossentropy")
    with pytest.raises(pyburn.ShapeError, match=r"got \(6,\) and \(6, 3\); for integer classes use a sparse loss"):
        model.fit(x, classes, verbose=0)
    model.compile("adam", "sparse_categorical_crossentropy")
    with pytest.raises(IndexError, match="targets are classes from 0 to 2 for 3 outputs"):
        model.fit(x, classes + 1, verbose=0)
    with pytest.raises(ValueError, match="the loss needs targets: give y"):
        model.fit(x, verbose=0)
    with pytest.raises(ValueError, match="x has 6, y has 5"):
        model.fit(x, classes[:5], verbose=0)
    with pytest.raises(TypeError, match=r"create an object: EarlyStopping\(\)"):
        model.fit(x, classes, verbose=0, callbacks=[p_vision.EarlyStopping])
    with pytest.raises(TypeError, match=r"was not called: write Dense\(\.\.\.\)\(x\)"):
        p_vision.Model(p_vision.Input((3,)), p_vision.Dense(2))
    with pytest.raises(ValueError, match="Sequential has no weights yet"):
        p_vision.Sequential([p_vision.Dense(3)]).count_params()
    for ask, hint in ((lambda: p_vision.layers.Dens, "'Dense'"), (lambda: p_vision.ops.concatenat, "'concatenate'")):
        with pytest.raises(AttributeError, match=f"did you mean {hint}"):
            ask()
    capsys.readouterr()
    model.predict(x, verbose=2)
    assert capsys.readouterr().out.rstrip().endswith("/step")
    model.fit(x, classes, verbose=2, callbacks=[callbacks.LearningRateScheduler(lambda epoch: 1e-5)])
    assert re.search(r"/step - loss: [\d.]+ - learning_rate: 1\.0000e-05\n", capsys.readouterr().out)
