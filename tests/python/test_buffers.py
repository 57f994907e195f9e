"""frombuffer, asarray of capsules, and small names of PyTorch."""

import pytest

import pyburn
from pyburn import nn


def test_frombuffer_says_what_is_wrong():
    with pytest.raises(ValueError, match="does not implement Python buffer protocol"):
        pyburn.frombuffer([1, 2, 3], dtype=pyburn.uint8)
    with pytest.raises(ValueError, match="must not be 0"):
        pyburn.frombuffer(bytearray(4), dtype=pyburn.uint8, count=0)
    with pytest.raises(ValueError, match="must not be 0"):
        pyburn.frombuffer(bytearray(), dtype=pyburn.uint8)
    for offset in (-1, 4):
        with pytest.raises(ValueError, match="must be non-negative and no greater than buffer length"):
            pyburn.frombuffer(bytearray(4), dtype=pyburn.uint8, offset=offset)


def test_asarray_of_a_capsule_shares_memory():
    x = pyburn.arange(3)
    y = pyburn.asarray(x.__dlpack__())
    y[0] = 7
    assert x.tolist() == [7, 1, 2]


def test_a_gradient_is_set_by_its_older_name():
    p = nn.Parameter(pyburn.zeros(2))
    p._grad = pyburn.ones(2)
    assert p.grad.tolist() == [1, 1] and p._grad.tolist() == [1, 1]


def test_packed_sequences_as_small_integers():
    packed = nn.utils.rnn.pack_sequence([pyburn.tensor([1, 2]), pyburn.tensor([3])])
    assert [getattr(packed, name)().data.dtype for name in ("short", "char", "byte")] == [pyburn.int16, pyburn.int8, pyburn.uint8]


def test_a_lazy_parameter_of_one_axis():
    p = nn.UninitializedParameter()
    p.materialize(10)
    assert p.shape == (10,)
