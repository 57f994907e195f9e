"""Views, writes and versions as a user of PyTorch meets them; the random programs of test_fuzzer.py cover the combinations."""

from __future__ import annotations

import pytest

import pyburn


def leaf(*values):
    return pyburn.tensor(list(values), dtype=pyburn.float64, requires_grad=True)


def test_a_write_to_a_view_changes_the_history_of_its_base():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2
    y[0:2].mul_(10)
    y.sum().backward()
    assert x.grad.tolist() == [20, 20, 2]
    assert y.grad_fn.name() == "CopySlices"


def test_a_view_made_before_a_write_follows():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2
    tail = y[1:]
    y.mul_(x)
    tail.sum().backward()
    assert x.grad.tolist() == [0, 8, 12]


def test_index_assignment_is_differentiable():
    x, board = leaf(1.0, 2.0), pyburn.zeros(2, 2, dtype=pyburn.float64)
    board[1] = x * x
    board[:, 0] = 5
    board.sum().backward()
    assert board.tolist() == [[5, 0], [5, 4]]
    assert x.grad.tolist() == [0, 4]


def test_versions():
    x = pyburn.ones(3)
    assert x._version == 0
    x.add_(1)
    x[0:1].zero_()
    x.detach().mul_(2)
    assert x._version == 3
    x.data.mul_(2)
    assert x._version == 3


def test_a_changed_saved_tensor_is_reported():
    x = leaf(1.0, 2.0)
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_change_through_data_is_not_reported():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = (x * w).sum()
    w.data.mul_(2)
    y.backward()
    assert x.grad.tolist() == [6, 8]


def test_leaves_refuse_writes():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    for write in (lambda: x.add_(1), lambda: x[0:1].add_(1), lambda: x.zero_(), lambda: x.copy_(x)):
        with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
            write()
    y.backward()  # the refused writes left no trace
    assert x.grad.tolist() == [2, 4]
    with pyburn.no_grad():
        x.add_(1)
    assert x.tolist() == [2, 3] and x.is_leaf


def test_views_made_without_grad_refuse_writes_with_grad():
    x = leaf(1.0, 2.0)
    y = x * 1
    with pyburn.no_grad():
        view = y[0:1]
    with pytest.raises(RuntimeError, match="no_grad"):
        view.mul_(x[0:1])


def test_an_input_that_overlaps_the_target_is_read_first():
    x = pyburn.arange(5)
    x[1:].copy_(x[:-1])
    assert x.tolist() == [0, 0, 1, 2, 3]
    m = pyburn.arange(9).reshape(3, 3)
    m.add_(m.T)
    assert m.tolist() == [[0, 4, 8], [4, 8, 12], [8, 12, 16]]


def test_expanded_tensors_refuse_writes():
    with pytest.raises(RuntimeError, match="single memory location"):
        pyburn.ones(1).expand(3).add_(1)


def test_detached_tensors_share_values_but_no_history():
    x = leaf(1.0, 2.0)
    y = x * 3
    d = y.detach()
    assert not d.requires_grad and d.is_leaf
    d.zero_()
    assert y.tolist() == [0, 0]
    y.sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_inference_tensors_cannot_be_saved():
    with pyburn.inference_mode():
        frozen = pyburn.ones(2)
    x = pyburn.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="inference"):
        x * frozen


def test_an_operation_in_place_that_changes_the_shape_raises_the_version() -> None:
    x = pyburn.ones(2, 3)
    before = x._version
    x.transpose_(0, 1)
    assert x._version > before
    y = pyburn.ones(2, 2, requires_grad=True) * 1.0
    z = y * y
    y.unsqueeze_(0)
    with pytest.raises(pyburn.GradientError, match="modified"):
        z.sum().backward()


class AddOne(pyburn.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.add_(1)

    @staticmethod
    def backward(ctx, g):
        return g


def test_functions_cannot_write_into_leaves() -> None:
    x = pyburn.ones(3, requires_grad=True)
    for leaf_or_view in (x, x[1:], pyburn.ones(4).reshape(2, 2).requires_grad_()):
        with pytest.raises(pyburn.GradientError, match="leaf"):
            AddOne.apply(leaf_or_view)


def test_requires_grad_of_a_computed_tensor_cannot_be_assigned() -> None:
    y = pyburn.ones(3, requires_grad=True) * 2
    with pytest.raises(pyburn.GradientError, match="leaf"):
        y.requires_grad = True
    assert y.requires_grad_() is y


def test_a_leaf_that_was_detached_gets_no_gradient() -> None:
    x = pyburn.ones(3, requires_grad=True)
    y = x * 2
    x.detach_()
    y.sum().backward()
    assert x.grad is None
