"""One tensor, element by element: arithmetic, rounding, conversion."""

from __future__ import annotations

import numpy as np

from ..interface import compute_dtype, kernel
from .arrays import unary


class UnaryKernels:
    neg = unary("neg", np.negative)
    abs = unary("abs", np.abs)
    sign = unary("sign", lambda x: np.where(x > 0, 1, np.where(x < 0, -1, 0)))
    floor = unary("floor", np.floor)
    ceil = unary("ceil", np.ceil)
    trunc = unary("trunc", np.trunc)
    sqrt = unary("sqrt", np.sqrt)
    rsqrt = unary("rsqrt", lambda x: 1 / np.sqrt(x))
    contiguous_copy = unary("contiguous_copy", lambda x: x)

    @kernel
    def round(self, x, *, decimals):
        return np.round(x, decimals)

    @kernel
    def nan_to_num(self, x, *, nan, posinf, neginf):
        return np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)

    @kernel
    def cast(self, x, *, dtype):
        return x.astype(compute_dtype(dtype))
