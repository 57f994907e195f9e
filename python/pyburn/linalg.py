"""Linear algebra, with the names of torch.linalg."""

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
from ._core import linalg_multi_dot as multi_dot
from ._core import linalg_qr as qr
from ._core import linalg_slogdet as slogdet
from ._core import linalg_solve as solve
from ._core import linalg_solve_triangular as solve_triangular
from ._core import linalg_svd as svd
from ._core import linalg_svdvals as svdvals
from ._core import linalg_vecdot as vecdot
from ._core import linalg_vector_norm as vector_norm
from ._lu import cholesky_ex, householder_product, inv_ex, lu, lu_factor, lu_factor_ex, lu_solve, solve_ex
from .tensor.number_info import finfo
from .tensor.out_argument import takes_out as _takes_out

if TYPE_CHECKING:
    from ._types import DTypeLike, Number

    Tolerance = float | Tensor | None

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
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
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]


@_takes_out
def matrix_norm(
    input: Tensor, ord: Number | str = "fro", dim: tuple[int, int] = (-2, -1), keepdim: bool = False, *, dtype: DTypeLike | None = None
) -> Tensor:
    """Computes matrix norms.

    Args:
        input: The matrices.
        ord: 'fro', 'nuc' (sum of the singular values), 2 or -2 (largest or smallest singular value), 1 or -1 (largest or smallest column
            sum of absolute values), inf or -inf (the same for rows).
        dim: The two dimensions of the matrices.
        keepdim: Whether to keep these dimensions with size 1.
        dtype: The dtype to compute in.

    Returns:
        A tensor of the norms, without the two dimensions (or with size 1 if keepdim).

    Raises:
        ShapeError: dim does not name two dimensions of input.

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
        is_sum = ord == "nuc" or (ord == 2 and values.shape[-1] == 0)
        result = values.sum(-1) if is_sum else values.amax(-1) if ord == 2 else values.amin(-1)
        for axis in sorted((row, column)) if keepdim else ():
            result = result.unsqueeze(axis)
        return result
    if isinstance(ord, str) or abs(ord) not in (1, float("inf")):
        raise _core.ArgumentError(f"[matrix_norm] ord is 'fro', 'nuc', 1, -1, 2, -2, inf or -inf: got {ord!r}")
    along, over = (row, column) if abs(ord) == 1 else (column, row)
    sums = vector_norm(input, 1, along, True, dtype=dtype)
    if input.shape[over] == 0 and ord > 0:  # no sum is above 0
        sums = _core.zeros([1 if axis == over else n for axis, n in enumerate(sums.shape)], dtype=sums.dtype, device=sums.device)
    best = (_core.amax if ord > 0 else _core.amin)(sums, over, True)
    if keepdim:
        return best
    for axis in sorted((row, column), reverse=True):
        best = best.squeeze(axis)
    return best


@_takes_out
def norm(
    input: Tensor,
    ord: Number | str | None = None,
    dim: int | tuple[int, ...] | None = None,
    keepdim: bool = False,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Computes the norm of vectors (one dimension) or matrices (two dimensions); without ord and dim, of all elements.

    Args:
        input: The vectors or matrices.
        ord: The order of the norm, as for vector_norm or matrix_norm.
        dim: The dimension of vectors, or the two dimensions of matrices.
        keepdim: Whether to keep these dimensions with size 1.
        dtype: The dtype to compute in.

    Returns:
        A tensor of the norms.

    >>> pyburn.linalg.norm(pyburn.tensor([3.0, 4.0]))
    tensor(5.)
    """
    axes = (dim,) if isinstance(dim, int) else tuple(range(input.ndim)) if dim is None else tuple(dim)
    if ord is None:
        return vector_norm(input, 2, None if dim is None else axes, keepdim, dtype=dtype)
    if isinstance(ord, str) or len(axes) == 2:
        return matrix_norm(input, ord, axes, keepdim, dtype=dtype)  # type: ignore[arg-type]
    return vector_norm(input, ord, axes, keepdim, dtype=dtype)


@_takes_out
def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """Computes the cross product of the vectors along dim, which has size 3.

    Args:
        input: The first vectors.
        other: The second vectors; broadcasts with input.
        dim: The dimension of the vectors.

    Returns:
        A tensor of the broadcast shape.

    Raises:
        ShapeError: The size of dim is not 3.

    >>> pyburn.linalg.cross(pyburn.tensor([1.0, 0.0, 0.0]), pyburn.tensor([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """
    if input.ndim != other.ndim or any(x.ndim == 0 or x.shape[dim] != 3 for x in (input, other)):
        raise _core.ShapeError(f"[cross] expected size 3 in dimension {dim}: got {tuple(input.shape)} and {tuple(other.shape)}")
    return _cross(input, other, dim)


@_takes_out
def matrix_rank(A: Tensor, *, atol: Tolerance = None, rtol: Tolerance = None, hermitian: bool = False, tol: Tolerance = None) -> Tensor:
    """Returns the number of singular values above the larger of atol and rtol times the largest one; tolerances can be given per
    matrix.

    Args:
        A: Matrices (*, M, N).
        atol: The absolute tolerance.
        rtol: The relative tolerance; max(M, N) * eps by default.
        hermitian: Whether the matrices are symmetric.
        tol: The former name of atol.

    >>> pyburn.linalg.matrix_rank(pyburn.tensor([[1.0, 2.0], [2.0, 4.0]]))
    tensor(1)
    """
    if tol is not None:
        atol, rtol = tol, 0.0
    A = _symmetric(A) if hermitian else A
    if not isinstance(atol, Tensor) and not isinstance(rtol, Tensor):
        return _core.linalg_matrix_rank(A, atol=atol, rtol=rtol)
    values = svdvals(A.detach())
    return (values > _threshold(A, values, atol, rtol)).sum(-1)


@_takes_out
def pinv(A: Tensor, rcond: Tolerance = None, hermitian: bool = False, *, atol: Tolerance = None, rtol: Tolerance = None) -> Tensor:
    """Computes the Moore-Penrose pseudoinverse.

    Singular values up to the larger of atol and rtol times the largest one are treated as 0; tolerances can be given per matrix.

    Args:
        A: Matrices (*, M, N).
        rcond: The former name of rtol.
        hermitian: Whether the matrices are symmetric.
        atol: The absolute tolerance.
        rtol: The relative tolerance; max(M, N) * eps by default.

    Returns:
        The pseudoinverses (*, N, M).

    >>> pyburn.linalg.pinv(pyburn.tensor([[2.0, 0.0], [0.0, 4.0], [0.0, 0.0]])).shape
    pyburn.Size([2, 3])
    """
    rtol = rcond if rtol is None else rtol
    A = _symmetric(A) if hermitian else A
    if not isinstance(atol, Tensor) and not isinstance(rtol, Tensor):
        return _core.linalg_pinv(A, atol=atol, rtol=rtol)
    U, S, Vh = svd(A, False)
    kept = _threshold(A, S.detach(), atol, rtol) < S
    inverse = _core.where(kept, 1 / _core.where(kept, S, 1.0), 0.0)
    return _core.matmul(Vh.mT * inverse.unsqueeze(-2), U.mT)


def _symmetric(A: Tensor) -> Tensor:
    """Symmetrizes A by its lower triangle; only that is read of a symmetric matrix."""
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise _core.ShapeError(f"[linalg] expected square matrices: got {tuple(A.shape)}")
    return A + (A.tril() + A.tril(-1).mT - A).detach()  # the gradient is that of the whole matrix


def _threshold(A: Tensor, values: Tensor, atol: Tolerance, rtol: Tolerance) -> Tensor:
    """Returns the threshold above which singular values count."""

    def column(tolerance: Tolerance) -> Tensor:
        given = tolerance if isinstance(tolerance, Tensor) else _core.full((), tolerance or 0.0, dtype=values.dtype, device=values.device)
        return given.to(values.dtype).unsqueeze(-1)

    if rtol is None:
        rounding = max(A.shape[-2:]) * finfo(A.dtype).eps
        rtol = _core.where(atol > 0, 0.0, rounding) if isinstance(atol, Tensor) else 0.0 if atol else rounding
    largest = values.amax(-1, True) if values.shape[-1] else values
    return _core.maximum(column(atol), column(rtol) * largest)


@_takes_out
def cond(input: Tensor, p: Number | str | None = None) -> Tensor:
    """Computes the condition number: the norm of the matrix times that of its inverse. p is as in matrix_norm; the default is 2.

    Args:
        input: Matrices (*, M, N).
        p: The order of the norm.

    Returns:
        The condition numbers (*).

    >>> pyburn.linalg.cond(pyburn.tensor([[4.0, 0.0], [0.0, 1.0]]))
    tensor(4.)
    """
    if p in (None, 2, -2):
        values = svdvals(input)
        largest, smallest = values.amax(-1), values.amin(-1)
        return smallest / largest if p == -2 else largest / smallest
    return matrix_norm(input, p) * matrix_norm(inv(input), p)  # type: ignore[arg-type]


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Returns a view of the diagonals of matrices.

    Args:
        A: Matrices (*, M, N).
        offset: The diagonal: 0 is the main one, positive values are above it.
        dim1: The first dimension of the matrices.
        dim2: The second dimension of the matrices.

    >>> pyburn.linalg.diagonal(pyburn.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    return _core.diagonal(A, offset, dim1, dim2)


def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """Returns the Vandermonde matrix: a row of powers, from 0 on, for each element of the vectors x.

    Args:
        x: Vectors (*, K).
        N: The number of columns; K by default.

    Raises:
        ShapeError: x is 0-d.
        ArgumentError: N is not greater than 1.

    >>> pyburn.linalg.vander(pyburn.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [1, 2, 4],
            [1, 3, 9]])
    """
    if x.ndim == 0 and N is None:
        raise _core.ShapeError("[vander] expected 1-d tensors: got a 0-d tensor")
    n = x.shape[-1] if N is None else N
    if n <= 1:
        raise _core.ArgumentError(f"[vander] expected N greater than 1: got {n}")
    return _core.vander(x.reshape(-1), n, True).reshape(*x.shape, n)


@_takes_out
def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """Computes the inverse of tensordot with A over its first ind dimensions.

    Args:
        A: The tensor; the products of its first ind sizes and of its other sizes are equal.
        ind: The number of dimensions of the result's last part.

    Returns:
        The inverse, of shape A.shape[ind:] + A.shape[:ind].

    Raises:
        ArgumentError: ind is not positive.

    >>> pyburn.linalg.tensorinv(pyburn.eye(6).reshape(2, 3, 6), ind=2).shape
    pyburn.Size([6, 2, 3])
    """
    if ind <= 0:
        raise _core.ArgumentError(f"[tensorinv] expected a strictly positive integer for ind: got {ind}")
    shape = tuple(A.shape)
    return inv(A.reshape(math.prod(shape[:ind]), -1)).reshape(shape[ind:] + shape[:ind])


@_takes_out
def tensorsolve(A: Tensor, B: Tensor, dims: tuple[int, ...] | None = None) -> Tensor:
    """Solves tensordot(A, X, X.ndim) = B; the dimensions dims of A are moved to its end first.

    Args:
        A: The tensor.
        B: The right-hand side.
        dims: The dimensions of A to move to the end.

    Returns:
        The solution X.

    >>> pyburn.linalg.tensorsolve(pyburn.eye(6).reshape(2, 3, 6), pyburn.ones(2, 3)).shape
    pyburn.Size([6])
    """
    if dims is not None:
        A = _core.movedim(A, dims, tuple(range(A.ndim - len(dims), A.ndim)))
    shape = tuple(A.shape)[B.ndim :]
    return solve(A.reshape(B.numel(), -1), B.reshape(-1)).reshape(shape)
