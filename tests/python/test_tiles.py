"""Memory under elementwise kernels: conversion of half precision, and results larger than the caches."""

from __future__ import annotations

import numpy as np
import pytest

import pyburn


def whole_number_line() -> np.ndarray:
    """Floats of every size and both signs, infinities and NaN."""
    bits = np.arange(0, 2**32, 65521, dtype=np.uint32)
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16).astype(np.float32)
    with np.errstate(invalid="ignore"):
        between = ((halves[:-1].astype(np.float64) + halves[1:]) / 2).astype(np.float32)  # ties
    return np.concatenate([bits.view(np.float32), halves, between])


def equal(actual: np.ndarray, expected: np.ndarray) -> bool:
    """The same numbers with the same signs; a NaN is a NaN."""
    both_nan = np.isnan(actual) & np.isnan(expected)
    return bool(np.all(both_nan | ((actual == expected) & (np.signbit(actual) == np.signbit(expected)))))


def test_float16_is_numpys() -> None:
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    assert equal(pyburn.from_numpy(halves).float().numpy(), halves.astype(np.float32))
    with np.errstate(over="ignore", invalid="ignore"):
        x = whole_number_line()
        assert equal(pyburn.from_numpy(x).half().numpy(), x.astype(np.float16))


def test_bfloat16_is_the_nearest() -> None:
    x = whole_number_line()
    y = pyburn.from_numpy(x).bfloat16().float().numpy()
    bits = x.view(np.uint32).astype(np.uint64)
    nearest = ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    assert equal(y, np.where(np.isnan(x), x, nearest))


@pytest.mark.parametrize("dtype", [pyburn.float32, pyburn.int32])
def test_results_larger_than_the_caches(dtype) -> None:
    n = 9 * 2**20 + 5
    x = pyburn.arange(n, dtype=dtype)
    expected = np.arange(1, n + 1)
    for out in (pyburn.zeros(n, dtype=dtype), pyburn.zeros(n + 1, dtype=dtype)[1:]):  # the second lies askew
        assert np.array_equal(pyburn.add(x, 1, out=out).numpy(), expected)
    assert np.array_equal((x + 1).numpy(), expected)
    assert np.array_equal(x.add_(1).numpy(), expected)


@pytest.mark.parametrize("n", [5, 1000, 9 * 2**20 + 5])
@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int32, np.int64, np.uint8, np.int8, np.bool_])
def test_casts_of_floats(dtype, n: int) -> None:
    x = (np.random.default_rng(0).random(n, dtype=np.float32) * 120).astype(np.float32)
    y = pyburn.from_numpy(x).to(getattr(pyburn, np.dtype(dtype).name))
    assert np.array_equal(y.numpy(), x.astype(dtype))
    assert np.array_equal(y.float().numpy(), x.astype(dtype).astype(np.float32))
    assert np.array_equal(y.double().to(pyburn.int16).numpy(), x.astype(dtype).astype(np.int16))


def test_numbers_that_do_not_fit_an_integer_leave_the_others_alone() -> None:
    x = np.linspace(-100, 100, 5000, dtype=np.float32)
    expected = x.astype(np.int64)
    x[[3, 4000]] = 1e30, np.nan
    fits = np.abs(x) < 1e9
    for dtype in (pyburn.int32, pyburn.int64):
        assert np.array_equal(pyburn.from_numpy(x).to(dtype).numpy()[fits], expected[fits])
