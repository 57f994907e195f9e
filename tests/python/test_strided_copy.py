"""Copies of tensors whose axes lie in another order: every size of element, blocks and what is left at their edges."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import pyburn

DTYPES = [np.uint8, np.int16, np.float32, np.float64]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape", [(64, 64), (65, 130), (3, 200), (200, 3), (70, 5, 90), (2, 33, 4, 47), (1, 129, 64), (3, 50, 70), (50, 70, 3)]
)
def test_every_order_of_axes(shape, dtype) -> None:
    a = np.arange(np.prod(shape)).astype(dtype).reshape(shape)
    t = pyburn.from_numpy(a)
    for order in itertools.permutations(range(len(shape))):
        assert np.array_equal(t.permute(order).contiguous().numpy(), a.transpose(order))


@pytest.mark.parametrize("dtype", DTYPES)
def test_steps_and_stretched_axes(dtype) -> None:
    a = np.arange(200 * 90).astype(dtype).reshape(200, 90)
    t = pyburn.from_numpy(a)
    assert np.array_equal(t[::3, ::2].T.contiguous().numpy(), a[::3, ::2].T)
    assert np.array_equal(t[:, 1].contiguous().numpy(), a[:, 1])
    assert np.array_equal(t[:, :1].expand(200, 70).contiguous().numpy(), np.broadcast_to(a[:, :1], (200, 70)))
    assert np.array_equal(t.flip(0, 1).numpy(), a[::-1, ::-1])
    assert np.array_equal(t.T.flip(1).numpy(), a.T[:, ::-1])


def test_written_through_a_view() -> None:
    a, b = np.zeros((90, 140), np.float32), np.arange(90 * 140, dtype=np.float32).reshape(140, 90)
    t = pyburn.from_numpy(a)
    t.T[...] = pyburn.from_numpy(b)
    assert np.array_equal(a, b.T)


@pytest.mark.parametrize("dtype", DTYPES)
def test_large_matrices_bypass_the_cache(dtype) -> None:
    rows, columns = 1088, (9 << 20) // (1088 * np.dtype(dtype).itemsize) // 64 * 64
    a = np.arange(rows * columns).astype(dtype).reshape(rows, columns)
    t = pyburn.from_numpy(a)
    assert np.array_equal(t.T.contiguous().numpy(), a.T)
    assert np.array_equal(t[:-7, :-5].T.contiguous().numpy(), a[:-7, :-5].T)
