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
    """Returns a path as str, or the object.

    Raises:
        TypeError: It is neither a path nor an object with a method `write`.
    """
    if isinstance(target, (str, os.PathLike)):
        return os.fspath(target)
    if not hasattr(target, "write"):
        raise TypeError(f"expected a path or an object with a method write(): got {type(target).__name__}")
    return target
