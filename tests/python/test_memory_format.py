"""The memory behind tensors: the order of axes, storages."""

import copy
import pickle

import pytest

import pyburn
from pyburn import nn


def test_orders_of_axes():
    x = pyburn.arange(2 * 3 * 4 * 5.0).reshape(2, 3, 4, 5)
    last = x.to(memory_format=pyburn.channels_last)
    assert last.stride() == (60, 1, 15, 3) and pyburn.equal(last, x)
    assert last.is_contiguous(memory_format=pyburn.channels_last) and not last.is_contiguous()
    assert last.contiguous(memory_format=pyburn.channels_last) is last
    assert last.contiguous(memory_format=pyburn.contiguous_format).stride() == x.stride()
    assert x.clone(memory_format=pyburn.channels_last).stride() == last.stride()
    assert pyburn.zeros_like(x, memory_format=pyburn.channels_last).stride() == last.stride()
    assert pyburn.empty(1, 2, 3, 4, 5, memory_format=pyburn.channels_last_3d).stride() == (120, 1, 40, 10, 2)
    assert x.clone(memory_format=pyburn.preserve_format).stride() == x.stride()
    with pytest.raises(RuntimeError, match="rank 4"):
        x[0].contiguous(memory_format=pyburn.channels_last)
    with pytest.raises(TypeError, match="memory format"):
        x.contiguous(memory_format=3)


def test_orders_pass_gradients_on():
    x = pyburn.ones(1, 2, 2, 2, requires_grad=True)
    (x.contiguous(memory_format=pyburn.channels_last) * 3).sum().backward()
    assert x.grad.unique().tolist() == [3]


def test_modules_in_another_order():
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)).to(memory_format=pyburn.channels_last)
    assert net[0].weight.stride() == (27, 1, 9, 3) and net[0].bias.stride() == (1,)
    assert net(pyburn.ones(2, 3, 5, 5).to(memory_format=pyburn.channels_last)).shape == (2, 4, 3, 3)


def test_formats_are_themselves_after_copies():
    for other in (copy.deepcopy(pyburn.channels_last), pickle.loads(pickle.dumps(pyburn.channels_last))):
        assert other.name == "channels_last"


def test_storages():
    x = pyburn.arange(6.0).reshape(2, 3)
    row = x[1]
    assert row.untyped_storage().data_ptr() == x.data_ptr() and row.untyped_storage() == x.untyped_storage()
    assert x.untyped_storage().nbytes() == 24 == len(x.untyped_storage())
    assert len(row.storage()) == 6 and row.storage()[0] == 0 and row.storage().tolist() == x.flatten().tolist()
    row.storage()[0] = 9
    assert x[0, 0] == 9 and x.storage() != pyburn.ones(6).storage()
    view = pyburn.empty(0).set_(x.storage(), 1, (2, 2), (3, 1))
    assert view.tolist() == [[1, 2], [4, 5]]
    assert pyburn.empty(0).set_(x, 0, (6,)).tolist() == [9, 1, 2, 3, 4, 5]
