"""Unique values; the number of results depends on the flags."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor


def _wanted(found: tuple[Tensor, Tensor, Tensor], return_inverse: bool, return_counts: bool) -> Any:
    wanted = tuple(t for t, on in zip(found, (True, return_inverse, return_counts)) if on)
    return wanted if len(wanted) > 1 else wanted[0]


def unique(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
    """Returns the sorted unique elements, or unique slices along dim; sorted=False sorts too.

    Args:
        return_inverse: Whether to also return the index of each element in the result.
        return_counts: Whether to also return how often each element occurs.

    >>> pyburn.unique(pyburn.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    return _wanted(_core.distinct(input, dim), return_inverse, return_counts)


def unique_consecutive(input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
    """Removes consecutive duplicates.

    Args:
        input: The tensor.
        return_inverse: Whether to return the index into the result for each element.
        return_counts: Whether to return the number of repetitions.
        dim: The dimension; by default input is flattened.

    Returns:
        The tensor without duplicates, or a tuple of it and what else was asked for.

    >>> pyburn.unique_consecutive(pyburn.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    return _wanted(_core.distinct(input, dim, True), return_inverse, return_counts)
