"""Pooling over the last dimensions."""

from __future__ import annotations

from itertools import product

import numpy as np

from ..interface import kernel
from .arrays import at, check_range, wide


class PoolKernels:
    @kernel
    def max_pool(self, x, **attributes):
        return self.max_pool_with_indices(x, **attributes)[0]

    @kernel
    def max_pool_with_indices(self, x, *, kernel_size, stride, padding, dilation, ceil_mode, adaptive):
        axes = len(kernel_size)
        planes = np.arange(np.prod(x.shape[-axes:])).reshape(x.shape[-axes:])
        cuts = windows(x.shape[-axes:], kernel_size, stride, padding, dilation, ceil_mode, adaptive)
        shape = (*x.shape[:-axes], *map(len, cuts))
        y, indices = np.empty(shape, x.dtype), np.empty(shape, np.int64)
        for place in np.ndindex(shape[-axes:]):
            window = tuple(slice(c[i][0], c[i][1], d) for c, i, d in zip(cuts, place, dilation or [1] * axes))
            seen = x[at(..., *window)].reshape(*x.shape[:-axes], planes[window].size)
            best = np.argmax(seen, -1)
            y[at(..., *place)] = np.take_along_axis(seen, best[..., None], -1)[..., 0]
            indices[at(..., *place)] = planes[window].reshape(-1)[best]
        return y, indices

    @kernel
    def avg_pool(self, x, *, input_size, **attributes):
        axes = len(attributes["kernel_size"])
        parts = shares(x.shape[-axes:], **attributes)
        y = np.empty((*x.shape[:-axes], *(1 + n for n in parts[-1][0])), wide(x).dtype)
        for place, window, divisor in parts:
            y[at(..., *place)] = wide(x)[at(..., *window)].sum(tuple(range(-axes, 0))) / divisor
        return y

    @kernel
    def avg_pool_input(self, dy, *, input_size, **attributes):
        axes = len(attributes["kernel_size"])
        dx = np.zeros(input_size, wide(dy).dtype)
        for place, window, divisor in shares(input_size[-axes:], **attributes):
            dx[at(..., *window)] += np.expand_dims(dy[at(..., *place)] / divisor, tuple(range(-axes, 0)))
        return dx

    @kernel
    def unpool(self, x, indices, *, output_size, accumulate):
        y, indices = np.zeros((*x.shape[: -len(output_size)], *output_size), x.dtype), checked(indices, output_size, "unpool")
        for plane in np.ndindex(x.shape[: -len(output_size)]):
            for place, value in zip(indices[plane].flat, x[plane].flat):
                y[plane].flat[place] = y[plane].flat[place] + value if accumulate else value
        return y

    @kernel
    def unpool_input(self, dy, indices, *, output_size, accumulate):
        dx, indices = np.empty(indices.shape, dy.dtype), checked(indices, output_size, "unpool_input")
        for plane in np.ndindex(dy.shape[: -len(output_size)]):
            dx[plane] = dy[plane].reshape(-1)[indices[plane]]
        return dx


def checked(indices, output_size, op) -> np.ndarray:
    check_range(indices, 0, np.prod(output_size), f"[{op}] index out of range: got {{}} for a plane of {np.prod(output_size)}")
    return indices


def windows(extents, kernel_size, stride, padding, dilation, ceil_mode, adaptive) -> list[list[tuple[int, int]]]:
    """Returns the start and end of the windows along each dimension, clipped to the input."""
    cuts = []
    for axis, (n, k) in enumerate(zip(extents, kernel_size)):
        if adaptive:
            cuts.append([(o * n // k, -(-(o + 1) * n // k)) for o in range(k)])
            continue
        s, p, d = stride[axis], padding[axis], dilation[axis]
        count = (n + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil_mode else 0)) // s + 1
        if ceil_mode and (count - 1) * s >= n + p:
            count -= 1
        begins = [o * s - p for o in range(count)]
        cuts.append([(b if b >= 0 else b + -(b // d) * d, min(b + d * (k - 1) + 1, n)) for b in begins])
    return cuts


def shares(extents, *, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor, adaptive):
    """Returns the output position, the slices and the divisor of each window."""
    cuts = windows(extents, kernel_size, stride, padding, [1] * len(extents), ceil_mode, adaptive)
    parts = []
    for place in product(*(range(len(c)) for c in cuts)):
        window = [c[i] for c, i in zip(cuts, place)]
        sizes = [e - b for b, e in window]
        if count_include_pad and not adaptive:
            starts = [i * s - p for i, s, p in zip(place, stride, padding)]
            sizes = [min(b + k, n + p) - b for b, k, n, p in zip(starts, kernel_size, extents, padding)]
        parts.append((place, tuple(slice(b, e) for b, e in window), divisor or np.prod(sizes)))
    return parts
