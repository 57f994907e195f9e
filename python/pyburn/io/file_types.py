"""Argument types of file functions: paths, bytes, and objects that read or write."""

from __future__ import annotations

import os
from typing import Any, Protocol, TypeAlias


class Readable(Protocol):
    """An open file, or any other object with a method `read`."""

    def read(self) -> Any: ...


class Writable(Protocol):
    """An open file, or any other object with a method `write`."""

    def write(self, data: Any, /) -> Any: ...


Path: TypeAlias = str | os.PathLike[str]
Source: TypeAlias = Path | bytes | Readable
Target: TypeAlias = Path | Writable


def readable(source: Source) -> str | bytes:
    """Returns a path as str, or the bytes of anything else."""
    if isinstance(source, bytes):
        return source
    return os.fspath(source) if isinstance(source, (str, os.PathLike)) else bytes(source.read())


def writable(target: Target) -> str | Writable:
    """Returns a path as str, or the object."""
    return os.fspath(target) if isinstance(target, (str, os.PathLike)) else target
