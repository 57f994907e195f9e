"""Creation from numbers: constants, ranges, random numbers."""

from __future__ import annotations

import numpy as np

from ... import _core
from ..interface import compute_dtype, kernel
from .arrays import kernels, wide

UNIFORM, NORMAL, BERNOULLI, INTEGER, EXPONENTIAL, PERMUTATION = range(6)  # distributions of random


FILLED = {
    "full": lambda size, value, dtype: np.broadcast_to(np.asarray(value).astype(compute_dtype(dtype)), size),
    "arange": lambda start, step, count, dtype: (start + step * np.arange(count)).astype(compute_dtype(dtype)),
    "linspace": lambda start, end, steps, dtype: np.linspace(start, end, steps).astype(compute_dtype(dtype)),
}


class FillKernels:
    locals().update(kernels(FILLED))

    @kernel
    def random(self, *, size, draw, a, b, seed, offset, dtype, low, high):
        n = int(np.prod(size))
        wide = draw == INTEGER and high - low > 2**32  # two words per number
        words = philox(seed, offset, -(-n * (2 if wide else 1) // 4)).reshape(-1)
        unit = (words >> 8) * 2.0**-24  # exact in float32
        if draw == NORMAL:  # Box-Muller: two words give a radius and an angle, and thus two numbers
            radius, angle = np.sqrt(-2 * np.log(unit[::2] + 2.0**-24)), 2 * np.pi * unit[1::2]
            y = a + b * np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).reshape(-1)
        elif draw == INTEGER:
            below = words * np.uint64(high - low) >> 32
            if wide:
                below = np.array([(int(x) << 32 | int(y)) * (high - low) >> 64 for x, y in words.reshape(-1, 2)], np.uint64)
            return (below[:n] + np.uint64(low % 2**64)).astype(np.int64).astype(compute_dtype(dtype)).reshape(size)
        elif draw == PERMUTATION:  # Fisher-Yates shuffle
            order = np.arange(n)
            for i, place in enumerate(np.arange(n) + (words[:n] * np.arange(n, 0, -1, dtype=np.uint64) >> 32).astype(np.int64)):
                order[i], order[place] = order[place], order[i]
            return order
        elif draw == EXPONENTIAL:
            y = -np.log(1 - unit) / a
        else:
            y = unit < a if draw == BERNOULLI else a + unit * (b - a)
        y = y[:n].reshape(size).astype(np.float32 if dtype is _core.float32 else np.float64)
        if draw == UNIFORM and a < b:  # rounding may have reached the excluded upper limit
            y = np.where(y >= b, np.nextafter(y.dtype.type(b), y.dtype.type(a)), y)
        return y

    @kernel
    def seeded_dropout(self, x, *, p, scale, shift, dropped, seed, offset):
        unit = (philox(seed, offset, -(-x.size // 4)).reshape(-1)[: x.size] >> 8) * 2.0**-24
        return np.where(unit.reshape(x.shape) < p, dropped, wide(x) * scale + shift)


def philox(seed: int, offset: int, blocks: int) -> np.ndarray:
    """Philox 4x32-10: returns four random words for each counter from offset on."""
    low = 0xFFFFFFFF
    index = np.uint64(offset % 2**64) + np.arange(blocks, dtype=np.uint64)
    c = [index & low, index >> 32, np.zeros_like(index), np.zeros_like(index)]
    k0, k1 = seed & low, (seed >> 32) & low
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k0, b & low, (a >> 32) ^ c[3] ^ k1, a & low]
        k0, k1 = (k0 + 0x9E3779B9) & low, (k1 + 0xBB67AE85) & low
    return np.stack(c, 1)
