"""The base class of callbacks with Keras's hooks, and History."""

from __future__ import annotations

from typing import Any, ClassVar

from .adapter import KerasCallbacks

Logs = dict[str, float]


class Callback:
    """Base class of callbacks; override the events you need. `self.model` is the model, `self.params` the options of `fit`.

    A `pyburn.train.Learner` accepts these callbacks, too.
    """

    learner_adapter: ClassVar[Any] = KerasCallbacks
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


class Every:
    """Counts batches, and says after which ones something is due: after every `freq`, or after none if it is "epoch"."""

    def __init__(self, freq: Any) -> None:
        if freq != "epoch" and not (isinstance(freq, int) and freq > 0):
            raise ValueError(f"the frequency (save_freq, update_freq) must be 'epoch' or a number of batches: got {freq!r}")
        self.freq, self.batches = freq, 0

    def after_batch(self) -> bool:
        """Counts a batch and returns whether it is due."""
        self.batches += 1
        return self.freq != "epoch" and self.batches % self.freq == 0
