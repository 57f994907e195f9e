"""Mixed precision: which dtypes come out, that gradients flow, and the scaler's bookkeeping."""

import threading
from collections import namedtuple

import numpy as np
import pytest

import pyburn
from pyburn import amp, nn, optim
from pyburn.amp import custom_fwd
from pyburn.autograd import Function

F = nn.functional
X = pyburn.tensor(np.linspace(-1, 1, 24, dtype=np.float32).reshape(4, 6))
LOW, FULL = pyburn.bfloat16, pyburn.float32


def image():
    return pyburn.ones(1, 2, 5, 5)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x @ x.T, LOW),
        (lambda x: pyburn.mm(x, x.T), LOW),
        (lambda x: pyburn.bmm(x[None], x.T[None]), LOW),
        (lambda x: pyburn.addmm(pyburn.ones(4), x, x.T), LOW),
        (lambda x: pyburn.einsum("ij,kj->ik", x, x), LOW),
        (lambda x: F.linear(x, pyburn.ones(3, 6), pyburn.ones(3)), LOW),
        (lambda x: F.conv2d(image(), pyburn.ones(3, 2, 3, 3), pyburn.ones(3)), LOW),
        (lambda x: F.conv1d(image()[0], pyburn.ones(3, 5, 3)), LOW),
        (lambda x: pyburn.conv_transpose2d(image(), pyburn.ones(2, 3, 3, 3), pyburn.ones(3)), LOW),
        (lambda x: pyburn.scaled_dot_product_attention(x, x, x), LOW),
        (lambda x: pyburn.scaled_dot_product_attention(x, x, x, pyburn.ones(4, 4)), LOW),
        (lambda x: x.bfloat16().exp(), FULL),
        (lambda x: x.bfloat16().abs().log(), FULL),
        (lambda x: x.bfloat16() ** 2, FULL),
        (lambda x: x.bfloat16().sum(), FULL),
        (lambda x: x.bfloat16().mean(0), FULL),
        (lambda x: x.bfloat16().prod(0), FULL),
        (lambda x: x.bfloat16().cumsum(0), FULL),
        (lambda x: x.bfloat16().norm(), FULL),
        (lambda x: x.bfloat16().softmax(-1), FULL),
        (lambda x: x.bfloat16().log_softmax(-1), FULL),
        (lambda x: x.bfloat16().logsumexp(-1), FULL),
        (lambda x: F.layer_norm(x.bfloat16(), (6,), pyburn.ones(6), pyburn.ones(6)), FULL),
        (lambda x: F.cross_entropy(x.bfloat16(), pyburn.tensor([0, 1, 2, 3])), FULL),
        *((lambda x, f=f: f(x.bfloat16(), x.bfloat16(), reduction="none"), FULL) for f in (F.mse_loss, F.l1_loss, F.smooth_l1_loss)),
        *((lambda x, f=f: f(x.bfloat16(), x.bfloat16(), reduction="none"), FULL) for f in (F.huber_loss, F.kl_div, F.soft_margin_loss)),
        (lambda x: F.binary_cross_entropy_with_logits(x.bfloat16(), x.bfloat16(), reduction="none"), FULL),
        (lambda x: pyburn.pairwise_distance(x.bfloat16(), x.bfloat16()), FULL),
        (lambda x: x + 1, FULL),
        (lambda x: x.bfloat16() + 1, LOW),
        (lambda x: x.bfloat16() + x, FULL),
        (lambda x: F.relu(x.bfloat16()), LOW),
        (lambda x: x.double() @ x.double().T, pyburn.float64),
        (lambda x: x.bfloat16().double().exp(), pyburn.float64),
        (lambda x: (x > 0).sum(), pyburn.int64),
        (lambda x: pyburn.sum(x.bfloat16(), dtype=LOW), LOW),
    ],
)
@pytest.mark.parametrize("device", ["autodiff(cpu)", "autodiff(fusion(cpu))", "autodiff(numpy)"])
def test_dtypes(function, expected, device):
    usual = pyburn.get_default_device()
    pyburn.set_default_device(device)
    try:
        x = pyburn.tensor(X.tolist())
        with pyburn.autocast("cpu", dtype=LOW):
            y = function(x)
        assert y.dtype == expected
        if expected == LOW:
            exact = function(x).float()
            assert float((y.float() - exact).abs().max()) <= 0.02 * float(exact.abs().max()) + 0.01
    finally:
        pyburn.set_default_device(usual)


def test_off_by_default_and_after():
    assert not pyburn.is_autocast_enabled() and (X @ X.T).dtype == FULL
    with pyburn.autocast("cpu"):
        assert pyburn.is_autocast_enabled() and pyburn.get_autocast_dtype("cpu") == LOW
        with pyburn.autocast("cpu", enabled=False):
            assert (X @ X.T).dtype == FULL
        with pyburn.autocast("cpu", dtype=pyburn.float16):
            assert (X @ X.T).dtype == pyburn.float16
        assert (X @ X.T).dtype == LOW
    assert not pyburn.is_autocast_enabled() and (X @ X.T).dtype == FULL


def test_is_of_one_thread():
    found = []
    with pyburn.autocast("cpu"):
        thread = threading.Thread(target=lambda: found.append((X @ X.T).dtype))
        thread.start()
        thread.join()
    assert found == [FULL]


def test_decorates():
    @pyburn.autocast("cpu")
    def product(x):
        """Squares."""
        return x @ x.T

    assert product(X).dtype == LOW and product.__doc__ == "Squares." and (X @ X.T).dtype == FULL


def test_ends_after_an_error():
    with pytest.raises(ZeroDivisionError), pyburn.autocast("cpu"):
        raise ZeroDivisionError
    assert not pyburn.is_autocast_enabled()


def test_gradients_flow_to_float32():
    layer = nn.Linear(6, 3)
    with pyburn.autocast("cpu"):
        y = layer(X)
        loss = (y.softmax(-1) ** 2).sum()
        assert y.dtype == LOW and loss.dtype == FULL
        loss.backward()  # inside: gradients are never autocast
    got = layer.weight.grad
    layer.zero_grad()
    (layer(X).softmax(-1) ** 2).sum().backward()
    assert got.dtype == FULL
    np.testing.assert_allclose(got.numpy(), layer.weight.grad.numpy(), atol=0.02)


def test_casts_of_parameters_are_kept():
    layer = nn.Linear(6, 3)
    with pyburn.autocast("cpu"):
        one = layer(X).sum()
        two = layer(X).sum()
        one.backward()
        two.backward()
        before = layer(X)
        with pyburn.no_grad():
            layer.weight.zero_()
            layer.bias.zero_()
        assert layer(X).abs().sum().item() == 0 and before.abs().sum().item() > 0
    with pyburn.autocast("cpu"):
        with pyburn.no_grad():
            layer(X)
        layer(X).sum().backward()
    with pyburn.autocast("cpu", cache_enabled=False):
        layer(X).sum().backward()
    np.testing.assert_allclose(layer.weight.grad.numpy(), np.broadcast_to(4 * X.sum(0).numpy(), (3, 6)), atol=0.05)


def test_in_place_keeps_its_dtype():
    x = X.bfloat16()
    with pyburn.autocast("cpu"):
        x.exp_()
        x += 1
    assert x.dtype == LOW


def test_an_unsupported_dtype_turns_it_off():
    with pytest.warns(UserWarning, match="dtype is not supported"):
        context = pyburn.autocast("cpu", dtype=pyburn.float64)
    with context:
        assert (X @ X.T).dtype == FULL
    with pytest.raises(ValueError, match="device_type"):
        pyburn.autocast(3)


def test_a_model_trains():
    pyburn.manual_seed(0)
    x = pyburn.rand(64, 1) * 2 - 1
    y = pyburn.sin(x * 3)
    model = nn.Sequential(nn.Linear(1, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = optim.AdamW(model.parameters(), lr=0.02)
    scaler = amp.GradScaler(init_scale=1024.0)
    for _ in range(120):
        optimizer.zero_grad()
        with pyburn.autocast("cpu"):
            loss = F.mse_loss(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    assert loss.item() < 0.03


# --- GradScaler ---


def setting(value=1.0, **options):
    p = nn.Parameter(pyburn.ones(2))
    optimizer = optim.SGD([p], lr=1.0)
    scaler = amp.GradScaler(**{"init_scale": 8.0, "growth_interval": 2, **options})
    p.grad = pyburn.full((2,), value)
    return p, optimizer, scaler


def test_the_scale_moves():
    p, optimizer, scaler = setting(4.0)
    assert scaler.scale(pyburn.ones(1)).item() == 8.0
    assert [t.item() for t in scaler.scale([pyburn.ones(1), pyburn.ones(1)])] == [8.0, 8.0]
    scaler.step(optimizer)
    scaler.update()
    assert p.tolist() == [0.5, 0.5] and scaler.get_scale() == 8.0
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 16.0
    at = p.tolist()
    for bad in (float("inf"), float("nan")):
        p.grad = pyburn.tensor([1.0, bad])
        assert scaler.step(optimizer) is None
        scaler.update()
        assert p.tolist() == at
    assert scaler.get_scale() == 4.0
    scaler.update(new_scale=pyburn.tensor(2.0))
    assert scaler.get_scale() == 2.0


def test_unscaled_for_clipping():
    p, optimizer, scaler = setting(16.0)
    scaler.unscale_(optimizer)
    assert p.grad.tolist() == [2.0, 2.0]
    p.grad.clamp_(max=0.5)
    scaler.step(optimizer)
    assert p.tolist() == [0.5, 0.5]


def test_state_of_the_scaler():
    _, optimizer, scaler = setting()
    scaler.step(optimizer)
    scaler.update()
    saved = scaler.state_dict()
    assert saved == {"scale": 8.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2, "_growth_tracker": 1}
    other = amp.GradScaler()
    other.load_state_dict(saved)
    assert other.state_dict() == saved
    off = amp.GradScaler(enabled=False)
    assert off.state_dict() == {} and off.get_scale() == 1.0 and not off.is_enabled() and off.scale(3) == 3
    with pytest.raises(RuntimeError, match="source state dict is empty"):
        other.load_state_dict({})
    for name, value in (("growth_factor", 3.0), ("backoff_factor", 0.25), ("growth_interval", 7)):
        getattr(other, f"set_{name}")(value)
        assert getattr(other, f"get_{name}")() == value


def test_a_disabled_scaler_only_steps():
    p, optimizer, scaler = setting(0.5, enabled=False)
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert p.tolist() == [0.5, 0.5]


def test_mistakes_with_the_scaler():
    _, optimizer, scaler = setting()
    with pytest.raises(AssertionError, match="prior to update"):
        scaler.update()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="already been called on this optimizer"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="after step"):
        scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="already been called since"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="Closure"):
        scaler.step(optimizer, closure=lambda: 0)
    with pytest.raises(AssertionError, match="growth factor"):
        amp.GradScaler(growth_factor=1.0)
    with pytest.raises(AssertionError, match="backoff factor"):
        amp.GradScaler(backoff_factor=1.0)
    half = nn.Parameter(pyburn.ones(1, dtype=pyburn.float16))
    half.grad = pyburn.ones(1, dtype=pyburn.float16)
    with pytest.raises(ValueError, match="FP16"):
        scaler.unscale_(optim.SGD([half]))
    empty = optim.SGD([nn.Parameter(pyburn.ones(1))])
    with pytest.raises(AssertionError, match="No inf checks were recorded for this"):
        scaler.step(empty)


def test_inputs_in_named_tuples_are_cast() -> None:
    Pair = namedtuple("Pair", ["x", "count"])

    class Sum(Function):
        @staticmethod
        @custom_fwd(cast_inputs=pyburn.float32)
        def forward(ctx, pair, more):
            assert isinstance(pair, Pair) and pair.count == 2
            return pair.x + more["y"][0]

    with pyburn.autocast("cpu"):
        half = pyburn.ones(2, dtype=pyburn.bfloat16)
        assert Sum.apply(Pair(half, 2), {"y": [half]}).dtype == pyburn.float32
