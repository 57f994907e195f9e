"""eigh and svd: their vectors have no sign of their own, so no line of text can say what they give."""

from __future__ import annotations

import numpy as np
import pytest
from harness import DEVICES

import pyburn
from pyburn.testing.conformance.calls import download, grad, upload

SHAPES = [(3, 3), (4, 3), (3, 4), (1, 1), (2, 4, 3), (0, 3), (2, 0, 3, 2)]


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape) * 100 + sum(shape)).standard_normal(shape)


def leaf(array: np.ndarray, device: str) -> pyburn.Tensor:
    return upload(array, "float64", device).requires_grad_()


def quotients(function, array: np.ndarray, step: float = 1e-6) -> np.ndarray:
    result = np.zeros(array.shape)
    for index in np.ndindex(array.shape):
        values = []
        for sign in (1, -1):
            moved = array.copy()
            moved[index] += sign * step
            values.append(function(moved))
        result[index] = (values[0] - values[1]) / (2 * step)
    return result


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_svd(shape, full, device, dtype):
    x = numbers(*shape).astype(dtype)
    u, s, vh = (download(t) for t in pyburn.linalg.svd(upload(x, dtype, device), full_matrices=full))
    expected = np.linalg.svd(x, full_matrices=full)
    assert [a.shape for a in (u, s, vh)] == [a.shape for a in expected]
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    k = s.shape[-1]
    np.testing.assert_allclose(s, expected[1], atol=tolerance)
    np.testing.assert_allclose(u[..., :k] * s[..., None, :] @ vh[..., :k, :], x, atol=tolerance)
    for basis in (u, vh.swapaxes(-2, -1)):
        gram = basis.swapaxes(-2, -1) @ basis
        np.testing.assert_allclose(gram, np.broadcast_to(np.eye(gram.shape[-1]), gram.shape), atol=tolerance)


@pytest.mark.parametrize("device", DEVICES)
def test_svd_of_what_has_no_full_rank(device):
    for x in (np.zeros((3, 2)), np.ones((4, 3)), np.outer([1.0, 2, 3], [1.0, 0])):
        u, s, vh = (download(t) for t in pyburn.linalg.svd(upload(x, "float64", device)))
        np.testing.assert_allclose(u[:, : len(s)] * s @ vh[: len(s)], x, atol=1e-12)
        np.testing.assert_allclose(u.T @ u, np.eye(len(u)), atol=1e-12)
        np.testing.assert_allclose(vh @ vh.T, np.eye(len(vh)), atol=1e-12)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("upper", ["L", "U"])
@pytest.mark.parametrize("shape", [(3, 3), (1, 1), (2, 4, 4), (0, 0)], ids=str)
def test_eigh(shape, upper, device):
    x = numbers(*shape)
    values, vectors = (download(t) for t in pyburn.linalg.eigh(upload(x, "float64", device), upper))
    triangle = np.triu(x) if upper == "U" else np.tril(x)
    whole = triangle + triangle.swapaxes(-2, -1) - triangle * np.eye(shape[-1])
    np.testing.assert_allclose(values, np.linalg.eigvalsh(whole), atol=1e-12)
    np.testing.assert_allclose(whole @ vectors, vectors * values[..., None, :], atol=1e-12)
    np.testing.assert_allclose(vectors.swapaxes(-2, -1) @ vectors, np.broadcast_to(np.eye(shape[-1]), shape), atol=1e-12)


def of_svd(x: pyburn.Tensor) -> pyburn.Tensor:
    """Of all three results, the same for any signs of the vectors."""
    u, s, vh = pyburn.linalg.svd(x, full_matrices=False)
    weights = upload(np.arange(1.0, s.numel() + 1), "float64", str(x.device)).to(x.device)
    return ((u * u * weights) @ (vh * vh)).sin().sum() + ((u * weights) @ vh).cos().sum() + (s * weights).sum()


def of_eigh(x: pyburn.Tensor) -> pyburn.Tensor:
    values, vectors = pyburn.linalg.eigh(x + x.mT)
    weights = upload(np.arange(1.0, values.numel() + 1), "float64", str(x.device)).to(x.device)
    return ((vectors * weights) @ vectors.mT).sin().sum() + (values * weights).sum()


@pytest.mark.parametrize("device", ["cpu", "numpy"])
@pytest.mark.parametrize(("function", "shape"), [(of_svd, (3, 3)), (of_svd, (4, 2)), (of_svd, (2, 4)), (of_eigh, (3, 3))])
def test_gradients(function, shape, device):
    def first(array):
        return float(function(upload(array, "float64", device)))

    def second(array):
        x = leaf(array, device)
        return float((grad([function(x)], [x], [pyburn.ones((), dtype=pyburn.float64, device=device)])[0].sin()).sum())

    x = numbers(*shape)
    t = leaf(x, device)
    (g,) = pyburn.autograd.grad(function(t), t, create_graph=True)
    np.testing.assert_allclose(download(g.detach()), quotients(first, x), rtol=1e-5, atol=1e-6)
    (h,) = pyburn.autograd.grad(g.sin().sum(), t)
    np.testing.assert_allclose(download(h), quotients(second, x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("device", DEVICES)
def test_norms_and_condition(device):
    x = numbers(2, 4, 3)
    t = upload(x, "float64", device)
    for ord in ("fro", "nuc", 2, -2, 1, -1, np.inf, -np.inf):
        expected = np.linalg.norm(x[0], ord)
        np.testing.assert_allclose(float(pyburn.linalg.matrix_norm(t, ord)[0]), expected)
        assert pyburn.linalg.matrix_norm(t, ord, keepdim=True).shape == (2, 1, 1)
    square = numbers(3, 3)
    for p in (None, 2, -2, 1, "fro", np.inf):
        np.testing.assert_allclose(float(pyburn.linalg.cond(upload(square, "float64", device), p)), np.linalg.cond(square, p))


@pytest.mark.parametrize("device", DEVICES)
def test_tensor_forms(device):
    a = numbers(2, 3, 6)
    np.testing.assert_allclose(download(pyburn.linalg.tensorinv(upload(a, "float64", device))), np.linalg.tensorinv(a), atol=1e-10)
    b = numbers(2, 3)
    t, right = upload(a, "float64", device), upload(b, "float64", device)
    np.testing.assert_allclose(download(pyburn.linalg.tensorsolve(t, right)), np.linalg.tensorsolve(a, b), atol=1e-10)
    moved = np.moveaxis(a, 0, -1)
    solved = pyburn.linalg.tensorsolve(upload(moved, "float64", device), upload(numbers(3, 2).T[:2], "float64", device).mT, dims=(1,))
    assert solved.shape == (6,)
    x = upload(np.array([[1.0, 2], [3, 4]]), "float64", device)
    np.testing.assert_allclose(download(pyburn.linalg.vander(x, N=3)), np.stack([np.vander(v, 3, True) for v in ([1.0, 2], [3, 4])]))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda t: pyburn.linalg.eigh(t[0]), "matrices"),
        (lambda t: pyburn.linalg.eigh(t[:1]), "square"),
        (lambda t: pyburn.linalg.eigh(t, "X"), "UPLO"),
        (lambda t: pyburn.linalg.svd(t.int()), "float32"),
        (lambda t: pyburn.linalg.inv(pyburn.zeros(2, 2)), "singular"),
        (lambda t: pyburn.linalg.matrix_norm(t, 3), "ord"),
        (lambda t: pyburn.linalg.vander(t, N=1), "greater than 1"),
        (lambda t: pyburn.linalg.tensorinv(t, 0), "positive"),
    ],
)
def test_errors(call, words):
    with pytest.raises(pyburn.PyburnError, match=words) as caught:
        call(pyburn.ones(2, 2))
    assert isinstance(caught.value, RuntimeError)
