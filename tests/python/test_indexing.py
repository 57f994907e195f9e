"""x[...] and x[...] = y against numpy, with gradients."""

from __future__ import annotations

import numpy as np
import pytest

import pyburn

KEYS = [
    0, -1, slice(None), slice(1, 3), slice(None, None, 2), slice(-2, None), slice(5, 2), None, ..., (0, 1), (0, ..., 1), (slice(None), 1),
    (..., 0), (..., None), (None, 0, None), (slice(1), slice(1, None), slice(None, None, 3)), (0, 1, 2), (), True, False,
    np.int64(1), [0, 2], ([[0, 1], [2, 0]],), (slice(None), [0, 2]), (..., [3, 0]), ([0, 1, 2], [0, 1, 2]), ([0, 1], slice(None), [0, 1]),
    ([[0], [1]], [0, 2]), ([-1, -2],), (0, [1, 2]), ([0, 1], 1), (None, [0, 1]), [],
]  # fmt: skip


def fresh() -> tuple[np.ndarray, pyburn.Tensor]:
    a = np.arange(60.0).reshape(3, 4, 5)
    return a, pyburn.tensor(a)


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_reading_is_numpys(key) -> None:
    a, t = fresh()
    expected = a[np.array(key, dtype=int) if isinstance(key, list) else key]
    assert np.array_equal(t[key].numpy(), expected)
    assert t[key].shape == expected.shape


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_writing_is_numpys(key) -> None:
    a, t = fresh()
    where = np.array(key, dtype=int) if isinstance(key, list) else key
    a[where] = -1
    t[key] = -1
    assert np.array_equal(t.numpy(), a)
    new = np.random.default_rng(0).normal(size=a[where].shape)
    a[where] = new
    t[key] = pyburn.tensor(new)
    assert np.array_equal(t.numpy(), a)


@pytest.mark.parametrize("shape", [(3,), (3, 4), (3, 4, 5)])
def test_masks(shape) -> None:
    a, t = fresh()
    mask = np.random.default_rng(1).random(shape) < 0.5
    assert np.array_equal(t[pyburn.tensor(mask)].numpy(), a[mask])
    t[pyburn.tensor(mask)] = 0
    a[mask] = 0
    assert np.array_equal(t.numpy(), a)
    t[mask] = pyburn.ones(1, dtype=pyburn.float64)
    a[mask] = 1
    assert np.array_equal(t.numpy(), a)


def test_a_mask_on_later_axes() -> None:
    a, t = fresh()
    mask = np.array([True, False, True, True])
    assert np.array_equal(t[:, mask].numpy(), a[:, mask])
    assert np.array_equal(t[0, mask, 1:3].numpy(), a[0, mask, 1:3])


def test_index_tensors_of_any_integer_dtype() -> None:
    _, t = fresh()
    for dtype in (pyburn.int8, pyburn.int32, pyburn.int64):
        assert t[pyburn.tensor([2, 0], dtype=dtype)].shape == (2, 4, 5)
    assert t[pyburn.tensor(1)].shape == (4, 5)
    assert t[pyburn.tensor(True)].shape == (1, 3, 4, 5)


def test_an_integer_beside_an_index_tensor_is_selected_first_as_in_pytorch() -> None:
    assert pyburn.ones(2, 3, 4)[0, :, [0, 1]].shape == (3, 2)  # numpy: (2, 3)


def test_basic_indices_give_views() -> None:
    t = pyburn.zeros(3, 4)
    t[0][1] = 5
    t[1:, ::2][0, 1] = 6
    t[...].add_(1)
    assert t.tolist() == [[1, 6, 1, 1], [1, 1, 7, 1], [1, 1, 1, 1]]
    assert t[:] is not t
    before = t._version
    t[0] = 0
    assert t._version == before + 1


def test_values_are_converted_and_broadcast() -> None:
    t = pyburn.zeros(2, 3, dtype=pyburn.int64)
    t[0] = 2.7
    t[1] = pyburn.tensor([[[1.5, 2.5, 3.5]]])
    assert t.tolist() == [[2, 2, 2], [1, 2, 3]]
    t[:, 0] = [8, 9]
    t[:, 1] = np.array([6, 7])
    assert t.tolist() == [[8, 6, 2], [9, 7, 3]]
    t[[0, 0, 1], [0, 0, 0]] = pyburn.tensor([1, 2, 3])
    assert t[:, 0].tolist() == [2, 3]


def test_reading_is_differentiable() -> None:
    x = pyburn.arange(12.0).reshape(3, 4).detach().requires_grad_()
    (x[1, ::2].sum() + 10 * x[[0, 0]].sum() + 100 * x[x > 8].sum()).backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[20, 20, 20, 20], [1, 0, 1, 0], [0, 100, 100, 100]]


def test_writing_is_differentiable() -> None:
    x = pyburn.ones(3, 2, requires_grad=True)
    v = pyburn.ones(2, requires_grad=True)
    y = x * 2
    y[0] = v
    y[[2], [1]] = 7 * v[:1]
    (y * pyburn.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])).sum().backward()
    assert x.grad is not None and v.grad is not None
    assert x.grad.tolist() == [[0, 0], [6, 8], [10, 0]]
    assert v.grad.tolist() == [43, 2]


def test_a_leaf_refuses_writes() -> None:
    x = pyburn.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        x[0] = 1
    with pyburn.no_grad():
        x[0] = 5
    assert x.tolist() == [5, 1, 1]


@pytest.mark.parametrize(
    "key, error, message",
    [
        (3, IndexError, "out of bounds for dimension 0 with size 3"),
        ((0, 4), IndexError, "out of bounds"),
        ((0, 0, 0, 0), IndexError, "too many indices for tensor of dimension 3: got 4"),
        ("a", IndexError, "only integers"),
        (1.5, IndexError, "only integers.*got float"),
        (slice(None, None, -1), ValueError, "step must be greater than zero"),
        ([3], IndexError, "out of (range|bounds)"),
        (([0], [4]), IndexError, "index 4 is out of bounds for dimension 1 with size 4"),
        ([0.5], IndexError, "integer dtype"),
        (pyburn.tensor([True]), IndexError, "mask"),
        ((0, 7), IndexError, "out of bounds for dimension 1"),
        (([0, 1], [0, 1, 2]), IndexError, "broadcast"),
        ({}, IndexError, "only integers"),
    ],
    ids=repr,
)
def test_wrong_indices_are_explained(key, error, message) -> None:
    _, t = fresh()
    with pytest.raises(error, match=message):
        t[key]
    with pytest.raises(error, match=message):
        t[key] = 0


def test_scalars_and_values_that_do_not_fit() -> None:
    with pytest.raises(IndexError, match="item"):
        pyburn.tensor(1)[0]
    t = pyburn.ones(2, 3)
    with pytest.raises(RuntimeError):
        t[0] = pyburn.ones(4)
    with pytest.raises(TypeError):
        del t[0]
    with pytest.raises(TypeError):
        t[0] = "a"


@pytest.mark.filterwarnings("ignore:indexing with dtype uint8")
def test_bytes_are_a_mask_as_in_pytorch() -> None:
    t = pyburn.arange(4.0)
    mask = pyburn.tensor([1, 0, 0, 1], dtype=pyburn.uint8)
    assert t[mask].tolist() == [0, 3]
    t[mask] = 9
    assert t.tolist() == [9, 1, 2, 9]


@pytest.mark.parametrize("device", ["cpu", "numpy", "fusion(cpu)", "remote(cpu)"])
def test_writes_reach_the_memory_behind_a_view(device) -> None:
    a = np.zeros((3, 4, 5))
    t = pyburn.zeros(3, 4, 5, dtype=pyburn.float64, device=device)
    view, seen = a.transpose(2, 0, 1)[1:, :, ::2], t.permute(2, 0, 1)[1:, :, ::2]
    view[[0, 3], [2, 1]] = [[1, 2], [3, 4]]
    seen[[0, 3], [2, 1]] = pyburn.tensor([[1.0, 2.0], [3.0, 4.0]], device=device)
    view[[1, 2], :, [1, 0]] = 7
    seen[[1, 2], :, [1, 0]] = 7
    view[:, [0, 2]] += 5
    seen[:, [0, 2]] += 5
    view[view > 6] = -1
    seen[seen > 6] = -1
    assert np.array_equal(t.cpu().numpy(), a)


def test_a_number_where_a_mask_is_true_keeps_the_history() -> None:
    x = pyburn.arange(4.0).requires_grad_()
    v = pyburn.tensor(3.0, requires_grad=True)
    y = x * 2
    y[y > 3] = v
    (y * pyburn.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
    assert x.grad is not None and v.grad is not None
    assert x.grad.tolist() == [2, 4, 0, 0]
    assert v.grad.item() == 7


def test_values_that_do_not_fit_name_both_shapes() -> None:
    t = pyburn.ones(4, 3)
    with pytest.raises(RuntimeError, match=r"value tensor of shape \(5,\) cannot be broadcast to indexing result of shape \(2, 3\)"):
        t[[0, 1]] = pyburn.ones(5)
    with pytest.raises(RuntimeError, match="shape mismatch"):
        t[t > 0] = pyburn.ones(5)


def test_nonzero_as_a_tuple() -> None:
    t = pyburn.tensor([[0, 3], [4, 0]])
    assert [i.tolist() for i in t.nonzero(as_tuple=True)] == [[0, 1], [1, 0]]
    assert [i.tolist() for i in pyburn.nonzero(t, as_tuple=True)] == [[0, 1], [1, 0]]
    assert t[t.nonzero(as_tuple=True)].tolist() == [3, 4]
    assert pyburn.nonzero(t).tolist() == [[0, 1], [1, 0]]
    assert pyburn.nonzero(t, out=pyburn.zeros(2, 2, dtype=pyburn.int64)).tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize("threads", [1, 3])
def test_sums_at_repeated_places_do_not_depend_on_threads(threads) -> None:
    generator = np.random.default_rng(0)
    index, values = generator.integers(0, 1000, 100_000), generator.normal(size=100_000).astype(np.float32)
    expected = np.zeros(1000, np.float32)
    for i, v in zip(index, values):
        expected[i] += v  # in this order, in float32
    before = pyburn.get_num_threads()
    pyburn.set_num_threads(threads)
    try:
        i, v = pyburn.tensor(index), pyburn.tensor(values)
        for y in (
            pyburn.zeros(1000).index_add(0, i, v),
            pyburn.zeros(1000).scatter_add(0, i, v),
            pyburn.zeros(1000).index_put((i,), v, accumulate=True),
        ):
            assert np.array_equal(y.numpy(), expected)
    finally:
        pyburn.set_num_threads(before)


def test_bools_are_indices_of_a_new_axis():
    x = pyburn.arange(6).reshape(2, 3)
    rows = pyburn.tensor([True, False])
    assert x[True].shape == (1, 2, 3) and x[False].shape == (0, 2, 3) and x[True].data_ptr() != x.data_ptr()
    assert x[rows, True].shape == (1, 3)
    assert pyburn.tensor(4)[pyburn.tensor(1, dtype=pyburn.bool)].tolist() == [4]
    with pytest.warns(UserWarning, match="uint8"):
        assert x[pyburn.tensor([1, 0], dtype=pyburn.uint8)].tolist() == [[0, 1, 2]]
    x[True] = 7
    assert x.tolist() == [[7, 7, 7], [7, 7, 7]]
    x[False] = 8
    assert x.tolist() == [[7, 7, 7], [7, 7, 7]]
    assert x.T[:, 1:1].is_contiguous()


def test_a_list_with_sequences_is_treated_as_a_tuple():
    x = pyburn.arange(24).reshape(2, 3, 4)
    rows, columns = pyburn.tensor([0, 1]), pyburn.tensor([1, 2])
    with pytest.warns(UserWarning, match="tuple of indices"):
        assert x[[rows, columns]].tolist() == x[rows, columns].tolist()
    with pytest.warns(UserWarning, match="tuple of indices"):
        assert x[[[0, 1], [1, 2]]].tolist() == x[rows, columns].tolist()
    with pytest.warns(UserWarning, match="tuple of indices"):
        assert x[[slice(1, 2), 0]].tolist() == x[1:2, 0].tolist() and x[[None, 1]].shape == (1, 3, 4) and x[[..., 0]].shape == (2, 3)
    with pytest.warns(UserWarning, match="tuple of indices"):
        x[[rows, columns]] = 0
    assert x[rows, columns].tolist() == [[0] * 4] * 2
    assert x[[0, 1]].shape == (2, 3, 4) and x[[True, False]].shape == (1, 3, 4) and x[np.array([[0, 1], [1, 0]])].shape == (2, 2, 3, 4)


def test_indices_into_a_tensor_without_axes() -> None:
    """They read behind the one element."""
    x, three = pyburn.tensor(2.5), pyburn.tensor([0, 0, 0])
    with pytest.raises(pyburn.ShapeError, match="one index"):
        pyburn.index_select(x, 0, three)
    with pytest.raises(pyburn.ShapeError, match="the shape of source does not match"):
        pyburn.index_copy(x, 0, three, pyburn.tensor(1.0))
    assert x.index_fill(0, three, 1.5).item() == 1.5
