"""Arguments of wrong kinds and of extreme sizes get an error that says so."""

from __future__ import annotations

import itertools

import pytest

import pyburn
import pyburn.nn.functional as F


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


def test_bools_that_are_views_of_other_bytes() -> None:
    bits = pyburn.tensor([0, 224, 1], dtype=pyburn.uint8).view(pyburn.bool)
    assert bits.to(pyburn.int64).tolist() == [0, 1, 1]
    assert pyburn.stack([bits, bits]).t().to(pyburn.float32).sum(1).tolist() == [0, 2, 2]


def test_pairs_of_numbers_that_are_huge_tensors() -> None:
    betas = pyburn.ones(1, 1).expand(2**31, 2**20)
    for optimizer in (pyburn.optim.Adam, pyburn.optim.NAdam, pyburn.optim.Rprop):
        name = "etas" if optimizer is pyburn.optim.Rprop else "betas"
        with pytest.raises(ValueError, match=f"expected 2 values for {name}"):
            optimizer([pyburn.nn.Parameter(pyburn.ones(2))], **{name: betas})


def test_the_first_dimension_of_an_index_beyond_the_rank() -> None:
    for axis, text in ((2**63 - 1, "too many indices"), (-(2**63), "must not be negative"), (2, "too many indices")):
        with pytest.raises(IndexError, match=text):
            pyburn._core._index(pyburn.ones(3, 4), [pyburn.tensor([1])], axis)


def test_packages_list_public_names_only() -> None:
    assert not {"from_stub", "on_demand"} & {*dir(pyburn), *dir(pyburn.nn), *dir(pyburn.nn.utils), *dir(pyburn.data)}


def test_pivots_that_do_not_fit_the_factors() -> None:
    for pivots in (
        pyburn.ones(2, dtype=pyburn.int32),
        pyburn.ones(2, 3, dtype=pyburn.int32),
        pyburn.ones(1, dtype=pyburn.int32).expand(2**59),
    ):
        with pytest.raises((ValueError, RuntimeError), match="expected pivots of shape"):
            pyburn.lu_unpack(pyburn.ones(3, 3), pivots)
    with pytest.raises((MemoryError, ValueError)):
        pyburn.lu_unpack(pyburn.ones(1, 1).expand(2**31, 2), pyburn.ones(2, dtype=pyburn.int32))


def test_matrix_exponentials_of_the_largest_numbers() -> None:
    largest = pyburn.finfo(pyburn.float64).max
    assert not pyburn.linalg.matrix_exp(pyburn.tensor([[largest]], dtype=pyburn.float64)).isfinite().any()
    assert pyburn.linalg.matrix_exp(pyburn.tensor([[-largest]], dtype=pyburn.float64)).tolist() == [[0.0]]


def test_files_that_are_no_files() -> None:
    for target in (1.5, 7, pyburn.ones(2), None):
        with pytest.raises(TypeError, match="expected a path or an object with a method write"):
            pyburn.save([1], target)  # type: ignore[arg-type]


def test_strides_and_scales_beyond_all_sizes() -> None:
    x, w = pyburn.rand(1, 4, 9, 9, requires_grad=True), pyburn.rand(4, 2, 3, 3, requires_grad=True)
    made = []
    for stride in (100, 2**31 - 1):  # the window has one place in both cases
        y = F.conv2d(x, w, stride=stride, padding=1, groups=2)
        made.append([y.tolist(), *(g.tolist() for g in pyburn.autograd.grad(y.sum(), (x, w)))])
    assert made[0] == made[1]
    for scale in (2.0**62, 1e308, float("inf")):
        assert pyburn.ones(2, 7).resize_axis(1, 7, 3, "linear", False, scale, True).shape == (2, 3)
        assert pyburn.ones(2, 7).resize_axis(1, 7, 3, "nearest", False, scale, False).tolist() == [[1.0] * 3] * 2


def test_regions_that_do_not_exist() -> None:
    none = pyburn.ones(0, 2, 2, 1).expand(0, 2, 2, 2**62)
    assert pyburn.roi_align_input(none, pyburn.ones(0, 5), (1, 2, 5, 6), 1.0, 2**62, False).tolist() == pyburn.zeros(1, 2, 5, 6).tolist()


def test_shapes_that_are_huge_tensors() -> None:
    with pytest.raises((TypeError, RuntimeError)):
        pyburn.broadcast_shapes(3, pyburn.ones(1, 1).expand(2**31, 2**20))
    assert pyburn.broadcast_shapes((2, 1), iter([3])) == (2, 3)


def test_states_do_not_grow_with_what_an_option_allows() -> None:
    w = pyburn.nn.Parameter(pyburn.ones(3, 2))
    optimizer = pyburn.optim.LBFGS([w], lr=0.1, max_iter=3, history_size=2**31)
    w.grad = pyburn.ones(3, 2)
    for _ in range(2):
        optimizer.step(lambda: w.sum())
    assert sum(len(x) for x in optimizer.state_dict()["state"][0].values() if isinstance(x, list)) < 100


def test_pooling_windows_beyond_all_sizes() -> None:  # what a window costs is estimated: an overflow, which UBSan sees
    x = pyburn.arange(24.0).reshape(1, 1, 2, 3, 4)
    assert F.max_pool3d(x, 2**31 - 1, ceil_mode=True).numel() in (0, 1)
