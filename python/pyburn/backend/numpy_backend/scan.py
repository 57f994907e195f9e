"""Running sums, products and extrema along one axis."""

from __future__ import annotations

import numpy as np

from ..interface import kernel
from .arrays import wide


class ScanKernels:
    @kernel
    def cumsum(self, x, *, dim, result, reverse):
        return scanned(np.cumsum, x, dim, reverse)

    @kernel
    def cumprod(self, x, *, dim, result, reverse):
        return scanned(np.cumprod, x, dim, reverse)

    @kernel
    def logcumsumexp(self, x, *, dim, result, reverse):
        return scanned(np.logaddexp.accumulate, x, dim, reverse)

    @kernel
    def cummax(self, x, *, dim, result, reverse):
        return running_extremum(x, dim, np.greater_equal)

    @kernel
    def cummin(self, x, *, dim, result, reverse):
        return running_extremum(x, dim, np.less_equal)


def scanned(function, x: np.ndarray, dim: int, reverse: bool) -> np.ndarray:
    if x.ndim == 0:
        return x
    x = np.flip(wide(x), dim) if reverse else wide(x)
    y = function(x, dim).astype(x.dtype)
    return np.flip(y, dim) if reverse else y


def running_extremum(x: np.ndarray, dim: int, wins) -> tuple[np.ndarray, np.ndarray]:
    rows = np.moveaxis(np.atleast_1d(x), dim, 0)
    values, indices = rows.copy(), np.zeros(rows.shape, np.int64)
    for j in range(1, len(rows)):
        new = np.isnan(rows[j]) | (~np.isnan(values[j - 1]) & wins(rows[j], values[j - 1]))
        values[j] = np.where(new, rows[j], values[j - 1])
        indices[j] = np.where(new, j, indices[j - 1])
    return np.moveaxis(values, 0, dim).reshape(x.shape), np.moveaxis(indices, 0, dim).reshape(x.shape)
