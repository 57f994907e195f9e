"""Tensors joined, padded, turned around, repeated."""

from __future__ import annotations

import numpy as np

from ... import _core
from ..interface import kernel


class RearrangeKernels:
    @kernel
    def cat(self, *tensors, dim):
        parts = [x for x in tensors if x.shape != (0,)]
        return np.concatenate(parts, dim) if parts else tensors[0]

    @kernel
    def flip(self, x, *, dims):
        return np.flip(x, dims)

    @kernel
    def constant_pad_nd(self, x, *, pad, value):
        widths = [pad[i : i + 2] for i in range(0, len(pad), 2)][::-1]
        widths = [(0, 0)] * (x.ndim - len(widths)) + widths
        x = x[tuple(slice(max(0, -b), n + min(0, a)) for n, (b, a) in zip(x.shape, widths))]
        return np.pad(x, [(max(0, b), max(0, a)) for b, a in widths], constant_values=value) if x.ndim else x

    @kernel
    def _border_pad(self, x, *, pad, border):
        widths = [pad[i : i + 2] for i in range(0, len(pad), 2)][::-1]
        return np.pad(x, [(0, 0)] * (x.ndim - len(widths)) + widths, ("reflect", "edge", "wrap")[border])

    @kernel
    def tril(self, x, *, diagonal):
        return np.tril(x, diagonal)

    @kernel
    def triu(self, x, *, diagonal):
        return np.triu(x, diagonal)

    @kernel("repeat_interleave.indices")
    def repeat_interleave_indices(self, repeats, *, output_size):
        if (repeats < 0).any():
            raise _core.ArgumentError(f"[repeat_interleave] repeats must not be negative: got {repeats.min()}")
        if output_size not in (-1, repeats.sum()):
            raise _core.ArgumentError(f"[repeat_interleave] output_size does not fit: got {output_size} for {repeats.sum()}")
        return np.repeat(np.arange(len(repeats), dtype=repeats.dtype), repeats)
