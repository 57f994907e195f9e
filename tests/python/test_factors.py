"""Linear algebra by LU factors, forms that report failures, and the names that PyTorch had before torch.linalg."""

from __future__ import annotations

import numpy as np
import pytest

import pyburn
from pyburn import linalg

A = pyburn.tensor([[0.5, 2.0, -1.0], [3.0, 1.0, 0.25], [1.0, -2.0, 4.0]], dtype=pyburn.float64)
SINGULAR = pyburn.stack([pyburn.eye(2), pyburn.zeros(2, 2)])


def close(a, b):
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), atol=1e-10)


@pytest.mark.parametrize("shape", [(3, 3), (4, 3), (3, 4), (2, 3, 3)])
def test_lu(shape):
    m = pyburn.randn(*shape, dtype=pyburn.float64)
    P, L, U = linalg.lu(m)
    close(P @ L @ U, m)
    close(L, L.tril())
    close(U, U.triu())
    factors, pivots, info = linalg.lu_factor_ex(m)
    assert pivots.dtype is pyburn.int32 and not info.any()
    close(pyburn.lu_unpack(factors, pivots).L, L)
    only = pyburn.lu_unpack(factors, pivots, unpack_data=False)
    assert only.L.numel() == 0 and only.P.shape == P.shape


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("adjoint", [True, False])
def test_lu_solve(left, adjoint):
    b = pyburn.randn(2, 3, 3, dtype=pyburn.float64)
    factors = linalg.lu_factor(A)
    x = linalg.lu_solve(*factors, b, left=left, adjoint=adjoint)
    m = A.mT if adjoint else A
    close(m @ x if left else x @ m, b)
    close(pyburn.lu_solve(b, *pyburn.lu(A)), linalg.solve(A, b))


def test_lu_has_a_gradient():
    m = A.clone().requires_grad_()
    b = pyburn.ones(3, 1, dtype=pyburn.float64)
    (linalg.lu_solve(*linalg.lu_factor(m), b) ** 2).sum().backward()
    n = A.clone().requires_grad_()
    (linalg.solve(n, b) ** 2).sum().backward()
    close(m.grad, n.grad)


def test_forms_that_report():
    assert linalg.lu_factor_ex(SINGULAR).info.tolist() == [0, 1]
    inverse, info = linalg.inv_ex(SINGULAR)
    assert info.tolist() == [0, 1] and inverse[0].tolist() == [[1, 0], [0, 1]]
    assert linalg.solve_ex(SINGULAR, pyburn.ones(2, 2, 1)).info.tolist() == [0, 1]
    close(linalg.solve_ex(A, A[0]).result, linalg.solve(A, A[0]))
    factor, info = linalg.cholesky_ex(pyburn.stack([4 * pyburn.eye(2), pyburn.tensor([[1.0, 2.0], [2.0, 1.0]])]))
    assert info.tolist() == [0, 2] and factor[0].tolist() == [[2, 0], [0, 2]]
    for function in (linalg.inv_ex, linalg.lu_factor_ex):
        with pytest.raises(RuntimeError, match="info"):
            function(SINGULAR, check_errors=True)
    with pytest.raises(RuntimeError, match="positive-definite"):
        linalg.cholesky_ex(-pyburn.eye(2), check_errors=True)


def test_older_names():
    U, S, V = pyburn.svd(A)
    close(U @ pyburn.diag(S) @ V.mT, A)
    assert pyburn.svd(A, compute_uv=False).U.abs().sum() == 0
    Q, R = A.qr()
    close(Q @ R, A)
    close(pyburn.cholesky(A @ A.mT), linalg.cholesky(A @ A.mT))
    close(pyburn.cholesky(A @ A.mT, upper=True), linalg.cholesky(A @ A.mT).mT)
    b = pyburn.ones(3, 2, dtype=pyburn.float64)
    close(A.triu() @ b.triangular_solve(A).solution, b)
    close(A.triu().mT @ pyburn.triangular_solve(b, A, transpose=True).solution, b)


def test_householder_product():
    v, tau = pyburn.tensor([[0.0], [2.0], [-1.0]]), pyburn.tensor([1 / 3])  # 2 / |v|^2: a reflection
    Q = linalg.householder_product(v, tau)
    np.testing.assert_allclose(Q.numpy()[:, 0], [2 / 3, -2 / 3, 1 / 3], rtol=1e-6)


def test_low_rank():
    pyburn.manual_seed(0)
    m = pyburn.randn(20, 3, dtype=pyburn.float64) @ pyburn.randn(3, 10, dtype=pyburn.float64)
    for matrix in (m, m.mT):
        U, S, V = pyburn.svd_lowrank(matrix, q=4)
        close(U @ pyburn.diag(S) @ V.mT, matrix)
    U, S, V = pyburn.pca_lowrank(m, q=3)
    close(U @ pyburn.diag(S) @ V.mT, m - m.mean(0))
    with pytest.raises(ValueError, match="q from 0"):
        pyburn.pca_lowrank(m, q=11)


def test_tolerance_of_each_matrix():
    m = pyburn.stack([pyburn.diag(pyburn.tensor([1.0, 0.1])), pyburn.diag(pyburn.tensor([1.0, 0.001]))])
    assert linalg.matrix_rank(m, rtol=pyburn.tensor([0.01, 0.01])).tolist() == [2, 1]
    assert linalg.matrix_rank(m, atol=pyburn.tensor(0.5)).tolist() == [1, 1]
    np.testing.assert_allclose(linalg.pinv(m, rtol=pyburn.tensor([0.01, 0.01])).numpy()[:, 1, 1], [10, 0], rtol=1e-5)


def test_errors():
    with pytest.raises(NotImplementedError, match="pivot"):
        linalg.lu_factor(A, pivot=False)
    with pytest.raises(RuntimeError, match="incompatible shapes"):
        linalg.lu_solve(*linalg.lu_factor(A), pyburn.ones(2, 2, dtype=pyburn.float64))
    with pytest.raises(IndexError, match="pivots"):
        pyburn.lu_unpack(A, pyburn.tensor([9, 9, 9], dtype=pyburn.int32))
    with pytest.raises(RuntimeError, match="size 3"):
        linalg.cross(pyburn.ones(5, 3), pyburn.ones(5, 1))
