"""Convolutions in any number of dimensions, im2col and col2im."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import at, kernels, wide


def conv(x, weight, bias=None, *, stride, padding, dilation, groups):
    """Computes an n-d convolution with one sum of products over windows.

    Args:
        x: The input, (N, C, ...).
        weight: The kernels, (O, C / groups, ...).
        bias: Added to each output channel, (O,); optional.
        stride: The step between windows, per spatial dimension.
        padding: The zero padding on both sides, per spatial dimension.
        dilation: The distance between kernel elements, per spatial dimension.
        groups: The number of channel groups.

    Returns:
        The output, (N, O, ...).

    >>> conv(np.ones((1, 1, 3)), np.ones((1, 1, 2)), stride=(1,), padding=(0,), dilation=(1,), groups=1)
    array([[[2., 2.]]])
    """
    views = windows(wide(x), weight.shape[2:], stride, padding, dilation)
    axes = x.ndim - 2
    pixels, taps = "hwd"[:axes], "ijk"[:axes]
    y = np.einsum(f"ngc{pixels}{taps},goc{taps}->ngo{pixels}", grouped(views, groups, 1), grouped(wide(weight), groups, 0))
    y = y.reshape(x.shape[0], weight.shape[0], *y.shape[3:])
    return y if bias is None else y + bias.reshape(-1, *[1] * axes)


def conv_input(dy, weight, shape, stride, padding, dilation, groups):
    dy, weight = grouped(wide(dy), groups, 1), grouped(wide(weight), groups, 0)
    taps = {tap: np.einsum("ngo...,goc->ngc...", dy, weight[at(..., *tap)]) for tap in np.ndindex(weight.shape[3:])}
    return put_back(taps, (shape[0], groups, shape[1] // groups, *shape[2:]), stride, padding, dilation).reshape(shape)


def conv_weight(x, dy, shape, stride, padding, dilation, groups):
    views = grouped(windows(wide(x), shape[2:], stride, padding, dilation), groups, 1)
    dy = grouped(wide(dy), groups, 1)
    pixels, taps = "hwd"[: x.ndim - 2], "ijk"[: x.ndim - 2]
    views = views[(slice(None),) * 3 + tuple(slice(n) for n in dy.shape[3:])]
    return np.einsum(f"ngc{pixels}{taps},ngo{pixels}->goc{taps}", views, dy).reshape(shape)


def im2col(x, output_size, kernel_size, dilation, padding, stride):
    views = windows(x if x.ndim == 4 else x[None], kernel_size, stride, padding, dilation)
    n, channels, rows, columns, height, width = views.shape
    y = views.transpose(0, 1, 4, 5, 2, 3).reshape(n, channels * height * width, rows * columns)
    return y if x.ndim == 4 else y[0]


def col2im(x, output_size, kernel_size, dilation, padding, stride):
    grid = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, p, d, k, s in zip(output_size, padding, dilation, kernel_size, stride)]
    columns = wide(x).reshape(*x.shape[:-2], x.shape[-2] // int(np.prod(kernel_size)), *kernel_size, *grid)
    taps = {tap: columns[at(..., *tap, slice(None), slice(None))] for tap in np.ndindex(*kernel_size)}
    return put_back(taps, (*columns.shape[:-4], *output_size), stride, padding, dilation)


def grouped(x: np.ndarray, groups: int, axis: int) -> np.ndarray:
    """Splits the channel dimension into (groups, channels per group)."""
    return x.reshape(*x.shape[:axis], groups, x.shape[axis] // groups, *x.shape[axis + 1 :])


def windows(x, kernel_size, stride, padding, dilation) -> np.ndarray:
    """Returns the input window of each output position: (n, channel, output positions ..., kernel positions ...)."""
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel_size)]
    views = np.lib.stride_tricks.sliding_window_view(x, reach, tuple(range(2, x.ndim)))
    return views[at(slice(None), slice(None), *(slice(None, None, s) for s in stride), *(slice(None, None, d) for d in dilation))]


def put_back(taps: dict[Any, np.ndarray], shape, stride, padding, dilation) -> np.ndarray:
    """Sums the values of each kernel position at the input positions it reads, and removes the padding."""
    extents, first = shape[-len(padding) :], next(iter(taps.values()))
    y = np.zeros((*shape[: -len(padding)], *(n + 2 * p for n, p in zip(extents, padding))), first.dtype)
    for tap, values in taps.items():
        places = values.shape[-len(padding) :]
        y[at(..., *(slice(t * d, t * d + n * s, s) for t, d, n, s in zip(tap, dilation, places, stride)))] += values
    return y[at(..., *(slice(p, p + n) for n, p in zip(extents, padding)))]


CONVOLUTIONS = {
    "conv2d": conv,
    "conv3d": conv,
    "conv2d_input": conv_input,
    "conv3d_input": conv_input,
    "conv2d_weight": conv_weight,
    "conv3d_weight": conv_weight,
    "im2col": im2col,
    "col2im": col2im,
}
KERNELS = kernels(CONVOLUTIONS)
