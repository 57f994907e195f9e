"""Reductions, scans, sorting and normalisation of tensors that take several threads: close to numpy in float64, and the same
bits for any number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from harness import download

import pyburn

SHAPES = [(3, 70_001), (70_001, 3), (40, 50, 60), (257, 513)]
REDUCTIONS = {
    "sum": (pyburn.sum, np.sum),
    "mean": (pyburn.mean, np.mean),
    "amax": (pyburn.amax, np.max),
    "norm": (lambda x, dim: pyburn.linalg.vector_norm(x, 2, dim), lambda x, axis: np.sqrt(np.sum(x * x, axis))),
    "var": (lambda x, dim: pyburn.var(x, dim, correction=0), np.var),
    "count_nonzero": (lambda x, dim: pyburn.count_nonzero(pyburn.relu(x), dim), lambda x, axis: np.count_nonzero(x > 0, axis)),
    "logsumexp": (pyburn.logsumexp, lambda x, axis: np.log(np.exp(x).sum(axis))),
}


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(shape) + 3).astype(np.float32)


def for_threads(function):
    """The results with one thread; three threads must give the same bits."""
    before = pyburn.get_num_threads()
    try:
        pyburn.set_num_threads(1)
        one = [download(t) for t in function()]
        pyburn.set_num_threads(3)
        for a, b in zip(one, function(), strict=True):
            np.testing.assert_array_equal(a, download(b))
    finally:
        pyburn.set_num_threads(before)
    return one


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, shape):
    function, reference = REDUCTIONS[name]
    x = numbers(*shape)
    wide = x.astype(np.float64)
    for dim in [*range(len(shape)), tuple(range(len(shape))), (0, len(shape) - 1)]:
        (y,) = for_threads(lambda dim=dim: [function(pyburn.from_numpy(x), dim)])
        np.testing.assert_allclose(y, reference(wide, axis=dim), rtol=2e-6)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_extrema_with_positions(shape):
    x = numbers(*shape)
    for dim in range(len(shape)):
        values, indices, lowest = for_threads(
            lambda dim=dim: [*pyburn.max(pyburn.from_numpy(x), dim), pyburn.argmin(pyburn.from_numpy(x), dim)]
        )
        np.testing.assert_array_equal(values, x.max(dim))
        np.testing.assert_array_equal(indices, x.argmax(dim))
        np.testing.assert_array_equal(lowest, x.argmin(dim))


def test_variance_far_from_zero():
    x = numbers(200_000) + np.float32(1e4)
    assert pyburn.var(pyburn.from_numpy(x)).item() == pytest.approx(x.astype(np.float64).var(ddof=1), rel=1e-5)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_scans(shape):
    x = numbers(*shape)
    for dim in range(len(shape)):
        (y,) = for_threads(lambda dim=dim: [pyburn.cumsum(pyburn.from_numpy(x), dim)])
        np.testing.assert_allclose(y, np.cumsum(x.astype(np.float64), dim), rtol=2e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint8", "float16"])
@pytest.mark.parametrize("descending", [False, True])
def test_sort(dtype, descending):
    x = (numbers(3, 5000) * 100).astype(dtype)
    if dtype.startswith("float"):
        x[0, ::97] = np.nan
        x[1, ::53] = -np.inf
    for dim in (0, 1):
        values, indices = for_threads(lambda dim=dim: pyburn.sort(pyburn.from_numpy(x), dim, descending))
        expected = np.sort(x, dim)
        np.testing.assert_array_equal(values, np.flip(expected, dim) if descending else expected)
        np.testing.assert_array_equal(np.take_along_axis(x, indices, dim), values)
        same = np.take(values, range(1, values.shape[dim]), dim) == np.take(values, range(values.shape[dim] - 1), dim)
        assert (np.diff(indices, axis=dim)[same] > 0).all(), "equal elements changed places"


@pytest.mark.parametrize("k", [1, 5, 64, 65, 4000])
def test_topk(k):
    x = numbers(4, 5000)
    for largest in (False, True):
        values, indices = for_threads(lambda largest=largest: pyburn.topk(pyburn.from_numpy(x), k, largest=largest))
        expected = np.sort(x, 1)
        np.testing.assert_array_equal(values, expected[:, ::-1][:, :k] if largest else expected[:, :k])
        np.testing.assert_array_equal(np.take_along_axis(x, indices, 1), values)


def gradients(function, *arrays: np.ndarray):
    tensors = [pyburn.from_numpy(a).requires_grad_() for a in arrays]
    y = function(*tensors)
    dy = pyburn.from_numpy(numbers(*y.shape, seed=9).astype(arrays[0].dtype))
    return [y.detach(), *pyburn.autograd.grad(y, tensors, dy)]


@pytest.mark.parametrize(
    ("function", "arrays"),
    [
        (lambda x: pyburn.softmax(x, 1), [(300, 700)]),
        (lambda x: pyburn.log_softmax(x, 0), [(300, 700)]),
        (lambda x, w, b: pyburn.layer_norm(x, (700,), w, b), [(300, 700), (700,), (700,)]),
        (lambda x, w: pyburn.rms_norm(x, (700,), w, 1e-5), [(300, 700), (700,)]),
        (lambda x, w, b: pyburn.group_norm(x, 4, w, b), [(10, 8, 20, 30), (8,), (8,)]),
        (lambda x, w, b: pyburn.batch_norm(x, None, None, w, b, True), [(10, 8, 20, 30), (8,), (8,)]),
        (lambda x, w, b: pyburn.batch_norm(x, None, None, w, b, True), [(3000, 40), (40,), (40,)]),
    ],
    ids=["softmax", "log_softmax", "layer_norm", "rms_norm", "group_norm", "batch_norm", "batch_norm in columns"],
)
def test_normalisation(function, arrays):
    inputs = [numbers(*shape, seed=i) for i, shape in enumerate(arrays)]
    found = for_threads(lambda: gradients(function, *inputs))
    reference = [download(t) for t in gradients(function, *(a.astype(np.float64) for a in inputs))]
    for a, b in zip(found, reference, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-4 * np.abs(b).max())


def test_cross_entropy():
    x, classes = numbers(500, 300), np.random.default_rng(1).integers(0, 300, 500)
    loss, grad = for_threads(lambda: gradients(lambda t: pyburn.cross_entropy(t, pyburn.from_numpy(classes), reduction="none"), x))
    wide = x.astype(np.float64)
    total = np.log(np.exp(wide).sum(1))
    np.testing.assert_allclose(loss, total - wide[np.arange(500), classes], rtol=1e-5)
    expected = np.exp(wide - total[:, None])
    expected[np.arange(500), classes] -= 1
    np.testing.assert_allclose(grad, expected * numbers(500, seed=9)[:, None], rtol=1e-4, atol=1e-6)
