"""Concatenation, padding, flipping and repetition."""

from __future__ import annotations

import numpy as np

from ... import _core
from ..interface import kernel
from .arrays import kernels

REARRANGED = {
    "flip": lambda x, dims: np.flip(x, dims),
    "tril": lambda x, diagonal: np.tril(x, diagonal),
    "triu": lambda x, diagonal: np.triu(x, diagonal),
}


class RearrangeKernels:
    locals().update(kernels(REARRANGED))

    @kernel
    def cat(self, *tensors, dim):
        parts = [x for x in tensors if x.shape != (0,)]
        return np.concatenate(parts, dim) if parts else tensors[0]

    @kernel
    def constant_pad_nd(self, x, *, pad, value):
        widths = per_axis(pad, x.ndim)
        x = x[tuple(slice(max(0, -b), n + min(0, a)) for n, (b, a) in zip(x.shape, widths))]
        return np.pad(x, [(max(0, b), max(0, a)) for b, a in widths], constant_values=value) if x.ndim else x

    @kernel
    def _border_pad(self, x, *, pad, border):
        return np.pad(x, per_axis(pad, x.ndim), ("reflect", "edge", "wrap")[border])

    @kernel("repeat_interleave.indices")
    def repeat_interleave_indices(self, repeats, *, output_size):
        if (repeats < 0).any():
            raise _core.ArgumentError(f"[repeat_interleave] repeats must not be negative: got {repeats.min()}")
        if output_size not in (-1, repeats.sum()):
            raise _core.ArgumentError(f"[repeat_interleave] output_size must be the sum of repeats: got {output_size} for {repeats.sum()}")
        return np.repeat(np.arange(len(repeats), dtype=repeats.dtype), repeats)


def per_axis(pad: tuple[int, ...], axes: int) -> list[tuple[int, int]]:
    """Returns the widths before and after each dimension; pad starts with the last dimension."""
    widths = list(zip(pad[::2], pad[1::2]))[::-1]
    return [(0, 0)] * (axes - len(widths)) + widths
