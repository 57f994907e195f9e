"""Distinct values; how many results there are depends on the flags."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor


def _wanted(found: tuple[Tensor, Tensor, Tensor], return_inverse: bool, return_counts: bool) -> Any:
    wanted = tuple(t for t, on in zip(found, (True, return_inverse, return_counts)) if on)
    return wanted if len(wanted) > 1 else wanted[0]


def unique(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
    """The distinct elements, or distinct parts along dim, in order (sorted=False gives the same).

    With return_inverse also where each element went, with return_counts also how often each occurs.

    >>> pyburn.unique(pyburn.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    return _wanted(_core.distinct(input, dim), return_inverse, return_counts)


def unique_consecutive(input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
    """The elements without equal neighbours: each run of equal ones becomes one.

    >>> pyburn.unique_consecutive(pyburn.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    return _wanted(_core.distinct(input, dim, True), return_inverse, return_counts)
