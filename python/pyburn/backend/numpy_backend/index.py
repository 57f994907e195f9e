"""Gather, scatter and other indexed reads and writes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import _core
from ..interface import kernel
from .arrays import check_range, wide

_SUM, PROD, MEAN, AMAX, AMIN = range(5)  # reduction modes
FUNCTIONS = (np.add, np.multiply, np.add, np.maximum, np.minimum)


class IndexKernels:
    @kernel
    def index_select(self, x, index, *, dim):
        index = along(x, index, dim, "index_select")
        return np.take(x, index, dim) if x.ndim else x

    @kernel
    def index_add(self, x, index, source, *, dim, alpha):
        y, index = wide(np.atleast_1d(x)).copy(), along(x, index, dim, "index_add")
        np.add.at(np.moveaxis(y, dim, 0), index, np.moveaxis(alpha * wide(np.atleast_1d(source)), dim, 0).astype(y.dtype))
        return y.reshape(x.shape)

    @kernel
    def index_copy(self, x, index, source, *, dim):
        y, index = np.atleast_1d(x).copy(), along(x, index, dim, "index_copy")
        np.moveaxis(y, dim, 0)[index] = np.moveaxis(np.atleast_1d(source), dim, 0)
        return y.reshape(x.shape)

    @kernel
    def _index(self, x, *indices, axis, accumulate):
        return x[within(x.shape, indices, axis, "_index")]

    @kernel
    def _index_put(self, x, values, *indices, axis, accumulate):
        y, places = wide(x).copy(), within(x.shape, indices, axis, "_index_put")
        if accumulate:
            np.add.at(y, places, values)
        else:
            y[places] = values
        return y

    @kernel
    def _embedding(self, weight, indices, *, padding_idx, scale_grad_by_freq):
        return weight[along(weight, indices, 0, "_embedding")].reshape(*indices.shape, weight.shape[1])

    @kernel
    def _segment_reduce(self, x, lengths, *, reduce, initial):
        if (lengths < 0).any() or lengths.sum() != len(x):
            raise _core.ArgumentError(f"[segment_reduce] lengths must not be negative and sum to {len(x)}: got {lengths.tolist()}")
        start = (0, 1, 0, -np.inf, np.inf)[reduce] if initial is None else initial
        parts = np.split(wide(x), np.cumsum(lengths)[:-1])
        rows = [FUNCTIONS[reduce].reduce(part, 0, initial=start) for part in parts]
        if reduce == MEAN:
            rows = [r / len(part) if len(part) or initial is None else r for r, part in zip(rows, parts)]
        return np.array(rows).reshape(len(lengths), *x.shape[1:])

    @kernel
    def gather(self, x, index, *, dim):
        return np.atleast_1d(x)[places(x, index, dim, "gather")].reshape(index.shape)

    @kernel("scatter.src")
    def scatter_src(self, x, index, src, *, dim):
        y = np.atleast_1d(x).copy()
        y[places(x, index, dim, "scatter")] = part(src, index)
        return y.reshape(x.shape)

    @kernel
    def scatter_add(self, x, index, src, *, dim):
        y = wide(np.atleast_1d(x)).copy()
        np.add.at(y, places(x, index, dim, "scatter_add"), wide(part(src, index)))
        return y.reshape(x.shape)

    @kernel
    def scatter_reduce(self, x, index, src, *, dim, reduce, include_self):
        y, at, src = wide(np.atleast_1d(x)).copy(), places(x, index, dim, "scatter_reduce"), wide(part(src, index))
        floating = np.issubdtype(y.dtype, np.floating)
        low, high = (-np.inf, np.inf) if floating or y.dtype == bool else (np.iinfo(y.dtype).min, np.iinfo(y.dtype).max)
        if not include_self:
            y[at] = (0, 1, 0, low, high)[reduce]
        FUNCTIONS[reduce].at(y, at, src)
        if reduce == MEAN:
            count = np.full(y.shape, int(include_self))
            np.add.at(count, at, 1)
            y = y / np.maximum(count, 1) if floating else y // np.maximum(count, 1)
        return y.reshape(x.shape)


def along(x: np.ndarray, index: np.ndarray, dim: int, op: str) -> np.ndarray:
    """Returns an index along dim as a vector; raises if it is out of range."""
    extent = x.shape[dim] if x.ndim else 1
    check_range(index, 0, extent, f"[{op.lstrip('_')}] index out of range in self: got {{}} for extent {extent}")
    return index.reshape(-1)


def within(shape: tuple[int, ...], indices: Any, first: int, op: str) -> tuple[Any, ...]:
    """Returns an index tuple for the dimensions from `first` on; raises if one is out of range. Negative indices count from the end."""
    for axis, (extent, index) in enumerate(zip(shape[first:], indices)):
        check_range(index, -extent, extent, f"[{op.lstrip('_')}] index {{}} is out of bounds for dimension {axis} with size {extent}")
    return (slice(None),) * first + tuple(indices)


def places(x: np.ndarray, index: np.ndarray, dim: int, op: str) -> tuple[np.ndarray, ...]:
    """Returns the positions in x that an index of gather refers to."""
    x, index = np.atleast_1d(x), np.atleast_1d(index)
    check_range(index, 0, x.shape[dim], f"[{op.lstrip('_')}] index {{}} is out of bounds for dimension {dim} with size {x.shape[dim]}")
    grid: list[Any] = list(np.indices(index.shape)) if index.ndim == x.ndim else [index] * x.ndim
    grid[dim] = index
    return tuple(grid)


def part(src: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Returns the elements of src at the positions covered by an index, in its shape."""
    src, index = np.atleast_1d(src), np.atleast_1d(index)
    return src[tuple(slice(n) for n in index.shape)] if index.ndim == src.ndim else np.zeros(index.shape, src.dtype)
