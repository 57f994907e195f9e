"""Named tensors in a file of any format, read on access."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

from .. import _core
from .._core import Tensor
from .file_types import Path, Source, readable
from .native import Snapshot


class TensorFile(Mapping[str, Snapshot]):
    """The tensors of a file by name, read on access: `file["weight"].load()`.

    Args:
        snapshots: The entries of the file.
        metadata: Text entries.
        format: The name of the format.

    >>> pyburn.save({"x": pyburn.ones(2)}, "x.pt")
    >>> list(pyburn.io.open_tensors("x.pt"))
    ['x']
    """

    def __init__(self, snapshots: Iterable[Snapshot], metadata: dict[str, str], format: str) -> None:
        self._snapshots = {snapshot.name: snapshot for snapshot in snapshots}
        self.metadata = metadata
        self.format = format

    def __getitem__(self, name: str) -> Snapshot:
        return self._snapshots[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._snapshots)

    def __len__(self) -> int:
        return len(self._snapshots)

    def __repr__(self) -> str:
        lines = "".join(f"\n  {s.name}: {s.dtype} {tuple(s.shape)}" for s in self.values())
        return f"TensorFile({self.format!r}, {len(self)} tensors){lines}"


def open_tensors(source: Source, *, key: str = "", mmap: bool = False, verify: bool = True) -> TensorFile:
    """Opens a file of tensors; the format is detected from its content.

    Args:
        source: A path, bytes, or an object with a method `read`: safetensors (or an index of several files), PyTorch, .npy, .npz or
            .pyburn.
        key: The key of a nested dict in a PyTorch file, such as "state_dict".
        mmap: Whether to memory-map the file.
        verify: Whether to verify checksums.

    Returns:
        The file, with tensors that are read on access.

    >>> pyburn.io.save_npz("xy.npz", x=pyburn.ones(2), y=pyburn.zeros(3))
    >>> file = pyburn.io.open_tensors("xy.npz")
    >>> file.format, list(file), file["y"].shape
    ('npz', ['x', 'y'], pyburn.Size([3]))
    """
    return TensorFile(*_core._io.open_tensors(readable(source), mmap, verify, key))


def write_tensors(
    tensors: Mapping[str, Tensor | Snapshot] | Iterable[Snapshot],
    path: Path,
    *,
    metadata: dict[str, str] | None = None,
    format: str = "",
) -> None:
    """Writes tensors to a file, one at a time; they may come from another file.

    Args:
        tensors: The tensors or snapshots by name, or snapshots.
        path: The file.
        metadata: Text entries.
        format: The format; by default from the file name.

    >>> pyburn.io.save_npz("x.npz", x=pyburn.ones(2))
    >>> pyburn.io.write_tensors(pyburn.io.open_tensors("x.npz"), "x.safetensors")
    >>> pyburn.io.safetensors.load_file("x.safetensors")
    {'x': tensor([1., 1.])}
    """
    if isinstance(tensors, Mapping):
        snapshots: list[Snapshot] = []
        for name, value in tensors.items():
            snapshots += [value] if isinstance(value, Snapshot) else _core._io.snapshots_of({name: value})
    else:
        snapshots = list(tensors)
    _core._io.write_tensors(snapshots, os.fspath(path), metadata or {}, format)
