"""The base class of callbacks, the list of callbacks of a run, and History."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Logs = dict[str, float]


class Callback:
    """Base class of callbacks; override the events you need. `self.model` is the model, `self.params` the options of `fit`."""

    model: Any = None
    params: dict[str, Any] = {}

    def set_model(self, model: Any) -> None:
        self.model = model

    def set_params(self, params: dict[str, Any]) -> None:
        self.params = params

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Called before the first epoch."""

    def on_train_end(self, logs: Logs | None = None) -> None:
        """Called after the last epoch."""

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        """Called before an epoch; epochs count from 0."""

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Called after an epoch and its validation."""

    def on_train_batch_begin(self, batch: int, logs: Logs | None = None) -> None:
        """Called before a training step."""

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Called after a training step."""

    def on_test_begin(self, logs: Logs | None = None) -> None:
        """Called before an evaluation."""

    def on_test_end(self, logs: Logs | None = None) -> None:
        """Called after an evaluation."""

    def on_test_batch_begin(self, batch: int, logs: Logs | None = None) -> None:
        """Called before an evaluation batch."""

    def on_test_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Called after an evaluation batch."""

    def on_predict_batch_begin(self, batch: int, logs: Logs | None = None) -> None:
        """Called before a prediction batch."""

    def on_predict_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Called after a prediction batch."""

    def on_predict_begin(self, logs: Logs | None = None) -> None:
        """Called before a prediction."""

    def on_predict_end(self, logs: Logs | None = None) -> None:
        """Called after a prediction."""


class Callbacks:
    """All callbacks of a run. Batch logs are computed only if a callback uses them, since that synchronizes with the device."""

    def __init__(self, callbacks: Any, model: Any, params: dict[str, Any], *own: Callback) -> None:
        given = callbacks if isinstance(callbacks, (list, tuple)) else [callbacks]
        self.items = [*given, *own]
        for callback in self.items:
            if isinstance(callback, type) or not hasattr(callback, "set_model"):
                raise TypeError(f"[fit] callbacks are objects of classes that derive from Callback: got {callback!r}")
            callback.set_model(model)
            callback.set_params(params)

    def call(self, event: str, *args: Any, logs: Logs | Callable[[], Logs] | None = None) -> None:
        """Calls `on_<event>` of all callbacks that define it."""
        name = f"on_{event}"
        wanted = [c for c in self.items if getattr(type(c), name, None) is not getattr(Callback, name) or name in vars(c)]
        if wanted:
            found = logs() if callable(logs) else logs
            for callback in wanted:
                getattr(callback, name)(*args, found if found is not None else {})


class History(Callback):
    """The result of `fit`: `history` maps each name to its values, one per epoch."""

    def __init__(self) -> None:
        self.history: dict[str, list[float]] = {}
        self.epoch: list[int] = []

    def on_train_begin(self, logs: Logs | None = None) -> None:
        self.history, self.epoch = {}, []

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)

    def __repr__(self) -> str:
        last = ", ".join(f"{name}={values[-1]:.4g}" for name, values in self.history.items())
        return f"<History of {len(self.epoch)} epochs{': ' + last if last else ''}>"
