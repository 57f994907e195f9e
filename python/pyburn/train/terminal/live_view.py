"""Data of the dashboard, independent of its presentation: written by the training thread, read by the screen thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from ..displays import Pace

if TYPE_CHECKING:
    from ..learner import Learner

_MOST_POINTS = 2000
_MOST_MESSAGES = 200


class Points:
    """A curve of bounded length: when it is full, every other point is dropped and the sampling interval doubles."""

    def __init__(self, most: int = _MOST_POINTS) -> None:
        self.x: list[float] = []
        self.y: list[float] = []
        self._most, self._stride, self._count = most, 1, 0

    def add(self, x: float, y: float) -> None:
        if self._count % self._stride == 0:
            self.x.append(x)
            self.y.append(y)
            if len(self.x) >= self._most:
                del self.x[1::2], self.y[1::2]
                self._stride *= 2
        self._count += 1


@dataclass
class Snapshot:
    """A consistent copy of the data, safe to read during training."""

    title: str = ""
    state: str = "starting"
    epoch: int = 0
    epochs: int | None = None
    batch: int = 0
    batches: int | None = None
    step: int = 0
    done: float | None = None
    elapsed: float = 0.0
    remaining: float | None = None
    speed: float = 0.0
    values: dict[str, float] = field(default_factory=dict)
    best: dict[str, float] = field(default_factory=dict)
    curves: dict[str, dict[str, tuple[list[float], list[float]]]] = field(default_factory=dict)  # metric, split, points
    messages: list[str] = field(default_factory=list)


class LiveView:
    """Collects training data; `snapshot` returns a copy."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._now = Snapshot()
        self._points: dict[str, dict[str, Points]] = {}
        self._pace = Pace()
        self._started = time.monotonic()
        self._first_step: int | None = None

    def start(self, learner: Learner) -> None:
        with self._lock:
            name = learner.run.status["name"] if learner.run is not None else type(learner.model).__name__
            self._now.title, self._now.state = str(name), "running"
            self._started, self._pace = time.monotonic(), Pace()
            for row in learner.history.rows:  # epochs before a resume
                self._add_epoch(row, learner.state.step)
        self.progress(learner)

    def progress(self, learner: Learner, running: Mapping[str, float] = MappingProxyType({})) -> None:
        """Updates the position and the values; `running` are those of the current pass so far."""
        state = learner.state
        with self._lock:
            now = self._now
            now.epoch, now.epochs, now.batch, now.batches, now.step = state.epoch, state.epochs, state.batch, state.batches, state.step
            now.done, now.remaining = self._pace.done(learner), self._pace.remaining(learner)
            now.elapsed = time.monotonic() - self._started
            if self._first_step is None:
                self._first_step = state.step
            now.speed = (state.step - self._first_step) / now.elapsed if now.elapsed > 0 else 0.0
            now.values.update(state.values)
            now.values.update({f"{state.split}/{name}": value for name, value in running.items()})
            now.state = _doing(learner)

    def doing(self, learner: Learner) -> None:
        """Updates the current activity but no values, which only the training thread may read."""
        with self._lock:
            self._now.state = _doing(learner)

    def step(self, learner: Learner) -> None:
        state = learner.state
        with self._lock:
            self._curve("loss", "train").add(state.step, state.loss)
            if "lr" in state.values:
                self._curve("lr", "train").add(state.step, state.values["lr"])

    def epoch(self, learner: Learner) -> None:
        with self._lock:
            if learner.history.rows:
                self._add_epoch(learner.history.rows[-1], learner.state.step)
            for key, value in learner.state.values.items():
                metric = key.rpartition("/")[2]
                if key.startswith("valid/") and metric in learner.higher_is_better:
                    pick = max if learner.higher_is_better[metric] else min
                    self._now.best[metric] = pick(value, self._now.best.get(metric, value))

    def _add_epoch(self, row: dict[str, float], step: int) -> None:
        for key, value in row.items():
            split, _, metric = key.partition("/")
            if metric and not (metric == "loss" and split == "train"):  # that curve has every step
                self._curve(metric, split).add(step, value)

    def system(self, cpu: float, memory: float) -> None:
        with self._lock:
            self._now.values.update({"system/cpu": cpu, "system/memory": memory})
            at = time.monotonic() - self._started
            self._curve("cpu", "system").add(at, cpu)
            self._curve("memory", "system").add(at, memory)

    def _curve(self, metric: str, split: str) -> Points:
        return self._points.setdefault(metric, {}).setdefault(split, Points())

    def message(self, text: str) -> None:
        with self._lock:
            self._now.messages += text.splitlines()
            del self._now.messages[:-_MOST_MESSAGES]

    def snapshot(self) -> Snapshot:
        """Returns a consistent copy of the data."""
        with self._lock:
            now = self._now
            curves = {m: {s: (list(p.x), list(p.y)) for s, p in splits.items()} for m, splits in self._points.items()}
            return replace(now, values=dict(now.values), best=dict(now.best), messages=list(now.messages), curves=curves)


def _doing(learner: Learner) -> str:
    if learner.stop_request.reason:
        return "stopping"
    return "paused" if learner.paused else {"train": "training", "valid": "validating"}.get(learner.state.split, learner.state.split)
