"""Reading and writing through an index."""

from __future__ import annotations

import numpy as np

from ..interface import kernel
from .arrays import checked, wide


class IndexKernels:
    @kernel
    def nonzero(self, x):
        return np.argwhere(x)

    @kernel
    def index_select(self, x, index, *, dim):
        index = checked(index, x.shape[dim] if x.ndim else 1, "index_select")
        return np.take(x, index, dim) if x.ndim else x

    @kernel
    def index_add(self, x, index, source, *, dim):
        index = checked(index, x.shape[dim], "index_add")
        y = x.copy()
        np.add.at(np.moveaxis(y, dim, 0), index, np.moveaxis(source, dim, 0))
        return y

    @kernel
    def gather(self, x, index, *, dim):
        checked(index, x.shape[dim] if x.ndim else 1, "gather")
        return x[places(x, index, dim)]

    @kernel
    def scatter_add(self, x, index, source, *, dim):
        checked(index, x.shape[dim] if x.ndim else 1, "scatter_add")
        y = wide(x).copy()
        np.add.at(y, places(x, index, dim), source)
        return y


def places(x: np.ndarray, index: np.ndarray, dim: int) -> tuple:
    """An index of the elements of x that `index` names along dim."""
    return tuple(index if axis == dim else along for axis, along in enumerate(np.indices(index.shape, sparse=True)))
