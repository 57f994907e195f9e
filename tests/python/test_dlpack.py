"""DLPack with numpy, both ways."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import pyburn

DTYPES = ["float64", "float32", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_both_ways_without_a_copy(dtype: str) -> None:
    a = np.arange(6).reshape(2, 3).astype(dtype)
    t = pyburn.from_dlpack(a)
    assert t.dtype is getattr(pyburn, dtype)
    a[0, 0] = 1
    assert t[0, 0].item() == 1
    b = np.from_dlpack(t)
    assert np.shares_memory(a, b) and b.dtype == a.dtype
    assert np.array_equal(np.from_dlpack(t.T), a.T)


def test_between_tensors() -> None:
    t = pyburn.arange(6.0).to(pyburn.bfloat16)
    u = pyburn.from_dlpack(t)
    u[0] = 7
    assert t[0].item() == 7 and u.dtype is pyburn.bfloat16
    assert pyburn.from_dlpack(pyburn.tensor(3)).item() == 3
    assert pyburn.from_dlpack(pyburn.zeros(0, 2)).shape == (0, 2)


def test_lifetimes() -> None:
    a = np.from_dlpack(pyburn.ones(1000))
    t = pyburn.from_dlpack(np.ones(1000))
    gc.collect()
    assert a.sum() == t.sum().item() == 1000
    t.__dlpack__()  # never taken: frees itself
    t.__dlpack__(max_version=(1, 0))


def test_copies_and_read_only_memory() -> None:
    t = pyburn.ones(2)
    u = pyburn.from_dlpack(t.__dlpack__(copy=True))
    u += 1
    assert t.tolist() == [1, 1]
    a = np.zeros(2)
    a.flags.writeable = False
    try:
        v = pyburn.from_dlpack(a)
    except BufferError:  # numpy before 2.1 does not export it
        return
    v += 1
    assert a.sum() == 0


def test_refusals() -> None:
    t = pyburn.ones(2)
    assert t.__dlpack_device__() == (1, 0)
    capsule = t.__dlpack__()
    pyburn.from_dlpack(capsule)
    with pytest.raises(ValueError, match="not been used"):
        pyburn.from_dlpack(capsule)
    with pytest.raises(BufferError, match="detach"):
        pyburn.ones(2, requires_grad=True).__dlpack__()
    with pytest.raises(BufferError):
        t.__dlpack__(stream=1)
    with pytest.raises(BufferError):
        t.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError):
        pyburn.ones(2, device="fusion(numpy)").__dlpack__()
    with pytest.raises(ValueError, match="negative"):
        pyburn.from_dlpack(np.arange(3)[::-1])
    with pytest.raises(TypeError):
        pyburn.from_dlpack([1])
    with pytest.raises((TypeError, BufferError)):
        pyburn.from_dlpack(np.array([1j]))
