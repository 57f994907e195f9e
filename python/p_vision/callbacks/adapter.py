"""Callbacks with Keras's hooks at the events of a `pyburn.train.Learner`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pyburn import train

from ..weights import WeightMethods


class KerasCallbacks(train.Callback):
    """Calls callbacks with Keras's hooks. They share the logs of an event, as in Keras.

    Logs of batches are computed only if a callback uses them, since that synchronizes with the device.

    Args:
        callbacks: The callbacks.
        params: The options of `fit`, for `callback.params`.

    >>> len(p_vision.callbacks.KerasCallbacks([p_vision.History()]).callbacks)
    1
    """

    def __init__(self, callbacks: Sequence[Any], params: dict[str, Any] | None = None) -> None:
        self.callbacks, self.params = list(callbacks), params
        self._functions: dict[str, list[Callable[..., Any]]] = {}  # by event
        self.model: Any = None
        self._done = 0  # batches of an evaluation or prediction
        self._failed = False
        self._logs: dict[str, float] = {}  # of the last epoch

    def call(self, event: str, *args: Any, logs: Callable[[], dict[str, float]] | dict[str, float] | None = None) -> None:
        """Calls `on_<event>` of all callbacks that define it.

        Args:
            event: The name of the event, such as epoch_end.
            *args: Its arguments, such as the epoch.
            logs: The logs, or a function that returns them, which is called only if a callback needs them.
        """
        functions = self._functions.get(event)
        if functions is None:
            functions = self._functions[event] = list(self._defined(f"on_{event}"))
        if functions:
            found = logs() if callable(logs) else logs
            for function in functions:
                function(*args, found if found is not None else {})

    def _defined(self, name: str) -> Iterator[Callable[..., Any]]:
        from .callback import Callback

        default = getattr(Callback, name)
        for callback in self.callbacks:
            if getattr(type(callback), name, default) is not default or name in vars(callback):
                yield getattr(callback, name)

    def model_of(self, learner: Any) -> Any:
        """Returns what callbacks get as their model.

        Args:
            learner: The learner.
        """
        return LearnerModel(learner)

    def _begin(self, learner: Any) -> None:
        if self.model is not None:
            return
        self.model = self.model_of(learner)
        params = self.params or {"epochs": learner.state.epochs, "steps": learner.state.batches, "verbose": 0}
        for callback in self.callbacks:
            callback.set_model(self.model)
            callback.set_params(params)

    # ---- training

    def on_fit_start(self, learner: Any) -> None:
        self.model = None
        self._begin(learner)
        self.model.stop_training, self._failed = False, False
        self.call("train_begin")

    def on_epoch_start(self, learner: Any) -> None:
        self.call("epoch_begin", learner.state.epoch - 1)

    def on_batch_start(self, learner: Any) -> None:
        self.call("train_batch_begin", learner.state.batch)

    def on_batch_end(self, learner: Any) -> None:
        self.call("train_batch_end", learner.state.batch - 1, logs=learner.state.running)
        learner.state.epoch_over = learner.state.epoch_over or self.model.stop_training

    def on_epoch_end(self, learner: Any) -> None:
        self._logs = epoch_logs(learner)
        self.call("epoch_end", learner.state.epoch - 1, logs=self._logs)
        learner.history.add(learner.state.epoch, {_learner_name(name): value for name, value in self._logs.items()})
        if self.model.stop_training:
            learner.stop("stop_training")

    def on_error(self, learner: Any, error: BaseException) -> None:
        self._failed = True

    def on_fit_end(self, learner: Any) -> None:
        if not self._failed and not learner.stop_request.signal:  # as in Keras, so that BackupAndRestore keeps its files
            self.call("train_end", logs=self._logs)

    # ---- evaluation and prediction

    def on_validation_start(self, learner: Any) -> None:
        self._begin(learner)
        self._done = 0
        self.call("test_begin")

    def on_validation_batch_start(self, learner: Any) -> None:
        self.call("test_batch_begin", self._done)

    def on_validation_batch_end(self, learner: Any) -> None:
        self.call("test_batch_end", self._done, logs=learner.state.running)
        self._done += 1

    def on_validation_end(self, learner: Any) -> None:
        self.call("test_end", logs=learner.state.running)

    def on_predict_start(self, learner: Any) -> None:
        self._begin(learner)
        self._done = 0
        self.call("predict_begin")

    def on_predict_batch_start(self, learner: Any) -> None:
        self.call("predict_batch_begin", self._done)

    def on_predict_batch_end(self, learner: Any) -> None:
        self.call("predict_batch_end", self._done, logs={"outputs": learner.state.result.output})
        self._done += 1

    def on_predict_end(self, learner: Any) -> None:
        self.call("predict_end")


class LearnerModel(WeightMethods):
    """The model of a Learner with the attributes that Keras's callbacks use: weights, `optimizer.learning_rate` and `stop_training`."""

    stop_training = False

    def __init__(self, learner: Any) -> None:
        self._learner = learner
        self.optimizer = _LearningRate(learner.optimizer)

    def _named_metrics(self) -> list[tuple[str, Any]]:
        return list(self._learner.metrics.items())

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_learner"].model, name)


class _LearningRate:
    """An optimizer of pyburn.optim with the attribute `learning_rate`."""

    use_ema = False

    def __init__(self, optimizer: Any) -> None:
        self._optimizer = optimizer

    @property
    def learning_rate(self) -> float:
        return float(self._optimizer.param_groups[0]["lr"])

    @learning_rate.setter
    def learning_rate(self, value: float) -> None:
        for group in self._optimizer.param_groups:
            group["lr"] = float(value)


def epoch_logs(learner: Any) -> dict[str, float]:
    """Returns the values of the epoch under Keras's names: "valid/loss" is "val_loss"."""
    rows = learner.history.rows
    row = rows[-1] if rows and rows[-1]["epoch"] == learner.state.epoch else {}
    parts = [(*name.partition("/")[::2], value) for name, value in row.items() if name != "epoch"]
    return {name if split == "train" else f"val_{name}": value for split, name, value in parts}


def _learner_name(name: str) -> str:
    return f"valid/{name.removeprefix('val_')}" if name.startswith("val_") else f"train/{name}"
