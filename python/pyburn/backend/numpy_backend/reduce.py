"""Reductions over axes."""

from __future__ import annotations

import numpy as np

from ..interface import kernel
from .arrays import wide


class ReduceKernels:
    @kernel
    def sum(self, x, *, dim, keepdim, result):
        return np.sum(wide(x), dim, keepdims=keepdim)

    @kernel
    def mean(self, x, *, dim, keepdim, result):
        n = np.prod([x.shape[d] for d in dim], dtype=np.float64)
        return np.sum(wide(x), dim, keepdims=keepdim) / n

    @kernel
    def prod(self, x, *, dim, keepdim, result):
        return np.prod(wide(x), dim, keepdims=keepdim)

    @kernel
    def nansum(self, x, *, dim, keepdim, result):
        return np.nansum(wide(x), dim, keepdims=keepdim)

    @kernel
    def count_nonzero(self, x, *, dim, keepdim, result):
        return np.count_nonzero(x, dim, keepdims=keepdim)

    @kernel
    def any(self, x, *, dim, keepdim):
        return np.any(x, dim, keepdims=keepdim)

    @kernel
    def all(self, x, *, dim, keepdim):
        return np.all(x, dim, keepdims=keepdim)

    @kernel
    def amax(self, x, *, dim, keepdim, result):
        return np.max(x, dim, keepdims=keepdim)

    @kernel
    def amin(self, x, *, dim, keepdim, result):
        return np.min(x, dim, keepdims=keepdim)

    @kernel
    def argmax(self, x, *, dim, keepdim):
        return np.argmax(x, None if dim < 0 or x.ndim == 0 else dim, keepdims=keepdim)

    @kernel
    def argmin(self, x, *, dim, keepdim):
        return np.argmin(x, None if dim < 0 or x.ndim == 0 else dim, keepdims=keepdim)

    @kernel("max.dim")
    def max_dim(self, x, *, dim, keepdim):
        return picked(x, self.argmax(x, dim=dim, keepdim=keepdim), dim, keepdim)

    @kernel("min.dim")
    def min_dim(self, x, *, dim, keepdim):
        return picked(x, self.argmin(x, dim=dim, keepdim=keepdim), dim, keepdim)


def picked(x: np.ndarray, index: np.ndarray, dim: int, keepdim: bool) -> tuple[np.ndarray, np.ndarray]:
    """The elements that the index names along dim, and the index."""
    if x.ndim == 0:
        return x, index
    whole = index if keepdim else np.expand_dims(index, dim)
    values = np.take_along_axis(x, whole, dim)
    return (values if keepdim else np.squeeze(values, dim)), index
