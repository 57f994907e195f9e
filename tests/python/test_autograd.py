"""pyburn.autograd as users of PyTorch know it."""

from __future__ import annotations

import gc
import math
import weakref
from collections import OrderedDict
from typing import Any

import pytest

import pyburn
import pyburn.compat
import pyburn.nn.functional as F
from pyburn import nn
from pyburn.autograd import Function, grad, gradcheck, gradgradcheck


def leaf(*values, dtype=pyburn.float64):
    return pyburn.tensor(list(values), dtype=dtype, requires_grad=True)


def test_backward_accumulates_into_leaves():
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]
    (x * x).sum().backward()
    assert x.grad.tolist() == [4.0, 8.0]
    x.grad = None
    assert x.grad is None


def test_backward_of_a_vector_needs_a_gradient():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        (x * 2).backward()
    (x * 2).backward(pyburn.tensor([1.0, 10.0], dtype=pyburn.float64))
    assert x.grad.tolist() == [2.0, 20.0]


def test_backward_of_inputs_only():
    x, y = leaf(1.0), leaf(2.0)
    (x * y).sum().backward(inputs=[x])
    assert x.grad.tolist() == [2.0] and y.grad is None


def test_gradients_of_any_order():
    x = leaf(2.0)
    value, slopes = x * x * x * x, []
    for _ in range(4):
        (value,) = grad(value.sum(), x, create_graph=True)
        slopes.append(value.item())
    assert slopes == [32.0, 48.0, 48.0, 24.0]


def test_unused_inputs():
    x, y = leaf(1.0), leaf(1.0)
    with pytest.raises(RuntimeError, match="allow_unused"):
        grad((x * 2).sum(), [x, y])
    assert grad((x * 2).sum(), [x, y], allow_unused=True)[1] is None
    assert grad((x * 2).sum(), [x, y], materialize_grads=True)[1].tolist() == [0.0]


def test_second_backward_needs_retain_graph():
    x = leaf(1.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4.0]
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_modes_nest_and_decorate():
    x = leaf(1.0)
    with pyburn.no_grad():
        assert not (x * 2).requires_grad
        with pyburn.enable_grad():
            assert (x * 2).requires_grad
        assert not pyburn.is_grad_enabled()
    assert pyburn.is_grad_enabled()

    @pyburn.no_grad()
    def called(t):
        return t * 2

    @pyburn.no_grad
    def bare(t):
        return t * 2

    @pyburn.no_grad()
    def steps(t):
        yield pyburn.is_grad_enabled()
        yield (t * 2).requires_grad

    assert not called(x).requires_grad and not bare(x).requires_grad
    seen = []
    for value in steps(x):
        seen.append(value)
        assert pyburn.is_grad_enabled()  # the generator's mode does not leak into the loop
    assert seen == [False, False]
    pyburn.set_grad_enabled(False)
    assert not pyburn.is_grad_enabled()
    pyburn.set_grad_enabled(True)
    with pyburn.set_grad_enabled(False):
        assert not pyburn.is_grad_enabled()
    assert pyburn.is_grad_enabled()


def test_modes_are_restored_by_errors():
    with pytest.raises(ValueError), pyburn.no_grad():
        raise ValueError
    assert pyburn.is_grad_enabled()


def test_inference_tensors_stay_out_of_graphs():
    x = leaf(1.0)
    with pyburn.inference_mode():
        y = x * 2
    assert y.is_inference() and not y.requires_grad
    with pytest.raises(RuntimeError, match="saved for backward"):
        y * x
    assert (y.clone() * x).requires_grad


def test_hooks_see_and_replace_gradients():
    x = leaf(1.0, 2.0)
    y = x * 3
    seen = []
    first = y.register_hook(lambda g: seen.append(g.tolist()))
    second = y.register_hook(lambda g: g * 10)
    y.sum().backward()
    assert seen == [[1.0, 1.0]] and x.grad.tolist() == [30.0, 30.0]
    first.remove()
    second.remove()
    x.grad = None
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        pyburn.ones(1).register_hook(print)


def test_errors_of_hooks_reach_the_caller():
    x = leaf(1.0)
    x.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        (x * 2).sum().backward()


def test_retain_grad():
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    (y * y).sum().backward()
    assert y.grad.tolist() == [4.0] and not y.is_leaf and y.grad_fn.name() == "MulBackward0"


def test_detach_and_data():
    x = leaf(1.0, 2.0)
    y = x.detach()
    assert not y.requires_grad and y.data_ptr() == x.data_ptr()
    z = x * 1
    before = z._version
    z.data.add_(1)
    assert z._version == before
    z.detach().add_(1)
    assert z._version == before + 1


def test_overwritten_inputs_are_noticed():
    x = leaf(1.0, 2.0)
    y = x * 1
    z = y * y
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation.*version 1; expected version 0"):
        z.sum().backward()


def test_writes_through_detach_are_noticed_and_through_data_are_not():
    x = leaf(3.0)
    y = x * 1
    z = (y * y).sum()
    y.data.fill_(5.0)
    z.backward(retain_graph=True)  # silently with the new value, as in PyTorch
    assert x.grad.tolist() == [10.0]
    y.detach().fill_(5.0)
    with pytest.raises(RuntimeError, match="inplace"):
        z.backward()


def test_leaves_refuse_writes():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="view of a leaf"):
        x[0].add_(1)
    with pyburn.no_grad():
        x.add_(1)
    assert x.tolist() == [2.0, 3.0]


def test_writing_into_a_view_changes_the_history_of_its_base():
    w = leaf(1.0, 2.0)
    base = pyburn.zeros(4, dtype=pyburn.float64)
    other = base[2:]
    base[:2].copy_(w * 3)
    assert base.requires_grad and base.grad_fn.name() == "CopySlices"
    (base * base).sum().backward()
    assert w.grad.tolist() == [18.0, 36.0]
    assert other.requires_grad  # it sees the same storage


def test_writes_through_views_are_differentiable_twice():
    def function(a):
        b = a * 1
        b[0].mul_(b[1])
        b[:, 1].exp_()
        return b * b

    x = pyburn.rand(3, 2, dtype=pyburn.float64, requires_grad=True)
    assert gradcheck(function, x) and gradgradcheck(function, x)


def test_a_view_made_without_grad_refuses_recorded_writes():
    x = leaf(1.0, 2.0) * 1
    with pyburn.no_grad():
        v = x[0]
    with pytest.raises(RuntimeError, match="no_grad"):
        v.mul_(2)


def test_anomaly_detection_names_the_line():
    x = leaf(-1.0)
    with pyburn.autograd.detect_anomaly(), pytest.raises(RuntimeError, match="(?s)SqrtBackward0.*nan.*test_autograd.py"):
        pyburn.sqrt(x).sum().backward()
    assert not pyburn.is_anomaly_enabled()


def test_gradcheck_finds_a_wrong_rule():
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 3

    x = pyburn.rand(2, dtype=pyburn.float64, requires_grad=True)
    assert not gradcheck(Wrong.apply, x, raise_exception=False)
    with pytest.raises(RuntimeError, match="finite difference"):
        gradcheck(Wrong.apply, x)
    with pytest.raises(RuntimeError, match="along a direction"):
        gradcheck(Wrong.apply, x, fast_mode=True)
    with pytest.warns(UserWarning, match="float64"):
        assert gradcheck(pyburn.exp, pyburn.rand(2, requires_grad=True), eps=1e-2, atol=1e-2, check_batched_grad=True)
    rows = pyburn.rand(3, 2, dtype=pyburn.float64).T.requires_grad_()  # not contiguous
    assert gradcheck(lambda t: (t.sin(), t.detach().round()), rows) and gradcheck(pyburn.sin, rows, fast_mode=True)


def test_backward_takes_results_and_gradients_of_other_dtypes():
    x = leaf(3.0)
    y = x * 2
    (y * y).backward(inputs=[y, x])
    assert y.grad.item() == 12 and x.grad.item() == 24
    halves = pyburn.ones(2, dtype=pyburn.bfloat16, requires_grad=True)
    (halves * 3).backward(pyburn.ones(2))
    assert halves.grad.dtype is pyburn.bfloat16 and halves.grad.tolist() == [3, 3]


def test_hooks_after_a_gradient_is_added():
    x = leaf(1.0)
    seen = []
    handle = x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.item()))
    x.register_post_accumulate_grad_hook(lambda t: t.grad.zero_())
    (x * 2).backward()
    (x * 3).backward()
    assert seen == [2, 3] and x.grad.item() == 0
    handle.remove()
    (x * 4).backward()
    assert seen == [2, 3]
    with pytest.raises(RuntimeError, match="leaf tensors"):
        (x * 2).register_post_accumulate_grad_hook(print)


def test_powers_of_zero_have_a_gradient():
    e = pyburn.tensor([-1.0, 0.0, 1.0], requires_grad=True)
    pyburn.pow(0.0, e).sum().backward()
    assert e.grad.tolist() == [-float("inf"), 0, 0]


def test_graphs_are_freed():
    x = leaf(1.0)
    seen = []

    class Kept:
        pass

    kept = Kept()
    seen.append(weakref.ref(kept))
    y = x * 2
    y.register_hook(lambda g, kept=kept: None)
    del kept, y
    gc.collect()
    assert seen[0]() is None


def test_graph_of_nodes_can_be_walked():
    x = leaf(1.0)
    y = (x * 2).exp()
    node = y.grad_fn
    assert repr(node) == "<ExpBackward0>"
    ((mul, output),) = node.next_functions
    assert mul.name() == "MulBackward0" and output == 0
    assert mul.next_functions[0][0].name() == "AccumulateGrad"
    assert y.grad_fn == node and hash(y.grad_fn) == hash(node)


def test_second_derivative_of_running_products_holds_between_zeros():
    """PyTorch's values."""
    x = pyburn.tensor([2.0, 0.0, 3.0, 0.0, 5.0], dtype=pyburn.float64, requires_grad=True)
    weights = pyburn.tensor([1.0, -2.0, 3.0, 0.5, 2.0], dtype=pyburn.float64)
    others = pyburn.tensor([0.5, 1.0, -1.0, 2.0, 3.0], dtype=pyburn.float64)
    (first,) = pyburn.autograd.grad((pyburn.cumprod(x, 0) * weights).sum(), [x], create_graph=True)
    (second,) = pyburn.autograd.grad((first * others).sum(), [x], create_graph=True)
    (third,) = pyburn.autograd.grad((second * others).sum(), [x])
    assert first.tolist() == [1.0, 14.0, 0.0, 0.0, 0.0]
    assert second.tolist() == [7.0, 123.5, 6.0, 63.0, 0.0]
    assert third.tolist() == [120.0, 120.0, 87.0, 61.5, 48.0]


def test_parts_of_a_tensor_gather_their_gradients():
    """Parts that overlap, that are used twice, and that meet a use of the whole."""
    x = pyburn.arange(12, dtype=pyburn.float32).reshape(3, 4).requires_grad_()
    a, b, c = pyburn.unbind(x, 0)
    whole = x * 2
    y = a * b + c[1:3].sum() * b + x[:, ::2].sum() * x[0, 1] + whole[0] + a
    for retain in (True, False):
        (found,) = pyburn.autograd.grad(y.sum(), [x], retain_graph=retain)
    recorded = x.detach().requires_grad_()
    a, b, c = pyburn.unbind(recorded, 0)
    y = a * b + c[1:3].sum() * b + recorded[:, ::2].sum() * recorded[0, 1] + (recorded * 2)[0] + a
    (expected,) = pyburn.autograd.grad(y.sum(), [recorded], create_graph=True)  # by zeros around each part
    assert found.tolist() == expected.tolist()


def test_a_view_of_elements_that_share_memory_is_not_written_with_gradients() -> None:
    x = pyburn.arange(4.0, requires_grad=True)
    row = x.expand(2, 4).detach()[0]  # a write to it also changes the other row of its base
    with pytest.raises(RuntimeError, match="expanded tensor"):
        row.copy_(x[1:2])
    assert x.tolist() == [0, 1, 2, 3] and not row.requires_grad
    row.copy_(pyburn.ones(4))  # nothing to record
    assert x.tolist() == [1, 1, 1, 1]


def test_a_gradient_has_the_layout_of_its_leaf() -> None:
    w = pyburn.randn(3, 4, requires_grad=True)
    (pyburn.randn(5, 4) @ w.t()).sum().backward()
    assert w.grad.is_contiguous() and w.grad.view(-1).shape == (12,)
    w.grad.mul_(2)  # not a view that may not be written
    x = pyburn.randn(2, 3, 4, 5).contiguous(memory_format=pyburn.channels_last).requires_grad_()
    for create_graph in (False, True):
        x.grad = None
        F.interpolate(x, (3, 3), mode="bilinear").square().sum().backward(create_graph=create_graph)
        assert x.grad.stride() == x.stride()
    (expected,) = pyburn.autograd.grad(F.interpolate(x, (3, 3), mode="bilinear").square().sum(), x)
    assert pyburn.equal(x.grad, expected)
    part = pyburn.randn(4, 6)[:, ::2].T.detach().requires_grad_()  # not dense: plain order
    (part * part).sum().backward()
    assert part.grad.is_contiguous() and pyburn.equal(part.grad, 2 * part)


def test_a_value_that_fills_a_place_twice_counts_once() -> None:
    value = pyburn.tensor(2.0, requires_grad=True)
    y = pyburn.zeros(2, 3).index_fill(-1, pyburn.tensor([0, 2, 0]), value)
    assert y.tolist() == [[2, 0, 2], [2, 0, 2]]
    y.sum().backward()
    assert value.grad.item() == 4


def test_residuals_of_least_squares_have_gradients() -> None:
    pyburn.manual_seed(0)
    a, b = pyburn.randn(5, 2, dtype=pyburn.float64, requires_grad=True), pyburn.randn(5, 3, dtype=pyburn.float64)
    pyburn.linalg.lstsq(a, b, driver="gelsd").residuals.sum().backward()
    rest = a.detach() @ pyburn.linalg.lstsq(a.detach(), b).solution - b
    expected = 2 * rest @ pyburn.linalg.lstsq(a.detach(), b).solution.T  # the derivative by the solution vanishes there
    assert pyburn.allclose(a.grad, expected)


def test_zeros_for_unused_inputs_may_be_differentiated_again() -> None:
    x, a = pyburn.tensor(0.5, requires_grad=True), pyburn.tensor(1.0, requires_grad=True)
    (first,) = pyburn.autograd.grad(x * a, x, create_graph=True)
    (second,) = pyburn.autograd.grad(first, x, create_graph=True, materialize_grads=True)
    (third,) = pyburn.autograd.grad(second, x, materialize_grads=True)
    assert second.item() == third.item() == 0
    assert second.requires_grad and not third.requires_grad


def test_nothing_has_gradients_of_zero() -> None:
    layer = nn.GroupNorm(2, 4)
    layer(pyburn.zeros(0, 4, 2, 2)).sum().backward()
    assert all(p.grad.abs().sum().item() == 0 for p in layer.parameters())


def test_steps_that_are_recorded_keep_what_they_read() -> None:
    p = pyburn.rand(5, dtype=pyburn.float64, requires_grad=True)
    grad = pyburn.rand(5, dtype=pyburn.float64, requires_grad=True)
    parts = [pyburn.rand(5, dtype=pyburn.float64, requires_grad=True) for _ in range(3)]

    def step(p: pyburn.Tensor, grad: pyburn.Tensor, *parts: pyburn.Tensor) -> tuple[pyburn.Tensor, ...]:
        x = p.clone()
        x.grad = grad
        optimizer = pyburn.optim.Adam([x], lr=0.9, amsgrad=True, differentiable=True)
        names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")
        optimizer.state[x].update({"step": pyburn.tensor(10.0), **{name: part.clone() for name, part in zip(names, parts)}})
        optimizer.step()
        return (x, *[value for value in optimizer.state[x].values() if isinstance(value, pyburn.Tensor) and value.requires_grad])

    assert len(step(p, grad, *parts)) == 4
    assert pyburn.autograd.gradcheck(step, (p, grad, *parts))  # it looks at results that want a gradient


def derivatives(function: Any, x: list[float]) -> tuple[list[float], list[float]]:
    p = pyburn.tensor(x, dtype=pyburn.float64, requires_grad=True)
    (first,) = pyburn.autograd.grad(function(p).sum(), p, create_graph=True)
    (second,) = pyburn.autograd.grad(first.sum(), p)
    return first.tolist(), second.tolist()


def test_the_gradient_of_relu_passes_where_its_input_is_nan() -> None:
    x = pyburn.tensor([math.nan, -1.0, 0.0, 2.0], requires_grad=True)
    F.relu(x).sum().backward()
    assert x.grad.tolist() == [1, 0, 0, 1]


@pytest.mark.parametrize("function", [F.elu, F.celu, F.selu])
def test_second_derivatives_of_exponential_units(function: Any) -> None:
    first, second = derivatives(function, [-1.0, 0.0, 1.0, 1000.0])
    scale = first[2]  # of the line
    assert second[0] == pytest.approx(first[0]) and second[1:] == [0, 0, 0]  # at 0 that of the line, and nothing overflows
    assert first[3] == scale


def test_a_second_backward_names_the_argument() -> None:
    y = pyburn.ones(2, requires_grad=True).exp().sum()
    y.backward()
    with pytest.raises(RuntimeError, match="Specify retain_graph=True"):
        y.backward()


def test_gradients_by_name() -> None:
    layer = nn.Linear(2, 1)
    x = pyburn.tensor([[2.0, 3.0]])
    by_name = pyburn.autograd.grad(layer(x).sum(), dict(layer.named_parameters()))
    assert {name: g.tolist() for name, g in by_name.items()} == {"weight": [[2, 3]], "bias": [1]}
    layer(x).sum().backward(inputs={"bias": layer.bias})
    assert layer.weight.grad is None and layer.bias.grad.tolist() == [1]
    with pytest.raises(TypeError, match="must be a dict"):
        pyburn.autograd.grad(layer(x).sum(), OrderedDict(layer.named_parameters()))
    for empty in ({}, []):
        with pytest.raises(RuntimeError, match="cannot be empty"):
            pyburn.autograd.grad(layer(x).sum(), empty)
        with pytest.raises(RuntimeError, match="cannot be empty"):
            pyburn.autograd.backward(layer(x).sum(), inputs=empty)


def test_a_variable_has_a_history_of_its_own(torch: Any) -> None:
    x = torch.ones(2)
    y = torch.autograd.Variable(x, requires_grad=True)
    assert y.requires_grad and not x.requires_grad and y.data_ptr() == x.data_ptr()
    assert not torch.autograd.Variable(y * 2).requires_grad


def test_a_gradient_is_a_tensor() -> None:
    x = pyburn.ones(2)
    with pytest.raises(TypeError, match="expected to be a Tensor or None"):
        x.grad = 0
    with pytest.raises(RuntimeError, match="floating point"):
        pyburn.ones(2, dtype=pyburn.int64).requires_grad_()


def test_gradients_lie_in_memory_as_their_leaves_do_also_where_they_are_returned() -> None:
    x = pyburn.randn(2, 3, 4, 5).contiguous(memory_format=pyburn.channels_last).requires_grad_()
    for layer in (nn.Sigmoid(), nn.Tanhshrink(), nn.Conv2d(3, 2, 3)):
        for create_graph in (False, True):
            (g,) = pyburn.autograd.grad(layer(x).square().sum(), x, create_graph=create_graph)
            assert g.stride() == x.stride()
        assert pyburn.autograd.grad(g.sum(), x)[0].stride() == x.stride()
    cell = nn.GRUCell(3, 4)
    for g in pyburn.autograd.grad(cell(pyburn.randn(2, 3)).sum(), list(cell.parameters())):
        assert g.is_contiguous()
