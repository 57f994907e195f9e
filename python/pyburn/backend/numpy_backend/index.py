"""Reading and writing through an index."""

from __future__ import annotations

import numpy as np

from ..interface import kernel
from .arrays import checked


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
