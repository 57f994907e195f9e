"""The tape leaves nothing behind: hooks, saved tensors, views, writes, derivatives."""

from __future__ import annotations

import gc
import weakref

import pytest
from tests.python.leaks import N, check, fails, leaf, only_what_is_new, table  # noqa: F401  (a fixture)

import pyburn
from pyburn import autograd

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
