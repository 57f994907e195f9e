"""Places in sorted sequences, counts of values, distinct values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import _core
from ..interface import kernel


class SearchKernels:
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
