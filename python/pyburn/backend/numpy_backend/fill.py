"""Made from numbers: constants, ranges, random draws."""

from __future__ import annotations

import numpy as np

from ... import _core
from ..interface import compute_dtype, kernel

UNIFORM, NORMAL, BERNOULLI, INTEGER = range(4)  # what random draws


class FillKernels:
    @kernel
    def full(self, *, size, value, dtype):
        return np.broadcast_to(np.asarray(value).astype(compute_dtype(dtype)), size)

    @kernel
    def arange(self, *, start, step, count, dtype):
        return (start + step * np.arange(count)).astype(compute_dtype(dtype))

    @kernel
    def linspace(self, *, start, end, steps, dtype):
        return np.linspace(start, end, steps).astype(compute_dtype(dtype))

    @kernel
    def random(self, *, size, draw, a, b, seed, offset, dtype):
        n = int(np.prod(size))
        words = philox(seed, offset, -(-n // (2 if draw == NORMAL else 4))).astype(np.float64)
        if draw == NORMAL:  # Box-Muller: two words a number
            u, angle = (words[:, ::2] + 1) * 2.0**-32, 2 * np.pi * words[:, 1::2] * 2.0**-32
            y = a + b * (np.sqrt(-2 * np.log(u)) * np.cos(angle))
        elif draw == INTEGER:
            y = a + np.floor(words * 2.0**-32 * (b - a))
        else:
            u = np.floor(words / 256) * 2.0**-24  # exact in float32
            y = u < a if draw == BERNOULLI else a + u * (b - a)
        y = y.reshape(-1)[:n].reshape(size).astype(np.float32 if dtype is _core.float32 else np.float64)
        if draw == UNIFORM and a < b:  # rounding may have reached the open end
            y = np.where(y >= b, np.nextafter(y.dtype.type(b), y.dtype.type(a)), y)
        return y


def philox(seed: int, offset: int, blocks: int) -> np.ndarray:
    """Philox 4x32-10: four random words for each counter from offset on."""
    low = 0xFFFFFFFF
    index = np.uint64(offset % 2**64) + np.arange(blocks, dtype=np.uint64)
    c = [index & low, index >> 32, np.zeros_like(index), np.zeros_like(index)]
    k0, k1 = seed & low, (seed >> 32) & low
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k0, b & low, (a >> 32) ^ c[3] ^ k1, a & low]
        k0, k1 = (k0 + 0x9E3779B9) & low, (k1 + 0xBB67AE85) & low
    return np.stack(c, 1)
