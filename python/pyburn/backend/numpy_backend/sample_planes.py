"""Weighted sums of elements of planes, at places that an array names."""

from __future__ import annotations

import numpy as np

from ... import _core
from ..interface import kernel
from .arrays import wide


class SamplePlanesKernels:
    @kernel
    def sample_planes(self, x, places, weight, *, size):
        return np.einsum("nckm,nkm->ncm", elements(x, places, "sample_planes"), wide(weight))

    @kernel
    def sample_planes_input(self, dy, places, weight, *, size):
        at, dx = checked(places, size, "sample_planes_input"), np.zeros((*dy.shape[:2], size + 1))
        for n, c in np.ndindex(dy.shape[:2]):
            np.add.at(dx[n, c], at[n], wide(dy[n, c]) * wide(weight[n]))
        return dx[..., :size]  # without what counts nothing

    @kernel
    def sample_planes_weight(self, dy, x, places, *, size):
        return np.einsum("nckm,ncm->nkm", elements(x, places, "sample_planes_weight"), wide(dy))


def checked(places, size, op) -> np.ndarray:
    """Places of planes that have one more element than `size`, at -1."""
    if places.size and places.max() >= size:
        raise _core.IndexOutOfRange(f"[{op}] index out of range: got {places.max()} for a plane of {size}")
    return np.maximum(places, -1)


def elements(x, places, op) -> np.ndarray:
    """(N, C, K, M): of the planes x (N, C, size), 0 where the place is below 0."""
    flat = checked(places, x.shape[2], op).reshape(places.shape[0], 1, places.shape[1] * places.shape[2])
    padded = np.pad(wide(x), ((0, 0), (0, 0), (0, 1)))
    return np.take_along_axis(padded, flat.repeat(x.shape[1], 1), 2).reshape(*x.shape[:2], *places.shape[1:])
