"""Sorting along one dimension, searchsorted, histograms, unique values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import _core
from ..interface import kernel
from .arrays import kernels, picked


def order_of(line: np.ndarray, descending: bool = False) -> np.ndarray:
    """Returns the stable sort order of a vector; NaN is larger than any number."""
    if not descending:
        return np.argsort(line, kind="stable")
    return len(line) - 1 - np.argsort(line[::-1], kind="stable")[::-1]


def ordered(x: np.ndarray, dim: int, descending: bool) -> tuple[np.ndarray, np.ndarray]:
    if x.ndim == 0:
        return x, np.zeros((), np.int64)
    index = np.apply_along_axis(order_of, dim, x, descending) if x.size else np.zeros(x.shape, np.int64)
    return np.take_along_axis(x, index, dim), index


def chosen(place):
    """Selects one element per vector along dim: place(line, order, attributes) returns its index."""

    def run(x, dim, keepdim, **attributes):
        if x.ndim == 0:
            return x, np.zeros((), np.int64)
        if x.size == 0:
            index = np.zeros([1 if i == dim else n for i, n in enumerate(x.shape)], np.int64)
        else:
            index = np.expand_dims(np.apply_along_axis(lambda line: place(line, order_of(line), **attributes), dim, x), dim)
        return picked(x, index, dim, keepdim)

    return run


def median(line, order):
    missing = np.isnan(line)
    return np.argmax(missing) if missing.any() else order[(len(line) - 1) // 2]


def mode(line, order):
    values, counts = np.unique(line, return_counts=True)
    return np.flatnonzero(line == values[np.argmax(counts)])[-1]


SORTED: dict[str, Any] = {
    "nonzero": np.argwhere,
    "sort": ordered,
    "kthvalue": chosen(lambda line, order, k: order[k - 1]),
    "median.dim": chosen(median),
    "nanmedian.dim": chosen(lambda line, order: order[max(np.sum(~np.isnan(line)) - 1, 0) // 2]),
    "mode": chosen(mode),
}


class SortKernels:
    locals().update(kernels(SORTED))

    @kernel
    def topk(self, x, *, k, dim, largest, sorted):
        return tuple(y if x.ndim == 0 else np.take(y, range(k), dim) for y in ordered(x, dim, largest))

    @kernel
    def searchsorted(self, sequence, values, *, right, result):
        side: Any = "right" if right else "left"
        if sequence.ndim == 1:
            places = np.searchsorted(sequence, values, side)
        else:
            rows = zip(sequence.reshape(-1, sequence.shape[-1]), values.reshape(-1, values.shape[-1]))
            places = np.array([np.searchsorted(s, v, side) for s, v in rows], np.int64).reshape(values.shape)
        return np.where(np.isnan(values), sequence.shape[-1], places)  # NaN goes to the end

    @kernel
    def histc(self, x, *, bins, min, max):
        if min == max and x.size:
            min, max = float(np.min(x)), float(np.max(x))
        if not np.isfinite([min, max]).all():
            raise _core.ArgumentError(f"[histc] the range of the bins is not finite: got {min} to {max}")
        if min == max:
            min, max = min - 1, max + 1
        return np.histogram(x.reshape(-1), bins, (min, max))[0]

    @kernel
    def bincount(self, x, weights=None, *, minlength):
        if not np.issubdtype(x.dtype, np.integer):
            raise _core.DTypeError(f"[bincount] expected integers: got {x.dtype}")
        if x.ndim != 1:
            raise _core.ShapeError(f"[bincount] expected a vector: got {x.shape}")
        if (x < 0).any():
            raise _core.ArgumentError(f"[bincount] negative numbers cannot be counted: got {x.min()}")
        counts = np.bincount(x, weights, minlength)
        return counts.astype(np.float32) if weights is not None and weights.dtype == np.float32 else counts

    @kernel
    def distinct(self, x, *, dim, consecutive):
        parts = x.reshape(-1, 1) if dim < 0 or x.ndim == 0 else np.moveaxis(x, dim, 0).reshape(x.shape[dim], -1)
        order = np.arange(len(parts)) if consecutive else np.lexsort(parts.T[::-1], axis=0)
        new = np.ones(len(parts), bool)
        new[1:] = (parts[order[1:]] != parts[order[:-1]]).any(1)
        inverse = np.empty(len(parts), np.int64)
        inverse[order] = np.cumsum(new) - 1
        counts = np.bincount(inverse, minlength=int(new.sum())).astype(np.int64)
        firsts = order[new]
        if dim < 0:
            return x.reshape(-1)[firsts], inverse.reshape(x.shape), counts
        return (np.take(x, firsts, dim) if x.ndim else x), inverse, counts
