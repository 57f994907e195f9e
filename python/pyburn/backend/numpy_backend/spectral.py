"""Fourier transforms; a complex number is a pair (real, imaginary) in the last dimension."""

from __future__ import annotations

import numpy as np

from ..interface import kernel
from .arrays import wide


class SpectralKernels:
    @kernel
    def dft(self, x, *, dim, inverse, scale):
        z = complexes(x)
        return pairs((np.fft.ifft(z, axis=dim, norm="forward") if inverse else np.fft.fft(z, axis=dim)) * scale)

    @kernel
    def rdft(self, x, *, dim, scale):
        return pairs(np.fft.rfft(wide(x), axis=dim) * scale)

    @kernel
    def irdft(self, x, *, dim, n, scale):
        return np.fft.irfft(complexes(x), n, dim, norm="forward") * scale


def complexes(x: np.ndarray) -> np.ndarray:
    return wide(x[..., 0]) + 1j * wide(x[..., 1])


def pairs(z: np.ndarray) -> np.ndarray:
    return np.stack([z.real, z.imag], -1)
