"""Callbacks that monitor a value: EarlyStopping, ModelCheckpoint, ReduceLROnPlateau."""

from __future__ import annotations

import math
import os
import warnings
from dataclasses import dataclass

from pyburn.train.callbacks import better

from .callback import Callback, Every, Logs

_RISING = ("acc", "accuracy", "auc", "precision", "recall", "f1_score", "iou")  # names of custom metrics that should increase


class _Monitor(Callback):
    """Base class: monitors a value for improvement."""

    monitor: str
    mode: str
    min_delta: float = 0.0
    best: float | None = None

    def __post_init__(self) -> None:
        if self.mode not in ("auto", "min", "max"):
            raise ValueError(f"[{type(self).__name__}] mode must be 'auto', 'min' or 'max': got {self.mode!r}")
        self.min_delta = abs(self.min_delta)

    @property
    def _sign(self) -> float:
        """Returns 1 if higher is better, else -1: from the mode, the metric of that name, or the name itself."""
        if self.mode != "auto":
            return 1.0 if self.mode == "max" else -1.0
        name = self.monitor.removeprefix("val_")
        known = [metric for found, metric in getattr(self.model, "_named_metrics", list)() if found == name]
        higher = getattr(known[0], "higher_is_better", None) if known else None
        return 1.0 if higher or (higher is None and name.endswith(_RISING)) else -1.0

    def value(self, logs: Logs | None) -> float | None:
        """Returns the monitored value. Warns and returns None if it is missing, as in epochs without validation."""
        found = (logs or {}).get(self.monitor)
        if found is None:
            there = ", ".join(logs or {})
            warnings.warn(f"[{type(self).__name__}] there is no {self.monitor!r} to watch: this epoch has {there}", stacklevel=2)
        return found

    def improved(self, value: float) -> bool:
        return better(value, math.nan if self.best is None else self.best, self._sign > 0, self.min_delta)


@dataclass(eq=False)
class EarlyStopping(_Monitor):
    """Stops training if a monitored value has not improved for `patience` epochs.

    Args:
        monitor: The name of the value in the logs.
        min_delta: The least change that counts as an improvement.
        patience: The number of epochs without an improvement before training stops.
        verbose: Whether to print a message (1) or not (0).
        mode: "min", "max", or "auto", which follows the metric.
        baseline: A value to reach; without that, training stops after patience epochs.
        restore_best_weights: Whether to restore the weights of the best epoch.
        start_from_epoch: The first epoch that counts.

    Raises:
        ValueError: The mode is unknown.

    >>> p_vision.EarlyStopping(patience=3, restore_best_weights=True).monitor
    'val_loss'
    """

    monitor: str = "val_loss"
    min_delta: float = 0
    patience: int = 0
    verbose: int = 0
    mode: str = "auto"
    baseline: float | None = None
    restore_best_weights: bool = False
    start_from_epoch: int = 0

    def on_train_begin(self, logs: Logs | None = None) -> None:
        self.best, self.best_epoch, self.best_weights, self._waited, self.stopped_epoch = None, 0, None, 0, 0

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        value = self.value(logs)
        if value is None or epoch < self.start_from_epoch:
            return
        self._waited += 1
        if self.improved(value):
            self.best, self.best_epoch = value, epoch
            if self.restore_best_weights:
                self.best_weights = self.model.get_weights()
            if self.baseline is None or self._sign * (value - self.baseline) > self.min_delta:
                self._waited = 0
        elif self._waited >= self.patience and epoch > 0:
            self.stopped_epoch = epoch
            self.model.stop_training = True

    def on_train_end(self, logs: Logs | None = None) -> None:
        if self.stopped_epoch and self.verbose:
            print(f"Epoch {self.stopped_epoch + 1}: early stopping")
        if self.restore_best_weights and self.best_weights is not None:
            self.model.set_weights(self.best_weights)


@dataclass(eq=False)
class ModelCheckpoint(_Monitor):
    """Saves the model after epochs, or after a number of batches.

    Args:
        filepath: The path, such as "{epoch:02d}-{val_loss:.3f}.pyburn", which is filled in from the logs.
        monitor: The name of the value in the logs.
        verbose: Whether to print a message (1) or not (0).
        save_best_only: Whether to save only if the monitored value has improved.
        save_weights_only: Whether to save the weights instead of the model.
        mode: "min", "max", or "auto", which follows the metric.
        save_freq: "epoch", or a number of batches.
        initial_value_threshold: The value to improve on first.

    Raises:
        ValueError: The mode or the frequency is unknown.

    >>> p_vision.ModelCheckpoint("best.pyburn", save_best_only=True).filepath
    'best.pyburn'
    """

    filepath: str | os.PathLike[str]
    monitor: str = "val_loss"
    verbose: int = 0
    save_best_only: bool = False
    save_weights_only: bool = False
    mode: str = "auto"
    save_freq: str | int = "epoch"
    initial_value_threshold: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.filepath, self.best = os.fspath(self.filepath), self.initial_value_threshold
        self._due, self._epoch = Every(self.save_freq), 0

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        self._epoch = epoch

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        if self._due.after_batch():
            self._save(logs or {})

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        if self.save_freq == "epoch":
            self._save(logs or {})

    def _save(self, logs: Logs) -> None:
        if self.save_best_only:
            value = self.value(logs)
            if value is None or not self.improved(value):
                return
            self.best = value
        path = str(self.filepath).format(epoch=self._epoch + 1, **logs)
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        (self.model.save_weights if self.save_weights_only else self.model.save)(path)
        if self.verbose:
            print(f"Epoch {self._epoch + 1}: saved the model to {path}")


@dataclass(eq=False)
class ReduceLROnPlateau(_Monitor):
    """Reduces the learning rate if a monitored value has not improved for `patience` epochs.

    Args:
        monitor: The name of the value in the logs.
        factor: The learning rate is multiplied by it.
        patience: The number of epochs without an improvement.
        verbose: Whether to print a message (1) or not (0).
        mode: "min", "max", or "auto", which follows the metric.
        min_delta: The least change that counts as an improvement.
        cooldown: The number of epochs to wait after a reduction.
        min_lr: The lowest learning rate.

    Raises:
        ValueError: The mode is unknown, or factor is not below 1.

    >>> p_vision.ReduceLROnPlateau(factor=0.5).patience
    10
    """

    monitor: str = "val_loss"
    factor: float = 0.1
    patience: int = 10
    verbose: int = 0
    mode: str = "auto"
    min_delta: float = 1e-4
    cooldown: int = 0
    min_lr: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.factor >= 1:
            raise ValueError(f"[ReduceLROnPlateau] factor must be below 1: got {self.factor}")

    def on_train_begin(self, logs: Logs | None = None) -> None:
        self.best, self._waited, self._resting = None, 0, 0

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        value, optimizer = self.value(logs), self.model.optimizer
        if logs is not None:
            logs["learning_rate"] = float(optimizer.learning_rate)
        if value is None:
            return
        if self._resting:
            self._resting -= 1
            self._waited = 0
        if self.improved(value):
            self.best, self._waited = value, 0
        elif not self._resting:
            self._waited += 1
            if self._waited >= self.patience and float(optimizer.learning_rate) > self.min_lr:
                optimizer.learning_rate = max(float(optimizer.learning_rate) * self.factor, self.min_lr)
                self._waited, self._resting = 0, self.cooldown
                if self.verbose:
                    print(f"Epoch {epoch + 1}: the learning rate is reduced to {optimizer.learning_rate:.6g}")
