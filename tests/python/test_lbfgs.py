"""LBFGS: steps, mistakes and the state are PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest
from tests.python.optim_helpers import GOLDEN, optim_cases, parameter

import pyburn
import pyburn.compat
from pyburn import nn, optim


@pytest.mark.parametrize("case", GOLDEN["lbfgs"], ids=lambda row: str(row["options"]))
def test_lbfgs_is_pytorchs(case):
    places, optimizer = optim_cases.rosenbrock(pyburn, case["options"])
    np.testing.assert_allclose(places, case["places"], rtol=1e-6, atol=1e-9)
    assert optimizer.state_dict()["state"][0]["func_evals"] == case["func_evals"]


def test_lbfgs_mistakes():
    p = parameter()
    with pytest.raises(TypeError, match="closure"):
        optim.LBFGS([p]).step()
    with pytest.raises(ValueError, match="parameter groups"):
        optim.LBFGS([{"params": [p]}, {"params": [parameter()]}])
    optimizer = optim.LBFGS([p])

    def broken():
        raise RuntimeError("no loss today")

    with pytest.raises(RuntimeError, match="no loss today"):
        optimizer.step(broken)


def test_lbfgs_saves_what_pytorch_looks_for():
    p = pyburn.nn.Parameter(pyburn.ones(2))
    optimizer = optim.LBFGS([p], history_size=3)

    def closure():
        optimizer.zero_grad()
        loss = (p**2).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    saved = optimizer.state_dict()
    optimizer.load_state_dict(saved)
    assert "al" not in optimizer.state[p]


def test_lbfgs_remembers_no_step_out_of_range() -> None:
    w = nn.Parameter(pyburn.tensor([[0.5, 1.0, -2.0]]))
    x = pyburn.tensor([1.0, -2.0, 3.0])
    optimizer = pyburn.optim.LBFGS([w], maximize=True)

    def closure() -> pyburn.Tensor:
        optimizer.zero_grad()
        loss = w.mv(x).pow(2).sum()
        loss.backward()
        return loss

    for _ in range(5):
        optimizer.step(closure)
    assert closure().item() == float("inf")


def test_the_state_of_lbfgs_has_pytorchs_kinds() -> None:
    p, q = (nn.Parameter(pyburn.tensor([3.0, -2.0])) for _ in range(2))

    def steps(x: nn.Parameter, optimizer: pyburn.optim.LBFGS) -> None:
        def closure() -> pyburn.Tensor:
            optimizer.zero_grad()
            loss = ((x - 1) ** 4).sum()
            loss.backward()
            return loss

        optimizer.step(closure)

    one = pyburn.optim.LBFGS([p], max_iter=3)
    steps(p, one)
    saved = one.state_dict()["state"][0]
    assert all(isinstance(r, pyburn.Tensor) for r in [*saved["ro"], saved["H_diag"]]) and saved["ro"][0].shape == ()
    other = pyburn.optim.LBFGS([q], max_iter=3)
    other.load_state_dict(one.state_dict())
    q.data.copy_(p.data)
    steps(p, one)
    steps(q, other)
    assert pyburn.allclose(p, q, rtol=1e-6)


def test_a_line_search_that_climbs_for_ever_reaches_infinity() -> None:
    """Along a parabola that opens downwards every step that the search tries comes from rounding; none is NaN."""
    for seed in range(4):
        pyburn.manual_seed(seed)
        weight, bias, x = nn.Parameter(pyburn.randn(10, 5)), nn.Parameter(pyburn.randn(10)), pyburn.randn(5)
        optimizer = pyburn.optim.LBFGS([weight, bias], maximize=True, line_search_fn="strong_wolfe")

        def closure() -> pyburn.Tensor:
            optimizer.zero_grad()  # noqa: B023
            loss = (weight.mv(x) + bias).square().sum()  # noqa: B023
            loss.backward()
            return loss

        for _ in range(20):
            optimizer.step(closure)
        assert closure().item() == float("inf")
