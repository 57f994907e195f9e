"""pyburn.masked against the same computation on the elements that a mask lets through, one row at a time."""

from __future__ import annotations

import numpy as np
import pytest

import pyburn
from pyburn import masked

X = np.array([[1.5, -2.0, 0.25, 3.0], [4.0, 0.5, -1.0, 2.0], [0.75, 2.5, -3.5, 1.0]])
MASK = np.array([[True, False, True, True], [True, True, False, True], [False, True, True, False]])
ROWS = [row[m] for row, m in zip(X, MASK)]
x, mask = pyburn.tensor(X), pyburn.tensor(MASK)


@pytest.mark.parametrize(
    ("function", "reference"),
    [
        (masked.sum, np.sum),
        (masked.prod, np.prod),
        (masked.amax, np.max),
        (masked.amin, np.min),
        (masked.mean, np.mean),
        (masked.var, lambda row: np.var(row, ddof=1)),
        (masked.std, lambda row: np.std(row, ddof=1)),
        (masked.norm, np.linalg.norm),
        (masked.logsumexp, lambda row: np.log(np.exp(row).sum())),
        (masked.median, lambda row: np.sort(row)[(len(row) - 1) // 2]),
    ],
)
def test_reductions(function, reference):
    dim = {"dim": 1}
    expected = [reference(row) for row in ROWS]
    np.testing.assert_allclose(function(x, **dim, mask=mask).numpy(), expected)
    assert function(x, **dim, keepdim=True, mask=mask).shape == (3, 1)
    np.testing.assert_allclose(function(x, **dim).numpy(), [reference(row) for row in X])


def test_over_all_axes_and_broadcast():
    assert masked.sum(x, mask=mask).item() == pytest.approx(X[MASK].sum())
    assert masked.mean(x, (), mask=mask).item() == pytest.approx(X[MASK].mean())
    np.testing.assert_allclose(masked.sum(x, 0, mask=pyburn.tensor([True, False, True, False])).numpy(), X.sum(0) * [1, 0, 1, 0])
    assert masked.sum(pyburn.tensor([1, 2], dtype=pyburn.int8)).dtype is pyburn.int64


def test_places():
    assert masked.argmax(x, 1, mask=mask, dtype=pyburn.int64).tolist() == [3, 0, 1]
    assert masked.argmin(x, 1, mask=mask, dtype=pyburn.int64).tolist() == [2, 1, 2]


def test_along_an_axis():
    shares = masked.softmax(x, 1, mask=mask).numpy()
    np.testing.assert_allclose(shares.sum(1), 1)
    assert (shares[~MASK] == 0).all()
    np.testing.assert_allclose(shares[2, 1:3], np.exp(X[2, 1:3]) / np.exp(X[2, 1:3]).sum())
    np.testing.assert_allclose(masked.log_softmax(x, 1, mask=mask).numpy()[MASK], np.log(shares[MASK]))
    np.testing.assert_allclose(masked.softmin(x, 1, mask=mask).numpy(), masked.softmax(-x, 1, mask=mask).numpy())
    np.testing.assert_allclose(masked.cumsum(x, 1, mask=mask).numpy(), np.cumsum(X * MASK, 1))
    np.testing.assert_allclose(masked.cumprod(x, 1, mask=mask).numpy(), np.cumprod(np.where(MASK, X, 1), 1))
    np.testing.assert_allclose(np.linalg.norm(masked.normalize(x, 2.0, 1, mask=mask).numpy(), axis=1), 1)
    np.testing.assert_allclose(masked.logaddexp(x, x, other_mask=mask).numpy()[~MASK], X[~MASK])


def test_gradient_reaches_what_is_let_through():
    leaf = pyburn.tensor(X, requires_grad=True)
    masked.mean(leaf, 1, mask=mask).sum().backward()
    np.testing.assert_allclose(leaf.grad.numpy(), MASK / MASK.sum(1, keepdims=True))


def test_errors():
    with pytest.raises(ValueError, match="floating"):
        masked.mean(pyburn.tensor([1, 2]))
    with pytest.raises(ValueError, match="let through"):
        masked.median(pyburn.tensor([1, 2]), 0, mask=pyburn.tensor([False, False]))
    with pytest.raises(ValueError, match="both"):
        masked.var(x, unbiased=True, correction=0)
