"""pyburn.autograd.graph: hooks on nodes, on several gradients and on tensors kept for backward."""

from __future__ import annotations

import pickle

import pytest

import pyburn
from pyburn.autograd import Function, graph


def leaf(*values: float) -> pyburn.Tensor:
    return pyburn.tensor(values, requires_grad=True)


def test_hooks_of_a_node_see_and_replace_gradients():
    x = leaf(1.0, 2.0)
    y = x * 3
    seen = []
    before = y.grad_fn.register_prehook(lambda outputs: (seen.append("before"), (outputs[0] * 2,))[1])
    after = y.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs[0].tolist(), outputs[0].tolist())))
    y.sum().backward(retain_graph=True)
    assert seen == ["before", ([6.0, 6.0], [2.0, 2.0])]
    before.remove()
    after.remove()
    x.grad = None
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0] and len(seen) == 2


def test_hook_of_an_accumulator_runs_when_grad_has_grown():
    x = leaf(1.0)
    accumulator = x.expand_as(x).grad_fn.next_functions[0][0]
    seen = []
    accumulator.register_hook(lambda inputs, outputs: seen.append((inputs, x.grad.item())))
    (x * 5).backward()
    assert seen == [((), 5.0)]


def test_a_hook_must_return_as_many_gradients_of_the_same_shape():
    y = leaf(1.0, 2.0) * 3
    y.grad_fn.register_prehook(lambda outputs: (outputs[0], outputs[0]))
    with pytest.raises(RuntimeError, match="incorrect number of values .got 2, but expected 1"):
        y.sum().backward()
    z = leaf(1.0, 2.0) * 3
    z.grad_fn.register_hook(lambda inputs, outputs: (inputs[0][:1], *inputs[1:]))
    with pytest.raises(RuntimeError, match="changed the size"):
        z.sum().backward()


def test_classes_of_nodes_have_the_names_of_their_rules():
    y = leaf(1.0).exp()
    assert type(y.grad_fn).__name__ == y.grad_fn.name() == "ExpBackward0"
    assert isinstance(y.grad_fn, graph.Node) and y.grad_fn == y.grad_fn
    assert type(y.grad_fn.next_functions[0][0]).__name__ == "AccumulateGrad"
    assert graph.get_gradient_edge(y) == (y.grad_fn, y.output_nr)
    with pytest.raises(RuntimeError, match="gradient edge"):
        graph.get_gradient_edge(pyburn.ones(1))


def test_saved_tensors_are_packed_and_unpacked():
    x, packed, unpacked = leaf(2.0, 3.0), [], []

    def pack(tensor):
        packed.append(tuple(tensor.shape))
        return pickle.dumps(tensor.tolist())

    def unpack(data):
        unpacked.append(len(data))
        return pyburn.tensor(pickle.loads(data))

    with graph.saved_tensors_hooks(pack, unpack):
        y = (x * x).exp()
    assert len(packed) == 3 and not unpacked  # both factors, and the result of exp
    y.sum().backward()
    wanted = leaf(2.0, 3.0)
    (wanted * wanted).exp().sum().backward()
    assert pyburn.allclose(x.grad, wanted.grad) and len(unpacked) == 3
    (x * x).sum()
    assert len(packed) == 3


def test_a_gradient_of_a_gradient_goes_through_saved_tensors_hooks():
    x = leaf(2.0)
    with graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t.clone()):
        (slope,) = pyburn.autograd.grad(x**3, x, create_graph=True)
    slope.backward()
    assert x.grad.item() == pytest.approx(12.0)


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 3 * gradient * x * x


def test_a_function_packs_what_it_saves():
    x, packed = leaf(2.0), []
    with graph.saved_tensors_hooks(lambda t: (packed.append(t), t + 1)[1], lambda t: t - 1):
        y = Cube.apply(x)
    assert len(packed) == 1
    (slope,) = pyburn.autograd.grad(y, x, create_graph=True)
    slope.backward()
    assert slope.item() == 12.0 and x.grad.item() == 12.0


def test_save_for_backward_takes_tensors_only():
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, 3)
            return x * 1

    with pytest.raises(TypeError, match="argument 1 is a int"):
        Wrong.apply(leaf(1.0))


def test_save_on_cpu_and_disabled_hooks():
    x = leaf(3.0)
    with graph.save_on_cpu(pin_memory=True):
        y = x * x
    y.backward()
    assert x.grad.item() == 6.0
    with graph.disable_saved_tensors_hooks("not here"), pytest.raises(RuntimeError, match="not here"), graph.save_on_cpu():
        pass
    with graph.save_on_cpu():
        pass


def test_saved_tensors_may_be_written_where_that_is_allowed():
    x = leaf(3.0)
    with graph.allow_mutation_on_saved_tensors():
        y = x * 2
        z = y * y
        y.zero_()
    z.backward()
    assert x.grad.item() == 24.0
    with pytest.raises(RuntimeError, match="no saved-tensor hooks"):
        graph.save_on_cpu().__exit__()
    with pytest.raises(TypeError, match="expected tensors"):
        pyburn.autograd.grad(leaf(1.0) * 2, [3])


def test_an_unpack_hook_must_give_the_tensor_back():
    x = leaf(3.0)
    with graph.saved_tensors_hooks(lambda t: t, lambda t: 5):
        y = x * x
    with pytest.raises(TypeError, match="must return a Tensor"):
        y.backward()
    with graph.saved_tensors_hooks(lambda t: t, lambda t: pyburn.ones(7)):
        y = x * x
    with pytest.raises(RuntimeError, match="another shape"):
        y.backward()


def test_multi_grad_hooks():
    a, b, c = leaf(1.0), leaf(2.0), leaf(3.0)
    gathered, first = [], []
    all_of = graph.register_multi_grad_hook((a, b, c), lambda gs: gathered.append([g if g is None else g.item() for g in gs]))
    graph.register_multi_grad_hook((a, b), lambda g: first.append(g.item()), mode="any")
    (a * b * c).backward()
    assert gathered == [[6.0, 3.0, 2.0]] and len(first) == 1
    (a * b).backward()  # c takes no part
    assert gathered[1] == [2.0, 1.0, None] and len(first) == 2
    all_of.remove()
    (a * b * c).backward()
    assert len(gathered) == 2
    with pytest.raises(ValueError, match="mode"):
        graph.register_multi_grad_hook((a,), print, mode="some")


def test_increment_version_is_noticed_in_backward():
    x = leaf(2.0)
    y = x * 2
    z = y * y
    graph.increment_version(y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


def test_derivatives_of_functions_of_a_number():
    functional = pyburn.autograd.functional
    x = pyburn.tensor(2.0)
    assert functional.jacobian(lambda t: t**3, x).item() == 12.0
    assert functional.hessian(lambda t: t**3, x).item() == 12.0
    with pytest.raises(TypeError, match="tuple of Tensors"):
        functional.vjp(lambda t: t, (x, 3))
    with pytest.raises(TypeError, match="outputs of the function"):
        functional.hessian(lambda t: 3, x)
    with pytest.raises(ValueError, match="strategy"):
        functional.jacobian(lambda t: t, x, strategy="sideways")


def test_gradients_in_batches():
    x = leaf(1.0, 2.0)
    weights = pyburn.eye(2)
    (found,) = pyburn.autograd.grad(x * x, x, weights, is_grads_batched=True)
    assert found.tolist() == [[2.0, 0.0], [0.0, 4.0]]
    y = leaf(1.0)
    assert pyburn.autograd.grad(x * x, (x, y), weights, is_grads_batched=True, allow_unused=True)[1] is None


def test_callbacks_run_when_the_pass_is_through():
    x, order = leaf(1.0), []
    engine = pyburn.autograd.Variable._execution_engine

    def hook(gradient):
        engine.queue_callback(lambda: (order.append("first"), engine.queue_callback(lambda: order.append("second"))))
        order.append("hook")

    x.register_hook(hook)
    (x * 2).backward()
    assert order == ["hook", "first", "second"] and x.grad.item() == 2.0
    with pytest.raises(RuntimeError, match="while a backward pass runs"):
        engine.queue_callback(print)
