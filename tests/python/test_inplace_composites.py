"""Composites written in place have a gradient, though they write over the tensor that they were computed from."""

from __future__ import annotations

import pytest

import pyburn


@pytest.mark.parametrize("name", ["relu6", "selu", "celu"])
def test_gradient_of_the_in_place_form(name: str) -> None:
    gradients = []
    for in_place in (False, True):
        x = pyburn.linspace(-2, 8, 11).requires_grad_()
        y = x * 1.5
        y = getattr(y, name + "_")() if in_place else getattr(y, name)()
        (y * y).sum().backward()
        gradients.append(x.grad)
    assert pyburn.equal(*gradients)
