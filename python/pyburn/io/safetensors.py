"""The safetensors format, with the interface of the package `safetensors`."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Tensor
from .native import Snapshot

if TYPE_CHECKING:
    from .._types import DeviceLike

__all__ = ["load", "load_file", "load_metadata", "safe_open", "save", "save_file", "save_sharded"]


def save_file(tensors: dict[str, Tensor], filename: str | os.PathLike[str], metadata: dict[str, str] | None = None) -> None:
    """Saves named tensors to a file, atomically.

    Args:
        tensors: The tensors by name.
        filename: The path.
        metadata: Text entries.

    >>> pyburn.io.safetensors.save_file({"w": pyburn.ones(2)}, "w.safetensors", metadata={"format": "pt"})
    >>> pyburn.io.safetensors.load_metadata("w.safetensors")
    {'format': 'pt'}
    """
    _core._io.save_file(dict(tensors), os.fspath(filename), metadata or {})


def save(tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """Returns the content that save_file would write.

    Args:
        tensors: The tensors by name.
        metadata: Text entries of the header.

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
    """Saves tensors as an index (`model.safetensors.index.json`) and several files next to it.

    Args:
        tensors: The tensors by name.
        filename: The path of the index.
        max_shard_size: The maximum number of tensor bytes per file.
        metadata: Text entries.

    >>> pyburn.io.safetensors.save_sharded({"a": pyburn.ones(2), "b": pyburn.ones(2)}, "m.safetensors.index.json", max_shard_size=8)
    >>> sorted(pyburn.io.safetensors.load_file("m.safetensors.index.json"))
    ['a', 'b']
    """
    _core._io.save_sharded(dict(tensors), os.fspath(filename), max_shard_size, metadata or {})


def load_file(filename: str | os.PathLike[str], device: DeviceLike | None = None, mmap: bool = False) -> dict[str, Tensor]:
    """Loads the tensors of a file, or of all files of an index.

    Args:
        filename: The path of the file or index.
        device: The device; None for the default one.
        mmap: Whether to memory-map the file: CPU tensors are read on access, and changes to them stay in this process. The file must not be
            modified meanwhile; saving it again with this package is safe, since that creates a new file.

    Returns:
        The tensors by name.

    Raises:
        FormatError: The file is damaged.

    >>> pyburn.io.safetensors.save_file({"w": pyburn.ones(2)}, "w.safetensors")
    >>> pyburn.io.safetensors.load_file("w.safetensors", mmap=True)
    {'w': tensor([1., 1.])}
    """
    return _core._io.load_file(os.fspath(filename), device, mmap)


def load(data: bytes, device: DeviceLike | None = None) -> dict[str, Tensor]:
    """Loads the tensors of a safetensors file in memory.

    Args:
        data: The content of a file.
        device: The device; None for the default one.

    Returns:
        The tensors by name.

    >>> pyburn.io.safetensors.load(pyburn.io.safetensors.save({"x": pyburn.ones(2)}))
    {'x': tensor([1., 1.])}
    """
    return _core._io.load(bytes(data), device)


def load_metadata(filename: str | os.PathLike[str]) -> dict[str, str]:
    """Returns the metadata of a file.

    Args:
        filename: The path of the file.

    >>> pyburn.io.safetensors.save_file({"x": pyburn.ones(2)}, "x.safetensors", {"epoch": "3"})
    >>> pyburn.io.safetensors.load_metadata("x.safetensors")
    {'epoch': '3'}
    """
    return _core._io.load_metadata(os.fspath(filename))


class safe_open:  # noqa: N801  (the name of the package `safetensors`)
    """Opens a file whose tensors are read one by one, whole or in part.

    Args:
        filename: The path.
        framework: "pyburn", "pt", "torch" or "pytorch", which mean the same.
        device: The device; None for the default one.

    Raises:
        ValueError: framework is unknown.

    >>> pyburn.io.safetensors.save_file({"w": pyburn.arange(6.0).view(2, 3)}, "w.safetensors")
    >>> with pyburn.io.safetensors.safe_open("w.safetensors") as file:
    ...     print(file.keys(), file.get_slice("w")[:, 1])
    ['w'] tensor([1., 4.])
    """

    def __init__(self, filename: str | os.PathLike[str], framework: str = "pyburn", device: DeviceLike | None = None) -> None:
        if framework not in ("pyburn", "pt", "torch", "pytorch"):
            raise ValueError(f"[safe_open] framework must be 'pyburn' or 'pt', which means the same here: got {framework!r}")
        snapshots, self._metadata, _ = _core._io.open_tensors(os.fspath(filename), True, True, "")
        self._snapshots = {snapshot.name: snapshot for snapshot in snapshots}
        self._device = device

    def __enter__(self) -> safe_open:
        return self

    def __exit__(self, *error: object) -> None:
        self._snapshots = {}

    def keys(self) -> list[str]:
        """Returns the names of the tensors, in file order."""
        return list(self._snapshots)

    def metadata(self) -> dict[str, str]:
        """Returns the metadata of the file."""
        return self._metadata

    def get_tensor(self, name: str) -> Tensor:
        """Returns a copy of a tensor.

        Args:
            name: The name of the tensor.
        """
        return self._snapshots[name].load(self._device).clone()

    def get_slice(self, name: str) -> _Slice:
        """Returns an object to be indexed; only the requested part is read.

        Args:
            name: The name of the tensor.
        """
        return _Slice(self._snapshots[name], self._device)


class _Slice:
    def __init__(self, snapshot: Snapshot, device: DeviceLike | None) -> None:
        self._snapshot, self._device = snapshot, device

    def get_shape(self) -> list[int]:
        return list(self._snapshot.shape)

    def get_dtype(self) -> str:
        return _core._io.safetensors_dtype(self._snapshot.dtype)

    def __getitem__(self, index: Any) -> Tensor:
        part = self._snapshot.load("cpu")[index].clone()
        return part.to(_core._default_device() if self._device is None else self._device)
