"""Linear algebra, under PyTorch's names."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from . import _core
from ._core import ArgumentError as LinAlgError
from ._core import Tensor, matmul
from ._core import cross as _cross
from ._core import linalg_cholesky as cholesky
from ._core import linalg_det as det
from ._core import linalg_eigh as eigh
from ._core import linalg_eigvalsh as eigvalsh
from ._core import linalg_inv as inv
from ._core import linalg_lstsq as lstsq
from ._core import linalg_matrix_exp as matrix_exp
from ._core import linalg_matrix_power as matrix_power
from ._core import linalg_matrix_rank as matrix_rank
from ._core import linalg_multi_dot as multi_dot
from ._core import linalg_pinv as pinv
from ._core import linalg_qr as qr
from ._core import linalg_slogdet as slogdet
from ._core import linalg_solve as solve
from ._core import linalg_solve_triangular as solve_triangular
from ._core import linalg_svd as svd
from ._core import linalg_svdvals as svdvals
from ._core import linalg_vecdot as vecdot
from ._core import linalg_vector_norm as vector_norm

if TYPE_CHECKING:
    from ._types import DTypeLike, Number

__all__ = [
    "LinAlgError",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]


def matrix_norm(
    input: Tensor, ord: Number | str = "fro", dim: tuple[int, int] = (-2, -1), keepdim: bool = False, *, dtype: DTypeLike | None = None
) -> Tensor:
    """The norm of matrices: 'fro', 'nuc' (the sum of singular values), 2, -2 (the largest and smallest one), or 1, -1, inf, -inf (sums of
    absolute values of columns or rows).

    >>> pyburn.linalg.matrix_norm(pyburn.ones(2, 2))
    tensor(2.)
    """
    if len(dim) != 2 or input.ndim < 2:
        raise _core.ShapeError(f"[matrix_norm] expected two axes of a tensor that has them: got {dim} for {tuple(input.shape)}")
    row, column = (d % input.ndim for d in dim)
    if ord == "fro":
        return vector_norm(input, 2, (row, column), keepdim, dtype=dtype)
    if ord in ("nuc", 2, -2):
        values = svdvals(_core.movedim(input if dtype is None else input.to(dtype), (row, column), (-2, -1)))
        result = values.sum(-1) if ord == "nuc" else values.amax(-1) if ord == 2 else values.amin(-1)
        for axis in sorted((row, column)) if keepdim else ():
            result = result.unsqueeze(axis)
        return result
    if isinstance(ord, str) or abs(ord) not in (1, float("inf")):
        raise _core.ArgumentError(f"[matrix_norm] ord is 'fro', 'nuc', 1, -1, 2, -2, inf or -inf: got {ord!r}")
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


def cond(input: Tensor, p: Number | str | None = None) -> Tensor:
    """The condition of matrices: the norm times the norm of the inverse. p is that of matrix_norm, 2 without one.

    >>> pyburn.linalg.cond(pyburn.tensor([[4.0, 0.0], [0.0, 1.0]]))
    tensor(4.)
    """
    if p in (None, 2, -2):
        values = svdvals(input)
        largest, smallest = values.amax(-1), values.amin(-1)
        return smallest / largest if p == -2 else largest / smallest
    return matrix_norm(input, p) * matrix_norm(inv(input), p)  # type: ignore[arg-type]


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices; a view.

    >>> pyburn.linalg.diagonal(pyburn.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    return _core.diagonal(A, offset, dim1, dim2)


def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """A row for each element of the vectors x: its powers from 0 on.

    >>> pyburn.linalg.vander(pyburn.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [1, 2, 4],
            [1, 3, 9]])
    """
    if x.ndim == 0:
        raise _core.ShapeError("[vander] expected vectors: got a tensor without axes")
    n = x.shape[-1] if N is None else N
    if n <= 1:
        raise _core.ArgumentError(f"[vander] expected N greater than 1: got {n}")
    return _core.vander(x.reshape(-1), n, True).reshape(*x.shape, n)


def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """The inverse of tensordot with A over its first ind axes.

    >>> pyburn.linalg.tensorinv(pyburn.eye(6).reshape(2, 3, 6), ind=2).shape
    pyburn.Size([6, 2, 3])
    """
    if ind <= 0:
        raise _core.ArgumentError(f"[tensorinv] expected a strictly positive integer for ind: got {ind}")
    shape = tuple(A.shape)
    return inv(A.reshape(math.prod(shape[:ind]), -1)).reshape(shape[ind:] + shape[:ind])


def tensorsolve(A: Tensor, B: Tensor, dims: tuple[int, ...] | None = None) -> Tensor:
    """X with tensordot(A, X, X.ndim) = B; the axes dims of A are moved to its end first.

    >>> pyburn.linalg.tensorsolve(pyburn.eye(6).reshape(2, 3, 6), pyburn.ones(2, 3)).shape
    pyburn.Size([6])
    """
    if dims is not None:
        A = _core.movedim(A, dims, tuple(range(A.ndim - len(dims), A.ndim)))
    shape = tuple(A.shape)[B.ndim :]
    return solve(A.reshape(B.numel(), -1), B.reshape(-1)).reshape(shape)
