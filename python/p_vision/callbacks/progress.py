"""The output of `fit`: a progress bar on a terminal, otherwise one line per epoch."""

from __future__ import annotations

import shutil
import sys
import time
from typing import Any

from pyburn._progress import Output

from .callback import Callback, Logs

_WIDTH = 20
_INTERVAL = 0.1  # minimum seconds between redraws


class Progress:
    """The progress of one pass over the data."""

    def __init__(self, verbose: Any, steps: int | None, title: str = "") -> None:
        self.out = Output(sys.stdout)
        terminal = self.out.isatty()
        self.level = (1 if terminal else 2) if verbose in ("auto", True) else int(verbose)
        self.steps, self.title, self.moves = steps, title, terminal
        self.start = time.monotonic()
        self.drawn = 0.0
        if self.level and title:
            print(title, file=self.out)

    def wants(self, done: int) -> bool:
        """Returns whether to redraw; values are read from the device only then."""
        return self.level == 1 and self.moves and (time.monotonic() - self.drawn > _INTERVAL)

    def draw(self, done: int, logs: Logs) -> None:
        self.drawn = time.monotonic()
        per_step = (self.drawn - self.start) / max(done, 1)
        rest = f"{per_step * (self.steps - done):.0f}s" if self.steps else "?"
        line = f"{self._bar(done)} {rest} {_time(per_step)}/step - {_text(logs)}"
        self.out.write(f"\r{line[: shutil.get_terminal_size().columns - 1]}\x1b[K")  # a line that wraps cannot be overwritten
        self.out.flush()

    def finish(self, done: int, logs: Logs) -> None:
        if not self.level:
            return
        seconds = time.monotonic() - self.start
        line = f"{self._bar(done)} {seconds:.0f}s {_time(seconds / max(done, 1))}/step - {_text(logs)}"
        self.out.write(f"\r{line}\x1b[K\n" if self.level == 1 and self.moves else line + "\n")
        self.out.flush()

    def _bar(self, done: int) -> str:
        if self.level != 1 or not self.moves:
            return f"{done}/{self.steps or done}"
        filled = _WIDTH if not self.steps else min(_WIDTH, _WIDTH * done // self.steps)
        return f"{done}/{self.steps or '?'} {'━' * filled}{'─' * (_WIDTH - filled)}"


class ProgbarLogger(Callback):
    """Shows the progress of `fit`."""

    def __init__(self, verbose: Any, epochs: int, steps: int | None) -> None:
        self.verbose, self.epochs, self.steps = verbose, epochs, steps
        self.progress: Progress | None = None
        self.done = 0

    def begin(self, epoch: int) -> None:
        self.progress, self.done = Progress(self.verbose, self.steps, f"Epoch {epoch + 1}/{self.epochs}"), 0

    def step(self, logs: Any) -> None:
        self.done += 1
        if self.progress is not None and self.progress.wants(self.done):
            self.progress.draw(self.done, logs())

    def end(self, logs: Logs) -> None:
        if self.progress is not None:
            self.progress.finish(self.done, logs)


def _text(logs: Logs) -> str:
    return " - ".join(f"{name}: {value:.4f}" if abs(value) > 1e-3 or not value else f"{name}: {value:.4e}" for name, value in logs.items())


def _time(seconds: float) -> str:
    return f"{seconds:.0f}s" if seconds >= 1 else f"{seconds * 1e3:.0f}ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f}us"
