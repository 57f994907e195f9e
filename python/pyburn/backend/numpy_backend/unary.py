"""Unary element-wise operations: arithmetic, rounding, casts, exponentials, trigonometry, activations, bits."""

from __future__ import annotations

import math

import numpy as np

from ..interface import compute_dtype, kernel
from .arrays import elementwise, kernels, named

SAME_NAMES = named("abs floor ceil trunc round sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh")
SAME_NAMES |= named("isinf isfinite logical_not nan_to_num frexp")
INVERSES = {f"a{name}": getattr(np, f"arc{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}
UNARY = {
    "neg": np.negative,
    "sign": lambda x: np.where(x > 0, 1, np.where(x < 0, -1, 0)),
    "signbit": lambda x: np.signbit(x) if np.issubdtype(x.dtype, np.floating) else x < 0,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "erf": elementwise(math.erf),
    "erfc": elementwise(math.erfc),
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "special_entr": lambda x: np.where(x > 0, -x * np.log(x), np.where(x < 0, -np.inf, x)),
    "contiguous_copy": lambda x: x,
    "cast": lambda x, dtype: x.astype(compute_dtype(dtype)),
}


class UnaryKernels:
    locals().update(kernels(SAME_NAMES | INVERSES | UNARY))

    @kernel
    def clamp(self, x, *, min, max):
        x = x if min is None else np.maximum(x, min)
        return x if max is None else np.minimum(x, max)

    @kernel
    def _view_bits(self, x, *, dtype):
        # numpy cannot change the element size of 0-d or empty arrays
        shape = (*x.shape[:-1], x.shape[-1] * x.itemsize // np.dtype(dtype.name).itemsize) if x.ndim else ()
        return np.frombuffer(np.ascontiguousarray(x).tobytes(), dtype.name).reshape(shape)
