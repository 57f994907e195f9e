"""Resizing along a dimension as a matrix product; weighted sums of plane elements at given indices."""

from __future__ import annotations

import numpy as np

from ..interface import kernel
from .arrays import check_range, wide


class ResampleKernels:
    @kernel
    def resize_axis(self, x, *, dim, **attributes):
        return np.moveaxis(np.tensordot(wide(x), resize_matrix(**attributes), (dim, 1)), -1, dim)

    @kernel
    def resize_axis_input(self, dy, *, dim, **attributes):
        return np.moveaxis(np.tensordot(wide(dy), resize_matrix(**attributes), (dim, 0)), -1, dim)

    @kernel
    def sample_planes(self, x, places, weight, *, size):
        return np.einsum("nckm,nkm->ncm", elements(x, places, "sample_planes"), wide(weight))

    @kernel
    def sample_planes_input(self, dy, places, weight, *, size):
        at, dx = checked(places, size, "sample_planes_input"), np.zeros((*dy.shape[:2], size + 1))
        for n, c in np.ndindex(dy.shape[:2]):
            np.add.at(dx[n, c], at[n], wide(dy[n, c]) * wide(weight[n]))
        return dx[..., :size]  # without the element for ignored indices

    @kernel
    def sample_planes_weight(self, dy, x, places, *, size):
        return np.einsum("nckm,ncm->nkm", elements(x, places, "sample_planes_weight"), wide(dy))


def cubic(x: np.ndarray, a: float) -> np.ndarray:
    x = np.abs(x)
    near, far = ((a + 2) * x - (a + 3)) * x * x + 1, ((x - 5) * x + 8) * x * a - 4 * a
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def resize_matrix(*, input_size, output_size, mode, align_corners, scale, antialias) -> np.ndarray:
    """Returns the interpolation matrix: row o holds the input weights of output o; outside, the border is used."""
    n, m = input_size, output_size
    step = scale or n / m
    if align_corners:
        step = (n - 1) / (m - 1) if m > 1 else 0
    matrix, o = np.zeros((m, n)), np.arange(m)
    if mode.startswith("nearest"):
        exact = np.float32(0.5 if mode == "nearest-exact" else 0)
        index = o if mode == "nearest" and n == m else np.floor((o.astype(np.float32) + exact) * np.float32(step)).astype(int)
        matrix[o, np.minimum(index, n - 1)] = 1
        return matrix
    if antialias:
        wider, reach = max(step, 1), {"lanczos": 3, "cubic": 2}.get(mode, 1) * max(step, 1)
        for i in o:
            center = step * (i + 0.5)
            seen = np.arange(max(int(center - reach + 0.5), 0), min(int(center + reach + 0.5), n))
            x = (seen - center + 0.5) / wider
            windowed = np.sinc(x) * np.sinc(x / 3) * (np.abs(x) < 3)
            weights = windowed if mode == "lanczos" else cubic(x, -0.5) if mode == "cubic" else np.maximum(0, 1 - np.abs(x))
            matrix[i, seen] = weights / weights.sum()
        return matrix
    position = step * o if align_corners else step * (o + 0.5) - 0.5
    if mode == "linear":
        position = np.maximum(position, 0)
    first = np.floor(position).astype(int)
    for tap in (0, 1) if mode == "linear" else (-1, 0, 1, 2):
        distance = position - first - tap
        weights = 1 - np.abs(distance) if mode == "linear" else cubic(distance, -0.75)
        np.add.at(matrix, (o, np.clip(first + tap, 0, n - 1)), weights)
    return matrix


def checked(places, size, op) -> np.ndarray:
    """Checks the indices; negative ones become -1, the index of an additional element."""
    places = np.maximum(places, -1)
    check_range(places, -1, size, f"[{op}] index out of range: got {{}} for a plane of {size}")
    return places


def elements(x, places, op) -> np.ndarray:
    """Gathers the elements (N, C, K, M) of the planes x (N, C, size); 0 at negative indices."""
    flat = checked(places, x.shape[2], op).reshape(places.shape[0], 1, places.shape[1] * places.shape[2])
    padded = np.pad(wide(x), ((0, 0), (0, 0), (0, 1)))
    return np.take_along_axis(padded, flat.repeat(x.shape[1], 1), 2).reshape(*x.shape[:2], *places.shape[1:])
