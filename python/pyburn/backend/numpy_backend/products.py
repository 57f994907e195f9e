"""Matrix products and convolutions."""

from __future__ import annotations

import numpy as np

from ..interface import kernel
from .arrays import wide


class ProductsKernels:
    @kernel
    def bmm(self, x, y):
        return np.matmul(wide(x), wide(y))

    @kernel
    def conv2d(self, x, weight, bias=None, *, stride, padding, dilation, groups):
        views = windows(wide(x), weight.shape[2:], stride, padding, dilation, groups)
        y = np.einsum("ngchwij,gocij->ngohw", views, grouped(wide(weight), groups, 0))
        y = y.reshape(x.shape[0], weight.shape[0], *views.shape[3:5])
        return y if bias is None else y + bias[:, None, None]

    @kernel
    def conv2d_input(self, dy, weight, *, shape, stride, padding, dilation, groups):
        dy, weight = grouped(wide(dy), groups, 1), grouped(wide(weight), groups, 0)
        (n, channels, height, width), (rows, columns) = shape, dy.shape[3:]
        dx = np.zeros((n, groups, channels // groups, height + 2 * padding[0], width + 2 * padding[1]), dy.dtype)
        for i in range(weight.shape[3]):
            for j in range(weight.shape[4]):
                top, left = i * dilation[0], j * dilation[1]
                seen = dx[..., top : top + rows * stride[0] : stride[0], left : left + columns * stride[1] : stride[1]]
                seen += np.einsum("ngohw,goc->ngchw", dy, weight[..., i, j])
        inside = dx[..., padding[0] : padding[0] + height, padding[1] : padding[1] + width]
        return inside.reshape(shape)

    @kernel
    def conv2d_weight(self, x, dy, *, shape, stride, padding, dilation, groups):
        views = windows(wide(x), shape[2:], stride, padding, dilation, groups)
        dy = grouped(wide(dy), groups, 1)
        return np.einsum("ngchwij,ngohw->gocij", views[..., : dy.shape[3], : dy.shape[4], :, :], dy).reshape(shape)


def grouped(x: np.ndarray, groups: int, axis: int) -> np.ndarray:
    """x with its channel axis split into (groups, channels per group)."""
    return x.reshape(*x.shape[:axis], groups, x.shape[axis] // groups, *x.shape[axis + 1 :])


def windows(x, kernel_size, stride, padding, dilation, groups) -> np.ndarray:
    """What the kernel sees at each place: (n, group, channel, row, column, kernel row, kernel column)."""
    x = np.pad(x, [(0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2])
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel_size)]
    views = np.lib.stride_tricks.sliding_window_view(x, reach, (2, 3))
    return grouped(views[:, :, :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]], groups, 1)
