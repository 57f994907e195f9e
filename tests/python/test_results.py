"""Functions with several forms and several results: which form is meant, named tuples, out=, gradients through one result."""

from __future__ import annotations

import copy
import pickle

import pytest

import pyburn
from pyburn import tensor

X = [[1.0, 5.0, 3.0], [4.0, 2.0, 6.0]]


def test_forms_of_max():
    x = tensor(X)
    assert pyburn.max(x).item() == 6
    assert pyburn.max(x, tensor(3.0)).tolist() == [[3, 5, 3], [4, 3, 6]]
    values, indices = pyburn.max(x, 1)
    assert values.tolist() == [5, 6] and indices.tolist() == [1, 2]
    assert x.max(dim=0, keepdim=True).values.shape == (1, 3)
    assert pyburn.max(input=x, other=x).shape == (2, 3)


def test_forms_of_var():
    x = tensor(X)
    assert pyburn.var(x, 1).tolist() == pytest.approx([4, 4])
    assert pyburn.var(x, 1, False).tolist() == pytest.approx([8 / 3, 8 / 3])
    assert pyburn.var(x, dim=1, unbiased=False, keepdim=True).shape == (2, 1)
    assert pyburn.var(x, False).item() == pytest.approx(35 / 12)
    assert pyburn.var(x, correction=0).item() == pytest.approx(35 / 12)
    assert x.std(unbiased=False).item() == pytest.approx((35 / 12) ** 0.5)


def test_forms_of_normal():
    assert pyburn.normal(tensor(X)).shape == (2, 3)
    assert pyburn.normal(0.0, tensor(X)).shape == (2, 3)
    assert pyburn.normal(tensor(X), tensor(X)).shape == (2, 3)
    assert pyburn.normal(0.0, 1.0, (4, 5)).shape == (4, 5)


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (lambda x: pyburn.max(x, "a"), "(pyburn.Tensor, str)"),
        (lambda x: pyburn.max(x, dims=1), "(pyburn.Tensor, dims=int)"),
        (lambda x: pyburn.max(x, 0, True, 3), "(pyburn.Tensor, int, bool, int)"),
        (lambda x: pyburn.max(), "()"),
    ],
)
def test_no_form_fits(call, shown):
    with pytest.raises(TypeError) as caught:
        call(tensor(X))
    message = str(caught.value)
    assert message.startswith(f"[max] no form takes these arguments: got {shown}; the forms are\n")
    assert "max.dim(Tensor input, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)" in message


def test_named_tuple():
    result = pyburn.sort(tensor([2.0, 1.0]))
    assert isinstance(result, tuple) and type(result) is pyburn.return_types.sort
    assert result.values is result[0] and result.indices.tolist() == [1, 0]
    assert repr(result) == "pyburn.return_types.sort(\nvalues=tensor([1., 2.]),\nindices=tensor([1, 0]))"


def test_forms_share_their_tuple():
    x = tensor(X)
    assert type(pyburn.var_mean(x)) is type(pyburn.var_mean(x, 1, True)) is type(pyburn.var_mean(x, False))


@pytest.mark.parametrize("copied", [lambda r: pickle.loads(pickle.dumps(r)), copy.deepcopy, copy.copy], ids=["pickle", "deepcopy", "copy"])
def test_named_tuple_is_copied(copied):
    result = pyburn.topk(tensor([2.0, 1.0, 3.0]), 2)
    other = copied(result)
    assert type(other) is type(result)
    assert other.values.tolist() == [3, 2] and other.indices.tolist() == [2, 0]


def test_out():
    x = tensor(X)
    out = (pyburn.empty(2), pyburn.empty(2, dtype=pyburn.int64))
    assert pyburn.max(x, 1, out=out) is out
    assert out[0].tolist() == [5, 6] and out[1].tolist() == [1, 2]
    pyburn.max(x, 1, out=list(out))
    wide = (pyburn.empty(2, dtype=pyburn.float64), pyburn.empty(2, dtype=pyburn.int64))
    assert pyburn.max(x, 1, out=wide)[0].dtype is pyburn.float64 and wide[0].tolist() == [5, 6]


@pytest.mark.parametrize(
    ("out", "words"),
    [
        (lambda: pyburn.empty(2), "a tuple of 2 Tensors"),
        (lambda: (pyburn.empty(2),), "a tuple of 2 Tensors"),
        (lambda: (pyburn.empty(2), 3), "must hold Tensors"),
        (lambda: (pyburn.empty(2), pyburn.empty(2, dtype=pyburn.bool)), "can't be cast"),
    ],
)
def test_out_is_refused(out, words):
    with pytest.raises((TypeError, pyburn.PyburnError), match=words):
        pyburn.max(tensor(X), 1, out=out())


def test_out_of_another_shape_is_resized():
    out = (pyburn.empty(3), pyburn.empty(2, dtype=pyburn.int64))
    with pytest.warns(UserWarning, match="was resized"):
        pyburn.max(tensor(X), 1, out=out)
    assert out[0].tolist() == [5, 6] and out[1].tolist() == [1, 2]


def test_gradient_through_one_result():
    x = tensor(X, requires_grad=True)
    pyburn.var_mean(x, 1).mean.sum().backward()
    assert x.grad.reshape(-1).tolist() == pytest.approx([1 / 3] * 6)
    x.grad = None
    pyburn.var_mean(x, 1).var.sum().backward()
    assert x.grad[0].tolist() == pytest.approx([-2, 2, 0])
    x.grad = None
    values, indices = pyburn.sort(x, 1)
    assert values.requires_grad and not indices.requires_grad
    values[0].sum().backward()
    assert x.grad.tolist() == [[1, 1, 1], [0, 0, 0]]


def test_values_may_be_overwritten_before_backward():
    x = tensor(X, requires_grad=True)
    values, _ = pyburn.max(x * 1, 1)
    values.mul_(2).sum().backward()
    assert x.grad.tolist() == [[0, 2, 0], [0, 0, 2]]


def test_unique_returns_what_is_asked_for():
    x = tensor([3, 1, 3, 2])
    assert pyburn.unique(x).tolist() == [1, 2, 3] == x.unique(sorted=False).tolist()
    values, counts = pyburn.unique(x, return_counts=True)
    assert counts.tolist() == [1, 1, 2]
    values, inverse, counts = x.unique(return_inverse=True, return_counts=True)
    assert values[inverse].tolist() == x.tolist()
    runs, inverse = tensor([1, 1, 2, 1]).unique_consecutive(return_inverse=True)
    assert runs.tolist() == [1, 2, 1] and inverse.tolist() == [0, 0, 1, 2]


def test_norms_of_matrices():
    x = tensor(X)
    assert pyburn.linalg.matrix_norm(x).item() == pytest.approx(91**0.5)
    assert pyburn.linalg.matrix_norm(x, 1).item() == 9
    assert pyburn.linalg.matrix_norm(x, float("inf"), keepdim=True).tolist() == [[12]]
    assert pyburn.linalg.matrix_norm(x, -1).item() == 5
    assert pyburn.linalg.norm(x, 2, dim=1).tolist() == pytest.approx([35**0.5, 56**0.5])
    assert pyburn.linalg.norm(x).item() == pytest.approx(91**0.5)
    with pytest.raises(pyburn.ArgumentError, match="ord"):
        pyburn.linalg.matrix_norm(x, 3)
