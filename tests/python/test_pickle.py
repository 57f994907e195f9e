"""copy, deepcopy and pickle."""

from __future__ import annotations

import copy
import pickle

import pytest

import pyburn
from pyburn.nn import Parameter


class Labelled(pyburn.Tensor):
    """At module level, where pickle finds it."""


DTYPES = ["float64", "float32", "float16", "bfloat16", "int8", "int64", "uint8", "uint64", "bool"]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_of_every_protocol(protocol: int) -> None:
    for dtype in DTYPES:
        t = pyburn.tensor([[0, 1], [1, 0]], dtype=getattr(pyburn, dtype)).T
        u = pickle.loads(pickle.dumps(t, protocol))
        assert u.dtype is t.dtype and u.tolist() == t.tolist() and u._storage_id != t._storage_id


def test_what_a_pickle_keeps() -> None:
    t = pyburn.ones(2, requires_grad=True)
    t.label = "kept"  # type: ignore[attr-defined]
    u = pickle.loads(pickle.dumps(t))
    assert u.requires_grad and u.is_leaf and u.label == "kept"
    assert pickle.loads(pickle.dumps(t * 2)).requires_grad
    p = pickle.loads(pickle.dumps(Parameter(pyburn.ones(2))))
    assert type(p) is Parameter and p.requires_grad and p._is_parameter
    assert type(pickle.loads(pickle.dumps(Labelled([1.0])))) is Labelled
    assert pickle.loads(pickle.dumps(pyburn.ones(2, device="numpy"))).device == "numpy"
    assert pickle.loads(pickle.dumps(pyburn.tensor(3))).shape == ()


def test_small_objects() -> None:
    for value in (pyburn.float32, pyburn.bool, pyburn.Size([2, 3]), pyburn.device("cpu"), pyburn.Distribution.Normal(0, 1), pyburn.add, pyburn.BackendKind.NDARRAY):
        assert pickle.loads(pickle.dumps(value)) == value == copy.deepcopy(value)
    assert pickle.loads(pickle.dumps(pyburn.float32)) is pyburn.float32
    assert isinstance(pickle.loads(pickle.dumps(pyburn.Size([2]))), pyburn.Size)


def test_copy_shares_memory() -> None:
    t = pyburn.zeros(2)
    u = copy.copy(t)
    u += 1
    assert t.tolist() == [1, 1] and u is not t
    assert copy.copy(pyburn.ones(1, requires_grad=True)).requires_grad


def test_deepcopy() -> None:
    t = pyburn.ones(2, 3, requires_grad=True)
    t.label = [1]  # type: ignore[attr-defined]
    (t * 2).sum().backward()
    a, b = copy.deepcopy([t, t])
    assert a is b and a.requires_grad and a._storage_id != t._storage_id
    assert a.grad is not None and t.grad is not None
    assert a.grad.tolist() == t.grad.tolist() and a.grad is not t.grad
    assert a.label == [1] and a.label is not t.label
    assert copy.deepcopy(t.detach().T).stride() == (1, 3)
    assert type(copy.deepcopy(Labelled([1.0]))) is Labelled
    assert type(copy.deepcopy(Parameter(pyburn.ones(1)))) is Parameter
    with pytest.raises(RuntimeError, match="leaves"):
        copy.deepcopy(t * 2)
