"""Matrices with orthonormal columns from any matrix, in operations that have a gradient."""

from __future__ import annotations

import math

from ... import _core
from ..._core import Tensor


def _identity(like: Tensor, rows: int, columns: int) -> Tensor:
    return _core.eye(rows, columns, dtype=like.dtype, device=like.device)


def matrix_exponential(a: Tensor) -> Tensor:
    """exp(a), by its series at a / 2**n, squared n times."""
    norm = a.detach().abs().sum(-1).amax().item() if a.numel() else 0.0
    squarings = max(0, math.ceil(math.log2(norm)) + 2) if norm > 0 else 0
    small = a / 2**squarings
    identity = _identity(a, a.shape[-1], a.shape[-1])
    result = identity + small / 16  # Horner's scheme
    for k in range(15, 0, -1):
        result = identity + small @ result / k
    for _ in range(squarings):
        result = result @ result
    return result


def solve(a: Tensor, b: Tensor) -> Tensor:
    """x with a @ x = b, by elimination without exchanges: for a matrix whose symmetric part is positive."""
    n = a.shape[-1]
    table = _core.cat([a, b], -1)
    rows = _core.arange(n, device=a.device).unsqueeze(-1)
    for i in range(n):
        pivot = table[..., i : i + 1, :] / table[..., i : i + 1, i : i + 1]
        table = _core.where(rows == i, pivot, table - table[..., :, i : i + 1] * pivot)
    return table[..., n:]


def cayley(a: Tensor) -> Tensor:
    """(1 - a / 2)**-1 (1 + a / 2), which is orthogonal for a skew matrix."""
    identity = _identity(a, a.shape[-1], a.shape[-1])
    return solve(identity - a / 2, identity + a / 2)


def householder_product(a: Tensor, tau: Tensor) -> Tensor:
    """The first columns of the product of the reflections 1 - tau v v^T; v is a column of a below a 1 on the diagonal."""
    n, k = a.shape[-2:]
    vectors = a.tril(-1) + _identity(a, n, k)
    result = _identity(a, n, k).expand_as(a)
    for i in range(k - 1, -1, -1):
        v = vectors[..., :, i : i + 1]
        result = result - tau[..., i : i + 1].unsqueeze(-1) * v * (v.mT @ result)
    return result


def reflections(a: Tensor) -> tuple[Tensor, Tensor]:
    """The reflections that make a tall matrix triangular: R above the diagonal, the vectors below, and their factors."""
    n, k = a.shape[-2:]
    r = a
    columns, factors = [], []
    for i in range(k):
        x = r[..., i:, i]
        head = x[..., :1]
        length = _core.linalg_vector_norm(x, dim=-1, keepdim=True)
        is_done = _core.linalg_vector_norm(x[..., 1:], dim=-1, keepdim=True) == 0
        diagonal = _core.where(head >= 0, -length, length)
        diagonal = _core.where(is_done, head, diagonal)
        factor = _core.where(is_done, _core.zeros_like(head), (diagonal - head) / diagonal)
        below = _core.where(
            is_done, _core.zeros_like(x[..., 1:]), x[..., 1:] / _core.where(is_done, _core.ones_like(head), head - diagonal)
        )
        v = _core.cat([_core.zeros_like(r[..., :i, i]), _core.ones_like(head), below], -1).unsqueeze(-1)
        r = r - factor.unsqueeze(-1) * v * (v.mT @ r)
        columns.append(_core.cat([r[..., :i, i], diagonal, below], -1))
        factors.append(factor)
    return _core.stack(columns, -1), _core.cat(factors, -1)


def orthonormal(a: Tensor) -> Tensor:
    """The columns of a tall matrix made orthonormal: the Q of its QR decomposition with a positive diagonal of R."""
    packed, factors = reflections(a)
    return householder_product(packed, factors) * packed.diagonal(0, -2, -1).sign().unsqueeze(-2)


def is_orthogonal(q: Tensor) -> bool:
    """Whether the columns are orthonormal, within 10 units of rounding per column."""
    k = q.shape[-1]
    eps = 10 * k * {_core.float64: 2.2e-16, _core.float32: 1.2e-7}.get(q.dtype, 1e-3)
    return bool(((q.mT @ q - _identity(q, k, k)).abs() <= eps).all().item())
