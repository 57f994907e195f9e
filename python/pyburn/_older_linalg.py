"""Linear algebra with the names that PyTorch had before torch.linalg."""

from __future__ import annotations

from typing import Any, NamedTuple

from . import _core, _lu
from ._core import Tensor
from .tensor.out_argument import takes_out


class SVD(NamedTuple):
    """The factors of U @ diag(S) @ V.mT."""

    U: Tensor
    S: Tensor
    V: Tensor


class QR(NamedTuple):
    """The factors of Q @ R."""

    Q: Tensor
    R: Tensor


class TriangularSolve(NamedTuple):
    """A solution, and a copy of the coefficient matrix."""

    solution: Tensor
    cloned_coefficient: Tensor


def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> SVD:
    """Computes the SVD input = U @ diag(S) @ V.mT; without compute_uv, U and V are zeros.

    >>> pyburn.svd(pyburn.tensor([[0.0, 2.0], [1.0, 0.0]])).S
    tensor([2., 1.])
    """
    if not compute_uv:
        sides = [_core.zeros(*input.shape[:-2], n, n, dtype=input.dtype, device=input.device) for n in input.shape[-2:]]
        return SVD(sides[0], _core.linalg_svdvals(input), sides[1])
    U, S, Vh = _core.linalg_svd(input, not some)
    return SVD(U, S, Vh.mT)


def qr(input: Tensor, some: bool = True) -> QR:
    """Computes the QR decomposition input = Q @ R; some=False gives a square Q.

    >>> pyburn.qr(pyburn.ones(3, 2)).R.shape
    pyburn.Size([2, 2])
    """
    return QR(*_core.linalg_qr(input, "reduced" if some else "complete"))


def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """Computes the Cholesky factor, as linalg.cholesky.

    >>> pyburn.cholesky(pyburn.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    return _core.linalg_cholesky(input.mT if upper else input, upper=upper)


def triangular_solve(b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False) -> TriangularSolve:
    """Solves A @ X = b (A.mT @ X = b with transpose) for triangular matrices A.

    >>> pyburn.triangular_solve(pyburn.ones(2, 1), pyburn.tensor([[2.0, 0.0], [0.0, 4.0]])).solution
    tensor([[0.5000],
            [0.2500]])
    """
    batch = _core.broadcast_tensors(A[..., :1, :1], b[..., :1, :1])[0].shape[:-2]
    A, b = A.expand(*batch, *A.shape[-2:]), b.expand(*batch, *b.shape[-2:])
    solution = _core.linalg_solve_triangular(A.mT if transpose else A, b, upper=upper != transpose, unitriangular=unitriangular)
    return TriangularSolve(solution, A.clone())


def lu(A: Tensor, pivot: bool = True, get_infos: bool = False) -> Any:
    """Computes LU factors and pivots, as linalg.lu_factor.

    >>> len(pyburn.lu(pyburn.eye(2)))
    2
    """
    factors, pivots, info = _lu.lu_factor_ex(A, pivot=pivot)
    return (factors, pivots, info) if get_infos else (factors, pivots)


@takes_out
def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """Solves A @ X = b by the LU factors of A.

    >>> pyburn.lu_solve(pyburn.ones(2, 1), *pyburn.linalg.lu_factor(pyburn.eye(2)))
    tensor([[1.],
            [1.]])
    """
    return _lu.lu_solve(LU_data, LU_pivots, b)
