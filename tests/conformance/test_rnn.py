"""The steps of recurrent layers: kernels against the same in public operations, and the gradients against difference quotients."""

from __future__ import annotations

import numpy as np
import pytest

import pyburn

CELLS = ["lstm", "gru", "tanh", "relu"]
GATES = {"lstm": 4, "gru": 3, "tanh": 1, "relu": 1}


def inputs(cell: str, device: str, steps: int = 4, batch: int = 3, n: int = 5) -> list:
    generator = np.random.default_rng(7)
    width = GATES[cell] * n
    shapes = [(steps, batch, width), (width, n), (width,), (batch, n), (batch, n) if cell == "lstm" else None]
    return [None if s is None else pyburn.tensor(generator.normal(size=s), device=device) for s in shapes]


def weighted(results) -> pyburn.Tensor:
    """One number that depends on all states and cells."""
    total = 0
    for k, r in enumerate(r for r in results[:2] if r.numel()):
        total = total + (r * pyburn.arange(r.numel(), dtype=r.dtype, device=r.device).sin().reshape(r.shape) * (k + 1)).sum()
    return total


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("cell", CELLS)
def test_kernels_agree_with_public_operations(cell, reverse):
    found = []
    for device in ("cpu", "numpy"):
        given = inputs(cell, device)
        for x in given:
            if x is not None:
                x.requires_grad_()
        results = pyburn.rnn_steps(*given, cell, reverse)
        gradients = pyburn.autograd.grad(weighted(results), [x for x in given if x is not None])
        found.append([np.array(x.detach().tolist()) for x in (*results, *gradients)])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("cell", CELLS)
def test_gradients_of_both_orders(cell, reverse):
    given = [x for x in inputs(cell, "cpu", 3, 2, 2) if x is not None]
    for x in given:
        x.requires_grad_()

    def run(*xs):
        return weighted(pyburn.rnn_steps(*xs, *([None] if len(xs) == 4 else []), cell, reverse))

    assert pyburn.autograd.gradcheck(run, given)
    assert pyburn.autograd.gradgradcheck(run, given)


@pytest.mark.parametrize("cell", CELLS)
def test_the_gradient_row_is_the_gradient(cell):
    given = inputs(cell, "cpu")
    for x in given:
        if x is not None:
            x.requires_grad_()
    projected, weight, _, h0, c0 = given
    results = pyburn.rnn_steps(*given, cell, False)
    expected = pyburn.autograd.grad(results[0].sum(), [projected, h0])
    plain = [None if x is None else x.detach() for x in (weight, h0, c0, *results)]
    found = pyburn.rnn_steps_grad(pyburn.ones_like(results[0]), None, *plain, cell, False)
    assert pyburn.allclose(found[0], expected[0]) and pyburn.allclose(found[2], expected[1])


def test_steps_and_states_must_fit():
    projected, weight, bias, h0, c0 = inputs("lstm", "cpu")
    with pytest.raises(pyburn.ShapeError, match=r"\[rnn_steps\] the shape of weight does not match"):
        pyburn.rnn_steps(projected, weight, bias, h0, None, "gru", False)
    with pytest.raises(pyburn.ShapeError, match="state"):
        pyburn.rnn_steps(projected, weight, bias, h0[1:], c0, "lstm", False)
    with pytest.raises(ValueError, match="cell must be"):
        pyburn.rnn_steps(projected, weight, bias, h0, c0, "cell", False)
