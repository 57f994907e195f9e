"""Forms of products and pooling that are written in Python."""

from __future__ import annotations

import pytest

import pyburn
from pyburn.nn import functional


def numbers(*shape: int) -> pyburn.Tensor:
    return pyburn.arange(pyburn.ones(shape).numel(), dtype=pyburn.float32).reshape(shape)


def test_einsum_takes_tensors_one_by_one_or_in_a_list():
    a, b = numbers(2, 3), numbers(3, 4)
    expected = a @ b
    assert pyburn.equal(pyburn.einsum("ij,jk->ik", a, b), expected)
    assert pyburn.equal(pyburn.einsum("ij,jk->ik", [a, b]), expected)


def test_einsum_with_numbers_for_axes():
    a, b = numbers(2, 3), numbers(3, 4)
    assert pyburn.equal(pyburn.einsum(a, [0, 1], b, [1, 2], [0, 2]), a @ b)
    assert pyburn.equal(pyburn.einsum(a, [0, 1], b, [1, 2]), a @ b)
    assert pyburn.equal(pyburn.einsum(numbers(2, 2, 3), [..., 0, 1], [..., 1, 0]), numbers(2, 2, 3).transpose(1, 2))
    with pytest.raises(ValueError, match=r"\[einsum\] expected axes from 0 to 51"):
        pyburn.einsum(a, [0, 52])


def test_tensordot_by_number_and_by_lists():
    a, b = numbers(2, 3, 4), numbers(3, 4, 5)
    expected = a.reshape(2, 12) @ b.reshape(12, 5)
    assert pyburn.equal(pyburn.tensordot(a, b), expected)
    assert pyburn.equal(pyburn.tensordot(a, b, dims=([1, 2], [0, 1])), expected)
    assert pyburn.tensordot(numbers(2), numbers(3), 0).shape == (2, 3)
    with pytest.raises(ValueError, match=r"\[tensordot\]"):
        pyburn.tensordot(a, b, 4)


def test_cross_of_linalg_takes_the_last_axis():
    a, b = numbers(3, 3), numbers(3, 3) + 1
    assert pyburn.equal(pyburn.linalg.cross(a, b), pyburn.cross(a, b, 1))
    assert pyburn.linalg.multi_dot([a, b, a]).shape == (3, 3)


@pytest.mark.parametrize("dtype", [pyburn.float32, pyburn.float64, pyburn.float16, pyburn.bfloat16, pyburn.int32])
def test_sums_with_products_blend_as_they_should(dtype):
    a, b = (numbers(6, 7) % 5 - 2).to(dtype), (numbers(7, 8) % 3 - 1).to(dtype)
    product = a.double() @ b.double()
    for start in (numbers(6, 8) % 7, numbers(8), numbers(6, 1), numbers(8, 6).T % 7, pyburn.tensor(3.0)):
        start = start.to(dtype)
        for beta, alpha in ((1, 1), (2, 1), (1, -3), (0, 2)):
            got = pyburn.addmm(start, a, b, beta=beta, alpha=alpha)
            assert got.dtype == dtype
            assert pyburn.equal(got.double(), beta * start.double() + alpha * product)
            batches = pyburn.baddbmm(start, pyburn.stack([a, a]), pyburn.stack([b, b]), beta=beta, alpha=alpha)
            assert pyburn.equal(batches[1], got)
    vector = pyburn.addmv(numbers(6).to(dtype), a, b[:, 0], beta=2, alpha=3)
    assert pyburn.equal(vector.double(), 2 * numbers(6).double() + 3 * product[:, 0])


def test_an_unread_start_may_hold_anything():
    got = pyburn.addmm(pyburn.full((2, 2), float("nan")), numbers(2, 3), numbers(3, 2), beta=0)
    assert pyburn.equal(got, numbers(2, 3) @ numbers(3, 2))


@pytest.mark.parametrize("dtype", [pyburn.float16, pyburn.bfloat16])
def test_products_of_halves_are_rounded_once(dtype):
    threads = pyburn.get_num_threads()
    try:
        for m, k, n in ((1, 700, 300), (2, 33, 17), (3, 40, 5), (4, 15, 65), (70, 1200, 300), (300, 30, 600)):
            a, b = pyburn.randn(m, k).to(dtype), pyburn.randn(n, k).to(dtype)
            expected = (a.double() @ b.double().T).to(pyburn.float32)
            results = []
            for count in (1, 2, 3):
                pyburn.set_num_threads(count)
                results.append(a @ b.T)
            assert pyburn.equal(results[0], results[1]) and pyburn.equal(results[0], results[2])
            for got in (results[0], a @ b.T.contiguous(), (a.T.contiguous().T) @ b.T):
                step = 2.0 ** (-8 if dtype == pyburn.bfloat16 else -11)
                assert ((got.float() - expected).abs() <= expected.abs() * step + 1e-4).all()
    finally:
        pyburn.set_num_threads(threads)


def test_errors_name_the_function_that_was_called():
    for function in (pyburn.matmul, pyburn.mm):
        with pytest.raises(pyburn.ShapeError, match=rf"\[{function.__name__}\]"):
            function(numbers(2, 3), numbers(2, 3))
    with pytest.raises(pyburn.DTypeError, match=r"\[mm\] expected equal dtypes"):
        pyburn.mm(numbers(2, 3), numbers(3, 2).double())


def test_pooling_gives_indices_when_asked():
    x = numbers(1, 1, 4, 4)
    assert functional.max_pool2d(x, 2).flatten().tolist() == [5, 7, 13, 15]
    values, indices = functional.max_pool2d(x, 2, return_indices=True)
    assert indices.flatten().tolist() == [5, 7, 13, 15]
    assert functional.max_unpool2d(values, indices, 2).sum().item() == 40
    assert functional.adaptive_max_pool2d(x, 1).item() == 15
    assert functional.adaptive_max_pool2d(x, 1, return_indices=True)[1].item() == 15


def test_attention_drops_probabilities():
    pyburn.manual_seed(0)
    q = pyburn.randn(1, 2, 8, 4)
    v = pyburn.ones(1, 2, 8, 4)
    y = functional.scaled_dot_product_attention(q, q, v, dropout_p=0.5)
    assert not pyburn.allclose(y, v)
    assert abs(y.mean().item() - 1) < 0.5


@pytest.mark.parametrize(("dtype", "large"), [(pyburn.float32, 1e6), (pyburn.float64, 1e12)])
def test_gradients_of_attention_with_huge_scores(dtype, large):
    pyburn.manual_seed(0)
    q, k = (large * pyburn.randn(2, 3, 70, 32, dtype=dtype) for _ in range(2))
    v = pyburn.randn(2, 3, 70, 32, dtype=dtype, requires_grad=True)
    functional.scaled_dot_product_attention(q.requires_grad_(), k.requires_grad_(), v).sum().backward()
    chosen = pyburn.zeros(2, 3, 70, 70, dtype=dtype).scatter_(-1, (q @ k.mT).argmax(-1, keepdim=True), 1.0)  # each query sees one key
    assert pyburn.equal(v.grad, chosen.sum(-2)[..., None].expand_as(v)) and q.grad.isfinite().all() and k.grad.isfinite().all()


def test_lstm_drops_between_layers_only():
    pyburn.manual_seed(0)
    params = [pyburn.randn(8, 3), pyburn.randn(8, 2), pyburn.randn(8, 2), pyburn.randn(8, 2)]
    states = [pyburn.zeros(2, 1, 2), pyburn.zeros(2, 1, 2)]
    x = pyburn.randn(4, 1, 3)

    def run(dropout: float, train: bool) -> list:
        return pyburn.lstm(x, states, params, False, 2, dropout, train, False, False)[0].tolist()

    assert run(0.5, False) == run(0.0, True)
    assert run(0.5, True) != run(0.0, True)
