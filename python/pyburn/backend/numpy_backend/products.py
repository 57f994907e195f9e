"""Matrix products."""

from __future__ import annotations

import numpy as np

from ..interface import kernel
from .arrays import wide


class ProductsKernels:
    @kernel
    def bmm(self, x, y):
        return np.matmul(wide(x), wide(y))
