"""NumPy files, read and written without NumPy. Object arrays, which are pickles, are rejected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _core
from .._core import Tensor
from .file_types import Source, Target, writable
from .tensor_file import TensorFile, open_tensors

if TYPE_CHECKING:
    from .._types import DeviceLike


def save_npy(file: Target, tensor: Tensor) -> None:
    """Saves a tensor as .npy, to a path or an object with a method `write`. bfloat16 becomes NumPy's `V2`.

    Args:
        file: A path or an object with a method `write`.
        tensor: The tensor to save.

    >>> pyburn.io.save_npy("x.npy", pyburn.arange(3))
    >>> pyburn.io.load_npy("x.npy")
    tensor([0, 1, 2])
    """
    _core._io.save_npy(tensor, writable(file))


def load_npy(file: Source, device: DeviceLike | None = None, mmap: bool = False) -> Tensor:
    """Loads the tensor of a .npy file. Fortran order becomes strides, and foreign byte order is converted.

    Args:
        file: A path, bytes, or an object with a method `read`.
        device: The device; None for the default one.
        mmap: Whether to memory-map the file.

    Returns:
        The tensor.

    Raises:
        FormatError: The file is not a .npy file.

    >>> pyburn.io.save_npy("x.npy", pyburn.arange(3))
    >>> pyburn.io.load_npy("x.npy")
    tensor([0, 1, 2])
    """
    (snapshot,) = _opened(file, "npy", mmap).values()
    return snapshot.load(device)


def save_npz(file: Target, **tensors: Tensor) -> None:
    """Saves named tensors as .npz, uncompressed.

    Args:
        file: A path or an object with a method `write`.
        **tensors: The tensors by name.

    >>> pyburn.io.save_npz("xy.npz", x=pyburn.ones(2), y=pyburn.zeros(1))
    >>> pyburn.io.load_npz("xy.npz")
    {'x': tensor([1., 1.]), 'y': tensor([0.])}
    """
    _core._io.save_npz(tensors, writable(file))


def load_npz(file: Source, device: DeviceLike | None = None, mmap: bool = False) -> dict[str, Tensor]:
    """Loads the tensors of a .npz file by name, compressed or not; arguments as for load_npy.

    Args:
        file: A path, bytes, or an object with a method `read`.
        device: The device; None for the default one.
        mmap: Whether to memory-map the file.

    Returns:
        The tensors by name.

    Raises:
        FormatError: The file is not a .npz file.

    >>> pyburn.io.save_npz("x.npz", x=pyburn.arange(3))
    >>> pyburn.io.load_npz("x.npz")["x"]
    tensor([0, 1, 2])
    """
    return {name: snapshot.load(device) for name, snapshot in _opened(file, "npz", mmap).items()}


def _opened(file: Source, format: str, mmap: bool) -> TensorFile:
    opened = open_tensors(file, mmap=mmap)
    if opened.format != format:
        raise _core.FormatError(f"[{format}] the file has another format: got {opened.format}")
    return opened
