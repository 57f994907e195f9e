"""Matrix products, decompositions and linear solvers."""

from __future__ import annotations

import numpy as np

from ... import _core
from ..interface import kernel
from .arrays import wide

REDUCED, COMPLETE, ONLY_R = 0, 1, 2  # modes of qr


class LinalgKernels:
    @kernel
    def bmm(self, x, y):
        return np.matmul(wide(x), wide(y))

    @kernel
    def _linalg_solve(self, a, b):
        try:
            return np.linalg.solve(a, b)
        except np.linalg.LinAlgError as error:
            raise _core.ArgumentError("[linalg_solve] the input matrix is singular") from error

    @kernel
    def _linalg_lu(self, a):
        lu, steps = a.copy(), min(a.shape[-2:])
        pivots = np.broadcast_to(np.arange(1, steps + 1, dtype=np.int32), (*a.shape[:-2], steps)).copy()
        for batch in np.ndindex(*a.shape[:-2]):
            m = lu[batch]
            for k in range(steps):
                best = k + int(np.argmax(np.abs(m[k:, k])))
                m[[k, best]] = m[[best, k]]
                pivots[batch][k] = best + 1
                if m[k, k] != 0:
                    m[k + 1 :, k] /= m[k, k]
                    m[k + 1 :, k + 1 :] -= np.outer(m[k + 1 :, k], m[k, k + 1 :])
        return lu, pivots

    @kernel
    def linalg_slogdet(self, a):
        return tuple(np.linalg.slogdet(a))

    @kernel
    def linalg_solve_triangular(self, a, b, *, upper, left, unit):
        triangle = np.triu(a) if upper else np.tril(a)
        if unit:
            triangle = np.where(np.eye(a.shape[-1], dtype=bool), 1, triangle)
        if left:
            return np.linalg.solve(triangle, b)
        return np.linalg.solve(triangle.swapaxes(-2, -1), b.swapaxes(-2, -1)).swapaxes(-2, -1)

    @kernel
    def linalg_cholesky(self, a, *, upper):
        try:
            lower = np.linalg.cholesky(a.swapaxes(-2, -1) if upper else a)
        except np.linalg.LinAlgError as error:
            raise _core.ArgumentError("[linalg_cholesky] the input is not positive-definite") from error
        return lower.swapaxes(-2, -1) if upper else lower

    @kernel
    def linalg_qr(self, a, *, mode):
        if mode == ONLY_R:
            return np.zeros(0, a.dtype), np.linalg.qr(a, "r")
        return tuple(np.linalg.qr(a, "complete" if mode == COMPLETE else "reduced"))

    @kernel
    def linalg_eigh(self, a, *, upper):
        return tuple(np.linalg.eigh(finite("linalg_eigh", a), "U" if upper else "L"))

    @kernel
    def linalg_svd(self, a, *, full):
        return tuple(np.linalg.svd(finite("linalg_svd", a), full))


def finite(op: str, a: np.ndarray) -> np.ndarray:
    if not np.isfinite(a).all():
        raise _core.ArgumentError(f"[{op}] expected finite elements: got a matrix with infinities or NaN")
    return a
