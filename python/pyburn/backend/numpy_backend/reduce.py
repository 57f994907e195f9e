"""Reductions over dimensions; cumulative sums, products and extrema along one dimension."""

from __future__ import annotations

import numpy as np

from .arrays import kernels, picked, wide


def reduction(function):
    return lambda x, dim, keepdim, result=None: function(wide(x), dim, keepdims=keepdim)


def mean(x, dim, keepdims):
    return np.sum(x, dim, keepdims=keepdims) / np.prod([x.shape[d] for d in dim], dtype=np.float64)


def place(function):
    return lambda x, dim, keepdim: function(x, None if dim < 0 or x.ndim == 0 else dim, keepdims=keepdim)


def extremum(function):
    """Returns the extrema along dim, and their indices."""
    return lambda x, dim, keepdim: picked(x, function(x, dim, keepdims=True), dim, keepdim) if x.ndim else (x, np.zeros((), np.int64))


def running(function):
    def run(x, dim, result, reverse):
        if x.ndim == 0:
            return x
        x = np.flip(wide(x), dim) if reverse else wide(x)
        y = function(x, dim).astype(x.dtype)
        return np.flip(y, dim) if reverse else y

    return run


def running_extremum(wins):
    """Cumulative extrema and their indices; NaN propagates."""

    def run(x, dim, result, reverse):
        rows = np.moveaxis(np.atleast_1d(x), dim, 0)
        values, indices = rows.copy(), np.zeros(rows.shape, np.int64)
        for j in range(1, len(rows)):
            new = np.isnan(rows[j]) | (~np.isnan(values[j - 1]) & wins(rows[j], values[j - 1]))
            values[j] = np.where(new, rows[j], values[j - 1])
            indices[j] = np.where(new, j, indices[j - 1])
        return np.moveaxis(values, 0, dim).reshape(x.shape), np.moveaxis(indices, 0, dim).reshape(x.shape)

    return run


REDUCTIONS = {
    "sum": reduction(np.sum),
    "mean": reduction(mean),
    "prod": reduction(np.prod),
    "nansum": reduction(np.nansum),
    "count_nonzero": reduction(np.count_nonzero),
    "any": reduction(np.any),
    "all": reduction(np.all),
    "amax": reduction(np.max),
    "amin": reduction(np.min),
    "argmax": place(np.argmax),
    "argmin": place(np.argmin),
    "max.dim": extremum(np.argmax),
    "min.dim": extremum(np.argmin),
    "cumsum": running(np.cumsum),
    "cumprod": running(np.cumprod),
    "logcumsumexp": running(np.logaddexp.accumulate),
    "cummax": running_extremum(np.greater_equal),
    "cummin": running_extremum(np.less_equal),
}
KERNELS = kernels(REDUCTIONS)
