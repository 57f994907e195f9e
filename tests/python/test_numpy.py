"""Memory shared with numpy and through the buffer protocol."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import pyburn

DTYPES = ["float64", "float32", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_both_ways_without_a_copy(dtype: str) -> None:
    a = np.arange(6).reshape(2, 3).astype(dtype)
    t = pyburn.from_numpy(a)
    assert t.dtype is getattr(pyburn, dtype) and t.shape == (2, 3)
    a[0, 0] = 1
    assert t[0, 0].item() == 1
    b = t.numpy()
    assert b.dtype == a.dtype
    b[1, 1] = 0
    assert a[1, 1] == 0
    assert np.shares_memory(a, b)


VIEWS = [lambda a: a.T, lambda a: a[::2, 1:], lambda a: a[1], lambda a: a[0, 0, ...], lambda a: a[:0], lambda a: a[None]]


@pytest.mark.parametrize("view", VIEWS)
def test_views_keep_their_strides(view) -> None:
    a = view(np.arange(12.0).reshape(3, 4))
    t = pyburn.from_numpy(a)
    assert np.array_equal(t.numpy(), a)
    assert t.shape == a.shape
    if a.size:
        assert all(8 * ours == theirs for ours, theirs, n in zip(t.stride(), a.strides, a.shape) if n > 1)
    u = view(pyburn.arange(12.0).reshape(3, 4).double()).numpy() if a.ndim else t.numpy()
    assert np.array_equal(u, a)


def test_the_array_lives_as_long_as_the_tensor() -> None:
    class Array(np.ndarray):
        pass

    a = np.zeros(1000).view(Array)
    gone = weakref.ref(a)
    t = pyburn.from_numpy(a)
    view = t[10:]
    del a, t
    gc.collect()
    assert gone() is not None
    assert view.sum().item() == 0
    del view
    gc.collect()
    assert gone() is None


def test_the_tensor_lives_as_long_as_the_array() -> None:
    a = pyburn.ones(1000).numpy()
    gc.collect()
    assert a.sum() == 1000


def test_replaced_data_does_not_pull_the_memory_away() -> None:
    t = pyburn.ones(1000)
    a = t.numpy()
    t.data = pyburn.zeros(3)
    gc.collect()
    assert a.sum() == 1000


def test_what_cannot_be_shared_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        pyburn.from_numpy(np.arange(3)[::-1])
    with pytest.raises(TypeError, match="ndarray"):
        pyburn.from_numpy([1])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="supported"):
        pyburn.from_numpy(np.array(["a"]))
    packed = np.zeros(3, dtype=[("a", "i1"), ("b", "f4")])
    with pytest.raises(ValueError):
        pyburn.from_numpy(packed["b"])
    with pytest.raises(RuntimeError, match="detach"):
        pyburn.ones(2, requires_grad=True).numpy()
    with pytest.raises(TypeError, match="bfloat16"):
        pyburn.ones(2, dtype=pyburn.bfloat16).numpy()
    with pytest.raises(TypeError, match="bfloat16"):
        np.asarray(pyburn.ones(2, dtype=pyburn.bfloat16))
    assert pyburn.ones(2, requires_grad=True).numpy(force=True).tolist() == [1, 1]


def test_read_only_arrays_are_copied() -> None:
    a = np.zeros(3)
    a.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        t = pyburn.from_numpy(a)
    t += 1
    assert a.sum() == 0


def test_numpy_functions_take_tensors() -> None:
    t = pyburn.arange(4.0)
    assert np.sum(t.numpy()) == 6
    assert np.asarray(t).tolist() == [0, 1, 2, 3]
    assert np.array(t, dtype=np.int32).dtype == np.int32
    assert np.shares_memory(np.asarray(t), t.numpy())
    assert not np.shares_memory(np.array(t), t.numpy())
    assert np.asarray(pyburn.tensor(3)).item() == 3
    with pytest.raises(RuntimeError):
        np.asarray(pyburn.ones(2, requires_grad=True))


def test_arrays_beside_tensors() -> None:
    t, a = pyburn.ones(3), np.arange(3.0)
    assert (t + a).tolist() == (a + t).tolist() == [1, 2, 3]
    assert (t + a).dtype is pyburn.float64
    assert isinstance(np.float64(2) * t, pyburn.Tensor)
    assert (t * np.float64(2)).dtype is pyburn.float32
    assert (a - t).tolist() == [-1, 0, 1]
    assert (t == np.ones(3)).tolist() == [True] * 3
    u = pyburn.zeros(3, dtype=pyburn.float64)
    u += a
    assert u.tolist() == [0, 1, 2]


def test_the_buffer_protocol() -> None:
    t = pyburn.arange(6, dtype=pyburn.int32).reshape(2, 3)
    m = memoryview(t)  # type: ignore[arg-type]
    assert (m.format, m.itemsize, m.shape, m.strides, m.readonly) == ("i", 4, (2, 3), (12, 4), False)
    version = t._version
    m[0, 0] = 9
    assert t[0, 0].item() == 9 and t._version == version
    assert bytes(memoryview(t.T.contiguous())) == t.numpy().T.tobytes()  # type: ignore[arg-type]
    assert memoryview(t.T).strides == (4, 12)  # type: ignore[arg-type]
    with pytest.raises((BufferError, TypeError)):
        bytearray(4).join([t.T])  # asks for plain order
    with pytest.raises(BufferError):
        memoryview(pyburn.ones(2, device="fusion(numpy)"))  # type: ignore[arg-type]


def test_other_devices() -> None:
    t = pyburn.ones(2, device="fusion(numpy)")
    with pytest.raises(TypeError, match="cpu"):
        t.numpy()
    assert t.cpu().numpy().tolist() == t.numpy(force=True).tolist() == [1, 1]
