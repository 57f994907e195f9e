"""Progress displays: a bar on a terminal, lines in a log file, the dashboard, or nothing."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TextIO

from .._progress import Output, bar_text, duration, value_text
from .callbacks import Callback

if TYPE_CHECKING:
    from .learner import Learner

_REDRAW_SECONDS = 0.1
_LINE_SECONDS = 30.0
_MOST_SHARE = 20  # values over the epoch so far are computed at most in 1/20 of the time
NAMES = ("auto", "notebook", "dashboard", "bar", "lines", "quiet")


def display_for(wanted: Any) -> Callback | None:
    """Returns the display for a name.

    Args:
        wanted: "notebook", "dashboard", "bar", "lines", "quiet", "auto" or a callback. "auto" is a chart in a notebook, the dashboard on a
            terminal if textual is installed, the bar on a terminal without it, and lines elsewhere. The environment variable
            PYBURN_DISPLAY overrides "auto".

    Raises:
        ValueError: The name is unknown.
    """
    if wanted is None or isinstance(wanted, Callback):
        return wanted
    if wanted == "auto":
        wanted = os.environ.get("PYBURN_DISPLAY", "auto")
    if wanted not in NAMES:
        raise ValueError(f"[display] expected one of {', '.join(NAMES)}, or a callback: got {wanted!r}")
    if wanted in ("auto", "notebook"):
        from .notebook import NotebookProgress, in_notebook

        if wanted == "notebook" or in_notebook():
            return NotebookProgress()
    if wanted == "auto":
        terminal = Output(sys.stderr).isatty() and Output(sys.stdout).isatty() and os.environ.get("TERM", "dumb") != "dumb"
        wanted = "lines" if not terminal else "dashboard" if importlib.util.find_spec("textual") is not None else "bar"
    if wanted == "dashboard":
        from .terminal import TerminalDashboard

        return TerminalDashboard()
    return {"bar": ProgressBar, "lines": ProgressLines, "quiet": Quiet}[wanted]()


class Pace:
    """Measures progress and estimates the remaining time of one call of fit."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._first: float | None = None

    @property
    def started(self) -> bool:
        return self._first is not None

    def done(self, learner: Learner) -> float | None:
        """Returns the completed fraction of all batches, or None if the total is unknown."""
        state = learner.state
        if not state.epochs or not state.batches:
            return None
        return min(1.0, (state.epoch - 1 + state.batch / state.batches) / state.epochs)

    def remaining(self, learner: Learner) -> float | None:
        """Returns the estimated remaining seconds, or None if there is no estimate yet."""
        done = self.done(learner)
        if done is None:
            return None
        if self._first is None:
            self._first, self._started = done, time.monotonic()
            return None
        made = done - self._first
        return (time.monotonic() - self._started) * (1 - done) / made if made > 0 else None


class Quiet(Callback):
    """Prints messages only, such as how to resume or what failed.

    Args:
        file: The stream to print to; None for standard error.

    >>> learner.fit(data, epochs=1, display=pyburn.train.Quiet())  # doctest: +SKIP
    """

    def __init__(self, file: TextIO | None = None) -> None:
        self.file = Output(file if file is not None else sys.stderr)

    def on_message(self, learner: Learner, text: str) -> None:
        print(text, file=self.file, flush=True)


class ProgressLines(Quiet):
    """Prints a line per epoch, and one every 30 seconds within an epoch. For log files.

    Args:
        file: The stream to print to; None for standard error.

    >>> learner.fit(data, epochs=1, display="lines")  # doctest: +SKIP
    """

    def __init__(self, file: TextIO | None = None) -> None:
        super().__init__(file)
        self._pace, self._last = Pace(), time.monotonic()

    def on_fit_start(self, learner: Learner) -> None:
        self._pace, self._last = Pace(), time.monotonic()

    def on_batch_end(self, learner: Learner) -> None:
        if not self._pace.started:
            self._pace.remaining(learner)
        if time.monotonic() - self._last >= _LINE_SECONDS:
            self._last = time.monotonic()
            state = learner.state
            where = f"epoch {state.epoch} batch {state.batch}" + (f"/{state.batches}" if state.batches else "")
            self._print(learner, where, split_text("train", state.running()))

    def on_epoch_end(self, learner: Learner) -> None:
        self._last = time.monotonic()
        state = learner.state
        of = f"/{state.epochs}" if state.epochs else ""
        self._print(learner, f"epoch {state.epoch}{of}", epoch_text(learner))

    def _print(self, learner: Learner, where: str, text: str) -> None:
        left = self._pace.remaining(learner)
        print(f"{where}  {text}" + (f"  {duration(left)} left" if left else ""), file=self.file, flush=True)


def epoch_text(learner: Learner) -> str:
    """Formats the values of the epoch by split: `train: loss 0.5000, accuracy 0.8000   valid: loss 0.6000, accuracy 0.7500`."""
    splits: dict[str, dict[str, float]] = {}
    for key, value in (learner.history.rows[-1] if learner.history.rows else {}).items():
        split, _, name = key.partition("/")
        if name:
            splits.setdefault(split, {})[name] = value
    return "   ".join(split_text(split, values) for split, values in splits.items())


def split_text(split: str, values: Mapping[str, float]) -> str:
    """Formats the values of a split.

    >>> pyburn.train.displays.split_text("valid", {"loss": 0.25, "accuracy": 0.5})
    'valid: loss 0.2500, accuracy 0.5000'
    """
    return f"{split}: " + ", ".join(value_text(name, value) for name, value in values.items())


class RunningValues:
    """The values of the current pass so far, computed again only when a display may redraw, and only as often as they are cheap."""

    def __init__(self) -> None:
        self._next = 0.0
        self.batches = 0  # of a validation

    def due(self) -> bool:
        """Returns whether a display should redraw."""
        return time.monotonic() >= self._next

    def read(self, learner: Learner) -> dict[str, float]:
        """Returns the values; they are read from the device."""
        start = time.monotonic()
        values = learner.state.running()
        self._next = time.monotonic() + max(_REDRAW_SECONDS, _MOST_SHARE * (time.monotonic() - start))
        return values


class ProgressBar(ProgressLines):
    """Draws a progress bar for the current epoch, with the values so far, and prints a line for each completed epoch.

    Args:
        file: The stream to print to; None for standard error.

    >>> learner.fit(data, epochs=1, display="bar")  # doctest: +SKIP
    """

    def __init__(self, file: TextIO | None = None) -> None:
        super().__init__(file)
        self._values, self._shown = RunningValues(), False

    def on_batch_end(self, learner: Learner) -> None:
        if self._values.due():
            state = learner.state
            self._draw(learner, state.batch, state.batches, "train")

    def on_validation_start(self, learner: Learner) -> None:
        self._values.batches = 0

    def on_validation_batch_end(self, learner: Learner) -> None:
        self._values.batches += 1
        if self._values.due():
            self._draw(learner, self._values.batches, None, "valid")

    def _draw(self, learner: Learner, batch: int, batches: int | None, split: str) -> None:
        state, left = learner.state, self._pace.remaining(learner)
        text = f" {batch}" + (f"/{batches}" if batches else "") + f"  {split_text(split, self._values.read(learner))}"
        text += f"  {duration(left)} left" if left is not None else ""
        head = f"epoch {state.epoch}" + (f"/{state.epochs}" if state.epochs else "") + " "
        columns = shutil.get_terminal_size().columns
        room = min(40, columns - len(head) - len(text) - 1)
        bar = bar_text(batch / batches, room) if batches and room >= 8 else ""
        self.file.write("\r\x1b[2K" + (head + bar + text)[: columns - 1])
        self.file.flush()
        self._shown = True

    def _clear(self) -> None:
        if self._shown:
            self.file.write("\r\x1b[2K")
            self._shown = False

    def _print(self, learner: Learner, where: str, text: str) -> None:
        self._clear()
        super()._print(learner, where, text)

    def on_message(self, learner: Learner, text: str) -> None:
        self._clear()
        super().on_message(learner, text)

    def on_error(self, learner: Learner, error: BaseException) -> None:
        self._clear()

    def on_fit_end(self, learner: Learner) -> None:
        self._clear()
        self.file.flush()
