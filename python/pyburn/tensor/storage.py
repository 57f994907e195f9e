"""Storages with PyTorch's names: which tensors share memory, and how large it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Tensor

if TYPE_CHECKING:
    from .._types import DType


class _Storage:
    """The memory that a tensor is a view of, as a row of elements of the tensor's dtype."""

    def __init__(self, tensor: Tensor) -> None:
        self.device = tensor.device
        self._row = _core.as_strided(tensor.detach(), (tensor._storage_bytes // tensor.element_size(),), (1,), 0)

    def data_ptr(self) -> int:
        """Returns the address of the first byte."""
        return self._row.data_ptr()

    def nbytes(self) -> int:
        """Returns the number of bytes."""
        return self._row._storage_bytes

    def untyped(self) -> UntypedStorage:
        """Returns the same memory without a dtype."""
        return UntypedStorage(self._row)

    def elements(self, dtype: Any) -> Tensor:
        """Returns all elements as a tensor on this memory."""
        return self._row

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._row._storage_id == other._row._storage_id  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(self._row._storage_id)


class TypedStorage(_Storage):
    """All elements of the memory that a tensor is a view of, as a flat sequence. Writes are visible in every tensor on it.

    >>> x = pyburn.zeros(2, 3)
    >>> x[1].storage()[0] = 5.0
    >>> x[0, 0].item()
    5.0
    """

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._row.dtype

    def element_size(self) -> int:
        """Returns the number of bytes per element."""
        return self._row.element_size()

    def size(self) -> int:
        """Returns the number of elements."""
        return self._row.numel()

    __len__ = size

    def tolist(self) -> list[Any]:
        """Returns the elements as Python numbers."""
        return self._row.tolist()

    def fill_(self, value: Any) -> TypedStorage:
        """Sets all elements to a value."""
        self._row.fill_(value)
        return self

    def __getitem__(self, index: Any) -> Any:
        found = self._row[index]
        return found if found.ndim else found.item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._row[index] = value

    def __repr__(self) -> str:
        return f"{self.tolist()}\n[pyburn.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"


class UntypedStorage(_Storage):
    """The bytes of the memory that a tensor is a view of.

    >>> x = pyburn.zeros(2, 3)
    >>> x.untyped_storage().data_ptr() == x[1].untyped_storage().data_ptr()
    True
    >>> x.untyped_storage().nbytes()
    24
    """

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """Reads the first bytes of a file into memory; shared=True, which would write to the file, raises."""
        import os

        import numpy as np

        from .creation import from_numpy

        if shared:
            raise _core.UnsupportedOp("[from_file] memory that is shared with a file is not there: got shared=True")
        size = os.path.getsize(filename)
        if nbytes > size:
            raise _core.FormatError(f"[from_file] expected at least {nbytes} bytes in {filename}: got {size}")
        return cls(from_numpy(np.fromfile(filename, np.uint8, nbytes)))

    size = __len__ = _Storage.nbytes

    def tolist(self) -> list[int]:
        """Returns the bytes as Python numbers."""
        return list(self._row._download())

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            return self.tolist()[index]
        return UntypedStorage(self._row.view(_core.uint8)[index].clone())  # a copy, since a storage starts at its first byte

    def __repr__(self) -> str:
        return f"[pyburn.UntypedStorage(device={self.device}) of size {self.nbytes()}]"


def untyped_storage(self: Tensor) -> UntypedStorage:
    """Returns the memory that the tensor is a view of, as bytes.

    >>> pyburn.zeros(2, 3).untyped_storage().nbytes()
    24
    """
    return UntypedStorage(self)


def storage(self: Tensor) -> TypedStorage:
    """Returns the memory that the tensor is a view of, as elements.

    >>> len(pyburn.zeros(2, 3)[1].storage())
    6
    """
    return TypedStorage(self)


def install() -> None:
    """Adds these methods to the Tensor class."""
    for function in (untyped_storage, storage):
        setattr(Tensor, function.__name__, function)
