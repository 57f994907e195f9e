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
    def amax(self, x, *, dim, keepdim, result):
        return np.max(x, dim, keepdims=keepdim)

    @kernel
    def amin(self, x, *, dim, keepdim, result):
        return np.min(x, dim, keepdims=keepdim)

    @kernel
    def argmax(self, x, *, dim, keepdim):
        return np.argmax(x, None if dim < 0 or x.ndim == 0 else dim, keepdims=keepdim)
