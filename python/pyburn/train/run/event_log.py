"""Reads TensorBoard's event files while they grow. They are untrusted: sizes and counts are bounded, damaged records are skipped."""

from __future__ import annotations

import math
import os
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .events import masked_crc
from .inside import MOST_BYTES, open_inside
from .protobuf import unpack

MEDIA = ("histogram", "image", "text", "audio")
_FIELDS = {4: "image", 5: "histogram", 6: "audio"}  # of Summary.Value
_MOST_MEDIA = 100_000  # per folder
_MOST_POINTS = 2_000_000
_BYTES_PER_CALL = 256 << 20
_BLOCK = 4 << 20


@dataclass(frozen=True)
class Entry:
    """Where the media of a tag at one step is stored."""

    step: int
    time: float
    file: str
    offset: int
    length: int


class EventLog:
    """The events of a folder. Media are found by kind and tag and read when asked for; scalars are kept.

    Args:
        folder: The folder. Symbolic links inside it are not followed.
        scalars: Whether to keep scalars. The scalars of a Run are in series/, too.

    >>> writer = pyburn.train.EventWriter(".")
    >>> writer.text("note", "first", step=1)
    >>> writer.flush()
    >>> log = pyburn.train.run.event_log.EventLog(".")
    >>> log.refresh()
    >>> log.media["text"].keys(), log.value("text", "note", 0)[8][0][-5:]
    (dict_keys(['note']), b'first')
    """

    def __init__(self, folder: str | os.PathLike[str], *, scalars: bool = False) -> None:
        self.folder, self.keeps_scalars = Path(folder), scalars
        self.lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self._ends: dict[str, int] = {}  # by file: how far it has been read
        self.media: dict[str, dict[str, list[Entry]]] = {kind: {} for kind in MEDIA}
        self.scalars: dict[str, list[tuple[float, float, float]]] = {}  # by tag: step, time, value
        self.hparams: dict[str, Any] = {}
        self.first, self.last, self._count, self._points = math.inf, 0.0, 0, 0

    def refresh(self) -> None:
        """Reads what was appended since the last call; after a large amount, the rest is read by the next call."""
        with self.lock:
            self._refresh()

    def _refresh(self) -> None:
        try:
            with os.scandir(self.folder) as found:
                sizes = {e.name: e.stat(follow_symlinks=False).st_size for e in found if e.name.startswith("events.out.tfevents.")}
        except OSError:
            return
        if any(sizes.get(name, 0) < end for name, end in self._ends.items()):  # replaced
            self._forget()
        room = _BYTES_PER_CALL
        for name in sorted(sizes):
            if sizes[name] > self._ends.get(name, 0) and room > 0:
                before = self._ends.get(name, 0)
                self._read(name, before, room)
                room -= self._ends.get(name, 0) - before

    def _read(self, name: str, start: int, room: int) -> None:
        try:
            with open_inside(self.folder, name) as file:
                for offset, body in _records(file, start, start + room):
                    self._ends[name] = offset + len(body) + 4
                    try:
                        self._note(name, offset, body)
                    except (ValueError, UnicodeDecodeError, IndexError, TypeError):
                        continue
        except OSError:
            return

    def _note(self, file: str, offset: int, body: bytes) -> None:
        event = unpack(body)
        time, step = float(event.get(1, [0.0])[0]), _signed(event.get(2, [0])[0])
        if not math.isfinite(time):
            return
        if event.get(7) and unpack(event[7][0]).get(1) == [1]:  # a resumed session replaces what came at this step or later
            for timelines in self.media.values():
                timelines.update({tag: [one for one in entries if one.step < step] for tag, entries in timelines.items()})
            self.scalars = {tag: [row for row in rows if row[0] < step] for tag, rows in self.scalars.items()}
            return
        for summary in event.get(5, []):
            self.first, self.last = min(self.first, time), max(self.last, time)
            if not self.keeps_scalars and _is_scalar(summary):
                return
            for value in unpack(summary).get(1, []):
                self._add(unpack(value), step, time, file, offset, len(body))

    def _add(self, value: dict[int, list[Any]], step: int, time: float, file: str, offset: int, length: int) -> None:
        tag = value[1][0].decode()
        if 2 in value:
            if self.keeps_scalars and self._points < _MOST_POINTS:
                self._points += 1
                self.scalars.setdefault(tag, []).append((step, time, float(value[2][0])))
            return
        if tag == "_hparams_/session_start_info":
            self.hparams = _hparams(unpack(unpack(value[9][0])[1][0])[2][0])
            return
        kind = next((_FIELDS[field] for field in _FIELDS if field in value), None)
        if kind is None and 9 in value and _plugin(value) == b"text":
            kind = "text"
        if kind is not None and self._count < _MOST_MEDIA:
            self._count += 1
            self.media[kind].setdefault(tag, []).append(Entry(step, time, file, offset, length))

    def value(self, kind: str, tag: str, index: int) -> dict[int, list[Any]]:
        """Reads the payload of an entry again: the fields of its Image, HistogramProto, Audio or, for text, TensorProto message.

        Raises:
            KeyError, IndexError: There is no such entry.
            OSError, ValueError: The file has changed.
        """
        entry = self.media[kind][tag][index]
        with open_inside(self.folder, entry.file) as file:
            file.seek(entry.offset)
            event = unpack(file.read(entry.length))
        field = 8 if kind == "text" else next(number for number, name in _FIELDS.items() if name == kind)
        for value in map(unpack, unpack(event[5][0])[1]):
            if value[1][0].decode() == tag and field in value:
                return unpack(value[field][0])
        raise ValueError("the event file has changed")

    def rows(self, tag: str) -> np.ndarray:
        """Returns the scalars of a tag as rows of step, epoch (0), seconds since the first event, and value, sorted by step."""
        found = np.array(self.scalars.get(tag, []), np.float64).reshape(-1, 3)
        rows = np.stack([found[:, 0], np.zeros(len(found)), found[:, 1] - (self.first if len(found) else 0), found[:, 2]], axis=1)
        return rows[np.argsort(rows[:, 0], kind="stable")]


def _records(file: Any, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Yields (offset, body) of complete records; stops at the first damaged or incomplete one, or after `end`."""
    file.seek(start)
    data, at = file.read(_BLOCK), 0
    while start < end:
        if len(data) - at < 12:
            data, at = data[at:] + file.read(_BLOCK), 0
        head = data[at : at + 12]
        if len(head) < 12 or head[8:] != masked_crc(head[:8]):
            return
        (length,) = struct.unpack("<Q", head[:8])
        if length > MOST_BYTES:
            return
        while len(data) - at < length + 16:
            more = file.read(max(_BLOCK, length))
            if not more:
                return
            data, at = data[at:] + more, 0
        yield start + 12, data[at + 12 : at + 12 + length]
        start, at = start + length + 16, at + length + 16


def _is_scalar(summary: bytes) -> bool:
    """Whether a summary holds scalars alone, as far as its first value shows: a Run writes them apart."""
    if len(summary) < 4 or summary[0] != 0x0A or summary[1] > 0x7F or summary[2] != 0x0A or summary[3] > 0x7F:
        return False  # a long value: none that Run writes for scalars, or an unusual tag
    return summary[4 + summary[3] : 5 + summary[3]] == b"\x15"


def _plugin(value: dict[int, list[Any]]) -> bytes:
    return bytes(unpack(unpack(value[9][0])[1][0]).get(1, [b""])[0])


def _signed(step: int) -> int:
    return step - (1 << 64) if step >> 63 else step


def _hparams(content: bytes) -> dict[str, Any]:
    """The hyperparameters of a SessionStartInfo: numbers, strings and flags."""
    settings = {}
    for entry in map(unpack, unpack(unpack(content)[3][0]).get(1, [])):
        for field, values in unpack(entry[2][0]).items():
            known = {2: float, 3: lambda text: text.decode(), 4: bool}.get(field)
            if known is not None:
                settings[entry[1][0].decode()] = known(values[0])
    return settings
