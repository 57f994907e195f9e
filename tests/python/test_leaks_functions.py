"""Functions of users, and errors on the way, leave nothing behind, however a graph ends."""

from __future__ import annotations

import gc
import weakref

import pytest
from tests.python.leaks import check, fails, leaf, only_what_is_new, table  # noqa: F401  (a fixture)

import pyburn
from pyburn import autograd
from pyburn.autograd.function import once_differentiable


def function(forward, backward=None, **more):
    members = {"forward": forward, "backward": backward or (lambda ctx, g: g * 2), **more}
    return type("Made", (autograd.Function,), {name: staticmethod(f) for name, f in members.items()})


def saves_input(ctx, x):
    ctx.save_for_backward(x)
    return x * 2


def saves_output(ctx, x):
    y = x.exp()
    ctx.save_for_backward(y)
    return y


def saves_two_outputs(ctx, x):
    y, z = x.exp(), x.sin()
    ctx.save_for_backward(y, None, z, x)
    return y, z


def saves_intermediate(ctx, x):
    t = x.exp()
    ctx.save_for_backward(t)
    return t * 2


def output_as_attribute(ctx, x):
    ctx.y = x * 2
    return ctx.y


def output_beside_other_things(ctx, x):
    ctx.things = {"y": x * 2, "ctx": ctx}
    return ctx.things["y"], "text", 3


def saves_a_view_of_the_output(ctx, x):
    y = x * 2
    ctx.part = y[:3]
    ctx.save_for_backward(ctx.part)
    return y


def writes_its_input(ctx, x):
    x.mul_(2)
    ctx.mark_dirty(x)
    ctx.save_for_backward(x)
    return x


def returns_its_input(ctx, x):
    ctx.save_for_backward(x)
    return x


def with_an_output_without_gradient(ctx, x):
    y = x.argmax()
    ctx.mark_non_differentiable(y)
    ctx.save_for_backward(y)
    return x * 2, y


def squares_the_gradient(ctx, *g):
    (y,) = ctx.saved_tensors
    return g[0] * y


PLAIN = function(lambda ctx, x: x * 2)


MADE = {
    f.__name__: function(f, b)
    for f, b in [
        (saves_input, squares_the_gradient),
        (saves_output, squares_the_gradient),
        (saves_two_outputs, lambda ctx, g, h: g * ctx.saved_tensors[0] + h * ctx.saved_tensors[2] + ctx.saved_tensors[3]),
        (saves_intermediate, squares_the_gradient),
        (output_as_attribute, lambda ctx, g: g * ctx.y.detach()),
        (output_beside_other_things, lambda ctx, g, *others: g),
        (saves_a_view_of_the_output, None),
        (writes_its_input, squares_the_gradient),
        (returns_its_input, squares_the_gradient),
        (with_an_output_without_gradient, lambda ctx, g, h: g * ctx.saved_tensors[0]),
    ]
}


def first(result):
    return result[0] if isinstance(result, tuple) else result


@pytest.mark.parametrize("mode", ["forward", "backward", "twice", "retained", "packed"])
@pytest.mark.parametrize("name", MADE)
def test_functions_leave_nothing_behind(name, mode):
    def program(on):
        x = leaf()
        saved = autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t) if mode == "packed" else pyburn.enable_grad()
        with saved:
            y = first((MADE[name] if on else PLAIN).apply(x * 1))
        if mode == "twice":
            (g,) = autograd.grad(y.sum(), x, create_graph=True)
            if g.requires_grad:
                g.sum().backward()
                x.grad = None
        elif mode == "retained":
            y.sum().backward(retain_graph=True)
        elif mode != "forward":
            y.sum().backward()

    check(program)


def test_saved_outputs_die_with_their_last_name():
    """No collection is needed: an output that is saved is not kept by what saves it."""
    x = leaf()
    gc.collect()
    gc.disable()
    try:
        for name in ("saves_output", "saves_two_outputs", "writes_its_input"):
            y = first(MADE[name].apply(x * 1))
            died = weakref.ref(y)
            before = pyburn.device("cpu").memory()["in_use"]
            del y
            assert died() is None, name
            assert pyburn.device("cpu").memory()["in_use"] < before, name
    finally:
        gc.enable()


def test_saved_outputs_have_their_history():
    x = pyburn.tensor([0.5], requires_grad=True)
    y = MADE["saves_output"].apply(x)
    g = y
    for _ in range(3):  # every derivative of exp is exp
        (g,) = autograd.grad(g.sum(), x, create_graph=True)
    assert abs(g.item() - y.item()) < 1e-6


def test_saved_outputs_that_were_written_are_an_error():
    y = MADE["saves_output"].apply(leaf())
    with pyburn.no_grad():
        y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def setup_context(on):
    made = function(lambda x: x * 2, setup_context=lambda ctx, inputs, output: vars(ctx).update(y=output, x=inputs)) if on else PLAIN
    made.apply(leaf()).sum().backward()


def differentiated_once(on):
    backward = lambda ctx, g: g * ctx.saved_tensors[0]  # noqa: E731
    x = leaf()
    y = function(saves_output, once_differentiable(backward) if on else backward).apply(x)
    autograd.grad(y.sum(), x, create_graph=True)


def context_that_outlives_its_function(on):
    kept = []

    def forward(ctx, x):
        kept.append(ctx)
        return saves_output(ctx, x)

    y = function(forward if on else saves_output, squares_the_gradient).apply(leaf())
    del y
    for ctx in kept:
        assert not ctx.saved_tensors[0].requires_grad


# ---- errors on the way


def error_in_forward(on):
    made = function(fails) if on else PLAIN
    try:
        made.apply(leaf() * 2).sum()
    except ArithmeticError:
        assert on


def error_in_backward(on):
    x = leaf()
    try:
        function(saves_output, fails if on else squares_the_gradient).apply(x).sum().backward()
    except ArithmeticError:
        assert on


def error_in_a_hook(on):
    x = leaf()
    y = x * 2
    y.register_hook(fails if on else lambda g: g)
    try:
        (y * y).sum().backward()
    except ArithmeticError:
        assert on


def error_in_pack_and_unpack(on):
    x = leaf()
    for pack, unpack in ((fails, lambda t: t), (lambda t: t, fails)):
        try:
            with autograd.graph.saved_tensors_hooks(pack, unpack) if on else pyburn.enable_grad():
                y = x.exp()
            y.sum().backward()
        except ArithmeticError:
            assert on


def error_of_the_core(on):
    x = leaf() * 1
    y = (x * x).sum()
    if on:
        with pyburn.no_grad():
            x.add_(1)
    try:
        y.backward()
    except RuntimeError:
        assert on


@table(
    [
        *[setup_context, differentiated_once, context_that_outlives_its_function],
        *[error_in_forward, error_in_backward, error_in_a_hook, error_in_pack_and_unpack, error_of_the_core],
    ]
)
def test_functions_and_errors_leave_nothing_behind(program):
    check(program)
