"""The safetensors format, under the names of the package `safetensors`."""

from __future__ import annotations

import os

from .. import _core
from .._core import Tensor

__all__ = ["load", "load_file", "load_metadata", "save_file"]


def save_file(tensors: dict[str, Tensor], filename: str | os.PathLike[str], metadata: dict[str, str] | None = None) -> None:
    """Writes named tensors to a file. Readers see the old file or the new one, never a part."""
    _core._io.save_file(dict(tensors), os.fspath(filename), metadata or {})


def load_file(filename: str | os.PathLike[str], device: object = None) -> dict[str, Tensor]:
    """The tensors of a file by name. A file that is not what it should be raises FormatError."""
    return _core._io.load_file(os.fspath(filename), device)


def load(data: bytes, device: object = None) -> dict[str, Tensor]:
    """The tensors of a safetensors file that is in memory."""
    return _core._io.load(data, device)


def load_metadata(filename: str | os.PathLike[str]) -> dict[str, str]:
    """The text that a file carries beside its tensors."""
    return _core._io.load_metadata(os.fspath(filename))
