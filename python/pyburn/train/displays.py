"""Progress displays: a bar on a terminal, lines in a log file, the dashboard, or nothing."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import time
from typing import TYPE_CHECKING, Any, TextIO

from .._progress import Output, bar_text, duration
from .callbacks import Callback

if TYPE_CHECKING:
    from .learner import Learner

_REDRAW_SECONDS = 0.1
_LINE_SECONDS = 30.0
NAMES = ("auto", "dashboard", "bar", "lines", "quiet")


def display_for(wanted: Any) -> Callback | None:
    """Returns the display for a name.

    Args:
        wanted: "dashboard", "bar", "lines", "quiet", "auto" or a callback. "auto" is the dashboard on a terminal if textual is
            installed, the bar on a terminal without it, and lines elsewhere. The environment variable PYBURN_DISPLAY overrides "auto".

    Raises:
        ValueError: The name is unknown.
    """
    if wanted is None or isinstance(wanted, Callback):
        return wanted
    if wanted == "auto":
        wanted = os.environ.get("PYBURN_DISPLAY", "auto")
    if wanted not in NAMES:
        raise ValueError(f"[display] expected one of {', '.join(NAMES)}, or a callback: got {wanted!r}")
    if wanted == "auto":
        terminal = Output(sys.stderr).isatty() and Output(sys.stdout).isatty() and os.environ.get("TERM", "dumb") != "dumb"
        wanted = "lines" if not terminal else "dashboard" if importlib.util.find_spec("textual") is not None else "bar"
    if wanted == "dashboard":
        from .terminal import TerminalDashboard

        return TerminalDashboard()
    return {"bar": ProgressBar, "lines": ProgressLines, "quiet": Quiet}[wanted]()


def value_text(name: str, value: float) -> str:
    """Formats a name and a number briefly.

    >>> [pyburn.train.displays.value_text("loss", x) for x in (0.25, 0.00004, 123456.0)]
    ['loss 0.2500', 'loss 4.0e-05', 'loss 1.2346e+05']
    """
    return f"{name} {value:.1e}" if abs(value) < 1e-3 and value else f"{name} {value:.4f}" if abs(value) < 1000 else f"{name} {value:.5g}"


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
    """

    def __init__(self, file: TextIO | None = None) -> None:
        self.file = Output(file if file is not None else sys.stderr)

    def on_message(self, learner: Learner, text: str) -> None:
        print(text, file=self.file, flush=True)


class ProgressLines(Quiet):
    """Prints a line per epoch, and one every 30 seconds within an epoch. For log files.

    Args:
        file: The stream to print to; None for standard error.
    """

    def __init__(self, file: TextIO | None = None) -> None:
        super().__init__(file)
        self._pace, self._last = Pace(), time.monotonic()

    def on_fit_start(self, learner: Learner) -> None:
        self._pace, self._last = Pace(), time.monotonic()

    def on_batch_end(self, learner: Learner) -> None:
        if not self._pace.started:
            self._pace.remaining(learner)
        now = time.monotonic()
        if now - self._last >= _LINE_SECONDS:
            self._last = now
            state = learner.state
            where = f"epoch {state.epoch} batch {state.batch}" + (f"/{state.batches}" if state.batches else "")
            self._print(learner, where, value_text("loss", state.values["train/loss"]))

    def on_epoch_end(self, learner: Learner) -> None:
        self._last = time.monotonic()
        state = learner.state
        of = f"/{state.epochs}" if state.epochs else ""
        self._print(learner, f"epoch {state.epoch}{of}", epoch_text(learner))

    def _print(self, learner: Learner, where: str, text: str) -> None:
        left = self._pace.remaining(learner)
        print(f"{where}  {text}" + (f"  {duration(left)} left" if left else ""), file=self.file, flush=True)


def epoch_text(learner: Learner) -> str:
    """Formats the values of the epoch: `loss 0.5 / 0.6` is training / validation."""
    rows = learner.history.rows
    row = {key: value for key, value in (rows[-1] if rows else {}).items() if key != "epoch"}
    names = list(dict.fromkeys(key.partition("/")[2] for key in row))
    parts = []
    for name in names:
        values = [row[f"{split}/{name}"] for split in ("train", "valid") if f"{split}/{name}" in row]
        texts = [value_text("", value).strip() for value in values]
        parts.append(f"{name} {' / '.join(texts)}")
    return "  ".join(parts)


class ProgressBar(ProgressLines):
    """Draws a progress bar for the current epoch and prints a line for each completed epoch.

    Args:
        file: The stream to print to; None for standard error.
    """

    def __init__(self, file: TextIO | None = None) -> None:
        super().__init__(file)
        self._drawn = 0.0
        self._shown = False

    def on_batch_end(self, learner: Learner) -> None:
        if time.monotonic() - self._drawn >= _REDRAW_SECONDS:
            self._draw(learner)

    def on_validation_batch_end(self, learner: Learner) -> None:
        if time.monotonic() - self._drawn >= _REDRAW_SECONDS:
            self._draw(learner, "validating")

    def _draw(self, learner: Learner, doing: str = "") -> None:
        self._drawn = time.monotonic()
        state, left = learner.state, self._pace.remaining(learner)
        of = f"/{state.epochs}" if state.epochs else ""
        text = f" {state.batch}" + (f"/{state.batches}" if state.batches else "")
        text += f"  {value_text('loss', state.values.get('train/loss', state.loss))}"
        text += f"  {duration(left)} left" if left is not None else ""
        text += f"  {doing}" if doing else ""
        head = f"epoch {state.epoch}{of} "
        room = min(40, shutil.get_terminal_size().columns - len(head) - len(text) - 1)
        bar = bar_text(state.batch / state.batches, room) if state.batches and room >= 8 else ""
        self.file.write("\r\x1b[2K" + (head + bar + text)[: shutil.get_terminal_size().columns - 1])
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
