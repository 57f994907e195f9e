"""Discrete Fourier transforms of real pairs against numpy.fft, and short-time transforms."""

from __future__ import annotations

import numpy as np
import pytest

import pyburn

# One number, small radices, primes with and without code of their own, products of them, Bluestein's algorithm, long lines.
LENGTHS = [
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    11,
    13,
    15,
    16,
    20,
    31,
    35,
    37,
    49,
    60,
    64,
    74,
    77,
    97,
    120,
    128,
    243,
    360,
    509,
    1000,
    1024,
    2187,
    5003,
]
ERRORS = {np.float32: 2e-6, np.float64: 2e-14}


def _numbers(dtype: type, *shape: int) -> np.ndarray:
    return np.random.RandomState(len(shape) + shape[-2]).standard_normal(shape).astype(dtype)


def _complex(pairs: np.ndarray) -> np.ndarray:
    return pairs[..., 0].astype(np.float64) + 1j * pairs[..., 1]


def _check(found: np.ndarray, expected: np.ndarray, dtype: type) -> None:
    assert found.dtype == dtype
    assert np.abs((_complex(found) if found.shape != expected.shape else found) - expected).max() <= ERRORS[dtype] * np.abs(expected).max()


@pytest.mark.parametrize("dtype", ERRORS)
@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("lines", [1, 3, 21])
def test_transforms_of_every_length_are_those_of_numpy(n: int, lines: int, dtype: type) -> None:
    pairs = _numbers(dtype, lines, n, 2)
    z, t = _complex(pairs), pyburn.from_numpy(pairs)
    _check(pyburn.dft(t).numpy(), np.fft.fft(z), dtype)
    _check(pyburn.dft(t, inverse=True, scale=1 / n).numpy(), np.fft.ifft(z), dtype)
    _check(pyburn.rdft(t[..., 0]).numpy(), np.fft.rfft(z.real), dtype)
    half = z[:, : n // 2 + 1]
    _check(pyburn.irdft(t[:, : n // 2 + 1], 1, n, 1 / n).numpy(), np.fft.irfft(half, n), dtype)


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_every_dimension_can_be_transformed(dim: int) -> None:
    pairs = _numbers(np.float64, 6, 10, 14, 2)
    _check(pyburn.dft(pyburn.from_numpy(pairs), dim).numpy(), np.fft.fft(_complex(pairs), axis=dim), np.float64)
    _check(pyburn.rdft(pyburn.from_numpy(pairs[..., 0]), dim).numpy(), np.fft.rfft(pairs[..., 0], axis=dim), np.float64)


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    before, bits = pyburn.get_num_threads(), []
    line, rows = pyburn.from_numpy(_numbers(np.float32, 1 << 18, 2)), pyburn.from_numpy(_numbers(np.float32, 300, 1009, 2))
    try:
        for threads in (1, 2, 3):
            pyburn.set_num_threads(threads)
            bits.append((pyburn.dft(line).numpy().tobytes(), pyburn.dft(rows).numpy().tobytes()))
    finally:
        pyburn.set_num_threads(before)
    assert bits[0] == bits[1] == bits[2]


@pytest.mark.parametrize("n", [1, 2, 5, 6, 37])
def test_gradients_and_their_gradients(n: int) -> None:
    pairs = pyburn.from_numpy(_numbers(np.float64, 2, n, 2)).requires_grad_()
    half = pyburn.from_numpy(_numbers(np.float64, 2, n // 2 + 1, 2)).requires_grad_()
    for function, x in (
        (lambda x: pyburn.dft(x, -2, True, 0.5), pairs),
        (lambda x: pyburn.rdft(x[..., 0]), pairs),
        (lambda x: pyburn.irdft(x, 1, n, 0.25), half),
    ):
        assert pyburn.autograd.gradcheck(lambda x, f=function: f(x).square(), (x,))
        assert pyburn.autograd.gradgradcheck(lambda x, f=function: f(x).square(), (x,))


@pytest.mark.parametrize(("n_fft", "hop", "window", "onesided"), [(16, None, None, True), (15, 4, "hann", True), (20, 5, "hann", False)])
def test_a_signal_comes_back_from_its_frames(n_fft: int, hop: int | None, window: str | None, onesided: bool) -> None:
    x = pyburn.from_numpy(np.random.RandomState(0).standard_normal((3, 100)))
    shape = None if window is None else pyburn.hann_window(n_fft, dtype=pyburn.float64)
    frames = pyburn.stft(x, n_fft, hop, window=shape, onesided=onesided, return_complex=False)
    assert frames.shape[1] == (n_fft // 2 + 1 if onesided else n_fft)
    back = pyburn.istft(frames, n_fft, hop, window=shape, onesided=onesided, length=100)
    assert pyburn.allclose(back, x, atol=1e-12)


def test_windows_that_leave_gaps_have_no_inverse() -> None:
    with pytest.raises(ValueError, match="gaps"):
        pyburn.istft(pyburn.ones(5, 9, 2), 8, 20)
    with pytest.raises(ValueError, match="return_complex=False"):
        pyburn.stft(pyburn.ones(20), 8)
