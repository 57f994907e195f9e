"""Reductions, scans, sorting and normalisation of tensors that take several threads: close to numpy in float64, and the same
bits for any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

import pyburn
from pyburn.testing.conformance.calls import download

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


def test_copies_around_the_caches():
    """Results of more than 32 MB, whose rows are reversed, repeated, or in steps: they are written by way of a tile."""
    x = numbers(131_075, 67)
    t = pyburn.from_numpy(x)
    cases = {
        "reversed rows": (lambda: t.flip(1), x[:, ::-1]),
        "reversed order of rows": (lambda: t.flip(0), x[::-1]),
        "both": (lambda: t.flip((0, 1)), x[::-1, ::-1]),
        "every second": (lambda: pyburn.cat([t, t], 1)[:, ::2].contiguous(), np.concatenate([x, x], 1)[:, ::2]),
        "repeated": (lambda: t[:, :1].expand(131_075, 67).contiguous(), np.broadcast_to(x[:, :1], x.shape)),
        "short rows": (lambda: pyburn.cat([t, t], 1)[:, :67].contiguous(), x),
    }
    for name, (function, expected) in cases.items():
        (y,) = for_threads(lambda function=function: [function()])
        np.testing.assert_array_equal(y, expected, err_msg=name)


def test_pointwise_convolutions_around_the_caches():
    """More results than the last cache keeps: 3 x 130 x 160 x 160 floats, 40 MB."""
    x, w, bias = numbers(3, 5, 160, 160), numbers(130, 5, 1, 1, seed=1), numbers(130, seed=2)
    (y,) = for_threads(lambda: [pyburn.nn.functional.conv2d(*map(pyburn.from_numpy, (x, w, bias)))])
    expected = np.einsum("bchw,oc->bohw", x.astype(np.float64), w[:, :, 0, 0]) + bias[:, None, None]
    np.testing.assert_allclose(y, expected, rtol=1e-5)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("padding", [0, 1, 2])
@pytest.mark.parametrize("size", [(3, 4), (7, 7), (8, 9), (14, 14), (15, 13), (31, 17), (33, 40)], ids=str)
def test_depthwise_convolutions(size, padding, stride):
    """The kernels for 3x3, which differ by the size of planes, against those for float64, which do not; odd numbers of both."""
    functional, grad = pyburn.nn.functional, pyburn.nn.grad
    x, w, bias = (pyburn.from_numpy(numbers(*shape) - 3) for shape in ((3, 5, *size), (5, 1, 3, 3), (5,)))
    dy = pyburn.from_numpy(numbers(*functional.conv2d(x, w, None, stride, padding, 1, 5).shape, seed=1) - 3)

    def results(x, w, bias, dy):
        return [
            functional.conv2d(x, w, bias, stride, padding, 1, 5),
            grad.conv2d_input(x.shape, w, dy, stride, padding, 1, 5),
            grad.conv2d_weight(x, w.shape, dy, stride, padding, 1, 5),
        ]

    expected = results(x.double(), w.double(), bias.double(), dy.double())
    for found, reference in zip(for_threads(lambda: results(x, w, bias, dy)), expected, strict=True):
        reference = download(reference)
        np.testing.assert_allclose(found, reference, rtol=1e-5, atol=2e-6 * np.abs(reference).max())
