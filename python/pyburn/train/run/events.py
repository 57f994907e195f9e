"""TensorBoard event files: protocol buffers in TFRecords with masked CRC-32C checksums, written without dependencies."""

from __future__ import annotations

import itertools
import os
import struct
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from .append_file import AppendFile

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


def _masked_crc(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def record(data: bytes) -> bytes:
    """Encodes a TFRecord: length, checksum of the length, data, checksum of the data."""
    length = struct.pack("<Q", len(data))
    return length + _masked_crc(length) + data + _masked_crc(data)


def records(data: bytes) -> Iterator[bytes]:
    """Yields the records of a TFRecord file; stops at the first truncated one.

    Raises:
        ValueError: A checksum is wrong.
    """
    at = 0
    while at + 12 <= len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        if data[at + 8 : at + 12] != _masked_crc(data[at : at + 8]):
            raise ValueError(f"[events] the length at byte {at} has a wrong checksum")
        if at + length + 16 > len(data):
            return
        body = data[at + 12 : at + 12 + length]
        if data[at + 12 + length : at + 16 + length] != _masked_crc(body):
            raise ValueError(f"[events] the record at byte {at} has a wrong checksum")
        yield body
        at += length + 16


def _varint(number: int) -> bytes:
    number &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _integer(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _double(field: int, value: float) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<d", value)


def _float(field: int, value: float) -> bytes:
    return _varint(field << 3 | 5) + struct.pack("<f", _single(value))


def _single(value: float) -> float:
    """Rounds to float32 range: larger numbers become infinite, where struct would raise."""
    return (
        value
        if not abs(value) > 3.4028234663852886e38 or value in (float("inf"), float("-inf"))
        else float("inf") * (1 if value > 0 else -1)
    )


def _message(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _stamp(path: Path) -> int:
    """Returns the timestamp in the name of an event file, or 0."""
    text = path.name.split(".")[3]
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 12 else 0


class EventWriter:
    """Writes scalars, text and images as TensorBoard events. Events are buffered until `flush`.

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
        self._file.add(record(_double(1, now) + _message(3, b"brain.Event:2")))
        if from_step is not None:  # session restart: TensorBoard discards events of older files from this step on
            self._file.add(record(_double(1, now) + _integer(2, from_step) + _message(7, _integer(1, 1))))

    @property
    def path(self) -> Path:
        """The event file."""
        return self._file.path

    def scalars(self, values: Mapping[str, float], step: int, when: float | None = None) -> None:
        """Writes scalars by tag.

        Args:
            values: The values by tag.
            step: The step.
            when: The time in seconds since the epoch; None for now.
        """
        summary = b"".join(_message(1, _message(1, tag.encode()) + _float(2, value)) for tag, value in values.items())
        self._event(summary, step, when)

    def text(self, tag: str, text: str, step: int = 0) -> None:
        """Writes Markdown text, for TensorBoard's text page.

        Args:
            tag: The name.
            text: The text.
            step: The step.
        """
        tensor = _integer(1, 7) + _message(2, b"") + _message(8, text.encode())  # a scalar of dtype string
        metadata = _message(1, _message(1, b"text"))
        self._event(_message(1, _message(1, tag.encode()) + _message(8, tensor) + _message(9, metadata)), step, None)

    def image(self, tag: str, png: bytes, height: int, width: int, step: int) -> None:
        """Writes an encoded PNG image."""
        image = _integer(1, height) + _integer(2, width) + _integer(3, 3) + _message(4, png)
        self._event(_message(1, _message(1, tag.encode()) + _message(4, image)), step, None)

    def _event(self, summary: bytes, step: int, when: float | None) -> None:
        head = _double(1, time.time() if when is None else when) + _integer(2, step)
        self._file.add(record(head + _message(5, summary)))

    def flush(self) -> OSError | None:
        """Writes buffered events. Returns an OSError instead of raising it; the events then stay buffered."""
        return self._file.flush()
