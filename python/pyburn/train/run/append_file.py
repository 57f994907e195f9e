"""Append-only files that buffer what could not be written, so that a full disk loses no data."""

from __future__ import annotations

import os
from pathlib import Path


class AppendFile:
    """Appends to a file. `add` buffers bytes; `flush` writes all of them or, if that fails, none."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.error: OSError | None = None  # error of the last flush
        self._pending = bytearray()

    def add(self, data: bytes) -> None:
        """Buffers bytes."""
        self._pending += data

    @property
    def pending(self) -> int:
        """The number of buffered bytes."""
        return len(self._pending)

    def flush(self) -> OSError | None:
        """Writes the buffered bytes. An OSError is stored and returned, not raised; the bytes stay buffered."""
        if not self._pending:
            return self.error
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)  # inside the try: creating a folder may fail on a full disk as well
            with open(self.path, "ab", buffering=0) as file:
                end = file.seek(0, os.SEEK_END)
                try:
                    written = 0
                    while written < len(self._pending):
                        written += file.write(self._pending[written:])
                except OSError:
                    file.truncate(end)  # removes a partial record, which readers would reject
                    raise
        except OSError as error:
            self.error = error
            return error
        self._pending.clear()
        self.error = None
        return None


def replace_text(path: Path, text: str) -> None:
    """Replaces a text file atomically: readers see either the old or the new content."""
    replace_bytes(path, text.encode())


def replace_bytes(path: Path, data: bytes) -> None:
    """Replaces a file atomically, and creates its folder if needed. On an error the old file stays and no temporary file is left."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
