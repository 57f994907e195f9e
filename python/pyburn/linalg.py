"""Linear algebra, under PyTorch's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _core
from ._core import Tensor
from ._core import cross as _cross
from ._core import linalg_multi_dot as multi_dot
from ._core import linalg_vector_norm as vector_norm

if TYPE_CHECKING:
    from ._types import DTypeLike, Number

__all__ = ["cross", "matrix_norm", "multi_dot", "norm", "vector_norm"]


def matrix_norm(
    input: Tensor, ord: Number | str = "fro", dim: tuple[int, int] = (-2, -1), keepdim: bool = False, *, dtype: DTypeLike | None = None
) -> Tensor:
    """The norm of matrices: 'fro', or 1, -1, inf, -inf (sums of absolute values of columns or rows).

    >>> pyburn.linalg.matrix_norm(pyburn.ones(2, 2))
    tensor(2.)
    """
    if len(dim) != 2 or input.ndim < 2:
        raise _core.ShapeError(f"[matrix_norm] expected two axes of a tensor that has them: got {dim} for {tuple(input.shape)}")
    row, column = (d % input.ndim for d in dim)
    if ord == "fro":
        return vector_norm(input, 2, (row, column), keepdim, dtype=dtype)
    if isinstance(ord, str) or abs(ord) not in (1, float("inf")):
        raise _core.UnsupportedOp(f"[matrix_norm] ord is 'fro', 1, -1, inf or -inf: got {ord!r}")
    along, over = (row, column) if abs(ord) == 1 else (column, row)
    sums = vector_norm(input, 1, along, True, dtype=dtype)
    best = (_core.amax if ord > 0 else _core.amin)(sums, over, True)
    if keepdim:
        return best
    for axis in sorted((row, column), reverse=True):
        best = best.squeeze(axis)
    return best


def norm(
    input: Tensor,
    ord: Number | str | None = None,
    dim: int | tuple[int, ...] | None = None,
    keepdim: bool = False,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """The norm of vectors (one axis) or matrices (two axes); of all elements when neither ord nor dim is given.

    >>> pyburn.linalg.norm(pyburn.tensor([3.0, 4.0]))
    tensor(5.)
    """
    axes = (dim,) if isinstance(dim, int) else tuple(range(input.ndim)) if dim is None else tuple(dim)
    if ord is None:
        return vector_norm(input, 2, None if dim is None else axes, keepdim, dtype=dtype)
    if isinstance(ord, str) or len(axes) == 2:
        return matrix_norm(input, ord, axes, keepdim, dtype=dtype)  # type: ignore[arg-type]
    return vector_norm(input, ord, axes, keepdim, dtype=dtype)


def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """Cross products of the vectors along dim, which has extent 3.

    >>> pyburn.linalg.cross(pyburn.tensor([1.0, 0.0, 0.0]), pyburn.tensor([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """
    return _cross(input, other, dim)
