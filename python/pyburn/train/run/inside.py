"""Reads run folders as untrusted input: symbolic links are not followed, and file sizes are limited."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

MOST_BYTES = 32 << 20  # per JSON file, image, or line of a JSONL file
MOST_SERIES_BYTES = 1 << 30  # per series file: 32 million values
_SAFE = os.open in os.supports_dir_fd  # everywhere but on Windows
_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def open_inside(folder: str | os.PathLike[str], name: str) -> BinaryIO:
    """Opens a file below a folder for reading.

    Args:
        folder: The run folder. It may itself be a symbolic link.
        name: The relative path of the file, with slashes.

    Returns:
        The open file. It is a regular file, and no part of `name` is a symbolic link.

    Raises:
        OSError: The file does not exist, or is a link, folder, pipe or device.
    """
    # Without O_NONBLOCK, opening a pipe would block.
    descriptor = _descend(folder, name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", name)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def touch_inside(folder: str | os.PathLike[str], name: str) -> None:
    """Creates an empty file in a folder if it does not exist; does not follow links."""
    os.close(_descend(folder, name, os.O_WRONLY | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)))


def replace_inside(folder: str | os.PathLike[str], name: str, data: bytes) -> None:
    """Replaces a file in a folder atomically; a link of that name is replaced, not followed."""
    temporary = f".{name}.{secrets.token_hex(8)}"
    path = Path(folder) / temporary
    try:
        with os.fdopen(_descend(folder, temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            file.write(data)
        os.replace(path, Path(folder) / name)
    except OSError:
        path.unlink(missing_ok=True)
        raise


def refuse_links(folder: str | os.PathLike[str]) -> None:
    """Raises OSError if there is a symbolic link below a folder: writing through it would change files in other places."""
    for here, folders, files in os.walk(folder):
        for name in (*folders, *files):
            if os.path.islink(path := os.path.join(here, name)):
                reason = (
                    "symbolic links inside a run folder are not followed (replace it by what it points to; the folder itself may be a link)"
                )
                raise OSError(errno.ELOOP, reason, path)


def _descend(folder: str | os.PathLike[str], name: str, flags: int) -> int:
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        raise OSError(errno.EINVAL, "not the name of a file", name) from None
    *folders, last = name.split("/")
    if any(part in ("", ".", "..") or "\0" in part or os.sep in part for part in (*folders, last)):
        raise OSError(errno.EINVAL, "not a name below the folder", name)
    if not _SAFE:
        path = Path(folder)
        for part in (*folders, last):
            path /= part
            if path.is_symlink():
                raise OSError(errno.ELOOP, "a link is not followed", name)
        return os.open(path, flags | _FLAGS)
    # Each part is opened relative to the open parent folder, which rules out a race with someone who inserts a link.
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in folders:
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | _FLAGS, dir_fd=here)
            os.close(here)
            here = below
        return os.open(last, flags | _FLAGS, 0o666, dir_fd=here)
    finally:
        os.close(here)


def read_inside(folder: str | os.PathLike[str], name: str, most: int = MOST_BYTES) -> bytes:
    """Returns the content of a file below a folder. Raises OSError like `open_inside`, or if it has more than `most` bytes."""
    with open_inside(folder, name) as file:
        if os.fstat(file.fileno()).st_size <= most and len(data := file.read(most + 1)) <= most:
            return data
    raise OSError(errno.EFBIG, f"larger than {most} bytes", name)


def tail_inside(folder: str | os.PathLike[str], name: str, most: int) -> str:
    """Returns the last `most` bytes of a text file below a folder, or an empty string if there is none."""
    try:
        with open_inside(folder, name) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - most))
            return file.read(most).decode("utf-8", "replace")
    except OSError:
        return ""


def lines_inside(folder: str | os.PathLike[str], name: str, most: int = MOST_BYTES) -> Iterator[bytes]:
    """Yields the lines of a file below a folder; nothing if there is none. Lines of more than `most` bytes are skipped."""
    try:
        file = open_inside(folder, name)
    except OSError:
        return
    with file:
        while line := file.readline(most):
            if len(line) == most and not line.endswith(b"\n"):
                while (rest := file.readline(most)) and not rest.endswith(b"\n"):
                    pass
                continue
            yield line


def names_inside(folder: str | os.PathLike[str], below: str, *, folders: bool) -> list[str]:
    """Returns the sorted names of the folders, or of the regular files, in a subfolder; empty if it does not exist or is a link."""
    path = Path(folder)
    for part in below.split("/"):
        path /= part
        if path.is_symlink():
            return []
    try:
        with os.scandir(path) as found:
            return sorted(one.name for one in found if (one.is_dir if folders else one.is_file)(follow_symlinks=False))
    except OSError:
        return []
