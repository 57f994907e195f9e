"""LU decomposition, and variants of inverses and decompositions that return failures instead of raising."""

from __future__ import annotations

import math
from typing import NamedTuple

from . import _core
from ._core import Tensor
from .tensor.out_argument import takes_out


class LUFactor(NamedTuple):
    """The LU factors in one matrix, and the pivots."""

    LU: Tensor
    pivots: Tensor


class LUFactorEx(NamedTuple):
    """LUFactor, and 0 or the 1-based index of the first zero pivot."""

    LU: Tensor
    pivots: Tensor
    info: Tensor


class LU(NamedTuple):
    """The factors of P @ L @ U."""

    P: Tensor
    L: Tensor
    U: Tensor


class InverseEx(NamedTuple):
    """An inverse, and 0 or the position of the failure."""

    inverse: Tensor
    info: Tensor


class SolveEx(NamedTuple):
    """A solution, and 0 or the position of the failure."""

    result: Tensor
    info: Tensor


class CholeskyEx(NamedTuple):
    """A Cholesky factor, and 0 or the order of the first leading minor that is not positive."""

    L: Tensor
    info: Tensor


def _check_pivot(pivot: bool) -> None:
    if not pivot:
        raise _core.UnsupportedOp("[lu_factor] LU without exchanges of rows is not there: got pivot=False")


def _first_zero_pivot(factors: Tensor) -> Tensor:
    zeros = _core.diagonal(factors.detach(), 0, -2, -1) == 0
    if zeros.shape[-1] == 0:
        return _core.zeros(zeros.shape[:-1], dtype=_core.int32, device=factors.device)
    first = zeros.to(_core.int32).argmax(-1) + 1
    return _core.where(zeros.any(-1), first, 0).to(_core.int32)


def _raise_if(info: Tensor, check_errors: bool, function: str, what: str) -> None:
    if check_errors and info.any().item():
        raise _core.ArgumentError(f"[{function}] {what}: got info {info.tolist()}")


def lu_factor(A: Tensor, *, pivot: bool = True) -> LUFactor:
    """Computes the LU decomposition in compact form, with 1-based pivots, for lu_solve.

    >>> pyburn.linalg.lu_factor(pyburn.tensor([[0.0, 2.0], [1.0, 0.0]])).pivots
    tensor([2, 2], dtype=pyburn.int32)
    """
    _check_pivot(pivot)
    return LUFactor(*_core._linalg_lu(A))


def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> LUFactorEx:
    """Computes lu_factor and the index of the first zero pivot.

    >>> pyburn.linalg.lu_factor_ex(pyburn.zeros(2, 2)).info
    tensor(1, dtype=pyburn.int32)
    """
    factors, pivots = lu_factor(A, pivot=pivot)
    info = _first_zero_pivot(factors)
    _raise_if(info, check_errors, "lu_factor_ex", "a pivot is 0")
    return LUFactorEx(factors, pivots, info)


def _order(pivots: Tensor, rows: int) -> Tensor:
    """Returns the source of each row after all row exchanges."""
    batch = tuple(pivots.shape[:-1])
    orders = []
    for exchanges in pivots.reshape(math.prod(batch), pivots.shape[-1]).tolist():
        order = list(range(rows))
        for i, j in enumerate(exchanges):
            if not 1 <= j <= rows:
                raise _core.IndexOutOfRange(f"[lu_unpack] expected pivots from 1 to {rows}: got {j}")
            order[i], order[j - 1] = order[j - 1], order[i]
        orders.append(order)
    return _core._tensor(orders, _core.int64, pivots.device, False).reshape((*batch, rows))


def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> LU:
    """Unpacks the result of lu_factor into P, L and U; parts that are not requested are empty.

    Raises:
        DTypeError: The pivots are not int32.
        ShapeError: LU_data is not a batch of matrices.

    >>> pyburn.lu_unpack(*pyburn.linalg.lu_factor(pyburn.tensor([[0.0, 2.0], [1.0, 0.0]]))).P
    tensor([[0., 1.],
            [1., 0.]])
    """
    if LU_pivots.dtype is not _core.int32:
        raise _core.DTypeError(f"[lu_unpack] expected pivots of int32: got {LU_pivots.dtype.name}")
    if LU_data.ndim < 2:
        raise _core.ShapeError(f"[lu_unpack] expected matrices: got {tuple(LU_data.shape)}")
    rows, columns = LU_data.shape[-2:]
    least = min(rows, columns)
    none = _core.zeros(0, dtype=LU_data.dtype, device=LU_data.device)
    P = L = U = none
    if unpack_pivots:
        same = _core.eye(rows, dtype=LU_data.dtype, device=LU_data.device)
        P = same[_order(LU_pivots, rows)].transpose(-2, -1).contiguous()
    if unpack_data:
        ones = _core.eye(rows, least, dtype=LU_data.dtype, device=LU_data.device)
        L = LU_data[..., :least].tril(-1) + ones
        U = LU_data[..., :least, :].triu()
    return LU(P, L, U)


def lu(A: Tensor, *, pivot: bool = True) -> LU:
    """Computes the LU decomposition A = P @ L @ U with partial pivoting: a permutation, a unit lower and an upper triangular matrix.

    >>> pyburn.linalg.lu(pyburn.tensor([[0.0, 2.0], [1.0, 0.0]])).U
    tensor([[1., 0.],
            [0., 2.]])
    """
    return lu_unpack(*lu_factor(A, pivot=pivot))


@takes_out
def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """Solves A @ X = B by the LU factors of A.

    Args:
        LU: The factors, from lu_factor.
        pivots: The pivots, from lu_factor.
        B: The right-hand side.
        left: False solves X @ A = B.
        adjoint: Whether to use A.mT instead of A.

    Raises:
        ShapeError: The shapes do not match.

    >>> A = pyburn.tensor([[0.0, 2.0], [1.0, 0.0]])
    >>> pyburn.linalg.lu_solve(*pyburn.linalg.lu_factor(A), pyburn.ones(2, 1))
    tensor([[1.0000],
            [0.5000]])
    """
    if LU.ndim < 2 or B.ndim < 2 or LU.shape[-1] != LU.shape[-2]:
        raise _core.ShapeError(f"[lu_solve] expected square factors and a matrix: got {tuple(LU.shape)} and {tuple(B.shape)}")
    n = LU.shape[-1]
    if not left:  # X A = B is A.mT X.mT = B.mT
        return lu_solve(LU, pivots, B.mT, adjoint=not adjoint).mT
    if B.shape[-2] != n or pivots.shape != LU.shape[:-1]:
        raise _core.ShapeError(
            f"[lu_solve] factors, pivots and B have incompatible shapes: got {tuple(LU.shape)}, {tuple(pivots.shape)} and {tuple(B.shape)}"
        )
    batch = _core.broadcast_tensors(LU[..., :1, :1], B[..., :1, :1])[0].shape[:-2]
    LU, B = LU.expand(*batch, n, n), B.expand(*batch, *B.shape[-2:])
    order = _order(pivots, n).expand(*batch, n)
    if adjoint:
        x = _core.linalg_solve_triangular(LU.mT, B, upper=False)
        x = _core.linalg_solve_triangular(LU.mT, x, upper=True, unitriangular=True)
        return _core.gather(x, -2, order.argsort(-1).unsqueeze(-1).expand_as(x))
    x = _core.gather(B, -2, order.unsqueeze(-1).expand_as(B))
    x = _core.linalg_solve_triangular(LU, x, upper=False, unitriangular=True)
    return _core.linalg_solve_triangular(LU, x, upper=True)


def _regular(A: Tensor, info: Tensor) -> Tensor:
    """Replaces singular matrices by the identity; their results are undefined."""
    return (
        A if not info.any().item() else _core.where((info != 0)[..., None, None], _core.eye(A.shape[-1], dtype=A.dtype, device=A.device), A)
    )


def inv_ex(A: Tensor, *, check_errors: bool = False) -> InverseEx:
    """Computes the inverses of matrices, and which of them are singular.

    >>> pyburn.linalg.inv_ex(pyburn.zeros(2, 2)).info
    tensor(1, dtype=pyburn.int32)
    """
    info = lu_factor_ex(A.detach()).info
    _raise_if(info, check_errors, "inv_ex", "the input matrix is singular")
    return InverseEx(_core.linalg_inv(_regular(A, info)), info)


def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> SolveEx:
    """Computes linalg.solve, and which matrices are singular.

    >>> pyburn.linalg.solve_ex(pyburn.eye(2), pyburn.ones(2)).result
    tensor([1., 1.])
    """
    info = lu_factor_ex(A.detach()).info
    _raise_if(info, check_errors, "solve_ex", "the input matrix is singular")
    return SolveEx(_core.linalg_solve(_regular(A, info), B, left=left), info)


def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> CholeskyEx:
    """Computes linalg.cholesky, and which matrices are not positive definite.

    >>> pyburn.linalg.cholesky_ex(-pyburn.eye(2)).info
    tensor(1, dtype=pyburn.int32)
    """
    try:
        return CholeskyEx(_core.linalg_cholesky(A, upper=upper), _core.zeros(A.shape[:-2], dtype=_core.int32, device=A.device))
    except _core.ArgumentError:
        orders = [_first_minor(matrix) for matrix in A.detach().reshape(-1, *A.shape[-2:])]
        info = _core._tensor(orders, _core.int32, A.device, False).reshape(tuple(A.shape[:-2]))
        _raise_if(info, check_errors, "cholesky_ex", "the input is not positive-definite")
        return CholeskyEx(_core.linalg_cholesky(_regular(A, info), upper=upper), info)


def _first_minor(matrix: Tensor) -> int:
    for order in range(1, matrix.shape[-1] + 1):
        try:
            _core.linalg_cholesky(matrix[:order, :order])
        except _core.ArgumentError:
            return order
    return 0


@takes_out
def householder_product(A: Tensor, tau: Tensor) -> Tensor:
    """Computes the first columns of the product of Householder reflections I - tau v v.T, with the vectors v below the diagonal of A.

    Raises:
        ShapeError: The shapes of A and tau do not match.

    >>> pyburn.linalg.householder_product(pyburn.zeros(2, 2), pyburn.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if A.ndim < 2 or A.shape[-2] < A.shape[-1] or tau.shape[-1] > A.shape[-1] or tau.shape[:-1] != A.shape[:-2]:
        raise _core.ShapeError(f"[householder_product] the shapes of A and tau do not match: got {tuple(A.shape)} and {tuple(tau.shape)}")
    rows, columns = A.shape[-2:]
    same = _core.eye(rows, columns, dtype=A.dtype, device=A.device)
    product = same.expand(A.shape)
    vectors = A.tril(-1) + same
    for k in reversed(range(tau.shape[-1])):
        v = vectors[..., k : k + 1]
        product = product - tau[..., k, None, None] * _core.matmul(v, _core.matmul(v.mT, product))
    return product.clone()


def svd_lowrank(A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Computes U, S and V of a rank-q approximation of A (or A - M) by randomized SVD.

    >>> [x.shape for x in pyburn.svd_lowrank(pyburn.ones(5, 4), q=2)]
    [pyburn.Size([5, 2]), pyburn.Size([2]), pyburn.Size([4, 2])]
    """
    A = A if M is None else A - M.expand(A.shape)
    rank = 6 if q is None else q
    if A.shape[-2] < A.shape[-1]:
        U, S, V = svd_lowrank(A.mT, rank, niter)
        return V, S, U
    start = _core.randn(A.shape[-1], rank, dtype=A.dtype, device=A.device)
    Q = _core.linalg_qr(_core.matmul(A, start))[0]
    for _ in range(2 if niter is None else niter):
        Q = _core.linalg_qr(_core.matmul(A.mT, Q))[0]
        Q = _core.linalg_qr(_core.matmul(A, Q))[0]
    U, S, Vh = _core.linalg_svd(_core.matmul(Q.mT, A), False)
    return _core.matmul(Q, U), S, Vh.mT


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """Computes the first q principal components of the rows of A by svd_lowrank; by default A is centered.

    Raises:
        ArgumentError: q or niter is out of range.

    >>> pyburn.pca_lowrank(pyburn.rand(10, 4), q=2)[2].shape
    pyburn.Size([4, 2])
    """
    rows, columns = A.shape[-2:]
    q = min(6, rows, columns) if q is None else q
    if not 0 <= q <= min(rows, columns):
        raise _core.ArgumentError(f"[pca_lowrank] expected q from 0 to {min(rows, columns)}: got {q}")
    if niter < 0:
        raise _core.ArgumentError(f"[pca_lowrank] expected niter of at least 0: got {niter}")
    return svd_lowrank(A - A.mean(-2, True) if center else A, q, niter)
