"""Extracts selected files from archives. Paths inside the archive are never used as target paths, and sizes are limited."""

from __future__ import annotations

import os
import shutil
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from .._core import FormatError
from .damage import format_errors


def unpack_members(
    archive: str | os.PathLike[str], folder: str | os.PathLike[str], members: Mapping[str, str], largest: int = 1 << 30
) -> None:
    """Extracts members of a zip or tar archive.

    Args:
        archive: The archive.
        folder: The target folder.
        members: The target file name by name of the member.
        largest: The maximum size of a member in bytes.

    Raises:
        FormatError: A member is missing or too large, or the archive is damaged.
    """
    path, into = Path(archive), Path(folder)
    into.mkdir(parents=True, exist_ok=True)
    with format_errors(f"[archive] {path.name} is damaged"):
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as opened:
                for member, name in members.items():
                    if member not in opened.NameToInfo:
                        raise FormatError(f"[archive] {path.name} does not contain {member!r}")
                    with opened.open(member) as source:
                        _write(source, into / name, largest)
        else:
            with tarfile.open(path) as packed:
                left = dict(members)
                for entry in packed:
                    member = entry.name.removeprefix("./")
                    stream = packed.extractfile(entry) if entry.isfile() and member in left else None
                    if stream is not None:
                        with stream:
                            _write(stream, into / left.pop(member), largest)
                if left:
                    raise FormatError(f"[archive] {path.name} does not contain {next(iter(left))!r}")


def _write(source: IO[bytes], target: Path, largest: int) -> None:
    part = target.with_name(target.name + ".part")
    try:
        with open(part, "wb") as out:
            shutil.copyfileobj(_Limited(source, largest, target.name), out)  # type: ignore[misc]
        os.replace(part, target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


class _Limited:
    def __init__(self, source: IO[bytes], left: int, name: str) -> None:
        self.source, self.left, self.name = source, left, name

    def read(self, size: int = -1) -> bytes:
        block = self.source.read(size)
        self.left -= len(block)
        if self.left < 0:
            raise FormatError(f"[archive] {self.name} is larger than it may be")
        return block
