"""The base class of callbacks with Keras's hooks, and History."""

from __future__ import annotations

from typing import Any, ClassVar

from .adapter import KerasCallbacks

Logs = dict[str, float]


class Callback:
    """Base class of callbacks; override the events you need. `self.model` is the model, `self.params` the options of `fit`.

    A `pyburn.train.Learner` accepts these callbacks, too.

    >>> class Loud(p_vision.Callback):
    ...     def on_epoch_end(self, epoch, logs=None):
    ...         print("epoch", epoch, sorted(logs))
    >>> model = p_vision.Sequential([p_vision.Input((2,)), p_vision.Dense(1)])
    >>> model.compile("sgd", "mse")
    >>> history = model.fit(pyburn.ones(4, 2), pyburn.ones(4, 1), epochs=2, verbose=0, callbacks=[Loud()])
    epoch 0 ['loss']
    epoch 1 ['loss']
    """

    learner_adapter: ClassVar[Any] = KerasCallbacks
    model: Any = None
    params: dict[str, Any] = {}

    def set_model(self, model: Any) -> None:
        self.model = model

    def set_params(self, params: dict[str, Any]) -> None:
        self.params = params

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Called before the first epoch.

        Args:
            logs: The values of the losses and metrics so far, by name; Keras's callbacks may add to them.
        """

    def on_train_end(self, logs: Logs | None = None) -> None:
        """Called after the last epoch.

        Args:
            logs: The values of the losses and metrics so far, by name; Keras's callbacks may add to them.
        """

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        """Called before an epoch; epochs count from 0.

        Args:
            epoch: The index of the epoch, from 0.
            logs: The values of the losses and metrics so far, by name; Keras's callbacks may add to them.
        """

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Called after an epoch and its validation.

        Args:
            epoch: The index of the epoch, from 0.
            logs: The values of the losses and metrics so far, by name; Keras's callbacks may add to them.
        """

    def on_train_batch_begin(self, batch: int, logs: Logs | None = None) -> None:
        """Called before a training step.

        Args:
            batch: The index of the batch, from 0.
            logs: The values of the losses and metrics so far, by name; Keras's callbacks may add to them.
        """

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Called after a training step.

        Args:
            batch: The index of the batch, from 0.
            logs: The values of the losses and metrics so far, by name; Keras's callbacks may add to them.
        """

    def on_test_begin(self, logs: Logs | None = None) -> None:
        """Called before an evaluation.

        Args:
            logs: The values of the losses and metrics so far, by name; Keras's callbacks may add to them.
        """

    def on_test_end(self, logs: Logs | None = None) -> None:
        """Called after an evaluation.

        Args:
            logs: The values of the losses and metrics so far, by name; Keras's callbacks may add to them.
        """

    def on_test_batch_begin(self, batch: int, logs: Logs | None = None) -> None:
        """Called before a evaluation batch.

        Args:
            batch: The index of the batch, from 0.
            logs: The values of the losses and metrics so far, by name; Keras's callbacks may add to them.
        """

    def on_test_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Called after a evaluation batch.

        Args:
            batch: The index of the batch, from 0.
            logs: The values of the losses and metrics so far, by name; Keras's callbacks may add to them.
        """

    def on_predict_batch_begin(self, batch: int, logs: Logs | None = None) -> None:
        """Called before a prediction batch.

        Args:
            batch: The index of the batch, from 0.
            logs: The values of the losses and metrics so far, by name; Keras's callbacks may add to them.
        """

    def on_predict_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Called after a prediction batch.

        Args:
            batch: The index of the batch, from 0.
            logs: The values of the losses and metrics so far, by name; Keras's callbacks may add to them.
        """

    def on_predict_begin(self, logs: Logs | None = None) -> None:
        """Called before a prediction.

        Args:
            logs: The values of the losses and metrics so far, by name; Keras's callbacks may add to them.
        """

    def on_predict_end(self, logs: Logs | None = None) -> None:
        """Called after a prediction.

        Args:
            logs: The values of the losses and metrics so far, by name; Keras's callbacks may add to them.
        """


class History(Callback):
    """The result of `fit`: `history` maps each name to its values, one per epoch; `epoch` lists the epochs.

    >>> p_vision.History()
    <History of 0 epochs>
    """

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
