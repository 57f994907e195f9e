"""The order in which hooks of the backward pass run, and what they may return, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pyburn
from pyburn import Tensor, nn
from pyburn.autograd import Function, grad


class Order(list[str]):
    """Hooks that write down their names."""

    def hook(self, name: str, change: Callable[[Tensor], Tensor] | None = None) -> Callable[..., Any]:
        def call(*gradients: Any) -> Any:
            self.append(name)
            return change(gradients[0]) if change else None

        return call


def leaf(value: float = 1.0, size: int = 2) -> Tensor:
    return pyburn.full((size,), value).requires_grad_()


def test_hooks_of_a_leaf_run_before_its_gradient_grows_and_the_others_after() -> None:
    order, w = Order(), leaf()
    w.register_post_accumulate_grad_hook(order.hook("after"))
    w.register_hook(order.hook("first"))
    w.register_hook(order.hook("second", lambda g: g * 2))
    (w * 3).sum().backward()
    assert order == ["first", "second", "after"] and w.grad.tolist() == [6, 6]


def test_leaves_run_as_soon_as_their_gradients_are_complete() -> None:
    order, w, v = Order(), leaf(), leaf()
    for name, t in (("w", w), ("v", v)):
        t.register_hook(order.hook(name))
        t.register_post_accumulate_grad_hook(order.hook(f"after {name}"))
    a, b = w * 2, v * 3
    c, d = a + b, a * b
    e = c * d
    for name, t in {"a": a, "b": b, "c": c, "d": d, "e": e}.items():
        t.register_hook(order.hook(name))
    e.sum().backward()
    assert order == ["e", "d", "c", "b", "v", "after v", "a", "w", "after w"]


def test_leaves_of_one_operation_run_in_the_order_of_its_arguments() -> None:
    order = Order()
    ws = [leaf(size=1) for _ in range(4)]
    for i, w in enumerate(ws):
        w.register_hook(order.hook(str(i)))
    (ws[0] * ws[1] + ws[2] * ws[3]).backward()
    assert "".join(order) == "2301"
    order.clear()
    pyburn.addcmul(ws[2], ws[0], ws[1]).backward()
    assert "".join(order) == "201"


def test_a_leaf_waits_for_all_of_its_uses() -> None:
    order, w = Order(), leaf()
    kept = w * 5  # an older graph, which is still there
    w.register_hook(order.hook("w"))
    x = w * 2
    y = x * w
    x.register_hook(order.hook("x"))
    (y + w).sum().backward()
    assert order == ["x", "w"] and w.grad.tolist() == [5, 5]
    kept.sum().backward()
    assert order == ["x", "w", "w"] and w.grad.tolist() == [10, 10]


def test_an_optimiser_may_step_during_the_backward_pass() -> None:
    model = nn.Sequential(*[nn.Linear(4, 4) for _ in range(5)])
    alive: list[int] = []

    def step(p: Tensor) -> None:
        alive.append(sum(q.grad is not None for q in model.parameters()))
        p.grad = None

    for p in model.parameters():
        p.register_post_accumulate_grad_hook(step)
    model(pyburn.ones(2, 4)).sum().backward()
    assert alive == [1] * 10  # never more than one gradient at a time


def test_retained_gradients_are_those_after_all_hooks() -> None:
    w = leaf()
    x = w * 2
    x.retain_grad()
    x.register_hook(lambda g: g * 10)
    assert x.retains_grad and not w.retains_grad
    x.sum().backward()
    assert x.grad.tolist() == [10, 10] and w.grad.tolist() == [20, 20]


def test_a_retained_gradient_follows_its_tensor_through_writes() -> None:
    order, w = Order(), leaf()
    x = w * 2
    x.retain_grad()
    x.register_hook(order.hook("before the write"))
    x.mul_(3)
    x.register_hook(order.hook("after it"))
    x.sum().backward()
    assert order == ["after it", "before the write"] and x.grad.tolist() == [1, 1] and w.grad.tolist() == [6, 6]


def test_results_can_be_asked_for() -> None:
    w = leaf()
    x = w * 2
    x.register_hook(lambda g: g * 3)
    x.retain_grad()
    x.sum().backward(inputs=[x], retain_graph=True)
    assert x.grad.tolist() == [3, 3] and w.grad is None
    x.sum().backward(inputs=[w])
    assert x.grad.tolist() == [6, 6] and w.grad.tolist() == [6, 6]
    y = leaf() * 2
    (y * 3).sum().backward(inputs=[y])
    assert y.grad.tolist() == [3, 3] and y.retains_grad


def test_hooks_change_a_captured_gradient_only_where_the_pass_ends() -> None:
    w = leaf()
    x = w * 2
    x.register_hook(lambda g: g * 3)
    assert grad(x.sum(), x, retain_graph=True)[0].tolist() == [3, 3]
    of_w, of_x = grad((x * 1).sum(), (w, x))
    assert of_w.tolist() == [6, 6] and of_x.tolist() == [1, 1]


def test_hooks_that_change_the_list_of_hooks_change_the_next_pass() -> None:
    order, w = Order(), leaf()
    handles: list[Any] = []

    def first(_: Tensor) -> None:
        order.append("first")
        handles[0].remove()
        w.register_hook(order.hook("added"))

    w.register_hook(first)
    handles.append(w.register_hook(order.hook("removed")))
    (w * 2).sum().backward()
    assert order == ["first", "removed"]
    order.clear()
    (w * 2).sum().backward()
    assert order == ["first", "added"]


def test_hooks_of_modules_run_around_those_of_their_parameters() -> None:
    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(2, 2, bias=False), nn.Linear(2, 1, bias=False)

        def forward(self, x: Tensor) -> Tensor:
            return self.b(self.a(x))

    order, model = Order(), Both()
    for name, module in (("m", model), ("a", model.a), ("b", model.b)):
        module.register_full_backward_pre_hook(order.hook(f"pre {name}"))
        module.register_full_backward_hook(order.hook(f"full {name}"))
        module.register_full_backward_hook(order.hook(f"first {name}"), prepend=True)
    for name, p in model.named_parameters():
        p.register_hook(order.hook(name))
        p.register_post_accumulate_grad_hook(order.hook(f"after {name}"))
    x = pyburn.ones(3, 2, requires_grad=True)
    x.register_hook(order.hook("x"))
    y = model(x)
    y.register_hook(order.hook("y"))
    y.sum().backward()
    assert order == [
        "y", "pre m", "pre b", "b.weight", "after b.weight", "first b", "full b",
        "pre a", "a.weight", "after a.weight", "first a", "full a", "first m", "full m", "x",
    ]  # fmt: skip


# --- what hooks may return -----------------------------------------------------------------------------------------------

WRONG = {
    "size": (lambda g: pyburn.ones(5), RuntimeError, "hook 'wrong' has changed the size of value"),
    "as many elements": (lambda g: g.reshape(-1), RuntimeError, "changed the size"),
    "dtype": (lambda g: g.double(), RuntimeError, "hook 'wrong' has changed the type of value"),
    "integers": (lambda g: g.long(), RuntimeError, "changed the type"),
    "device": (lambda g: g.to("meta"), RuntimeError, "changed the device"),
    "number": (lambda g: 1.0, TypeError, "float"),
    "tuple": (lambda g: (g,), TypeError, "tuple"),
}


@pytest.mark.parametrize("of_leaf", [True, False])
@pytest.mark.parametrize("name", WRONG)
def test_a_hook_must_return_a_gradient_like_its_argument(name: str, of_leaf: bool) -> None:
    change, error, message = WRONG[name]

    def wrong(g: Tensor) -> Any:
        return change(g)

    w = pyburn.ones(2, 3, requires_grad=True)
    x = w * 2
    (w if of_leaf else x).register_hook(wrong)
    with pytest.raises(error, match=message):
        x.sum().backward()
    assert w.grad is None


@pytest.mark.parametrize("before", [True, False])
def test_a_hook_of_a_node_returns_a_tuple_like_its_argument(before: bool) -> None:
    def run(result: Any) -> Tensor | None:
        w = pyburn.ones(2, 3, requires_grad=True)
        x = w.exp()
        (x.grad_fn.register_prehook if before else x.grad_fn.register_hook)(lambda *gradients: result)
        x.sum().backward()
        return w.grad

    ones = pyburn.ones(2, 3)
    assert run(None) is not None and run((None,)) is None and run((ones,)) is not None
    for result, error, message in (
        ((pyburn.ones(5),), RuntimeError, "changed the size"),
        ((ones.double(),), RuntimeError, "changed the type"),
        ((ones, ones), RuntimeError, "incorrect number of values .got 2, but expected 1"),
        ((), RuntimeError, "incorrect number of values .got 0, but expected 1"),
        (ones, TypeError, "expected a tuple, but hook returned '.*Tensor'"),
        ((1.0,), TypeError, "expected a Tensor, but hook returned 'float'"),
    ):
        with pytest.raises(error, match=message):
            run(result)


class OfPython(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)


@pytest.mark.parametrize("register", ["register_full_backward_hook", "register_full_backward_pre_hook"])
@pytest.mark.parametrize("make", [lambda: nn.Linear(3, 3), OfPython])
def test_a_hook_of_a_module_must_return_gradients_like_its_argument(register: str, make: Callable[[], Any]) -> None:
    for result, error, message in (
        ((pyburn.ones(5),), RuntimeError, "hook 'hook' has changed the size of value"),
        ((pyburn.ones(2, 3).double(),), RuntimeError, "hook 'hook' has changed the type of value"),
        ((pyburn.ones(2, 3), pyburn.ones(2, 3)), RuntimeError, "invalid number of grad_.*, got 2, but expected 1"),
        ((1.0,), TypeError, "hook returned 'float'"),
    ):
        model = make()
        getattr(model, register)(lambda *gradients: result)  # noqa: B023
        with pytest.raises(error, match=message):
            model(pyburn.ones(2, 3, requires_grad=True)).sum().backward()


# --- what the backward of a Function may return --------------------------------------------------------------------------


def through(backward: Callable[[Tensor], Any], inputs: int = 1) -> list[Tensor | None]:
    class Through(Function):
        @staticmethod
        def forward(ctx: Any, *xs: Tensor) -> Tensor:
            return xs[0] * 2

        @staticmethod
        def backward(ctx: Any, *gradients: Tensor) -> Any:
            return backward(gradients[0])

    xs = [pyburn.ones(2, 3, requires_grad=True) for _ in range(inputs)]
    Through.apply(*xs).sum().backward()
    return [x.grad for x in xs]


@pytest.mark.parametrize("shape", [(5,), (3, 2), (6,), (), (3,), (2, 1)])
def test_the_gradient_of_a_function_must_have_the_shape_of_its_input(shape: tuple[int, ...]) -> None:
    with pytest.raises(RuntimeError, match="ThroughBackward returned an invalid gradient at index 0 - got .* but expected shape"):
        through(lambda g: pyburn.ones(shape))


def test_the_gradient_of_a_function_is_summed_and_cast_to_fit_its_input() -> None:
    (g,) = through(lambda g: pyburn.ones(4, 2, 3))
    assert g.shape == (2, 3) and g[0, 0] == 4
    for dtype in (pyburn.float64, pyburn.float16, pyburn.int64, pyburn.bool):
        (g,) = through(lambda g, dtype=dtype: g.to(dtype))
        assert g.dtype == pyburn.float32 and g[0, 0] == 1


def test_a_function_returns_one_gradient_per_input() -> None:
    for found, inputs in (((1, 1), 1), ((1,), 2), ((), 1)):
        with pytest.raises(RuntimeError, match=rf"incorrect number of gradients \(expected {inputs}, got {len(found)}\)"):
            through(lambda g: tuple(g for _ in found), inputs)  # noqa: B023
    assert through(lambda g: (g, None, None), 2)[1] is None
    with pytest.raises(RuntimeError, match="got float"):
        through(lambda g: 3.0)


def test_gradients_stay_on_the_device_of_their_tensors() -> None:
    with pytest.raises(RuntimeError, match="invalid gradient at index 0 - expected device .* but got .*meta"):
        through(lambda g: g.to("meta"))
    w = leaf()
    with pytest.raises(RuntimeError, match="invalid gradient at index 0 - expected device .* but got .*meta"):
        (w * 2).backward(pyburn.ones(2, device="meta"))
    with pytest.raises(RuntimeError, match="got 2 tensors and 1 gradients"):
        grad([w * 2, w * 3], w, [pyburn.ones(2)])
    with pytest.raises(RuntimeError, match="own grad"):
        w.grad = w
