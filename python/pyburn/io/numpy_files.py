"""numpy's files, read and written without numpy. Arrays of objects, which are pickles, are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _core
from .._core import Tensor
from .file_types import Source, Target, writable
from .tensor_file import TensorFile, open_tensors

if TYPE_CHECKING:
    from .._types import DeviceLike


def save_npy(file: Target, tensor: Tensor) -> None:
    """Writes one tensor as .npy, to a path or an object with a method `write`. bfloat16 becomes numpy's `V2`.

    >>> pyburn.io.save_npy("x.npy", pyburn.arange(3))
    >>> pyburn.io.load_npy("x.npy")
    tensor([0, 1, 2])
    """
    _core._io.save_npy(tensor, writable(file))


def load_npy(file: Source, device: DeviceLike | None = None, mmap: bool = False) -> Tensor:
    """The tensor of a .npy file; Fortran order becomes strides, the other byte order is turned."""
    (snapshot,) = _opened(file, "npy", mmap).values()
    return snapshot.load(device)


def save_npz(file: Target, **tensors: Tensor) -> None:
    """Writes named tensors as .npz, without compression.

    >>> pyburn.io.save_npz("xy.npz", x=pyburn.ones(2), y=pyburn.zeros(1))
    >>> pyburn.io.load_npz("xy.npz")
    {'x': tensor([1., 1.]), 'y': tensor([0.])}
    """
    _core._io.save_npz(tensors, writable(file))


def load_npz(file: Source, device: DeviceLike | None = None, mmap: bool = False) -> dict[str, Tensor]:
    """The tensors of a .npz file by name, whether compressed or not."""
    return {name: snapshot.load(device) for name, snapshot in _opened(file, "npz", mmap).items()}


def _opened(file: Source, format: str, mmap: bool) -> TensorFile:
    opened = open_tensors(file, mmap=mmap)
    if opened.format != format:
        raise _core.FormatError(f"[{format}] the file has another format: got {opened.format}")
    return opened
