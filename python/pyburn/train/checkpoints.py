"""Checkpoints: files to resume from, and rules for when to save and which checkpoints to keep."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import _core
from ..io import load, save
from .callbacks import better
from .checkpoint_index import REBUILT, Entry, read_index, write_index
from .errors import CheckpointError


@dataclass
class Moment:
    """The point in training at which rules are evaluated: after a step or, if `epoch_ended`, after an epoch and its validation."""

    epoch: int
    step: int
    epoch_ended: bool
    metrics: Mapping[str, float]
    now: float  # seconds of time.monotonic
    higher_is_better: dict[str, bool]


class Rule:
    """Base class of checkpoint rules: when to save, and which checkpoints to keep.

    Rules are combined in a list: a checkpoint is saved when at least one rule asks for it, and kept while at least one rule keeps it.

    >>> [rule.name for rule in (pyburn.train.Last(), pyburn.train.Best("valid/accuracy"))]
    ['last', 'best valid/accuracy']
    """

    name = "rule"

    def due(self, moment: Moment, entries: Sequence[Entry]) -> bool:
        """Returns whether a checkpoint should be saved now.

        Args:
            moment: The current position in training and its metrics.
            entries: The checkpoints that exist.
        """
        raise NotImplementedError

    def kept(self, entries: Sequence[Entry], higher_is_better: dict[str, bool]) -> Sequence[Entry]:
        """Returns the entries that this rule keeps.

        Args:
            entries: The checkpoints that exist.
            higher_is_better: The direction of each metric.
        """
        raise NotImplementedError


class Last(Rule):
    """Saves a checkpoint after each epoch and keeps the last `count` of them.

    Args:
        count: The number of checkpoints to keep.

    Raises:
        ValueError: count is not a positive int.

    >>> pyburn.train.Last(3).name
    'last 3'
    """

    def __init__(self, count: int = 1) -> None:
        if not isinstance(count, int) or count < 1:
            raise ValueError(f"[Last] count must be a positive number: got {count!r}")
        self.count, self.name = count, "last" if count == 1 else f"last {count}"

    def due(self, moment: Moment, entries: Sequence[Entry]) -> bool:
        return moment.epoch_ended

    def kept(self, entries: Sequence[Entry], higher_is_better: dict[str, bool]) -> Sequence[Entry]:
        return entries[-self.count :]


class Best(Rule):
    """Saves a checkpoint after each epoch that is among the `count` best by a metric, and keeps these.

    Args:
        metric: The name of the metric, such as "valid/accuracy".
        count: The number of checkpoints to keep.
        mode: "min", "max", or None to use the direction of the metric.

    Raises:
        TypeError: metric is not a str.
        ValueError: mode is unknown.

    >>> pyburn.train.Best("valid/accuracy", 2).name
    'best 2 by valid/accuracy'
    """

    def __init__(self, metric: str = "valid/loss", count: int = 1, mode: str | None = None) -> None:
        if not isinstance(metric, str):
            raise TypeError(f"[Best] metric must be a name, such as 'valid/loss': got {metric!r}")
        if mode not in ("min", "max", None):
            raise ValueError(f"[Best] mode must be 'min', 'max' or None: got {mode!r}")
        self.metric, self.count, self.mode = metric, count, mode
        self.name = f"best {metric}" if count == 1 else f"best {count} by {metric}"

    def _higher(self, higher_is_better: dict[str, bool]) -> bool:
        return bool(higher_is_better.get(self.metric.rpartition("/")[2])) if self.mode is None else self.mode == "max"

    def _ranked(self, entries: Sequence[Entry], higher: bool) -> list[Entry]:
        # A checkpoint within an epoch has the values of the previous epoch, so only checkpoints at the end of an epoch are ranked.
        found = [e for e in entries if e.batch == 0 and not math.isnan(e.metrics.get(self.metric, math.nan))]
        return sorted(found, key=lambda e: e.metrics[self.metric], reverse=higher)[: self.count]

    def due(self, moment: Moment, entries: Sequence[Entry]) -> bool:
        if not moment.epoch_ended or self.metric not in moment.metrics:
            return False
        higher = self._higher(moment.higher_is_better)
        best = self._ranked(entries, higher)
        return len(best) < self.count or better(moment.metrics[self.metric], best[-1].metrics[self.metric], higher)

    def kept(self, entries: Sequence[Entry], higher_is_better: dict[str, bool]) -> Sequence[Entry]:
        return self._ranked(entries, self._higher(higher_is_better))


class Every(Rule):
    """Saves a checkpoint every given number of epochs, steps or minutes.

    Args:
        epochs: The interval in epochs.
        steps: The interval in steps.
        minutes: The interval in minutes.
        keep: The number of checkpoints to keep; None keeps all.

    Raises:
        ValueError: Not exactly one of epochs, steps and minutes is given, or it is not positive.

    >>> pyburn.train.Every(minutes=30, keep=2).name
    'every 30 minutes'
    """

    def __init__(
        self, *, epochs: int | None = None, steps: int | None = None, minutes: float | None = None, keep: int | None = None
    ) -> None:
        given = {"epochs": epochs, "steps": steps, "minutes": minutes}
        chosen = {key: value for key, value in given.items() if value is not None}
        if len(chosen) != 1 or next(iter(chosen.values())) <= 0:
            raise ValueError(f"[Every] give one of epochs, steps and minutes, and a positive number: got {chosen}")
        (self._unit, self._amount), self.keep = next(iter(chosen.items())), keep
        self.name = f"every {self._amount:g} {self._unit}"
        self._last = time.monotonic()

    def due(self, moment: Moment, entries: Sequence[Entry]) -> bool:
        if self._unit == "epochs":
            return moment.epoch_ended and moment.epoch % self._amount == 0
        if self._unit == "steps":
            return not moment.epoch_ended and moment.step % self._amount == 0
        return not moment.epoch_ended and moment.now - self._last >= self._amount * 60

    def kept(self, entries: Sequence[Entry], higher_is_better: dict[str, bool]) -> Sequence[Entry]:
        mine = [entry for entry in entries if self.name in entry.kept_by]
        return mine if self.keep is None else mine[-self.keep :]

    def saved(self, now: float) -> None:
        """Records the time of the last checkpoint, for intervals in minutes.

        Args:
            now: The time in seconds.
        """
        self._last = now


class CheckpointFolder:
    """Saves checkpoints to a folder and removes those that no rule keeps. Works with any training loop; the Learner uses it.

    If index.json is missing or damaged, it is rebuilt from the checkpoint files with a warning; rebuilt entries are never removed
    automatically.

    Args:
        folder: The folder; created if it does not exist.
        rules: When to save, and which checkpoints to keep.
        higher_is_better: By metric name, whether higher values are better.

    >>> folder = pyburn.train.CheckpointFolder("checkpoints", [pyburn.train.Last(2)])
    >>> for epoch in (1, 2, 3):
    ...     _ = folder.save({"weight": pyburn.ones(2)}, epoch=epoch, step=epoch * 10)
    >>> [entry.file for entry in folder.entries]
    ['step-00000020.pt', 'step-00000030.pt']
    >>> folder.load()["weight"]
    tensor([1., 1.])
    """

    def __init__(
        self, folder: str | os.PathLike[str], rules: Sequence[Rule] = (), *, higher_is_better: dict[str, bool] | None = None
    ) -> None:
        self.folder, self.rules = Path(folder), list(rules)
        self.higher_is_better = dict(higher_is_better or {})
        self.folder.mkdir(parents=True, exist_ok=True)
        self.entries = read_index(self.folder)

    def due(self, *, epoch: int, step: int, epoch_ended: bool, metrics: Mapping[str, float] | None = None) -> list[str]:
        """Returns the names of the rules that ask for a checkpoint now.

        Args:
            epoch: The current epoch.
            step: The current step.
            epoch_ended: Whether an epoch has just ended.
            metrics: The metrics of the epoch by name.
        """
        moment = Moment(epoch, step, epoch_ended, metrics or {}, time.monotonic(), self.higher_is_better)
        return [rule.name for rule in self.rules if rule.due(moment, self.entries)]

    def save(
        self,
        state: dict[str, Any],
        *,
        epoch: int,
        step: int,
        batch: int = 0,
        metrics: dict[str, float] | None = None,
        reasons: Sequence[str] = (),
    ) -> Entry:
        """Saves a checkpoint, updates the index, then removes the checkpoints that no rule keeps.

        Args:
            state: The state to save, as for `pyburn.save`.
            epoch: The current epoch.
            step: The number of optimizer steps so far.
            batch: The number of batches done in this epoch; 0 at the end of an epoch.
            metrics: The metric values, by name.
            reasons: The names of the rules that asked for this checkpoint (see `due`).

        Returns:
            The index entry of the checkpoint.

        Raises:
            CheckpointError: The file could not be written. Earlier checkpoints are unchanged.
        """
        same = [reason for other in self.entries if other.step == step for reason in other.kept_by]  # the same file name: it is replaced
        entry = Entry(f"step-{step:08d}.pt", epoch, batch, step, time.time(), dict(metrics or {}), [*reasons, *same])
        try:
            self.folder.mkdir(parents=True, exist_ok=True)  # it may have been deleted meanwhile
            save(state, self.folder / entry.file)
            others = [other for other in self.entries if other.step < step]
            gone = self._sort_out([*others, entry])
            gone += [other for other in self.entries if other.step > step]  # steps of an earlier attempt, after the resumed checkpoint
            write_index(self.folder, self.entries)
        except OSError as error:
            raise CheckpointError(
                f"the checkpoint {self.folder / entry.file} could not be written: {error}. Earlier ones are untouched"
                + (f"; the last is {self.entries[-1].file}." if self.entries else ".")
            ) from error
        for other in gone:
            if all(other.file != kept.file for kept in self.entries):
                (self.folder / other.file).unlink(missing_ok=True)
        for rule in self.rules:
            if isinstance(rule, Every):
                rule.saved(time.monotonic())
        return entry

    def _sort_out(self, entries: list[Entry]) -> list[Entry]:
        """Applies the rules and returns the entries that none of them keeps. The newest entry is always kept."""
        keepers: dict[str, list[str]] = {entry.file: [] for entry in entries}
        for rule in self.rules:
            for entry in rule.kept(entries, self.higher_is_better):
                keepers[entry.file].append(rule.name)
        for entry in entries:
            if REBUILT in entry.kept_by:  # the rule that kept it is unknown
                keepers[entry.file].append(REBUILT)
        newest = entries[-1]
        names = {rule.name for rule in self.rules}
        keepers[newest.file] += [reason for reason in newest.kept_by if reason not in names]
        for entry in entries:
            entry.kept_by = list(dict.fromkeys(keepers[entry.file]))
        self.entries = [entry for entry in entries if entry.kept_by or entry is newest]
        return [entry for entry in entries if entry not in self.entries]

    def latest(self) -> Entry | None:
        """Returns the newest entry, or None if there is none."""
        return self.entries[-1] if self.entries else None

    def best(self, metric: str = "valid/loss", mode: str | None = None) -> Entry | None:
        """Returns the best entry by a metric, or None if no entry has a value of it.

        Args:
            metric: The name of the metric.
            mode: "min", "max", or None to use the direction of the metric.
        """
        found = Best(metric, 1, mode).kept(self.entries, self.higher_is_better)
        return found[0] if found else None

    def load(self, entry: Entry | None = None) -> dict[str, Any]:
        """Loads the state of a checkpoint.

        Args:
            entry: The checkpoint; None loads the newest one that can be read.

        Returns:
            The state that was saved.

        Raises:
            CheckpointError: The checkpoint, or with None every checkpoint, could not be read.
        """
        candidates = [entry] if entry is not None else list(reversed(self.entries))
        problems = []
        for one in candidates:
            try:
                return load(self.folder / one.file)
            except (OSError, _core.FormatError) as error:
                problems.append(f"{one.file}: {error}")
        raise CheckpointError(f"no checkpoint in {self.folder} can be read" + "".join(f"\n  {problem}" for problem in problems))
