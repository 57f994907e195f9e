"""Files of a run folder as an untrusted source: no link is followed, and no more is read than a limit allows."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

MOST_BYTES = 32 << 20  # of a JSON file, an image, or a line of a file of lines
_SAFE = os.open in os.supports_dir_fd  # everywhere but on Windows
_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def open_inside(folder: str | os.PathLike[str], name: str) -> BinaryIO:
    """Opens a file below a folder for reading.

    Args:
        folder: The folder of a run. It may itself be a symbolic link.
        name: The path of the file from there, with slashes.

    Returns:
        The file. It is a regular file, and no part of `name` is a symbolic link.

    Raises:
        OSError: There is no such file, or it is a link, a folder, a pipe or a device.
    """
    # A pipe would be waited for without O_NONBLOCK.
    descriptor = _descend(folder, name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", name)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def touch_inside(folder: str | os.PathLike[str], name: str) -> None:
    """Makes an empty file in a folder, where there is none; follows no link."""
    os.close(_descend(folder, name, os.O_WRONLY | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)))


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
    # Each part is opened in the folder that is open already, so that nobody can put a link there in between.
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
    """Returns the content of a file below a folder. Raises OSError as `open_inside`, or if it has more than `most` bytes."""
    with open_inside(folder, name) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"larger than {most} bytes", name)
    return data


def tail_inside(folder: str | os.PathLike[str], name: str, most: int) -> str:
    """Returns the end of a text below a folder; nothing where there is none."""
    try:
        with open_inside(folder, name) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - most))
            return file.read(most).decode("utf-8", "replace")
    except OSError:
        return ""


def lines_inside(folder: str | os.PathLike[str], name: str, most: int = MOST_BYTES) -> Iterator[bytes]:
    """Yields the lines of a file below a folder; nothing where there is none. A line of more than `most` bytes is left out."""
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
    """Returns the sorted names of the folders, or of the regular files, in a part of a folder; nothing where there is none, or a link."""
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
