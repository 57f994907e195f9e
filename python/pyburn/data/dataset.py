"""What can be asked for an item by its number."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T", covariant=True)


class Dataset(Generic[T]):
    """Items by number: subclasses have `__getitem__` and `__len__`."""

    def __getitem__(self, index: int) -> T:
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__")
