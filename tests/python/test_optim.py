"""Optimisers: values of PyTorch's, groups, state dicts, messages."""

import pytest

import pyburn
from pyburn import nn, optim

# (class, options, the parameter after 1, 2 and 3 steps from 1.0 with gradients 0.5, -1.0, 2.0), made with PyTorch in float64
VALUES = [
    ("SGD", {"lr": 0.1}, [0.95, 1.05, 0.8500000000000001]),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5}, [0.95, 0.955, 0.8594999999999999]),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}, [0.886, 1.010566, 0.6414486460000001]),
    ("SGD", {"lr": 0.1, "maximize": True}, [1.05, 0.9500000000000001, 1.1500000000000001]),
    ("Adam", {"lr": 0.1}, [0.900000002, 0.9366103542405654, 0.8946447927181046]),
    (
        "Adam",
        {"lr": 0.1, "betas": (0.5, 0.9), "eps": 0.001, "weight_decay": 0.1},
        [0.9001663893510815, 0.9523226900103454, 0.8800828364818214],
    ),
    ("Adam", {"lr": 0.1, "amsgrad": True, "maximize": True}, [1.099999998, 1.0633896457594345, 1.1053552072818953]),
    ("Adam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}, [0.890000002, 0.9177103542205653, 0.8665676891558989]),
    ("AdamW", {"lr": 0.1}, [0.899000002, 0.9347113542385653, 0.8918110813618659]),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.2, "amsgrad": True}, [0.880000002, 0.8990103542005653, 0.8390645855940932]),
]


def parameter(value=1.0, dtype=pyburn.float64):
    return nn.Parameter(pyburn.full((1,), value, dtype=dtype))


def set_gradient(p, value):
    p.grad = pyburn.full((1,), value, dtype=p.dtype)


@pytest.mark.parametrize(("name", "options", "expected"), VALUES)
def test_values(name, options, expected):
    p = parameter()
    optimizer = getattr(optim, name)([p], **options)
    for gradient, after in zip((0.5, -1.0, 2.0), expected):
        set_gradient(p, gradient)
        optimizer.step()
        assert p.item() == pytest.approx(after, abs=1e-12)


@pytest.mark.parametrize("dtype", [pyburn.float32, pyburn.float16, pyburn.bfloat16])
def test_other_dtypes(dtype):
    p = parameter(dtype=dtype)
    optimizer = optim.Adam([p], lr=0.25)
    set_gradient(p, 1.0)
    optimizer.step()
    assert p.item() == pytest.approx(0.75, abs=0.01) and optimizer.state[p]["exp_avg"].dtype == dtype


def test_groups():
    a, b, c = parameter(), parameter(), parameter()
    optimizer = optim.SGD([{"params": [a]}, {"params": b, "lr": 0.5}], lr=0.25)
    optimizer.add_param_group({"params": [("named", c)], "lr": 1.0, "tag": "new"})
    for p in (a, b, c):
        set_gradient(p, 1.0)
    optimizer.step()
    assert [p.item() for p in (a, b, c)] == [0.75, 0.5, 0.0]
    assert optimizer.param_groups[2]["tag"] == "new" and optimizer.param_groups[2]["param_names"] == ["named"]
    optimizer.param_groups[0]["lr"] = 0.75
    optimizer.step()
    assert a.item() == 0.0
    optimizer.zero_grad(set_to_none=False)
    assert a.grad.item() == 0
    optimizer.zero_grad()
    assert a.grad is None


def test_parameters_without_gradient_are_left_alone():
    a, b = parameter(), parameter()
    optimizer = optim.AdamW([a, b])
    set_gradient(a, 1.0)
    optimizer.step()
    assert b.item() == 1.0 and b not in optimizer.state


def test_closure():
    p = parameter()
    optimizer = optim.SGD([p], lr=0.5)

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with pyburn.no_grad():
        assert optimizer.step(closure).item() == 1.0
    assert p.item() == 0.0


def test_state_dict_has_pytorchs_layout():
    p = parameter(dtype=pyburn.float32)
    optimizer = optim.Adam([p], lr=0.1, amsgrad=True)
    assert optimizer.state_dict()["state"] == {}
    set_gradient(p, 1.0)
    optimizer.step()
    state = optimizer.state_dict()
    assert state["param_groups"] == [
        {
            "lr": 0.1, "betas": (0.9, 0.999), "eps": 1e-08, "weight_decay": 0, "amsgrad": True, "maximize": False, "foreach": None,
            "capturable": False, "differentiable": False, "fused": None, "decoupled_weight_decay": False, "params": [0],
        }
    ]  # fmt: skip
    assert list(state["state"][0]) == ["step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"]
    assert state["state"][0]["step"].item() == 1.0 and state["state"][0]["step"].dtype == pyburn.float32


@pytest.mark.parametrize(("name", "options"), [("SGD", {"momentum": 0.9}), ("Adam", {"amsgrad": True}), ("AdamW", {})])
def test_state_dict_round_trip(name, options):
    p, q = parameter(), parameter()
    one, two = getattr(optim, name)([p], **options), getattr(optim, name)([q], lr=7, **options)
    set_gradient(p, 0.5)
    one.step()
    two.load_state_dict(one.state_dict())
    with pyburn.no_grad():
        q.copy_(p)
    for r in (p, q):
        set_gradient(r, -1.0)
    one.step()
    two.step()
    assert p.item() == q.item()


def test_printing():
    assert repr(optim.SGD([parameter()], lr=0.1)) == (
        "SGD (\nParameter Group 0\n    dampening: 0\n    differentiable: False\n    foreach: None\n    fused: None\n    lr: 0.1\n"
        "    maximize: False\n    momentum: 0\n    nesterov: False\n    weight_decay: 0\n)"
    )


@pytest.mark.parametrize(
    ("act", "error", "text"),
    [
        (lambda p: optim.SGD([]), ValueError, "empty parameter list"),
        (lambda p: optim.SGD(p), TypeError, "should be an iterable of Tensors or dicts"),
        (lambda p: optim.SGD([3]), TypeError, "one of the params is int"),
        (lambda p: optim.SGD([p * 2]), ValueError, "non-leaf"),
        (lambda p: optim.SGD([{"params": {p}}]), TypeError, "ordered collections"),
        (lambda p: optim.SGD([{"lr": 1}]), KeyError, "params"),
        (lambda p: optim.SGD([{"params": [p]}, {"params": [p]}]), ValueError, "more than one parameter group"),
        (lambda p: optim.SGD([p], lr=-1), ValueError, "Invalid learning rate: -1"),
        (lambda p: optim.SGD([p], momentum=-1), ValueError, "Invalid momentum value"),
        (lambda p: optim.SGD([p], weight_decay=-1), ValueError, "Invalid weight_decay value"),
        (lambda p: optim.SGD([p], nesterov=True), ValueError, "Nesterov momentum requires"),
        (lambda p: optim.Adam([p], betas=(1.0, 0.5)), ValueError, "Invalid beta parameter at index 0"),
        (lambda p: optim.Adam([p], betas=(0.5, -1)), ValueError, "Invalid beta parameter at index 1"),
        (lambda p: optim.Adam([p], eps=-1), ValueError, "Invalid epsilon value"),
        (lambda p: optim.AdamW([p], weight_decay=-1), ValueError, "Invalid weight_decay value"),
        (lambda p: optim.Adam([p], differentiable=True), NotImplementedError, "differentiable"),
        (lambda p: optim.SGD([p]).load_state_dict({"state": {}, "param_groups": []}), ValueError, "different number of parameter groups"),
        (
            lambda p: optim.SGD([p]).load_state_dict({"state": {}, "param_groups": [{"params": [0, 1]}]}),
            ValueError,
            "doesn't match the size",
        ),
    ],
)
def test_mistakes(act, error, text):
    with pytest.raises(error, match=text):
        act(parameter())


def test_duplicates_warn():
    p = parameter()
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optim.SGD([p, p])


def test_training_a_small_network():
    pyburn.default_generator.manual_seed(0)
    x = pyburn.rand(64, 1) * 2 - 1
    y = pyburn.sin(x * 3)
    model = nn.Sequential(nn.Linear(1, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = optim.AdamW(model.parameters(), lr=0.02)
    for _ in range(150):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.02
