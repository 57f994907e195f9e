"""TensorBoard event files: protocol buffers in TFRecords with masked CRC-32C checksums, written without dependencies."""

from __future__ import annotations

import itertools
import os
import struct
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..metrics.metric import array
from .append_file import AppendFile
from .protobuf import pack

_numbers = itertools.count()


def _crc_table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_CRC_TABLE = _crc_table()


def crc32c(data: bytes) -> int:
    """Returns the CRC-32C (Castagnoli) checksum.

    >>> hex(pyburn.train.run.events.crc32c(b"123456789"))
    '0xe3069283'
    """
    crc = 0xFFFFFFFF
    table = _CRC_TABLE
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def masked_crc(data: bytes) -> bytes:
    """Returns the checksum of a part of a TFRecord."""
    crc = crc32c(data)
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def record(data: bytes) -> bytes:
    """Encodes a TFRecord: length, checksum of the length, data, checksum of the data."""
    length = struct.pack("<Q", len(data))
    return length + masked_crc(length) + data + masked_crc(data)


def records(data: bytes) -> Iterator[bytes]:
    """Yields the records of a TFRecord file; stops at the first truncated one.

    Raises:
        ValueError: A checksum is wrong.
    """
    at = 0
    while at + 12 <= len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        if data[at + 8 : at + 12] != masked_crc(data[at : at + 8]):
            raise ValueError(f"[events] the length at byte {at} has a wrong checksum")
        if at + length + 16 > len(data):
            return
        body = data[at + 12 : at + 12 + length]
        if data[at + 12 + length : at + 16 + length] != masked_crc(body):
            raise ValueError(f"[events] the record at byte {at} has a wrong checksum")
        yield body
        at += length + 16


def _stamp(path: Path) -> int:
    """Returns the timestamp in the name of an event file, or 0."""
    text = path.name.split(".")[3]
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 12 else 0


def histogram(values: Any, bins: Any = 64) -> dict[int, Any] | None:
    """Returns the HistogramProto of the finite values; None if there are none.

    Args:
        values: Numbers of any shape.
        bins: A number of bins of equal width, their edges, or a rule of numpy.histogram such as "auto".
    """
    found = array(values).astype(np.float64).reshape(-1)
    found = found[np.isfinite(found)].clip(-1e150, 1e150)  # so that the sum of squares is finite
    if not len(found):
        return None
    low, high = float(found.min()), float(found.max())
    if isinstance(bins, int) and not low + abs(low) * 1e-12 < high:  # numpy cannot divide so small a range
        counts, edges = np.array([len(found)]), np.array([low, high])
    else:
        counts, edges = np.histogram(found, bins)
    used = np.flatnonzero(counts)
    first, last = (used[0], used[-1] + 1) if len(used) else (0, len(counts))
    limits, counts = edges[first : last + 1], np.concatenate([[0], counts[first:last]])
    numbers = {1: low, 2: high, 3: float(len(found)), 4: float(found.sum()), 5: float(found @ found)}
    return {**numbers, 6: limits.astype("<f8"), 7: counts.astype("<f8")}


def wav(samples: Any, rate: int) -> tuple[bytes, int, int]:
    """Encodes audio of shape (frames,) or (channels, frames), from -1 to 1, as 16-bit WAV. Returns it with its channels and frames."""
    from ...data.files.wav import wav_bytes

    found = np.nan_to_num(np.atleast_2d(array(samples)).astype(np.float64))
    if found.ndim != 2:
        raise ValueError(f"[audio] expected shape (frames,) or (channels, frames): got {found.shape}")
    return wav_bytes(found, rate, 16), *found.shape


class EventWriter:
    """Writes scalars, text, images, histograms, audio and graphs as TensorBoard events. Events are buffered until `flush`.

    Args:
        folder: The folder of the event file.
        from_step: The step from which a resumed session replaces older events.

    >>> writer = pyburn.train.EventWriter(".")
    >>> writer.scalars({"loss/train": 0.5}, step=1)
    >>> writer.flush()
    """

    def __init__(self, folder: str | os.PathLike[str], *, from_step: int | None = None) -> None:
        now = time.time()
        # TensorBoard reads files in the order of their names; if the clock was set back, this file must still sort after older ones.
        latest = max((_stamp(path) for path in Path(folder).glob("events.out.tfevents.*")), default=0)
        name = f"events.out.tfevents.{int(now) if latest < int(now) else latest + 1}.pyburn.{os.getpid()}.{next(_numbers)}"
        self._file = AppendFile(Path(folder) / name)
        self._add({1: now, 3: "brain.Event:2"})
        if from_step is not None:  # session restart: TensorBoard discards events of older files from this step on
            self._add({1: now, 2: from_step, 7: {1: 1}})

    @property
    def path(self) -> Path:
        """The event file."""
        return self._file.path

    def _add(self, event: dict[int, Any]) -> None:
        self._file.add(record(pack(event)))

    def _summary(self, values: list[dict[int, Any]], step: int, when: float | None) -> None:
        self._add({1: time.time() if when is None else float(when), 2: step, 5: {1: values}})

    def scalars(self, values: Mapping[str, float], step: int, when: float | None = None) -> None:
        """Writes scalars by tag.

        Args:
            values: The values by tag.
            step: The step.
            when: The time in seconds since the epoch; None for now.
        """
        with np.errstate(over="ignore"):  # numbers above the range of float32 become infinite
            self._summary([{1: tag, 2: np.float32(value)} for tag, value in values.items()], step, when)

    def text(self, tag: str, text: str, step: int = 0, when: float | None = None) -> None:
        """Writes Markdown text, for TensorBoard's text page.

        Args:
            tag: The name.
            text: The text.
            step: The step.
            when: The time in seconds since the epoch; None for now.
        """
        self.tensor(tag, text, "text", step=step, when=when)

    def image(self, tag: str, png: bytes, step: int, when: float | None = None) -> None:
        """Writes an encoded PNG image.

        Args:
            tag: The name.
            png: The encoded image.
            step: The step.
            when: The time in seconds since 1970; by default now.
        """
        width, height, channels = *struct.unpack(">II", png[16:24]), {0: 1, 2: 3, 4: 2, 6: 4}.get(png[25], 3)
        self._summary([{1: tag, 4: {1: height, 2: width, 3: channels, 4: png}}], step, when)

    def histogram(self, tag: str, values: Any, step: int, when: float | None = None, *, bins: Any = 64) -> None:
        """Writes a histogram of the finite values; nothing if there are none.

        Args:
            tag: The tag.
            values: An array of any shape.
            step: The step.
            when: The time in seconds since the epoch; None for now.
            bins: A number of bins of equal width, their edges, or a rule of numpy.histogram such as "auto".
        """
        found = histogram(values, bins)
        if found is not None:
            self._summary([{1: tag, 5: found}], step, when)

    def audio(self, tag: str, samples: Any, rate: int, step: int, when: float | None = None) -> None:
        """Writes audio of shape (frames,) or (channels, frames), from -1 to 1, as 16-bit WAV.

        Args:
            tag: The name.
            samples: The samples.
            rate: The number of samples per second.
            step: The step.
            when: The time in seconds since 1970; by default now.
        """
        data, channels, frames = wav(samples, rate)
        self._summary([{1: tag, 6: {1: np.float32(rate), 2: channels, 3: frames, 4: data, 5: "audio/wav"}}], step, when)

    def tensor(
        self, tag: str, value: Any, plugin: str, content: bytes | dict[int, Any] = b"", *, step: int = 0, when: float | None = None
    ) -> None:
        """Writes a value for a plugin of TensorBoard.

        Args:
            tag: The tag.
            value: An array of float32, or a string; None for metadata alone.
            plugin: The name of the plugin.
            content: The plugin's own metadata.
            step: The step.
            when: The time in seconds since the epoch; None for now.
        """
        if isinstance(value, (str, bytes)):
            tensor: dict[int, Any] | None = {1: 7, 2: b"", 8: value}
        elif value is not None:
            array = np.asarray(value, "<f4")
            tensor = {1: 1, 2: {2: [{1: size} for size in array.shape]}, 4: array.tobytes()}
        else:
            tensor = None
        self._summary([{1: tag, 8: tensor, 9: {1: {1: plugin, 2: content or None}}}], step, when)

    def graph(self, nodes: Iterable[dict[int, Any]]) -> None:
        """Writes a graph: NodeDef messages by field number.

        Args:
            nodes: The nodes.
        """
        self._add({1: time.time(), 4: pack({1: list(nodes), 4: {1: 22}})})

    def flush(self) -> OSError | None:
        """Writes buffered events. Returns an OSError instead of raising it; the events then stay buffered."""
        return self._file.flush()
