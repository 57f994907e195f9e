"""Linear algebra, under PyTorch's names."""

from __future__ import annotations

from ._core import Tensor
from ._core import cross as _cross
from ._core import linalg_multi_dot as multi_dot

__all__ = ["cross", "multi_dot"]


def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """Cross products of the vectors along dim, which has extent 3."""
    return _cross(input, other, dim)
