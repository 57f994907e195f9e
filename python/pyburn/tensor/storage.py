"""Storages with PyTorch's names: which tensors share memory, and how large it is."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor


class TypedStorage:
    """All elements of the memory that a tensor is a view of, as a flat sequence. Writes are visible in every tensor on it.

    >>> x = pyburn.zeros(2, 3)
    >>> x[1].storage()[0] = 5.0
    >>> x[0, 0].item()
    5.0
    """

    def __init__(self, tensor: Tensor) -> None:
        self.dtype, self.device = tensor.dtype, tensor.device
        count = tensor._storage_bytes // tensor.element_size()
        self._row = _core.as_strided(tensor.detach(), (count,), (1,), 0)

    def data_ptr(self) -> int:
        """Returns the address of the first element."""
        return self._row.data_ptr()

    def element_size(self) -> int:
        """Returns the number of bytes per element."""
        return self._row.element_size()

    def size(self) -> int:
        """Returns the number of elements."""
        return self._row.numel()

    def nbytes(self) -> int:
        """Returns the number of bytes."""
        return self._row._storage_bytes

    def untyped(self) -> UntypedStorage:
        """Returns the same memory without a dtype."""
        return UntypedStorage(self._row)

    def elements(self, dtype: Any) -> Tensor:
        """Returns all elements as a tensor on this memory."""
        return self._row

    def tolist(self) -> list[Any]:
        """Returns the elements as Python numbers."""
        return self._row.tolist()

    def fill_(self, value: Any) -> TypedStorage:
        """Sets all elements to a value."""
        self._row.fill_(value)
        return self

    def __len__(self) -> int:
        return self._row.numel()

    def __getitem__(self, index: Any) -> Any:
        found = self._row[index]
        return found if found.ndim else found.item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._row[index] = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedStorage) and self._row._storage_id == other._row._storage_id

    def __hash__(self) -> int:
        return hash(self._row._storage_id)

    def __repr__(self) -> str:
        return f"{self.tolist()}\n[pyburn.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"


class UntypedStorage:
    """The bytes of the memory that a tensor is a view of.

    >>> x = pyburn.zeros(2, 3)
    >>> x.untyped_storage().data_ptr() == x[1].untyped_storage().data_ptr()
    True
    >>> x.untyped_storage().nbytes()
    24
    """

    def __init__(self, tensor: Tensor) -> None:
        self.device = tensor.device
        self._tensor = tensor.detach()

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

    def data_ptr(self) -> int:
        """Returns the address of the first byte."""
        return self._tensor.data_ptr() - self._tensor.storage_offset() * self._tensor.element_size()

    def nbytes(self) -> int:
        """Returns the number of bytes."""
        return self._tensor._storage_bytes

    size = nbytes
    __len__ = nbytes

    def untyped(self) -> UntypedStorage:
        """Returns itself."""
        return self

    def elements(self, dtype: Any) -> Tensor:
        """Returns all elements as a tensor on this memory."""
        return TypedStorage(self._tensor)._row

    def tolist(self) -> list[int]:
        """Returns the bytes as Python numbers."""
        return list(TypedStorage(self._tensor)._row.detach()._download())

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            return self.tolist()[index]
        return UntypedStorage(
            TypedStorage(self._tensor)._row.view(_core.uint8)[index].clone()
        )  # a copy, since a storage starts at its first byte

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and self._tensor._storage_id == other._tensor._storage_id

    def __hash__(self) -> int:
        return hash(self._tensor._storage_id)

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
