"""Order along one axis."""

from __future__ import annotations

import numpy as np

from ..interface import kernel


class SortKernels:
    @kernel
    def sort(self, x, *, dim, descending):
        return ordered(x, dim, descending)

    @kernel
    def topk(self, x, *, k, dim, largest, sorted):
        return tuple(y if x.ndim == 0 else np.take(y, range(k), dim) for y in ordered(x, dim, largest))

    @kernel
    def kthvalue(self, x, *, k, dim, keepdim):
        return chosen(x, dim, keepdim, lambda line, order: order[k - 1])

    @kernel("median.dim")
    def median_dim(self, x, *, dim, keepdim):
        def place(line, order):
            missing = np.isnan(line)
            return np.argmax(missing) if missing.any() else order[(len(line) - 1) // 2]

        return chosen(x, dim, keepdim, place)

    @kernel("nanmedian.dim")
    def nanmedian_dim(self, x, *, dim, keepdim):
        return chosen(x, dim, keepdim, lambda line, order: order[max(np.sum(~np.isnan(line)) - 1, 0) // 2])

    @kernel
    def mode(self, x, *, dim, keepdim):
        def place(line, order):
            values, counts = np.unique(line, return_counts=True)
            return np.flatnonzero(line == values[np.argmax(counts)])[-1]

        return chosen(x, dim, keepdim, place)


def order_of(line: np.ndarray, descending: bool = False) -> np.ndarray:
    """The stable order of a line; NaN is larger than any number."""
    if not descending:
        return np.argsort(line, kind="stable")
    return len(line) - 1 - np.argsort(line[::-1], kind="stable")[::-1]


def ordered(x: np.ndarray, dim: int, descending: bool) -> tuple[np.ndarray, np.ndarray]:
    if x.ndim == 0:
        return x, np.zeros((), np.int64)
    index = np.apply_along_axis(order_of, dim, x, descending) if x.size else np.zeros(x.shape, np.int64)
    return np.take_along_axis(x, index, dim), index


def chosen(x: np.ndarray, dim: int, keepdim: bool, place) -> tuple[np.ndarray, np.ndarray]:
    """One element per line along dim: place(line, order) says which."""
    if x.ndim == 0:
        return x, np.zeros((), np.int64)
    if x.size == 0:
        shape = tuple(1 if i == dim else n for i, n in enumerate(x.shape) if keepdim or i != dim)
        return np.zeros(shape, x.dtype), np.zeros(shape, np.int64)
    index = np.expand_dims(np.apply_along_axis(lambda line: place(line, order_of(line)), dim, x), dim)
    values = np.take_along_axis(x, index, dim)
    return (values, index) if keepdim else (values.squeeze(dim), index.squeeze(dim))
