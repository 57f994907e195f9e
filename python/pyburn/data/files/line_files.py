"""Line-based files with random access: plain text and JSON Lines."""

from __future__ import annotations

import codecs
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..dataset import Dataset
from .source import File, FormatError, is_gzip, read_text

_BLOCK = 1 << 20


def read_lines(file: File, encoding: str = "utf-8") -> list[str]:
    r"""Returns the lines of a text file, which may be gzip-compressed, without line ends. Only \n and \r\n end a line.

    Args:
        file: A path, bytes, or an object with a method `read`.
        encoding: The encoding.

    Raises:
        FormatError: The file cannot be decoded.

    >>> pyburn.data.files.read_lines(b"one\ntwo\n")
    ['one', 'two']
    """
    text = read_text(file, "text", encoding)
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def read_json_lines(file: File, encoding: str = "utf-8") -> list[Any]:
    """Returns the values of a JSON Lines file; empty lines are skipped.

    Args:
        file: A path, bytes, or an object with a method `read`.
        encoding: The encoding.

    Raises:
        FormatError: A line is not JSON.

    >>> pyburn.data.files.read_json_lines(b'{"a": 1}')
    [{'a': 1}]
    """
    return [_parsed(line, i) for i, line in enumerate(read_lines(file, encoding), 1) if line.strip()]


def _parsed(line: str, number: int) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"[json lines] line {number} is not JSON: {error}") from None


class LinesDataset(Dataset[Any]):
    r"""The lines of a text file. Only the line offsets are kept in memory; lines are read on access.

    Args:
        path: The file.
        encoding: The encoding; line ends must be single \n bytes.
        transform: Applied to each line.
        skip_empty: Whether to skip empty lines.

    Raises:
        FormatError: The file is gzip-compressed.
        ValueError: The encoding does not allow random access.

    >>> with open("a.txt", "w") as file:
    ...     _ = file.write("one\ntwo\n")
    >>> pyburn.data.files.LinesDataset("a.txt")[1]
    'two'
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        encoding: str = "utf-8",
        transform: Callable[[Any], Any] | None = None,
        skip_empty: bool = False,
    ) -> None:
        if codecs.lookup(encoding).name == "utf-8-sig":
            encoding = "utf-8"  # a byte order mark is skipped anyway
        self.path, self.encoding, self.transform = Path(path), encoding, transform
        if "\n".encode(encoding) != b"\n":
            raise ValueError(f"[text] the lines of {encoding} cannot be found one by one: read_lines(path, {encoding!r}) reads them all")
        self._starts, self._ends, self._numbers = _line_bounds(self.path, skip_empty)

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, index: int) -> Any:
        at = range(len(self))[index]
        with open(self.path, "rb") as file:
            file.seek(int(self._starts[at]))
            data = file.read(int(self._ends[at] - self._starts[at]))
        try:
            line = data.decode(self.encoding).removesuffix("\r")
        except UnicodeDecodeError:
            raise FormatError(f"[text] line {self._numbers[at]} of {self.path.name} is not {self.encoding} (pass encoding=...)") from None
        item = self._item(line, int(self._numbers[at]))
        return item if self.transform is None else self.transform(item)

    def _item(self, line: str, number: int) -> Any:
        return line


class JSONLinesDataset(LinesDataset):
    """The values of a JSON Lines file, parsed on access; empty lines are skipped.

    Args:
        path: The file.
        encoding: The encoding.
        transform: Called with each value.

    >>> with open("a.jsonl", "w") as file:
    ...     _ = file.write('{"x": 1}\\n{"x": 2}\\n')
    >>> pyburn.data.files.JSONLinesDataset("a.jsonl")[1]
    {'x': 2}
    """

    def __init__(self, path: str | os.PathLike[str], encoding: str = "utf-8", transform: Callable[[Any], Any] | None = None) -> None:
        super().__init__(path, encoding, transform, skip_empty=True)

    def _item(self, line: str, number: int) -> Any:
        return _parsed(line, number)


def _line_bounds(path: Path, skip_empty: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the start and end offsets of the lines, and their line numbers from 1."""
    breaks = []
    at = 0
    with open(path, "rb") as file:
        head = file.read(3)
        if is_gzip(head):
            raise FormatError(
                f"[text] {path.name} is compressed with gzip, which allows no random access to lines: decompress it, or use read_lines"
            )
        file.seek(0)
        while block := file.read(_BLOCK):
            breaks.append(np.flatnonzero(np.frombuffer(block, np.uint8) == 10).astype(np.int64) + at)
            at += len(block)
    ends = np.concatenate([*breaks, np.array([at], np.int64)])
    mark = 3 if head == codecs.BOM_UTF8 else 0
    starts = np.concatenate([np.full(1, mark, np.int64), ends[:-1] + 1])
    if starts[-1] >= at:  # the file ends with a line end
        starts, ends = starts[:-1], ends[:-1]
    numbers = np.arange(1, len(starts) + 1)
    if skip_empty:
        kept = ends > starts
        with open(path, "rb") as file:
            for i in np.flatnonzero(kept & (ends - starts < 16)):  # short lines may be whitespace only
                file.seek(int(starts[i]))
                kept[i] = bool(file.read(int(ends[i] - starts[i])).strip())
        starts, ends, numbers = starts[kept], ends[kept], numbers[kept]
    return starts, ends, numbers
