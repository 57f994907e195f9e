"""Reads bytes from a path, bytes or an open file, compressed or not. Sizes claimed by files are checked before use."""

from __future__ import annotations

import gzip
import io
import os
import struct
import zlib
from pathlib import Path
from typing import IO, Any, Union

import numpy as np

from ..._core import FormatError
from . import limits

File = Union[str, "os.PathLike[str]", bytes, IO[bytes]]
DEFLATE_RATIO = limits.DEFLATE_RATIO


def read_bytes(file: File) -> bytes:
    """Returns all bytes of a path or an open binary file, or the bytes themselves.

    Raises:
        TypeError: The file is open in text mode.
    """
    if isinstance(file, (bytes, bytearray, memoryview)):
        return bytes(file)
    if isinstance(file, (str, os.PathLike)):
        return Path(file).read_bytes()
    data = file.read()
    if not isinstance(data, bytes):
        raise TypeError(f"expected a file opened in binary mode: got one whose read() gives {type(data).__name__}")
    return data


def name_of(file: Any) -> str:
    """Returns the name of a file for messages."""
    return os.fspath(file) if isinstance(file, (str, os.PathLike)) else str(getattr(file, "name", "<bytes>"))


def is_gzip(data: bytes) -> bool:
    """Returns whether data starts with the gzip magic number."""
    return data[:2] == b"\x1f\x8b"


def gunzip(data: bytes, format: str, limit: int | None = None) -> bytes:
    """Decompresses gzip data.

    Args:
        data: The compressed data.
        format: The name of the format, for messages.
        limit: Stop one byte after this size. None raises FormatError above MOST_INFLATED.

    Raises:
        FormatError: The data is damaged or too large.
    """
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            content = stream.read((limits.MOST_INFLATED if limit is None else limit) + 1)
            if limit is None and len(content) > limits.MOST_INFLATED:
                raise FormatError(
                    f"[{format}] the gzip data has more than {limits.MOST_INFLATED} bytes (raise pyburn.data.files.limits.MOST_INFLATED)"
                )
            return content
    except (OSError, EOFError, zlib.error, struct.error) as error:
        raise FormatError(f"[{format}] the gzip data is damaged: {error}") from None


def read_text(file: File, format: str, encoding: str = "utf-8") -> str:
    """Returns the text of a file, which may be gzip-compressed, without byte order mark.

    Raises:
        FormatError: The file cannot be decoded.
    """
    data = read_bytes(file)
    if is_gzip(data):
        data = gunzip(data, format)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise FormatError(
            f"[{format}] {name_of(file)} is not {encoding}: byte 0x{data[error.start]:02x} at {error.start} (pass encoding=...)"
        ) from None
    return text.removeprefix("\ufeff")


class ByteReader:
    """A position in bytes. Reading beyond the end raises FormatError."""

    def __init__(self, data: bytes | memoryview, format: str) -> None:
        self.data = memoryview(data)
        self.format = format
        self.at = 0

    @property
    def left(self) -> int:
        """The number of remaining bytes."""
        return len(self.data) - self.at

    def fail(self, message: str) -> FormatError:
        """Returns a FormatError with the name of the format."""
        return FormatError(f"[{self.format}] {message}")

    def take(self, count: int, what: str = "the data") -> memoryview:
        """Returns the next `count` bytes.

        Raises:
            FormatError: There are fewer bytes left.
        """
        if count < 0 or count > self.left:
            raise self.fail(f"the file ends inside {what}: {count} bytes are wanted at {self.at}, {self.left} are left")
        part = self.data[self.at : self.at + count]
        self.at += count
        return part

    def unpack(self, layout: str, what: str = "the data") -> tuple[Any, ...]:
        """Reads values with a struct format.

        Raises:
            FormatError: There are too few bytes left.
        """
        return struct.unpack(layout, self.take(struct.calcsize(layout), what))


def from_24_bits(data: Any) -> np.ndarray:
    """Returns little-endian integers of 24 bits as int32."""
    parts = np.frombuffer(data, np.uint8).reshape(-1, 3)
    wide = np.zeros((len(parts), 4), np.uint8)
    wide[:, 1:] = parts
    return wide.reshape(-1).view("<i4").astype(np.int32) >> 8
