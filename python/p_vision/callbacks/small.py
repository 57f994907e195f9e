"""LearningRateScheduler, CSVLogger, TerminateOnNaN and LambdaCallback."""

from __future__ import annotations

import csv
import io
import math
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyburn.train.run.append_file import AppendFile

from .callback import Callback, Logs


@dataclass(eq=False)
class LearningRateScheduler(Callback):
    """Sets the learning rate before each epoch.

    Args:
        schedule: A function of the epoch and the current rate, or of the epoch alone, that returns the rate.
        verbose: Whether to print the rate.

    >>> p_vision.LearningRateScheduler(lambda epoch, rate: rate * 0.9).verbose
    0
    """

    schedule: Callable[..., float]
    verbose: int = 0

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        optimizer = self.model.optimizer
        try:
            rate = self.schedule(epoch, float(optimizer.learning_rate))
        except TypeError:
            rate = self.schedule(epoch)
        optimizer.learning_rate = float(rate)
        if self.verbose:
            print(f"Epoch {epoch + 1}: the learning rate is {float(rate):.6g}")

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        if logs is not None:
            logs["learning_rate"] = float(self.model.optimizer.learning_rate)


class CSVLogger(Callback):
    """Writes one line per epoch to a CSV file. Only complete lines are written; if the disk is full, they are retried with the next one.

    Args:
        filename: The file.
        separator: The separator.
        append: Whether to continue an existing file.

    >>> p_vision.CSVLogger("log.csv").separator
    ','
    """

    def __init__(self, filename: str | os.PathLike[str], separator: str = ",", append: bool = False) -> None:
        self.filename, self.separator, self.append = os.fspath(filename), separator, append
        self._names: list[str] | None = None
        self._file = AppendFile(self.filename)

    def on_train_begin(self, logs: Logs | None = None) -> None:
        end = 0
        if self.append and os.path.exists(self.filename):
            with open(self.filename, "rb") as file:
                end = file.read().rfind(b"\n") + 1  # a killed process may leave an incomplete line
        with open(self.filename, "ab") as file:
            file.truncate(end)
        self._names, self._has_header = None, end > 0

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        logs = logs or {}
        text = io.StringIO(newline="")
        writer = csv.writer(text, delimiter=self.separator)
        if self._names is None:
            self._names = sorted(logs)
            if not self._has_header:
                writer.writerow(["epoch", *self._names])
        writer.writerow([epoch, *(logs.get(name, "NA") for name in self._names)])
        self._file.add(text.getvalue().encode())
        self._flush()

    def on_train_end(self, logs: Logs | None = None) -> None:
        self._flush()

    def _flush(self) -> None:
        error = self._file.flush()
        if error is not None:
            warnings.warn(f"[CSVLogger] {self.filename} cannot be written: {error}. The lines wait for the next epoch", stacklevel=2)


class TerminateOnNaN(Callback):
    """Stops training if the loss is NaN or infinite.

    Args:
        raise_error: Whether to raise RuntimeError instead; then `on_train_end` is not called.

    >>> p_vision.TerminateOnNaN().raise_error
    False
    """

    def __init__(self, raise_error: bool = False) -> None:
        self.raise_error = raise_error

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        loss = (logs or {}).get("loss", 0.0)
        if not math.isfinite(loss):
            if self.raise_error:
                raise RuntimeError(f"[TerminateOnNaN] the loss of batch {batch} is {loss}")
            print(f"Batch {batch}: the loss is {loss}, training stops")
            self.model.stop_training = True


class LambdaCallback(Callback):
    """Creates a callback from functions.

    Args:
        **functions: The functions by event, such as on_epoch_end.

    Raises:
        TypeError: There is no such event.

    >>> p_vision.LambdaCallback(on_epoch_end=lambda epoch, logs: print(epoch, logs)).on_epoch_end(0, {"loss": 0.5})
    0 {'loss': 0.5}
    """

    def __init__(self, **functions: Callable[..., Any]) -> None:
        for name, function in functions.items():
            if not (name.startswith("on_") and hasattr(Callback, name)):
                known = ", ".join(n for n in dir(Callback) if n.startswith("on_"))
                raise TypeError(f"[LambdaCallback] there is no {name!r} (known: {known})")
            if function is not None:
                setattr(self, name, function)
