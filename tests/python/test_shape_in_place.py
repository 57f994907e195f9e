"""Methods that change a tensor object in place, predicates, and creation with strides."""

from __future__ import annotations

import numpy as np
import pytest

import pyburn


def test_shape_changes_in_place():
    x = pyburn.arange(6.0).reshape(1, 2, 3)
    memory = x.data_ptr()
    holder = [x]
    assert x.squeeze_() is x and x.shape == (2, 3)
    assert x.unsqueeze_(1).shape == (2, 1, 3) and x.squeeze_(1).shape == (2, 3)
    assert x.t_().shape == (3, 2) and x.stride() == (1, 3)
    assert x.transpose_(0, 1).swapaxes_(0, 1).swapdims_(-1, -2).shape == (2, 3)
    assert x.as_strided_((2, 2), (3, 1)).tolist() == [[0, 1], [3, 4]]
    assert holder[0] is x and x.data_ptr() == memory


def test_shape_changes_are_differentiated():
    w = pyburn.ones(2, 3, requires_grad=True)
    x = w * pyburn.arange(6.0).reshape(2, 3)
    x.t_().unsqueeze_(0)
    (x * pyburn.arange(6.0).reshape(1, 3, 2)).sum().backward()
    np.testing.assert_array_equal(w.grad.numpy(), np.arange(6.0).reshape(2, 3) * np.arange(6.0).reshape(3, 2).T)


def test_leaves_keep_their_shape_while_gradients_are_recorded():
    w = pyburn.ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        w.t_()
    with pyburn.no_grad():
        assert w.t_() is w
    assert w.shape == (3, 2) and w.requires_grad and w.is_leaf


def test_resize():
    x = pyburn.arange(6)
    memory = x.data_ptr()
    assert x.resize_(2, 2).tolist() == [[0, 1], [2, 3]] and x.data_ptr() == memory
    assert x.resize_((6,)).tolist() == [0, 1, 2, 3, 4, 5]
    assert x.resize_(8).tolist() == [0, 1, 2, 3, 4, 5, 0, 0]
    assert x.resize_as_(pyburn.zeros(2, 1)).shape == (2, 1)
    assert pyburn.zeros(0).resize_(3).tolist() == [0, 0, 0]
    with pytest.raises(RuntimeError, match="require grad"):
        pyburn.ones(2, requires_grad=True).resize_(3)
    with pytest.raises(pyburn.ShapeError, match="at least 0"):
        x.resize_(-1)


def test_set():
    x, y = pyburn.zeros(2), pyburn.arange(6.0)[1:4]
    assert x.set_(y) is x and x.is_set_to(y)
    y.fill_(7)
    assert x.tolist() == [7, 7, 7]
    assert x.set_().shape == (0,)
    with pytest.raises(pyburn.DTypeError, match="float32"):
        x.set_(pyburn.arange(3))
    with pytest.raises(RuntimeError, match="history"):
        (pyburn.ones(2, requires_grad=True) * 2).set_(y)


def test_view_of_bits():
    x = pyburn.tensor([1.0, -2.0])
    assert x.view(pyburn.int32).tolist() == np.array([1.0, -2.0], np.float32).view(np.int32).tolist()
    assert x.view(pyburn.uint8).shape == (8,) and x.view(pyburn.uint8).view(pyburn.float32).tolist() == [1, -2]
    assert x.view(2, 1).shape == (2, 1) and x.view((1, 2)).shape == (1, 2) and x.view(-1).shape == (2,)


def test_questions():
    x = pyburn.ones(2, 3)
    assert not pyburn.is_complex(x) and not x.is_complex() and pyburn.is_floating_point(x) and pyburn.is_signed(x)
    assert pyburn.is_nonzero(pyburn.tensor([2])) and not pyburn.tensor([0.0]).is_nonzero()
    with pytest.raises(RuntimeError, match="one element"):
        x.is_nonzero()
    assert x.is_same_size(pyburn.zeros(2, 3)) and not pyburn.is_same_size(x, x.T)
    assert x.is_set_to(x.detach()) and not x.is_set_to(x.clone())
    assert pyburn.isreal(x).all() and x.conj() is x and pyburn.real(x) is x and x.resolve_conj() is x
    assert pyburn.broadcast_shapes((2, 1), (3,), 1) == (2, 3) and pyburn.broadcast_shapes() == () and pyburn.broadcast_shapes((), 2) == (2,)
    with pytest.raises(RuntimeError):
        pyburn.broadcast_shapes((2,), (3,))


def test_dtypes_meet():
    i, f, d, b = pyburn.int64, pyburn.float32, pyburn.float64, pyburn.bool
    assert [pyburn.can_cast(*p) for p in ((i, f), (f, i), (d, f), (b, i), (i, b), (pyburn.int8, pyburn.uint8))] == [
        True, False, True, True, False, True,
    ]  # fmt: skip
    ints, halves = pyburn.ones(2, dtype=i), pyburn.ones(2, dtype=pyburn.float16)
    assert pyburn.result_type(ints, 1.5) is f and pyburn.result_type(ints, 1) is i and pyburn.result_type(halves, 2.5) is pyburn.float16
    assert pyburn.result_type(halves, pyburn.ones((), dtype=d)) is pyburn.float16 and pyburn.result_type(1, 2.5) is f
    assert pyburn.result_type(pyburn.empty(0, 3), pyburn.ones(2, dtype=d)) is d


def test_creation():
    x = pyburn.ones(2)
    assert pyburn.asarray(x) is x and pyburn.asarray(x, copy=True) is not x
    array = np.zeros(3)
    shared = pyburn.asarray(array, copy=False)
    array[0] = 5
    assert shared.tolist() == [5, 0, 0]
    with pytest.raises(ValueError, match="copy"):
        pyburn.asarray([1, 2], copy=False)
    assert pyburn.asarray([1.0], requires_grad=True).requires_grad
    assert pyburn.scalar_tensor(3).dtype is pyburn.float32 and pyburn.scalar_tensor(3, dtype=pyburn.int64).item() == 3
    strided = pyburn.empty_strided((2, 3), (1, 2), dtype=pyburn.int32)
    assert strided.stride() == (1, 2) and strided.dtype is pyburn.int32 and pyburn.empty_strided((0, 2), (2, 1)).numel() == 0
    assert pyburn.empty_permuted((2, 3, 4), (0, 2, 1)).stride() == (12, 1, 3)
    assert x.double().new_empty_strided((2, 2), (1, 2)).dtype is pyburn.float64
    memory = bytearray(range(8))
    made = pyburn.frombuffer(memory, dtype=pyburn.uint8, count=3, offset=2)
    memory[2] = 9
    assert made.tolist() == [9, 3, 4]
    assert pyburn.frombuffer(memory, dtype=pyburn.int16).shape == (4,)


def test_triplet_loss_with_a_distance():
    a, p, n = pyburn.zeros(2, 3), pyburn.ones(2, 3), pyburn.full((2, 3), 0.5)
    f = pyburn.nn.functional.triplet_margin_with_distance_loss
    np.testing.assert_allclose(f(a, p, n).item(), pyburn.triplet_margin_loss(a, p, n).item(), rtol=1e-5)

    def city(x, y):
        return (x - y).abs().sum(-1)

    assert f(a, p, n, distance_function=city, margin=2.0, reduction="none").tolist() == [3.5, 3.5]
    assert f(a, p, n, distance_function=city, swap=True, reduction="sum").item() == 5
    for wrong in ({"margin": -1.0}, {"reduction": "all"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            f(a, p, n, **wrong)


def test_older_names_of_interpolate():
    x = pyburn.rand(1, 2, 3, 3)
    f = pyburn.nn.functional
    assert f.upsample(x, scale_factor=2).equal(f.interpolate(x, scale_factor=2))
    assert f.upsample_nearest(x, 5).equal(f.interpolate(x, 5))
    assert f.upsample_bilinear(x, 5).equal(f.interpolate(x, 5, mode="bilinear", align_corners=True))


def test_fractional_pools_draw_places():
    x = pyburn.arange(49.0).reshape(1, 1, 7, 7)
    f = pyburn.nn.functional
    y, where = f.fractional_max_pool2d(x, 2, output_ratio=0.5, return_indices=True)
    assert y.shape == (1, 1, 3, 3) and y.flatten().equal(where.flatten().float()) and y[0, 0, -1, -1] == 48
    assert len({tuple(f.fractional_max_pool2d(x, 2, 4).flatten().tolist()) for _ in range(20)}) > 1
    assert f.fractional_max_pool3d(pyburn.rand(2, 5, 5, 5), 2, 3).shape == (2, 3, 3, 3)
