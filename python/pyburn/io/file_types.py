"""What functions of files take: paths, bytes, and objects that read or write."""

from __future__ import annotations

import os
from typing import Any, Protocol, TypeAlias


class Readable(Protocol):
    """An open file, or anything else with this method."""

    def read(self) -> Any: ...


class Writable(Protocol):
    """An open file, or anything else with this method."""

    def write(self, data: Any, /) -> Any: ...


Path: TypeAlias = str | os.PathLike[str]
Source: TypeAlias = Path | bytes | Readable
Target: TypeAlias = Path | Writable


def readable(source: Source) -> str | bytes:
    """A path as text, or the bytes of what is not one."""
    if isinstance(source, bytes):
        return source
    return os.fspath(source) if isinstance(source, (str, os.PathLike)) else bytes(source.read())


def writable(target: Target) -> str | Writable:
    """A path as text, or the object."""
    return os.fspath(target) if isinstance(target, (str, os.PathLike)) else target
