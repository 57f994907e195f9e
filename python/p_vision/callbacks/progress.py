"""The output of `fit`: a progress bar on a terminal, otherwise one line per epoch."""

from __future__ import annotations

import shutil
import sys
import time
from typing import Any

from pyburn import train
from pyburn._progress import Output
from pyburn.train.loader_position import length_of

from .adapter import epoch_logs

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

    def draw(self, done: int, logs: dict[str, float]) -> None:
        self.drawn = time.monotonic()
        per_step = (self.drawn - self.start) / max(done, 1)
        rest = f"{per_step * (self.steps - done):.0f}s" if self.steps else "?"
        line = f"{self._bar(done)} {rest} {_time(per_step)}/step{_text(logs)}"
        self.out.write(f"\r{line[: shutil.get_terminal_size().columns - 1]}\x1b[K")  # a line that wraps cannot be overwritten
        self.out.flush()

    def finish(self, done: int, logs: dict[str, float]) -> None:
        if not self.level:
            return
        seconds = time.monotonic() - self.start
        line = f"{self._bar(done)} {seconds:.0f}s {_time(seconds / max(done, 1))}/step{_text(logs)}"
        self.out.write(f"\r{line}\x1b[K\n" if self.level == 1 and self.moves else line + "\n")
        self.out.flush()

    def _bar(self, done: int) -> str:
        if self.level != 1 or not self.moves:
            return f"{done}/{self.steps or done}"
        filled = _WIDTH if not self.steps else min(_WIDTH, _WIDTH * done // self.steps)
        return f"{done}/{self.steps or '?'} {'━' * filled}{'─' * (_WIDTH - filled)}"


class ProgbarLogger(train.Callback):
    """Shows the progress of `fit`.

    Args:
        verbose: "auto", 0, 1 (progress bar) or 2 (one line per epoch).

    >>> p_vision.callbacks.ProgbarLogger(2).verbose
    2
    """

    def __init__(self, verbose: Any = "auto") -> None:
        self.verbose = verbose

    def on_epoch_start(self, learner: Any) -> None:
        state = learner.state
        self.progress = Progress(self.verbose, state.batches, f"Epoch {state.epoch}/{state.epochs}")

    def on_batch_end(self, learner: Any) -> None:
        if self.progress.wants(learner.state.batch):
            self.progress.draw(learner.state.batch, learner.state.running())

    def on_epoch_end(self, learner: Any) -> None:
        self.progress.finish(learner.state.batch, epoch_logs(learner))


class PassBar(train.Callback):
    """Shows the progress of `evaluate` or `predict`."""

    def __init__(self, verbose: Any, data: Any) -> None:
        self.progress, self.done = Progress(verbose, length_of(data)), 0

    def on_validation_batch_end(self, learner: Any) -> None:
        self.done += 1
        if self.progress.wants(self.done):
            self.progress.draw(self.done, learner.state.running())

    def on_validation_end(self, learner: Any) -> None:
        self.progress.finish(self.done, learner.state.running())

    on_predict_batch_end, on_predict_end = on_validation_batch_end, on_validation_end


def _text(logs: dict[str, float]) -> str:
    return "".join(f" - {name}: {value:{'.4f' if abs(value) > 1e-3 or not value else '.4e'}}" for name, value in logs.items())


def _time(seconds: float) -> str:
    return f"{seconds:.0f}s" if seconds >= 1 else f"{seconds * 1e3:.0f}ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f}us"
