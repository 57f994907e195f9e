"""The tape leaves nothing behind: hooks, Functions, saved tensors, errors in the backward pass."""

from __future__ import annotations

import gc
import weakref

import pytest
from tests.python.leaks import check, only_what_is_new, table  # noqa: F401  (a fixture)

import pyburn
from pyburn import autograd
from pyburn.autograd.function import once_differentiable

N = 256  # elements: 1 KB of tensor, and each of them is seen


def leaf():
    return pyburn.ones(N, requires_grad=True)


# ---- hooks of tensors


def tensor_hook(on):
    x = leaf()
    y = x * 2
    if on:
        y.register_hook(lambda g: g * 2)
    y.sum().backward()


def leaf_hook_over_its_leaf(on):
    x = leaf()
    if on:
        x.register_hook(lambda g: g * x.detach())
    (x * 2).sum().backward()


def leaf_hook_over_its_leaf_before_any_pass(on):
    x = leaf()
    if on:
        x.register_hook(lambda g: g * x.detach())


def tensor_hook_over_its_tensor(on):
    y = leaf() * 2
    if on:
        y.register_hook(lambda g: g * y.detach())
    y.sum().backward()


def tensor_hook_over_its_tensor_without_a_pass(on):
    y = leaf() * 2
    if on:
        y.register_hook(lambda g: g * y.detach())


def leaf_hook_over_a_result(on):
    x = leaf()
    y = (x * 2).exp()
    if on:
        x.register_hook(lambda g: g * y.detach())


def leaf_hook_over_leaf_and_result(on):
    x = leaf()
    y = (x * 2).exp()
    if on:
        x.register_hook(lambda g: g * y.detach() * x.detach())


def hook_over_a_result_of_several_paths(on):
    x = leaf()
    y = x * 2
    z = y * y + y.exp()
    if on:
        y.register_hook(lambda g: g * z.detach())


class Watcher:
    def __init__(self, tensor, on):
        self.tensor = tensor
        if on:
            tensor.register_hook(self.hook)

    def hook(self, g):
        return g * self.tensor.detach()


def bound_method_of_an_object_with_the_tensor(on):
    Watcher(leaf() * 2, on).tensor.sum().backward()


def post_accumulate_hook_over_its_leaf(on):
    x = leaf()
    if on:
        x.register_post_accumulate_grad_hook(lambda p: x.grad.zero_())
    (x * 2).sum().backward()


def removed_hooks(on):
    x = leaf()
    y = x * 2
    handles = [x.register_hook(lambda g: g), y.register_hook(lambda g: y.detach()), y.grad_fn.register_hook(lambda *g: None)] if on else []
    y.sum().backward()
    for handle in handles:
        handle.remove()


def hook_that_removes_itself(on):
    x = leaf()
    if on:
        handle = x.register_hook(lambda g: handle.remove())
    (x * 2).sum().backward()


def hook_on_a_view(on):
    x = leaf() * 1
    part = x[:10]
    if on:
        part.register_hook(lambda g: g * part.detach())
    part.sum().backward()


def attribute_of_a_leaf(on):
    x = leaf()
    if on:
        x.result = x * 2


def retained_gradient(on):
    y = leaf() * 2
    if on:
        y.retain_grad()
    y.sum().backward(retain_graph=True)
    y.exp().sum().backward()


def retained_gradient_with_a_hook_over_it(on):
    y = leaf() * 2
    if on:
        y.retain_grad()
        y.register_hook(lambda g: y.grad)
    y.sum().backward()


# ---- hooks of nodes


def node_hooks(on):
    y = leaf() * 2
    if on:
        y.grad_fn.register_hook(lambda dx, dy: None)
        y.grad_fn.register_prehook(lambda dy: None)
    y.sum().backward()


def node_hook_over_its_node(on):
    node = (leaf() * 2).grad_fn
    if on:
        node.register_hook(lambda dx, dy: print(node))


def node_hook_over_node_and_tensor(on):
    y = leaf() * 2
    node = y.grad_fn
    if on:
        node.register_prehook(lambda dy: print(node, y))
    y.sum().backward()


def node_hook_over_its_handle(on):
    y = leaf() * 2
    if on:
        handle = y.grad_fn.register_hook(lambda dx, dy: handle.remove())
        handle.more = y
    y.sum().backward(retain_graph=True)


def walked_graph(on):
    y = ((leaf() * 2).exp() + 1).sum()
    todo = [y.grad_fn] if on else []
    seen = []
    while todo:
        node = todo.pop()
        seen.append(node)
        todo += [n for n, _ in node.next_functions if n is not None]
    seen.append(seen)


def multi_grad_hook(on):
    x, y = leaf(), leaf()
    if on:
        autograd.graph.register_multi_grad_hook((x, y), lambda grads: print(end="" if x is y else ""))
        autograd.graph.register_multi_grad_hook((x, y), lambda grad: None, mode="any")
    (x * y).sum().backward()


def multi_grad_hook_of_a_pass_that_fails(on):
    x, y = leaf(), leaf()
    z = y * 1
    if on:
        autograd.graph.register_multi_grad_hook((x, z), lambda grads: None)
    z.register_hook(fails)
    with pytest.raises(ArithmeticError):
        (x * 2 + z).sum().backward()


# ---- saved tensors


def saved_tensors_hooks(on):
    x = leaf()
    if not on:
        y = x.exp() * x
    else:
        with autograd.graph.saved_tensors_hooks(lambda t: [t], lambda kept: kept[0]):
            y = x.exp() * x
    y.sum().backward()


def packed_tensor_that_holds_the_result(on):
    x = leaf()
    kept = []
    with autograd.graph.saved_tensors_hooks(lambda t: (t, kept), lambda packed: packed[0]):
        y = x.exp()
    if on:
        kept.append(y)


def saved_on_cpu(on):
    x = leaf()
    with autograd.graph.save_on_cpu() if on else pyburn.enable_grad():
        y = x.exp() * x
    y.sum().backward()


# ---- Functions


def fails(*args):
    raise ArithmeticError("on purpose")


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


# ---- the rest of the tape


def in_place(on):
    x = leaf() * 2
    if on:
        x.mul_(2).add_(x.detach())
        x[:5].mul_(3)
        x[1] = 4.0
        x.view(2, -1).t().exp_()
    x.sum().backward()


def views(on):
    x = leaf()
    y = x * 2
    if on:
        y = y.view(2, -1).t()[::2].unsqueeze(0).expand(2, -1, -1)
    y.sum().backward()


def dropped_graph(on):
    x = leaf()
    y = x
    for _ in range(10 if on else 1):
        y = (y * x).sin() + y
    y.detach_()


def double_backward(on):
    x = leaf()
    (g,) = autograd.grad((x**3).sum(), x, create_graph=on)
    if on:
        autograd.grad((g * g).sum(), x)


def gradient_modes(on):
    x = leaf()
    with pyburn.inference_mode() if on else pyburn.no_grad():
        x * 2
    with pyburn.autograd.set_detect_anomaly(on):
        (x * 2).sum().backward()


def autocast(on):
    x = pyburn.ones(16, 16, requires_grad=True)
    with pyburn.autocast("cpu", enabled=on):
        y = x @ x
    y.float().sum().backward()


def gradients_with_a_history(on):
    """The gradient of a leaf holds the graph, and the graph holds the leaf."""
    layer, x = pyburn.nn.Linear(16, 16), leaf()
    loss = (layer(x.reshape(16, 16)) ** 3).sum()
    loss.backward(create_graph=on)
    loss.backward(create_graph=on) if on else None


def assigned_gradient_with_a_history(on):
    x = leaf()
    (g,) = autograd.grad((x**3).sum(), x, create_graph=True)
    if on:
        x.grad = g


def functional_derivatives(on):
    x = pyburn.ones(4)
    f = lambda t: (t**3).sum()  # noqa: E731
    if on:
        pyburn.func.grad(f)(x)
        pyburn.func.hessian(f)(x)
        pyburn.func.jacrev(lambda t: t.exp())(x)
        pyburn.func.vjp(lambda t: t.exp(), x)[1](x)
        pyburn.func.vmap(pyburn.func.grad(f))(x.reshape(2, 2))
        autograd.functional.jacobian(lambda t: t.exp(), x)
        autograd.functional.hvp(f, x, x)


@table(
    [
        *[tensor_hook, leaf_hook_over_its_leaf, leaf_hook_over_its_leaf_before_any_pass, tensor_hook_over_its_tensor],
        *[tensor_hook_over_its_tensor_without_a_pass, leaf_hook_over_a_result, leaf_hook_over_leaf_and_result],
        *[hook_over_a_result_of_several_paths, bound_method_of_an_object_with_the_tensor, post_accumulate_hook_over_its_leaf],
        *[removed_hooks, hook_that_removes_itself, hook_on_a_view, attribute_of_a_leaf],
        *[retained_gradient, retained_gradient_with_a_hook_over_it],
        *[node_hooks, node_hook_over_its_node, node_hook_over_node_and_tensor, node_hook_over_its_handle, walked_graph],
        *[multi_grad_hook, multi_grad_hook_of_a_pass_that_fails],
        *[saved_tensors_hooks, packed_tensor_that_holds_the_result, saved_on_cpu],
        *[setup_context, differentiated_once, context_that_outlives_its_function],
        *[error_in_forward, error_in_backward, error_in_a_hook, error_in_pack_and_unpack, error_of_the_core],
        *[gradients_with_a_history, assigned_gradient_with_a_history],
        *[in_place, views, dropped_graph, double_backward, gradient_modes, autocast, functional_derivatives],
    ]
)
def test_the_tape_leaves_nothing_behind(program):
    check(program)


# ---- what the collector must not take


def test_hooks_of_tensors_that_others_hold_stay():
    """A collection sees cycles through the tape, and leaves those that somebody can still reach."""

    def graph():
        x = leaf()
        y = x * 2
        x.register_hook(lambda g: seen.append(("x", x is not None and y is not None)))
        y.register_hook(lambda g: seen.append(("y", y is not None)))
        y.grad_fn.register_prehook(lambda dy: seen.append(("node", y is not None)))
        return y.exp().sum()

    seen = []
    total = graph()
    held = pyburn.nn.ParameterList([leaf()])
    held[0].register_hook(lambda g: seen.append(("parameter", held[0] is not None)))
    total = total + (held[0] * 2).sum()
    gc.collect()
    total.backward()
    assert sorted(seen) == [("node", True), ("parameter", True), ("x", True), ("y", True)]


def test_gradients_with_a_history_that_others_hold_stay():
    """Of several leaves with such gradients, those stay that a tensor, a result or the gradient of another leaf still leads to."""

    def graph():
        x, y, z = leaf(), leaf(), leaf()
        (x**2 * y).sum().backward(create_graph=True)
        (z**2).sum().backward(create_graph=True)
        return x, z.grad

    gc.collect()  # what other tests left
    before = pyburn.device("cpu").memory()["in_use"]
    x, z_grad = graph()
    gc.collect()
    x.grad.sum().backward()  # 2xy: through y, which only the graph holds
    z_grad.sum().backward()
    assert x.grad.tolist() == z_grad.tolist() == [4.0] * N
    del x, z_grad
    gc.collect()
    assert pyburn.device("cpu").memory()["in_use"] == before


def test_a_node_has_one_object_while_it_is_held():
    y = leaf() * 2
    node = y.grad_fn
    assert node is y.grad_fn and node is y.sum().grad_fn.next_functions[0][0]
    gc.collect()
    assert node.name() == "MulBackward0" and node == y.grad_fn and hash(node) == hash(y.grad_fn)


def test_a_collection_goes_through_a_long_tape():
    """Without recursion: the cycle is 100,000 nodes long."""

    def made():
        x = leaf()
        y = x
        for _ in range(100_000):
            y = y + 1
        x.register_hook(lambda g: y)
        gc.collect()
        return weakref.ref(y)

    died = made()
    assert died() is not None
    gc.collect()
    assert died() is None
