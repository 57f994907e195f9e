"""Long chains of views take linear time and memory, and none of their walks overflows the stack."""

from __future__ import annotations

import io
import time
from collections.abc import Callable

import pytest

import pyburn

VIEWS: dict[str, Callable[[pyburn.Tensor], pyburn.Tensor]] = {
    "t": lambda x: x.t(),
    "view": lambda x: x.view(2, 2),
    "narrow": lambda x: x.narrow(0, 0, 2),
    "slice": lambda x: x[:],
    "unsqueeze": lambda x: x.unsqueeze(0).squeeze(0),
}


def chain(view: Callable[[pyburn.Tensor], pyburn.Tensor], x: pyburn.Tensor, count: int) -> pyburn.Tensor:
    for _ in range(count):
        x = view(x)
    return x


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("gradient", [False, True])
def test_a_long_chain_of_views(name: str, gradient: bool) -> None:
    leaf = pyburn.ones(2, 2, requires_grad=gradient)
    began = time.process_time()
    last = chain(VIEWS[name], leaf, 30_000)
    assert "1., 1." in repr(last)
    pyburn.save(last.detach(), io.BytesIO())
    if gradient:
        last.sum().backward()
        assert leaf.grad is not None and leaf.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    del last
    assert time.process_time() - began < 5


@pytest.mark.parametrize("gradient", [False, True])
def test_writing_through_a_long_chain_of_views(gradient: bool) -> None:
    base = pyburn.ones(2, 2, requires_grad=gradient) * 1
    last = chain(lambda x: x.t(), base, 30_001)
    began = time.process_time()
    last[0, 1] = 5.0
    assert base.detach().tolist() == [[1.0, 1.0], [5.0, 1.0]]
    if gradient:
        base.sum().backward()
    assert time.process_time() - began < 5


def test_three_hundred_thousand_transposes() -> None:
    last = chain(lambda x: x.t(), pyburn.ones(2, 3, requires_grad=True), 300_000)
    assert tuple(last.shape) == (2, 3)
    del last
