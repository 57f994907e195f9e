"""Sorting: lines of every length, which are sorted in different ways, and numbers that share a key."""

from __future__ import annotations

import numpy as np
import pytest

import pyburn

LENGTHS = [1, 40, 63, 64, 300, 1023, 1024, 5000, 2**17 + 3]


def lines(n: int, dtype: type) -> dict[str, np.ndarray]:
    random = np.random.default_rng(n)
    if np.dtype(dtype).kind == "f":
        special = random.choice(np.array([0.0, -0.0, np.inf, -np.inf, 1.0, -2.5], dtype), n)
        return {"normal": random.standard_normal(n).astype(dtype), "few values": special}
    limits = np.iinfo(dtype)
    return {"any": random.integers(limits.min, limits.max, n, dtype, endpoint=True), "small": random.integers(0, 7, n).astype(dtype)}


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.uint8])
def test_sorted_and_stable(dtype, n: int) -> None:
    for name, x in lines(n, dtype).items():
        values, positions = pyburn.sort(pyburn.from_numpy(x))
        expected = np.argsort(x, kind="stable")
        assert np.array_equal(positions.numpy(), expected), name
        assert values.numpy().tobytes() == x[expected].tobytes(), name  # also the signs of zeros
        ranks = np.unique(x, return_inverse=True)[1]
        values, positions = pyburn.sort(pyburn.from_numpy(x), descending=True)
        expected = np.argsort(-ranks, kind="stable")
        assert np.array_equal(positions.numpy(), expected), name
        assert values.numpy().tobytes() == x[expected].tobytes(), name


@pytest.mark.parametrize("n", [100, 2**17 + 3])
def test_nan_is_the_largest(n: int) -> None:
    x = np.random.default_rng(0).standard_normal(n).astype(np.float32)
    x[[3, n // 2]] = np.nan, -np.nan
    values, positions = pyburn.sort(pyburn.from_numpy(x))
    assert positions.numpy()[-2:].tolist() == [3, n // 2]
    assert np.array_equal(values.numpy()[:-2], np.sort(x)[:-2])
    assert values.numpy()[-2:].tobytes() == x[[3, n // 2]].tobytes()


def test_a_line_has_the_same_order_for_any_number_of_threads() -> None:
    x = pyburn.randint(0, 1000, (3, 2**17 + 11))
    before = pyburn.get_num_threads()
    try:
        orders = []
        for threads in (1, 2, 3):
            pyburn.set_num_threads(threads)
            orders.append(pyburn.argsort(x).numpy())
    finally:
        pyburn.set_num_threads(before)
    assert np.array_equal(orders[0], np.argsort(x.numpy(), kind="stable"))
    assert np.array_equal(orders[0], orders[1]) and np.array_equal(orders[0], orders[2])


def test_randperm_of_many() -> None:
    for n in (1000, 200_000):
        order = pyburn.randperm(n, generator=pyburn.Generator().manual_seed(1)).numpy()
        assert np.array_equal(np.sort(order), np.arange(n))
        assert np.count_nonzero(order == np.arange(n)) < 20
