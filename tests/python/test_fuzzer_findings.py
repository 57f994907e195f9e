"""Bugs that the fuzzers of the wire and of programs (tests/fuzz) found, one by one."""

from __future__ import annotations

import itertools

import pytest

import pyburn
import pyburn.nn.functional as F


class AddOne(pyburn.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.add_(1)

    @staticmethod
    def backward(ctx, g):
        return g


def test_a_wide_pad_does_not_make_up_for_a_cut_that_is_too_deep() -> None:
    for pad in ((5, -4), (-4, 5)):
        with pytest.raises(pyburn.ShapeError, match="negative"):
            F.pad(pyburn.ones(1), pad)
    assert F.pad(pyburn.ones(2), (5, -1)).tolist() == [0, 0, 0, 0, 0, 1]


def test_positions_of_extrema_in_no_lines() -> None:
    assert pyburn.ones(3, 0).min(0).indices.tolist() == pyburn.ones(3, 0).argmax(0).tolist() == []


def test_bytes_of_other_data_as_bool() -> None:
    assert pyburn.tensor([0, 224], dtype=pyburn.uint8).view(pyburn.bool).tolist() == [False, True]


def test_indices_into_a_tensor_without_axes() -> None:
    """They read behind the one element."""
    x, three = pyburn.tensor(2.5), pyburn.tensor([0, 0, 0])
    with pytest.raises(pyburn.ShapeError, match="one index"):
        pyburn.index_select(x, 0, three)
    with pytest.raises(pyburn.ShapeError, match="source does not fit"):
        pyburn.index_copy(x, 0, three, pyburn.tensor(1.0))
    assert x.index_fill(0, three, 1.5).item() == 1.5


def test_batches_of_empty_matrices_take_no_time() -> None:
    for function in (pyburn.linalg.lu_factor, pyburn.linalg.qr, pyburn.linalg.svd):
        assert function(pyburn.empty(2**40, 0, 0))[0].shape[0] == 2**40


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


def test_views_of_scalars_and_of_strided_vectors() -> None:
    assert pyburn.tensor(2.0).mT.item() == 2.0
    column = pyburn.arange(6.0).reshape(3, 2)[:, 0]
    assert column.ravel().stride() == (1,) and column.flatten().stride() == (2,)


@pytest.mark.parametrize("result", [None, 3, "text", {"a": 1}, [1, 2]])
def test_a_function_may_return_what_is_no_tensor(result: object) -> None:
    forward = staticmethod(lambda ctx, x: result)
    assert type("Made", (pyburn.autograd.Function,), {"forward": forward}).apply(pyburn.ones(3, requires_grad=True)) is result


def test_data_must_be_a_tensor() -> None:
    with pytest.raises(TypeError, match=r"\[data\] expected a Tensor: got None"):
        pyburn.ones(3).data = None


def test_a_list_of_too_many_numbers_is_an_error_of_memory() -> None:
    with pytest.raises(pyburn.OutOfMemoryError, match="exceeds the limit|out of host memory"):
        pyburn.ones(1).expand(2**50).tolist()


def test_unpooling_takes_sizes_with_or_without_batch_and_channels() -> None:
    """A longer size was cut one number at a time."""
    x, indices = pyburn.ones(1, 1, 1, 1), pyburn.zeros(1, 1, 1, 1, dtype=pyburn.int64)
    for size in ((2, 2), (1, 1, 2, 2)):
        assert F.max_unpool2d(x, indices, 2, output_size=size).tolist() == [[[[1, 0], [0, 0]]]]
    for size in ((2, 2, 1, 2, 2), (2,) * 10**5):
        with pytest.raises(ValueError, match=f"expected 2 or 4 numbers for output_size: got {len(size)}"):
            F.max_unpool2d(x, indices, 2, output_size=size)


def test_index_add_of_integers_wraps_around() -> None:
    x, at = pyburn.tensor([-1, 2**63 - 1]), pyburn.tensor([0, 1])
    assert x.index_add(0, at, pyburn.tensor([1, 1])).tolist() == [0, -(2**63)]
    assert x.index_add(0, at, pyburn.tensor([1, -1]), alpha=-(2**63)).tolist() == [2**63 - 1, -1]
    large = pyburn.tensor([2**16 - 1], dtype=pyburn.uint16)
    assert large.index_add(0, at[:1], large, alpha=2**16 - 1).item() == 0


def test_lengths_of_targets_whose_sum_overflows() -> None:
    scores, targets = pyburn.zeros(4, 2, 3), pyburn.ones(4, dtype=pyburn.int64)
    with pytest.raises(ValueError, match="expected target_lengths that fit"):
        F.ctc_loss(scores, targets, pyburn.tensor([4, 4]), pyburn.tensor([2, 2**63 - 1]))


def test_a_huge_tensor_is_no_shape() -> None:
    """It was made a list of its length."""
    huge = pyburn.ones(1, 1).expand(2**31, 2**20)
    for arguments in ((huge, []), ((2, 3), huge), (2**40, [0, 1])):
        with pytest.raises((TypeError, ValueError)):
            pyburn.empty_permuted(*arguments)
    assert pyburn.empty_permuted((2, 3), (1, 0)).stride() == (1, 2)


def test_iterables_without_an_end_are_no_sizes() -> None:
    x = pyburn.ones(2, 3)
    for endless in (itertools.repeat(1), iter(int, 1), range(2**40), pyburn.ones(1, 1).expand(2**40, 1)):
        with pytest.raises((TypeError, ValueError)):
            x.reshape(endless)
        with pytest.raises((TypeError, ValueError)):
            pyburn.cat(endless)
    assert x.reshape(pyburn.tensor([3, 2])).shape == (3, 2)


def test_padding_same_with_the_widest_dilation() -> None:
    with pytest.raises((ValueError, RuntimeError)):
        F.conv1d(pyburn.ones(1, 1, 3), pyburn.ones(1, 1, 2), padding="same", dilation=2**63 - 1)
    assert F.conv1d(pyburn.ones(1, 1, 3), pyburn.ones(1, 1, 2), padding="same").tolist() == [[[2, 2, 1]]]


def test_copies_between_devices_are_bounded_by_the_memory() -> None:
    with pytest.raises(pyburn.OutOfMemoryError, match="exceeds the limit"):
        pyburn.empty(2, 3, device="meta")[-1] = pyburn.ones(1).expand(2**45)


def test_a_prelu_that_lost_its_weight() -> None:
    layer = pyburn.nn.PReLU(4)
    layer.weight = None
    with pytest.raises(ValueError, match="expected a weight: got None"):
        layer(pyburn.ones(2, 4))


def test_gradients_of_samples_of_huge_images() -> None:
    with pytest.raises((ValueError, RuntimeError, MemoryError)):
        pyburn.grid_sample_input(pyburn.ones(0, 2, 2, 3), pyburn.ones(0, 2, 3, 2), (2**62, 2**62), "bilinear", "zeros", False)


def test_norms_over_endless_axes() -> None:
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        pyburn.nuclear_norm(pyburn.ones(2, 2), pyburn.ones(1, 1).expand(2**31, 2**20))
    assert pyburn.nuclear_norm(pyburn.eye(2), [0, 1]).item() == 2
