"""Histograms, images, texts and audio of runs, and folders that hold event files alone: what EventWriter and SummaryWriter write."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np

from ..train.run.event_log import MEDIA, EventLog
from ..train.run.reader import RunRecord
from ..train.run.scalar_files import json_number

_OPEN_LOGS = 1000
_MOST_TAGS = 500  # per kind
_MOST_STEPS = 200  # of a timeline
_MOST_DISTRIBUTIONS = 40
_MOST_BINS = 2000
_MOST_TEXT = 20_000
_DEEPEST = 4
# Only these are served, as what they are: a browser must never take untrusted bytes for HTML or SVG.
_TYPES = {
    "image": {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"},
    "audio": {b"RIFF": "audio/wav"},
}


class EventFolder(RunRecord):
    """A folder with event files and no run.json, as a run whose curves are the scalars of the events."""

    def __init__(self, folder: Path, log: EventLog) -> None:
        super().__init__(folder)
        self.log = log

    @property
    def status(self) -> dict[str, Any]:
        """The times of the first and last event."""
        self.log.refresh()
        step = max((rows[-1][0] for rows in self.log.scalars.values() if rows), default=None)
        times = {"created": self.log.first, "updated": self.log.last} if self.log.last else {}
        return {**times, "step": None if step is None else int(step), "state": "events"}

    @property
    def config(self) -> dict[str, Any]:
        """The hyperparameters of `SummaryWriter.add_hparams`."""
        self.log.refresh()
        return dict(self.log.hparams)

    @property
    def state(self) -> str:
        """Always "events": whether the writer still runs is unknown."""
        return "events"

    def names(self) -> list[tuple[str, str, str]]:
        """Returns (kind, split, name) of every scalar."""
        self.log.refresh()
        return [("step", "events", tag) for tag in sorted(self.log.scalars)]


class MediaLogs:
    """The event files of all runs below a folder, read as they grow."""

    def __init__(self) -> None:
        self._logs: OrderedDict[tuple[Path, bool], EventLog] = OrderedDict()
        self._lock = threading.Lock()

    def log(self, folder: Path, *, scalars: bool = False) -> EventLog:
        """Returns the events of a folder; those used least recently are dropped."""
        with self._lock:
            found = self._logs.pop((folder, scalars), None) or EventLog(folder, scalars=scalars)
            self._logs[folder, scalars] = found
            while len(self._logs) > _OPEN_LOGS:
                self._logs.popitem(last=False)
        return found

    def of(self, record: RunRecord) -> EventLog:
        """Returns the up-to-date events of a run."""
        log = record.log if isinstance(record, EventFolder) else self.log(record.folder)
        log.refresh()
        return log

    def folders(self, root: Path) -> list[RunRecord]:
        """Returns the folders below `root` that hold event files and no run.json. Symbolic links are not followed."""
        found: list[RunRecord] = []
        waiting = [(root, 0)]
        while waiting:
            folder, level = waiting.pop()
            try:
                with os.scandir(folder) as scan:
                    entries = [(e.name, e.is_dir(follow_symlinks=False), e.is_file(follow_symlinks=False)) for e in scan]
            except OSError:
                continue
            names = {name for name, _, is_file in entries if is_file}
            if "run.json" in {name for name, _, _ in entries}:
                continue  # a run, listed as such
            if any(name.startswith("events.out.tfevents.") for name in names):
                found.append(EventFolder(folder, self.log(folder, scalars=True)))
            if level < _DEEPEST:
                waiting += [(folder / name, level + 1) for name, is_folder, _ in entries if is_folder]
        return found

    def index(self, record: RunRecord) -> dict[str, dict[str, list[list[float]]]]:
        """Returns by kind and tag [index, step, time] of at most 200 entries of each timeline."""
        log = self.of(record)
        with log.lock:
            return {
                kind: {tag: [[i, found[i].step, found[i].time] for i in _spread(len(found), _MOST_STEPS)] for tag, found in tags if found}
                for kind in MEDIA
                for tags in [sorted(log.media[kind].items())[:_MOST_TAGS]]
            }

    def histograms(self, record: RunRecord, tag: str) -> list[dict[str, Any]]:
        """Returns at most 40 histograms of a timeline: step, edges (one more than counts), counts and statistics.

        Raises:
            KeyError: There is no such tag.
        """
        log, found = self.of(record), []
        entries = log.media["histogram"][tag]
        for index in _spread(len(entries), _MOST_DISTRIBUTIONS):
            step = entries[index].step
            fields = log.value("histogram", tag, index)
            limits, counts = (_doubles(fields.get(number, [])) for number in (6, 7))
            low, high, size, total = (float(fields.get(number, [0.0])[0]) for number in (1, 2, 3, 4))
            if len(limits) != len(counts) or not 0 < len(limits) <= _MOST_BINS or not np.isfinite([*counts, low, high]).all():
                continue
            edges = np.concatenate([[low], limits]).clip(low, high)  # the outermost limits may be infinite
            numbers = {"min": low, "max": high, "count": size, "mean": total / size if size else 0.0}
            line = {name: json_number(value) for name, value in numbers.items()}
            found.append({"step": step, "edges": edges.tolist(), "counts": counts.tolist(), **line})
        return found

    def texts(self, record: RunRecord, tag: str) -> list[dict[str, Any]]:
        """Returns the texts of a timeline. Raises KeyError if there is no such tag."""
        log = self.of(record)
        entries = log.media["text"][tag]
        found = []
        for index in _spread(len(entries), _MOST_STEPS):
            parts = log.value("text", tag, index).get(8, [])[:100]
            found.append({"step": entries[index].step, "text": b"\n".join(parts)[:_MOST_TEXT].decode("utf-8", "replace")})
        return found

    def blob(self, record: RunRecord, kind: str, tag: str, index: int) -> tuple[bytes, str]:
        """Returns an image or audio and its media type.

        Raises:
            KeyError, IndexError: There is no such entry.
            ValueError: It is none of the types that are served.
        """
        data = bytes(self.of(record).value(kind, tag, index).get(4, [b""])[0])
        for start, media_type in _TYPES[kind].items():
            if data.startswith(start):
                return data, media_type
        raise ValueError(f"the {kind} is of a type that is not shown")


def _spread(count: int, most: int) -> list[int]:
    """Returns at most `most` indices, evenly spaced, with the first and the last."""
    return list(range(count)) if count <= most else np.linspace(0, count - 1, most).round().astype(int).tolist()


def _doubles(parts: list[Any]) -> np.ndarray:
    """A repeated double, packed or not."""
    arrays = [np.frombuffer(part, "<f8", len(part) // 8) if isinstance(part, bytes) else np.array([part]) for part in parts]
    return np.concatenate(arrays) if arrays else np.zeros(0)
