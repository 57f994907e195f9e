"""What elements are made of: their bits, mantissas and exponents."""

from __future__ import annotations

import numpy as np

from ..interface import kernel


class BitsKernels:
    @kernel
    def _view_bits(self, x, *, dtype):
        # numpy sees no other size in an array without axes, nor in an empty one
        shape = (*x.shape[:-1], x.shape[-1] * x.itemsize // np.dtype(dtype.name).itemsize) if x.ndim else ()
        return np.frombuffer(np.ascontiguousarray(x).tobytes(), dtype.name).reshape(shape)

    @kernel
    def frexp(self, x):
        mantissa, exponent = np.frexp(x)
        return mantissa, exponent.astype(np.int32)
