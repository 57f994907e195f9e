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
    """Replaces a file of text as a whole: readers see the old one or the new one."""
    replace_bytes(path, text.encode())


def replace_bytes(path: Path, data: bytes) -> None:
    """Replaces a file as a whole. A folder that was removed is made again; on an error the old file stays and nothing else."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
