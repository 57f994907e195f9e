"""p_vision and pyburn.train share one loop: callbacks, metrics and losses of either work in both."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import p_vision
import pyburn
from p_vision import Dense, Input, Sequential, callbacks
from pyburn import nn, train
from pyburn.train import Learner, Step

X = np.random.default_rng(0).standard_normal((32, 3)).astype(np.float32)
Y = (X @ np.array([[1.0], [-2.0], [0.5]], np.float32)).astype(np.float32)
BATCHES = [(pyburn.tensor(X[i : i + 8]), pyburn.tensor(Y[i : i + 8])) for i in range(0, 32, 8)]


def model(**compiled: Any) -> Any:
    pyburn.manual_seed(0)
    made = Sequential([Input((3,)), Dense(1)])
    made.compile(**{"optimizer": p_vision.SGD(0.1), "loss": "mse", **compiled})
    return made


def learner(**options: Any) -> Learner:
    pyburn.manual_seed(0)
    plain = nn.Linear(3, 1)
    return Learner(plain, pyburn.optim.SGD(plain.parameters(), lr=0.1), **{"loss": "mse", **options})


class Events(callbacks.Callback):
    def __init__(self) -> None:
        self.seen: list[Any] = []

    def on_train_begin(self, logs: Any = None) -> None:
        self.seen.append("begin")

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.seen.append((batch, sorted(logs)))

    def on_test_end(self, logs: Any = None) -> None:
        self.seen.append(("test", sorted(logs)))

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.seen.append((f"epoch {epoch}", sorted(logs)))

    def on_train_end(self, logs: Any = None) -> None:
        self.seen.append("end")


def test_a_callback_of_keras_sees_the_same_events_in_both() -> None:
    ours, keras = Events(), Events()
    learner(metrics=["mae"], callbacks=[ours]).fit(BATCHES, BATCHES, 2, display="quiet")
    model(metrics=["mae"]).fit(X, Y, batch_size=8, validation_data=(X, Y), epochs=2, verbose=0, callbacks=[keras])
    assert ours.seen == keras.seen
    assert keras.seen[:2] == ["begin", (0, ["loss", "mae"])] and keras.seen[-1] == "end"
    assert keras.seen[5:7] == [("test", ["loss", "mae"]), ("epoch 0", ["loss", "mae", "val_loss", "val_mae"])]


def test_callbacks_of_keras_act_on_a_learner() -> None:
    halve = callbacks.LearningRateScheduler(lambda epoch, rate: rate / 2)
    stop = callbacks.EarlyStopping("val_loss", patience=1, min_delta=1e9, restore_best_weights=True)
    trained = learner(callbacks=[halve, stop])
    history = trained.fit(BATCHES, BATCHES, 9, display="quiet")
    assert len(history) == 2 and history.stopped == "stop_training"
    assert history["train/learning_rate"] == pytest.approx([0.05, 0.025])
    assert trained.validate(BATCHES)["loss"] == pytest.approx(history["valid/loss"][0], rel=1e-5)  # the weights of the first epoch


def test_callbacks_of_keras_know_which_metrics_of_a_learner_should_rise() -> None:
    keep = callbacks.EarlyStopping("val_r2", patience=0, restore_best_weights=True)
    learner(metrics=["r2"], callbacks=[keep]).fit(BATCHES, BATCHES, 4, display="quiet")
    assert keep.best_epoch == 3 and keep.stopped_epoch == 0  # R² rises in each epoch


def test_callbacks_of_the_learner_act_on_a_model() -> None:
    stopping = train.EarlyStopping("valid/loss", patience=1, min_delta=1e9)
    events = Events()
    history = model().fit(X, Y, validation_data=(X, Y), epochs=9, verbose=0, callbacks=[stopping, events])
    assert history.epoch == [0, 1] and stopping.best_epoch == 1 and events.seen[-1] == "end"


class Largest(p_vision.Metric):
    def __init__(self, name: str = "largest") -> None:
        super().__init__(name=name)
        self.value = self.add_weight(name="value", initializer="zeros")

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        self.value.assign(pyburn.maximum(self.value.value, y_true.max()))

    def result(self) -> Any:
        return self.value


def test_metrics_of_either_work_in_both() -> None:
    both = [Largest(), p_vision.metrics.R2Score(name="r2"), p_vision.metrics.MeanAbsoluteError(name="mean_error")]
    values = learner(metrics=both).validate(BATCHES, progress=False)
    assert values["largest"] == pytest.approx(Y.max())
    ours = model(metrics=[*both, train.metrics.R2("ours"), train.metrics.MAE("mae")])
    found = ours.evaluate(X, Y, batch_size=8, verbose=0, return_dict=True)
    assert found["largest"] == pytest.approx(Y.max())
    assert found["r2"] == pytest.approx(found["ours"], rel=1e-5) and found["mean_error"] == pytest.approx(found["mae"], rel=1e-5)
    with pytest.raises(ValueError, match="takes no sample weights"):
        model(weighted_metrics=[train.metrics.MAE("mae")]).fit(X, Y, sample_weight=np.ones(32, np.float32), verbose=0)


def test_losses_are_found_by_name_and_by_class() -> None:
    by_class, by_name = learner(loss=nn.MSELoss), learner(loss="mse")
    assert by_class.validate(BATCHES, progress=False) == by_name.validate(BATCHES, progress=False)
    assert model(loss=nn.MSELoss).evaluate(X, Y, verbose=0) == pytest.approx(model(loss="mse").evaluate(X, Y, verbose=0), rel=1e-6)
    with pytest.raises(ValueError, match="unknown loss 'mes': did you mean 'mse'"):
        learner(loss="mes")
    with pytest.raises(TypeError, match="a loss is a function"):
        learner(loss=3)


def test_a_step_may_update_the_weights_itself() -> None:
    made = nn.Linear(3, 1)
    optimizer = pyburn.optim.SGD(made.parameters(), lr=0.1)
    seen: list[float] = []

    def step(module: Any, batch: Any) -> Step:
        loss = nn.functional.mse_loss(module(batch[0]), batch[1])
        if module.training:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        seen.append(loss.item())
        return Step(loss, updated=True, running=lambda: {"batches": float(len(seen))})

    trained = Learner(made, step=step)
    history = trained.fit(BATCHES, None, 3, display="quiet")
    assert history["train/batches"] == [4.0, 8.0, 12.0] and trained.state.step == 12
    assert history["train/loss"] == pytest.approx([np.mean(seen[i : i + 4]) for i in (0, 4, 8)], rel=1e-5)
    trained.step_function = lambda module, batch: nn.functional.mse_loss(module(batch[0]), batch[1])
    with pytest.raises(train.TrainingError, match="updated=True"):
        trained.fit(BATCHES, None, 1, display="quiet")


def test_stop_training_ends_the_epoch_as_keras_does() -> None:
    def stop(batch: int, logs: Any) -> None:
        made.stop_training = batch == 1

    made, events = model(), Events()
    given = [callbacks.LambdaCallback(on_train_batch_end=stop), events]
    history = made.fit(X, Y, batch_size=8, epochs=5, validation_data=(X, Y), verbose=0, callbacks=given)
    assert history.epoch == [0] and len(history.history["val_loss"]) == 1
    assert [item for item in events.seen if isinstance(item[0], int)] == [(0, ["loss"]), (1, ["loss"])] and events.seen[-1] == "end"


def test_only_epochs_of_the_frequency_are_validated() -> None:
    history = model().fit(X, Y, epochs=5, validation_data=(X, Y), validation_freq=2, verbose=0)
    assert len(history.history["val_loss"]) == 2 and len(history.history["loss"]) == 5


@pytest.fixture
def interrupts() -> Iterator[None]:
    """Lets SIGINT raise KeyboardInterrupt, also where the tests run in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_ends_fit_between_two_steps(interrupts: None) -> None:
    events = Events()
    interrupt = callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: os.kill(os.getpid(), signal.SIGINT) if batch == 1 else None)
    with pytest.raises(KeyboardInterrupt):
        model().fit(X, Y, batch_size=8, verbose=0, callbacks=[events, interrupt])
    assert events.seen == ["begin", (0, ["loss"]), (1, ["loss"])]  # without on_train_end, so that a backup is kept


def test_callbacks_run_in_inference_mode_between_passes() -> None:
    modes: list[bool] = []
    made = Sequential([Input((3,)), p_vision.Dropout(0.5), Dense(1)])
    made.compile("sgd", "mse")
    look = callbacks.LambdaCallback(
        on_epoch_begin=lambda epoch, logs: modes.append(made.layers[0].training),
        on_train_batch_end=lambda batch, logs: modes.append(made.layers[0].training),
        on_test_begin=lambda logs: modes.append(made.layers[0].training),
        on_epoch_end=lambda epoch, logs: modes.append(made.layers[0].training),
    )
    made.fit(X, Y, batch_size=32, validation_data=(X, Y), verbose=0, callbacks=look)
    assert modes == [False, True, False, False] and not made.layers[0].training


@pytest.mark.parametrize("name", ["model.keras", "model.h5"])
def test_names_of_keras_files_warn(name: str, tmp_path: Path) -> None:
    made = model()
    with pytest.warns(UserWarning, match=r"pyburn's format, which Keras does not read: name it \*\.pyburn"):
        made.save(tmp_path / name)
    np.testing.assert_array_equal(p_vision.load_model(tmp_path / name).predict(X, verbose=0), made.predict(X, verbose=0))


def test_logs_of_a_batch_are_those_of_the_epoch_so_far() -> None:
    losses: list[float] = []
    made = model(optimizer=p_vision.SGD(0.0))
    spy = callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: losses.append(logs["loss"]))
    made.fit(X, Y, batch_size=8, shuffle=False, verbose=0, callbacks=spy)
    squares = (made.predict(X, verbose=0) - Y)[:, 0] ** 2
    assert losses == pytest.approx([squares[:end].mean() for end in (8, 16, 24, 32)], rel=1e-4)


def test_a_model_of_p_vision_in_a_learner() -> None:
    pyburn.manual_seed(0)
    made = Sequential([Input((3,)), Dense(1)])
    halve = callbacks.LearningRateScheduler(lambda epoch, rate: rate / 2)
    trained = Learner(made, pyburn.optim.SGD(made.parameters(), lr=0.2), loss="mse", metrics=["mae"], callbacks=[halve])
    history = trained.fit(BATCHES, BATCHES, 2, display="quiet")
    assert history["train/learning_rate"] == pytest.approx([0.1, 0.05]) and history["valid/mae"][-1] < history["valid/mae"][0]
