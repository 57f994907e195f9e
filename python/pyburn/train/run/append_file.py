"""Files that grow: what could not be written yet is kept and tried again, so that a full disk loses nothing."""

from __future__ import annotations

import os
from pathlib import Path


class AppendFile:
    """The end of a file. `add` keeps bytes, `flush` writes them in one piece or, if that fails, not at all."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.error: OSError | None = None  # of the last flush
        self._pending = bytearray()

    def add(self, data: bytes) -> None:
        self._pending += data

    @property
    def pending(self) -> int:
        """How many bytes wait."""
        return len(self._pending)

    def flush(self) -> OSError | None:
        """Writes what waits. An error of the disk is returned and remembered; the bytes go on waiting."""
        if not self._pending:
            return self.error
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)  # here, since a full disk may refuse a folder, too
            with open(self.path, "ab", buffering=0) as file:
                end = file.seek(0, os.SEEK_END)
                try:
                    written = 0
                    while written < len(self._pending):
                        written += file.write(self._pending[written:])
                except OSError:
                    file.truncate(end)  # half a record would be read as a broken one
                    raise
        except OSError as error:
            self.error = error
            return error
        self._pending.clear()
        self.error = None
        return None


def replace_text(path: Path, text: str) -> None:
    """Readers see the old file or the new one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
