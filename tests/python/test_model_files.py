"""What model files written for PyTorch do with layers and functions, and that pyburn once did not take."""

from __future__ import annotations

from typing import Any

import pytest

import pyburn
from pyburn import nn
from pyburn.utils.checkpoint import checkpoint, checkpoint_sequential


def test_words_of_numpy_are_taken() -> None:
    x = pyburn.arange(6.0).reshape(2, 3)
    assert x.sum(axis=1).tolist() == [3, 12] and x.mean(axis=0, keepdims=True).shape == (1, 3)
    assert x.max(axis=1).values.tolist() == [2, 5] and x.std(axis=1).shape == (2,)
    assert pyburn.cat([x, x], axis=1).shape == (2, 6) and pyburn.add(x1=x, x2=x).sum() == 30
    assert [len(part) for part in pyburn.arange(5).split(split_size=2)] == [2, 2, 1]
    assert [len(part) for part in pyburn.arange(5).split(split_size=[1, 4], dim=0)] == [1, 4]
    with pytest.raises(TypeError, match="axes"):
        x.sum(axes=1)
    with pytest.raises(TypeError, match="twice"):
        x.cumsum(0, axis=1)


def test_flags_may_be_numbers_or_none() -> None:
    assert nn.Linear(2, 3, 0).bias is None and nn.Conv2d(1, 1, 1, bias=None).bias is None
    assert nn.BatchNorm1d(2, affine=0).weight is None and nn.LSTM(2, 3, bidirectional=1).bidirectional is True
    with pytest.raises(TypeError, match="bias"):
        nn.Linear(2, 3, "no")


def test_lists_of_modules_may_have_gaps() -> None:
    layers = nn.ModuleList([nn.ReLU(), None])
    layers.append(None)
    layers[0] = None
    layers.append(nn.Linear(1, 2))
    assert [layer is None for layer in layers] == [True, True, True, False] and list(layers.state_dict()) == ["3.weight", "3.bias"]


def test_init_may_run_twice() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(1, 1)
            nn.Module.__init__(self)
            self.second = nn.Linear(1, 1)

    assert [name for name, _ in Twice().named_children()] == ["second"]

    class Mixin:
        def __init__(self, size: int = 1) -> None:
            self.size = size

    class Together(nn.Module, Mixin):
        call_super_init = True

        def __init__(self) -> None:
            super().__init__(size=3)

    class Alone(nn.Module):
        def __init__(self) -> None:
            super().__init__(size=3)

    assert Together().size == 3
    with pytest.raises(TypeError, match="unexpected keyword argument 'size'"):
        Alone()


def test_checkpoints_without_an_input_that_wants_a_gradient() -> None:
    layer, x = nn.Linear(3, 3), pyburn.ones(2, 3)
    checkpoint(layer, x, use_reentrant=False).sum().backward()
    assert layer.weight.grad is not None and float(layer.weight.grad.sum()) == 18
    a, b, c = (pyburn.full((2,), float(n), requires_grad=True) for n in (2, 3, 5))
    result, number = checkpoint(lambda first, pair, *, factor: (first * pair[0] + pair[1]["k"] * factor, 7), a, (b, {"k": c}), factor=a * 1)
    result.sum().backward()
    assert number == 7 and a.grad.tolist() == [8, 8] and b.grad.tolist() == [2, 2] and c.grad.tolist() == [2, 2]
    chain = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    checkpoint_sequential(chain, 2, x).sum().backward()
    assert all(p.grad is not None for p in chain.parameters())
    with pyburn.no_grad():
        assert not checkpoint(layer, x).requires_grad


def test_checkpoints_run_again_with_the_autocast_they_ran_with() -> None:
    layer, seen = nn.Linear(3, 3), []

    def run(x: Any) -> Any:
        y = layer(x)
        seen.append(y.dtype)
        return y

    with pyburn.autocast("cpu", dtype=pyburn.bfloat16):
        y = checkpoint(run, pyburn.ones(2, 3))
    y.sum().backward()
    assert seen == [pyburn.bfloat16] * 2


def test_functions_of_functions() -> None:
    x = pyburn.tensor([1.0, 2.0])
    assert pyburn.func.grad(pyburn.func.grad(lambda t: t**3))(pyburn.tensor(2.0)) == 12
    slope, value = pyburn.func.grad_and_value(lambda t, k: (t**2).sum() * k)(x, 3.0)
    assert slope.tolist() == [6, 12] and value == 15 and not slope.requires_grad
    assert pyburn.func.hessian(lambda t: (t**3).sum())(x).tolist() == [[6, 0], [0, 12]]
    assert pyburn.func.jvp(pyburn.sin, (pyburn.zeros(()),), (pyburn.ones(()),))[1] == 1
    assert pyburn.func.vjp(lambda t: t * t, x)[1](pyburn.ones(2))[0].tolist() == [2, 4]
    net = nn.Linear(2, 1)
    weights = {name: p.detach() for name, p in net.named_parameters()}

    def loss(parameters: Any, sample: Any) -> Any:
        return pyburn.func.functional_call(net, parameters, (sample,)).square().sum()

    batch = pyburn.randn(4, 2)
    each = pyburn.func.vmap(pyburn.func.grad(loss), in_dims=(None, 0))(weights, batch)
    net(batch).square().sum().backward()
    assert each["weight"].shape == (4, 1, 2) and pyburn.allclose(each["weight"].sum(0), net.weight.grad, atol=1e-5)
    assert pyburn.func.vmap(lambda t: t * 2, in_dims=1, out_dims=1)(batch).shape == (4, 2)
    x = pyburn.tensor([1.0, 2.0, 3.0], requires_grad=True)
    cubes = x**3
    rows = pyburn.func.vmap(lambda v: pyburn.autograd.grad(cubes, x, v)[0])(pyburn.eye(3))
    assert rows.tolist() == [[3.0, 0.0, 0.0], [0.0, 12.0, 0.0], [0.0, 0.0, 27.0]]
    with pytest.raises(pyburn.GradientError, match="second time"):
        pyburn.autograd.grad(cubes.sum(), x)


def test_derivatives_of_functions() -> None:
    f = pyburn.autograd.functional
    x, y = pyburn.tensor([1.0, 2.0]), pyburn.tensor([3.0, 4.0])
    (by_x, by_y), (sum_by_x, sum_by_y) = f.jacobian(lambda a, b: (a * b, a.sum()), (x, y))
    assert by_x.tolist() == [[3, 0], [0, 4]] and by_y.tolist() == [[1, 0], [0, 2]]
    assert sum_by_x.tolist() == [1, 1] and sum_by_y.tolist() == [0, 0]
    assert f.hessian(lambda a: (a**3).sum(), x).tolist() == [[6, 0], [0, 12]]
    assert f.hvp(lambda a: (a**3).sum(), x, y)[1].tolist() == [18, 48]
    assert f.jvp(lambda a: a * a, x, y)[1].tolist() == [6, 16] and f.vjp(lambda a: a * a, x, y)[1].tolist() == [6, 16]
    with pytest.raises(RuntimeError, match="strict"):
        f.jacobian(lambda a, b: a.sum(), (x, y), strict=True)


@pytest.mark.parametrize(
    "layer", [nn.Linear(2, 3), nn.Conv2d(2, 3, 1), nn.ConvTranspose2d(2, 3, 1)], ids=lambda layer: type(layer).__name__
)
def test_a_weight_may_be_computed_in_place_of_a_parameter(layer: Any) -> None:
    """Spectral norm as many files write it: the parameter leaves the registry, and its place is taken by a tensor before each call."""
    x = pyburn.ones(1, 2) if isinstance(layer, nn.Linear) else pyburn.ones(1, 2, 1, 1)
    plain = layer(x) - (bias := layer.bias.detach().reshape(-1, *[1] * (x.ndim - 2)))
    layer.register_parameter("weight_bar", nn.Parameter(layer.weight.data))
    del layer._parameters["weight"]
    layer.weight = layer.weight_bar * 2
    assert pyburn.allclose(layer(x) - bias, plain * 2, atol=1e-6) and list(layer.state_dict()) == ["bias", "weight_bar"]
    layer(x).sum().backward()
    assert layer.weight_bar.grad.abs().sum() > 0


def test_lists_of_modules_print_places() -> None:
    class Normed(nn.ModuleList):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.first, self.second = nn.LayerNorm(2), nn.ReLU(), nn.ReLU()

    text = repr(Normed())
    assert "(0): LayerNorm(" in text and "(1-2): 2 x ReLU()" in text and "norm" not in text
