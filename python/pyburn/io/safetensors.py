"""The safetensors format, under the names of the package `safetensors`."""

from __future__ import annotations

import io
import os
from typing import Any

from .. import _core
from .._core import Tensor

__all__ = ["load", "load_file", "load_metadata", "save", "save_file", "save_sharded"]


def save_file(tensors: dict[str, Tensor], filename: str | os.PathLike[str], metadata: dict[str, str] | None = None) -> None:
    """Writes named tensors to a file. Readers see the old file or the new one, never a part.

    >>> pyburn.io.safetensors.save_file({"w": pyburn.ones(2)}, "w.safetensors", metadata={"format": "pt"})
    >>> pyburn.io.safetensors.load_metadata("w.safetensors")
    {'format': 'pt'}
    """
    _core._io.save_file(dict(tensors), os.fspath(filename), metadata or {})


def save(tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """What save_file would write.

    >>> pyburn.io.safetensors.load(pyburn.io.safetensors.save({"w": pyburn.ones(2)}))
    {'w': tensor([1., 1.])}
    """
    file = io.BytesIO()
    _core._io.save_file(dict(tensors), file, metadata or {})
    return file.getvalue()


def save_sharded(
    tensors: dict[str, Tensor],
    filename: str | os.PathLike[str],
    max_shard_size: int = 5_000_000_000,
    metadata: dict[str, str] | None = None,
) -> None:
    """Writes an index (`model.safetensors.index.json`) and, beside it, files of at most `max_shard_size` bytes of tensors.

    >>> pyburn.io.safetensors.save_sharded({"a": pyburn.ones(2), "b": pyburn.ones(2)}, "m.safetensors.index.json", max_shard_size=8)
    >>> sorted(pyburn.io.safetensors.load_file("m.safetensors.index.json"))
    ['a', 'b']
    """
    _core._io.save_sharded(dict(tensors), os.fspath(filename), max_shard_size, metadata or {})


def load_file(filename: str | os.PathLike[str], device: Any = None, mmap: bool = False) -> dict[str, Tensor]:
    """The tensors of a file, or of all files that an index names. A file that is not what it should be raises FormatError.

    With `mmap` tensors on the CPU lie in the mapped file: they are read when touched, and what is written to them stays in this
    process. The file must then stay as it is; writing it anew with this package is fine, since that makes another file.

    >>> pyburn.io.safetensors.save_file({"w": pyburn.ones(2)}, "w.safetensors")
    >>> pyburn.io.safetensors.load_file("w.safetensors", mmap=True)
    {'w': tensor([1., 1.])}
    """
    return _core._io.load_file(os.fspath(filename), device, mmap)


def load(data: bytes, device: Any = None) -> dict[str, Tensor]:
    """The tensors of a safetensors file that is in memory."""
    return _core._io.load(bytes(data), device)


def load_metadata(filename: str | os.PathLike[str]) -> dict[str, str]:
    """The text that a file carries beside its tensors."""
    return _core._io.load_metadata(os.fspath(filename))
