"""Functions of users, checkpointing and rules that are differentiable once."""

from __future__ import annotations

import pytest

import pyburn
import pyburn.compat
from pyburn.autograd import Function, gradcheck, gradgradcheck
from pyburn.utils.checkpoint import checkpoint, checkpoint_sequential


def leaf(*values, dtype=pyburn.float64):
    return pyburn.tensor(list(values), dtype=dtype, requires_grad=True)


class Cube(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return x * x * x * scale

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x * x * ctx.scale, None


def test_custom_functions():
    x = pyburn.rand(3, dtype=pyburn.float64, requires_grad=True)
    assert gradcheck(lambda t: Cube.apply(t, 2.0), x) and gradgradcheck(lambda t: Cube.apply(t, 2.0), x)
    assert Cube.apply(x, 1.0).grad_fn.name() == "CubeBackward"


def test_custom_functions_with_several_outputs():
    class Split(Function):
        @staticmethod
        def forward(ctx, x):
            index = pyburn.argmax(x)
            ctx.mark_non_differentiable(index)
            return x * 2, x * 3, index

        @staticmethod
        def backward(ctx, g2, g3, _):
            return g2 * 2 + g3 * 3

    x = leaf(1.0, 2.0)
    a, b, index = Split.apply(x)
    assert not index.requires_grad
    a.sum().backward(retain_graph=True)  # b's gradient arrives as zeros
    assert x.grad.tolist() == [2.0, 2.0]


def test_custom_functions_that_write_their_input():
    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(1.0, 2.0)
    y = x * 1
    assert Double.apply(y) is y
    (y * y).sum().backward()
    assert x.grad.tolist() == [8.0, 16.0]


def test_wrong_gradients_of_custom_functions():
    class Short(Function):
        @staticmethod
        def forward(ctx, a, b):
            return a * b

        @staticmethod
        def backward(ctx, g):
            return g

    with pytest.raises(RuntimeError, match="incorrect number of gradients .expected 2, got 1"):
        Short.apply(leaf(1.0), leaf(1.0)).sum().backward()


def test_checkpointing_equals_plain_and_repeats_random_numbers():
    def block(t):
        return (t * pyburn.rand(3, dtype=pyburn.float64)).exp()

    x = pyburn.rand(3, dtype=pyburn.float64, requires_grad=True)
    pyburn.manual_seed(3)
    checkpoint(block, x).sum().backward()
    found, x.grad = x.grad, None
    pyburn.manual_seed(3)
    block(x).sum().backward()
    assert pyburn.equal(found, x.grad)


def test_checkpoint_sequential():
    x = leaf(0.1, 0.2)
    steps = [pyburn.exp, pyburn.sin, pyburn.tanh, lambda t: t * t]
    checkpoint_sequential(steps, 2, x).sum().backward()
    found, x.grad = x.grad, None
    y = x
    for step in steps:
        y = step(y)
    y.sum().backward()
    assert pyburn.allclose(found, x.grad)
    with pytest.raises(ValueError, match="segments"):
        checkpoint_sequential(steps, 5, x)


def test_a_rule_that_is_differentiable_once():
    class Cube(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        @pyburn.autograd.function.once_differentiable
        def backward(ctx, g):
            return 3 * g * ctx.saved_tensors[0] ** 2

    x = leaf(2.0)
    (slope,) = pyburn.autograd.grad(Cube.apply(x), x, leaf(1.0), create_graph=True)
    assert slope.item() == 12
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.backward()
