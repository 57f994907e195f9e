"""EDF, EDF+, BDF and BDF+ recordings of EEG and other signals, with annotations."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..data.files.source import File, FormatError, from_24_bits, name_of, read_bytes
from .edf_header import EDFHeader, EDFSignal, read_header

_BLOCK = 16 << 20


class Annotation(NamedTuple):
    """An annotation of a recording.

    Attributes:
        onset: The start in seconds.
        duration: The duration in seconds; 0 if the file has none.
        text: The text.

    >>> Annotation(4.2, 4.1, "T1").text
    'T1'
    """

    onset: float
    duration: float
    text: str


class EDFRecording:
    """An open recording: its header, and its signals, which are read on demand.

    `read` returns channels of equal sampling rate as one array, `signal` a single channel; values are calibrated unless `digital=True`.

    Args:
        file: A path, bytes or an open binary file.
        allow_truncated: Whether to accept a file with fewer records than its header claims.

    Attributes:
        header: The header.
        signals: The signal headers, without annotation channels.
        annotations: The annotations in order of time.

    Raises:
        FormatError: The file is damaged or truncated.

    >>> EDFRecording(b"not a recording")
    Traceback (most recent call last):
        ...
    pyburn.FormatError: [edf] the file has 15 bytes, fewer than the 256 of a header
    """

    def __init__(self, file: File, allow_truncated: bool = False) -> None:
        self._path = Path(file) if isinstance(file, (str, os.PathLike)) else None
        self._data = b"" if self._path else read_bytes(file)
        self.file = name_of(file)
        size = self._path.stat().st_size if self._path else len(self._data)
        self.header: EDFHeader = read_header(lambda at, count: self._bytes(at, count), size, allow_truncated)
        self.signals: list[EDFSignal] = [signal for signal in self.header.signals if not signal.is_annotation]
        self._onsets, self.annotations = self._read_annotations()

    @property
    def start(self) -> datetime | None:
        """The start time of the recording, or None if unknown."""
        return self.header.start

    @property
    def channels(self) -> list[str]:
        """The names of the signals."""
        return [signal.label for signal in self.signals]

    @property
    def duration(self) -> float:
        """The recorded time in seconds, without gaps."""
        return self.header.records * self.header.record_duration

    @property
    def segments(self) -> list[tuple[float, int, int]]:
        """The parts without gaps, as (start in seconds, first record, number of records)."""
        breaks = [0]
        step = self.header.record_duration
        for i in range(1, len(self._onsets)):
            if abs(self._onsets[i] - self._onsets[i - 1] - step) > max(1e-6, step * 1e-4):
                breaks.append(i)
        ends = [*breaks[1:], self.header.records]
        return [(self._onsets[first] if self._onsets else 0.0, first, last - first) for first, last in zip(breaks, ends)]

    @property
    def is_continuous(self) -> bool:
        """Whether the recording has no gaps."""
        return len(self.segments) == 1

    def rate(self, channel: int | str = 0) -> float:
        """Returns the sampling rate of a channel in Hz.

        Args:
            channel: The index or name of the channel.
        """
        return self.signals[self._index(channel)].samples / self.header.record_duration

    def signal(self, channel: int | str, segment: int | None = None, digital: bool = False) -> np.ndarray:
        """Returns one channel.

        Args:
            channel: The index or name of the channel.
            segment: The index of the segment, for a recording with gaps.
            digital: Whether to return the stored integers instead of calibrated float64 values.

        Raises:
            KeyError: There is no such channel.
            ValueError: The recording has gaps and no segment is given.
        """
        signal = self.signals[self._index(channel)]
        return self._calibrated([signal], self._part(segment), digital)[0]

    def read(
        self,
        channels: list[int] | list[str] | None = None,
        segment: int | None = None,
        digital: bool = False,
        dtype: type = np.float32,
    ) -> np.ndarray:
        """Returns channels of equal sampling rate as an array (channels, samples).

        Args:
            channels: The indices or names of the channels; None for all.
            segment: The index of the segment, for a recording with gaps.
            digital: Whether to return the stored integers instead of calibrated values.
            dtype: The dtype of calibrated values.

        Raises:
            KeyError: There is no such channel.
            ValueError: The rates differ, or the recording has gaps and no segment is given.
        """
        chosen = self.signals if channels is None else [self.signals[self._index(channel)] for channel in channels]
        rates = {signal.samples for signal in chosen}
        if len(rates) > 1:
            each = ", ".join(f"{signal.label} {signal.samples / self.header.record_duration:g}" for signal in chosen)
            raise ValueError(f"[edf] the channels have different rates: {each}; name those of one rate, or use signal()")
        part = self._part(segment)
        if not chosen:
            return np.zeros((0, 0), dtype)
        values = self._calibrated(chosen, part, digital)
        return np.stack(values) if digital else np.stack(values).astype(dtype)

    def __repr__(self) -> str:
        gaps = "" if self.is_continuous else f", {len(self.segments)} segments"
        return (
            f"EDFRecording({self.header.kind}, {len(self.signals)} signals, {self.duration:g} s, {len(self.annotations)} annotations{gaps})"
        )

    def _index(self, channel: int | str) -> int:
        if isinstance(channel, str):
            if channel not in self.channels:
                raise KeyError(f"[edf] no channel {channel!r}: the file has {', '.join(self.channels)}")
            return self.channels.index(channel)
        return range(len(self.signals))[channel]

    def _part(self, segment: int | None) -> tuple[int, int]:
        segments = self.segments
        if segment is None:
            if len(segments) > 1:
                gaps = ", ".join(f"{onset:g} s" for onset, _, _ in segments[:5])
                raise ValueError(
                    f"[edf] the recording has gaps: {len(segments)} segments, which begin at {gaps}{', ...' if len(segments) > 5 else ''};"
                    " read them one by one with segment=0, 1, ..."
                )
            return 0, self.header.records
        _, first, count = segments[segment]
        return first, count

    def _bytes(self, at: int, count: int) -> bytes:
        if self._path is None:
            return self._data[at : at + count]
        with open(self._path, "rb") as file:
            file.seek(at)
            return file.read(count)

    def _records(self, first: int, count: int) -> Iterator[np.ndarray]:
        """Yields the bytes of records in chunks, so that reading one channel of a long recording needs only its own memory."""
        size = self.header.record_bytes
        step = max(1, _BLOCK // size)
        for at in range(first, first + count, step):
            records = min(step, first + count - at)
            data = self._bytes(self.header.bytes + at * size, records * size)
            if len(data) != records * size:
                raise FormatError(f"[edf] {self.file} became shorter while it was read")
            yield np.frombuffer(data, np.uint8).reshape(records, size)

    def _digital(self, records: np.ndarray, signal: EDFSignal) -> np.ndarray:
        width = self.header.sample_bytes
        part = np.ascontiguousarray(records[:, signal.offset : signal.offset + signal.samples * width])
        if width == 2:
            return part.view("<i2").reshape(-1).astype(np.int32)
        return from_24_bits(part)

    def _calibrated(self, signals: list[EDFSignal], part: tuple[int, int], digital: bool) -> list[np.ndarray]:
        pieces: list[list[np.ndarray]] = [[] for _ in signals]
        for records in self._records(*part):
            for signal, found in zip(signals, pieces):
                value = self._digital(records, signal)
                found.append(value if digital else value * signal.gain + signal.offset_value)
        nothing = np.zeros(0, np.int32 if digital else np.float64)
        return [np.concatenate(found) if found else nothing for found in pieces]

    def _read_annotations(self) -> tuple[list[float], list[Annotation]]:
        """Returns the onset of each record, and the annotations in order. Without annotation channels, records are contiguous."""
        notes = [signal for signal in self.header.signals if signal.is_annotation]
        count, step = self.header.records, self.header.record_duration
        if not notes or not count:
            return [i * step for i in range(count)], []
        onsets: list[float] = []
        found: list[Annotation] = []
        width = self.header.sample_bytes
        for record in (record for block in self._records(0, count) for record in block):
            begin = None
            for number, signal in enumerate(notes):
                lists = parse_annotations(record[signal.offset : signal.offset + signal.samples * width].tobytes())
                for position, (onset, duration, texts) in enumerate(lists):
                    if number == 0 and position == 0 and texts and texts[0] == "":
                        begin = onset  # the first annotation list of a record has its onset
                        texts = texts[1:]
                    found.extend(Annotation(onset, duration, text) for text in texts if text)
            onsets.append(onsets[-1] + step if begin is None and onsets else begin or 0.0)
        if not self.header.is_discontinuous:
            onsets = [onsets[0] + i * step for i in range(count)]
        first = onsets[0]
        found = [Annotation(note.onset - first, note.duration, note.text) for note in found]
        return [onset - first for onset in onsets], sorted(found, key=lambda note: note.onset)


def parse_annotations(data: bytes) -> list[tuple[float, float, list[str]]]:
    """Parses the annotation lists of one record: onset, duration, texts.

    Raises:
        FormatError: A list is damaged.
    """
    lists = []
    for part in data.split(b"\x14\x00"):
        part = part.strip(b"\x00")
        if not part:
            continue
        head, *texts = part.split(b"\x14")
        onset, _, duration = head.partition(b"\x15")
        if onset[:1] not in (b"+", b"-"):
            raise FormatError(f"[edf] an annotation begins with {bytes(head[:20])!r}: expected a sign and seconds")
        lists.append(
            (_seconds(onset), _seconds(duration) if duration else 0.0, [text.decode("utf-8", "replace") for text in texts or [b""]])
        )
    return lists


def _seconds(text: bytes) -> float:
    try:
        value = float(text)
    except ValueError:
        raise FormatError(f"[edf] an annotation has {text[:20]!r} where seconds should be") from None
    if not abs(value) < 1e12:
        raise FormatError(f"[edf] an annotation is at {value} s")
    return value


def read_edf(file: File, allow_truncated: bool = False) -> EDFRecording:
    """Opens an EDF, EDF+, BDF or BDF+ recording.

    Args:
        file: A path, bytes or an open binary file.
        allow_truncated: Whether to accept a file with fewer records than its header claims; its complete records are used.

    Returns:
        The recording. Signals are read on demand.

    Raises:
        FormatError: The file is damaged or truncated.

    >>> read_edf(b"not a recording")
    Traceback (most recent call last):
        ...
    pyburn.FormatError: [edf] the file has 15 bytes, fewer than the 256 of a header
    """
    return EDFRecording(file, allow_truncated)
