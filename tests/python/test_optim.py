"""Optimisers: values of PyTorch's, groups, state dicts, messages."""

from __future__ import annotations

import copy
import doctest
import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.python.optim_helpers import GOLDEN, optim_cases, parameter, set_gradient, tolerance_of

import pyburn
import pyburn.compat
from pyburn import nn, optim


def listed(value):
    """As JSON gives it back."""
    return json.loads(json.dumps(value))


def test_goldens_are_up_to_date():
    recorded = [(row["name"], row["options"]) for row in GOLDEN["optimizers"]]
    assert recorded == [(name, listed(options)) for name, options in optim_cases.optimizer_cases()], "run tools/make_optim_goldens.py"
    assert [row["options"] for row in GOLDEN["lbfgs"]] == listed(optim_cases.LBFGS)


@pytest.mark.parametrize(
    ("case", "expected"),
    list(zip(optim_cases.optimizer_cases(), GOLDEN["optimizers"])),
    ids=lambda x: "" if isinstance(x, dict) else str(x),
)
def test_steps_are_pytorchs(case, expected):
    name, options = case
    after, optimizer = optim_cases.run_optimizer(pyburn, name, options)
    tolerance = tolerance_of(name, optimizer.param_groups[0]["lr"])
    for step, values in expected["after"].items():
        for mine, theirs in zip(after[step], values):
            np.testing.assert_allclose(mine, theirs, rtol=0, atol=tolerance, err_msg=f"after step {step}")
    saved = optimizer.state_dict()
    layout = {str(i): {k: list(v.shape) for k, v in values.items()} for i, values in saved["state"].items()}
    assert layout == expected["layout"]["state"]
    assert [sorted(group) for group in saved["param_groups"]] == expected["layout"]["groups"]
    assert repr(optimizer) == expected["repr"]


def lion(p, gradients, lr, betas=(0.9, 0.99), weight_decay=0.0, maximize=False):
    m = 0.0
    for g in gradients:
        g = -g if maximize else g
        p = p * (1 - lr * weight_decay) - lr * math.copysign(1, betas[0] * m + (1 - betas[0]) * g)
        m = betas[1] * m + (1 - betas[1]) * g
    return p


def adan(p, gradients, lr, betas=(0.98, 0.92, 0.99), eps=1e-8, weight_decay=0.0, no_prox=False, maximize=False):
    m = v = n = 0.0
    before = None
    for t, g in enumerate(gradients, 1):
        g = -g if maximize else g
        change = 0.0 if before is None else g - before
        m, v = betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * change
        n = betas[2] * n + (1 - betas[2]) * (g + betas[1] * change) ** 2
        root = math.sqrt(n / (1 - betas[2] ** t)) + eps
        step = lr * (m / (1 - betas[0] ** t) + betas[1] * v / (1 - betas[1] ** t)) / root
        p = p * (1 - lr * weight_decay) - step if no_prox else (p - step) / (1 + lr * weight_decay)
        before = g
    return p


def cautious(p, gradients, lr, weight_decay):
    m = v = 0.0
    for t, g in enumerate(gradients, 1):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        step = m / (1 - 0.9**t) / (math.sqrt(v / (1 - 0.999**t)) + 1e-8)
        p = p * (1 - lr * weight_decay if step * p > 0 else 1) - lr * step
    return p


@pytest.mark.parametrize(
    ("name", "reference", "options"),
    [
        ("Lion", lion, {"lr": 0.1}),
        ("Lion", lion, {"lr": 0.05, "betas": (0.5, 0.75), "weight_decay": 0.1}),
        ("Lion", lion, {"lr": 0.1, "maximize": True, "weight_decay": 0.5}),
        ("Adan", adan, {"lr": 0.1}),
        ("Adan", adan, {"lr": 0.1, "betas": (0.5, 0.75, 0.9), "eps": 1e-2, "weight_decay": 0.1}),
        ("Adan", adan, {"lr": 0.1, "weight_decay": 0.5, "no_prox": True, "maximize": True}),
        ("AdamW", cautious, {"lr": 0.1, "weight_decay": 0.5, "cautious_weight_decay": True}),
    ],
)
def test_optimisers_that_pytorch_has_not(name, reference, options):
    gradients = [math.sin(1.7 * t) * (1 + 0.1 * t) for t in range(1, 21)]
    p = parameter(0.7)
    optimizer = getattr(optim, name)([p], **options)
    for g in gradients:
        set_gradient(p, g)
        optimizer.step()
    arguments = {key: value for key, value in options.items() if key != "cautious_weight_decay"}
    assert p.item() == pytest.approx(reference(0.7, gradients, **arguments), abs=1e-9)


@pytest.mark.parametrize("dtype", [pyburn.float32, pyburn.float16, pyburn.bfloat16])
def test_other_dtypes(dtype):
    p = parameter(dtype=dtype)
    optimizer = optim.Adam([p], lr=0.25)
    set_gradient(p, 1.0)
    optimizer.step()
    assert p.item() == pytest.approx(0.75, abs=0.01) and optimizer.state[p]["exp_avg"].dtype == dtype


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
        (lambda p: optim.Adam([p], fused=True, differentiable=True), RuntimeError, "differentiable"),
        (lambda p: optim.SGD([p], fused=True, foreach=True), RuntimeError, "together"),
        (lambda p: optim.Adam([p], betas=(0.9, pyburn.tensor(0.9))), ValueError, "both floats or both Tensors"),
        (lambda p: optim.AdamW([p], lr=pyburn.tensor(0.1), foreach=True), ValueError, "lr as a Tensor"),
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


@pytest.mark.parametrize(
    ("name", "options", "text"),
    [
        ("Adamax", {"eps": -1}, "Invalid epsilon value: -1"),
        ("NAdam", {"momentum_decay": -1}, "Invalid momentum_decay value: -1"),
        ("RAdam", {"betas": (0.5, 1.0)}, "Invalid beta parameter at index 1: 1"),
        ("Adagrad", {"lr_decay": -1}, "Invalid lr_decay value: -1"),
        ("Adagrad", {"initial_accumulator_value": -1}, "Invalid initial_accumulator_value value: -1"),
        ("Adadelta", {"rho": 2}, "Invalid rho value: 2"),
        ("RMSprop", {"alpha": -1}, "Invalid alpha value: -1"),
        ("Rprop", {"etas": (1.5, 2)}, "Invalid eta values: 1.5, 2"),
        ("ASGD", {"lambd": -1}, "Invalid lambd value: -1"),
        ("Muon", {"adjust_lr_fn": "other"}, "Adjust learning rate function other is not supported"),
        ("Muon", {}, "only supports 2D parameters"),
        ("Adafactor", {"beta2_decay": 1}, "beta2_decay should be <= 0 but is: 1"),
        ("Adafactor", {"d": 0.5}, "Clipping threshold d should be >= 1 but is: 0.5"),
        ("LBFGS", {"line_search_fn": "other"}, "only 'strong_wolfe' is supported"),
        ("LBFGS", {"lr": -1}, "Invalid learning rate: -1"),
        ("Adan", {"betas": (0.5, 0.5)}, "expected 3 values for betas"),
        ("Lion", {"lr": -1}, "Invalid learning rate: -1"),
        ("SGD", {"lr": pyburn.ones(2)}, "Tensor lr must be 1-element"),
        ("SGD", {"grad_clip": optim.GradientClipping("norm", 0.0)}, "must be positive"),
        ("SGD", {"grad_clip": ("length", 1.0)}, "must be 'value' or 'norm'"),
    ],
)
def test_refused_options(name, options, text):
    with pytest.raises(ValueError, match=text):
        getattr(optim, name)([parameter()], **options)


def test_a_group_is_checked_too():
    with pytest.raises(ValueError, match="Invalid learning rate"):
        optim.Adam([{"params": [parameter()], "lr": -1.0}])


def test_the_rate_may_be_a_tensor():
    p = parameter()
    rate = pyburn.tensor(0.25)
    optimizer = optim.SGD([p], lr=rate)
    set_gradient(p, 1.0)
    optimizer.step()
    assert p.item() == 0.75
    rate.fill_(0.5)
    optimizer.step()
    assert p.item() == 0.25


@pytest.mark.parametrize("name", [n for n in [*optim_cases.OPTIONS, "Lion", "Adan"] if n != "Muon"])
def test_gradients_are_clipped_on_the_way(name):
    clip = optim.GradientClipping.by_norm(0.5)
    p, q = (nn.Parameter(pyburn.ones(2, dtype=pyburn.float64)) for _ in range(2))
    one, two = getattr(optim, name)([p], grad_clip=clip), getattr(optim, name)([q])
    assert "grad_clip" not in two.param_groups[0] and one.param_groups[0]["grad_clip"] == ("norm", 0.5)
    for scale in (1.0, 0.01):
        p.grad = pyburn.tensor([3.0, 4.0], dtype=pyburn.float64) * scale
        q.grad = pyburn.tensor([3.0, 4.0], dtype=pyburn.float64) * min(scale, 0.5 / (5 * scale + 1e-6) * scale)
        one.step(), two.step()
        assert p.grad[0].item() == 3.0 * scale
        np.testing.assert_allclose(p.tolist(), q.tolist(), atol=1e-12)
    assert copy.deepcopy(one.state_dict())["param_groups"][0]["grad_clip"] == ("norm", 0.5)


def test_many_tensors_of_all_kinds():
    """Large and small, strided, of several dtypes: all in one step."""
    parameters = [
        nn.Parameter(pyburn.ones(100_000)),
        nn.Parameter(pyburn.ones(3, 4).T),
        nn.Parameter(pyburn.ones(0)),
        nn.Parameter(pyburn.ones(70_001, dtype=pyburn.float64)),
        nn.Parameter(pyburn.ones(5, dtype=pyburn.bfloat16)),
        nn.Parameter(pyburn.ones(())),
    ]
    for p in parameters:
        p.grad = pyburn.ones_like(p.detach())
    optim.Adam(parameters, lr=0.25).step()
    for p in parameters:
        assert p.detach().sub(0.75).abs().sum().item() <= 0.01 * p.numel()


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


def test_examples_run():
    modules = [
        optim.optimizer, optim.native, optim.descent, optim.moments, optim.scaled, optim.matrices, optim.lbfgs, optim.swa_utils,
        optim.lr_scheduler.base, optim.lr_scheduler.factors, optim.lr_scheduler.cycles, optim.lr_scheduler.combined,
        optim.lr_scheduler.plateau, optim.lr_scheduler.curves, pyburn.amp.autocast_mode, pyburn.amp.grad_scaler,
    ]  # fmt: skip
    for module in modules:
        result = doctest.testmod(module)
        assert result.attempted and not result.failed, module


def test_everything_public_has_an_example():
    for module in (optim, optim.lr_scheduler, optim.swa_utils, pyburn.amp):
        for name in module.__all__:
            value = getattr(module, name)
            if callable(value):
                assert ">>> " in value.__doc__, name


def test_the_page_of_names_is_up_to_date():
    script = Path(__file__).parents[2] / "tools" / "parity_optim.py"
    subprocess.run([sys.executable, str(script), "--check"], check=True)


DIFFERENTIABLE = ["SGD", "ASGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adagrad", "Adadelta", "RMSprop"]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_flow_through_differentiable_steps(name):
    start = pyburn.tensor([0.5, -1.5, 2.0], dtype=pyburn.float64)
    options = {"momentum": 0.9} if name in ("SGD", "RMSprop") else {}

    def after(gradient, differentiable):
        moved = start.clone().requires_grad_()
        moved = moved * 1 if differentiable else moved
        optimizer = getattr(optim, name)([moved], lr=0.1, differentiable=differentiable, **options)
        for factor in (1.0, 0.5):
            moved.grad = gradient * factor
            optimizer.step()
        return moved

    gradient = pyburn.tensor([0.25, -0.5, 1.0], dtype=pyburn.float64, requires_grad=True)
    result = after(gradient, True)
    weights = pyburn.tensor([1.0, 2.0, 3.0], dtype=pyburn.float64)
    (result * weights).sum().backward()
    plain = gradient.detach()
    assert pyburn.allclose(result.detach(), after(plain, False).detach())
    for i in range(3):
        step = pyburn.zeros(3, dtype=pyburn.float64)
        step[i] = 1e-6
        change = (after(plain + step, False) - after(plain - step, False)).detach()
        assert gradient.grad[i].item() == pytest.approx((change * weights).sum().item() / 2e-6, rel=1e-4, abs=1e-7)


def test_leaves_cannot_be_stepped_differentiably():
    p = pyburn.nn.Parameter(pyburn.ones(2))
    p.grad = pyburn.ones(2)
    with pytest.raises(RuntimeError, match="leaf"):
        optim.SGD([p], lr=0.1, differentiable=True).step()


def test_a_set_of_parameters_is_warned_about():
    with pytest.warns(FutureWarning, match="ordered collections"):
        optim.SGD({pyburn.nn.Parameter(pyburn.ones(1))}, lr=0.1)


def test_options_are_looked_at_before_parameters():
    for name in ("Adam", "ASGD", "RMSprop", "Muon"):
        with pytest.raises(ValueError, match="earning rate"):
            getattr(optim, name)(None, lr=-1e-2)


@pytest.mark.parametrize("device", ["cpu", "fusion(cpu)", "numpy", "trace(cpu)", "router(numpy, cpu)", "remote(cpu)"])
@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "Rprop", "Adan", "Lion", "NAdam"])
def test_the_device_leaves_out_a_step_where_found_inf_is_not_zero(name, device):
    """PyTorch's protocol between scalers and fused optimisers. Infinite and NaN are not zero either."""

    def stepped(flags):
        p, q = (pyburn.nn.Parameter(pyburn.full((3,), value, device=device)) for value in (1.0, 2.0))
        options = {"momentum": 0.9} if name == "SGD" else {}
        optimizer = getattr(pyburn.optim, name)([p, q], lr=0.1, **options)
        for flag in flags:
            p.grad, q.grad = (pyburn.full((3,), float("nan") if flag else 0.5, device=device) for _ in range(2))
            optimizer.found_inf = pyburn.tensor(flag, device=device)
            optimizer.step()
        tensors = [p, q] + [v for s in optimizer.state.values() for v in dict.values(s) if isinstance(v, pyburn.Tensor) and v.dim()]
        return [t.tolist() for t in tensors]

    assert stepped([1.0]) == [[1.0] * 3, [2.0] * 3] + stepped([1.0])[2:]
    if name in ("SGD", "RMSprop", "Lion", "Rprop"):  # which do not count steps
        assert stepped([0.0, 1.0, float("nan"), 0.0]) == stepped([0.0, 0.0])
    else:
        assert stepped([0.0, float("inf"), 1.0]) == stepped([0.0])


def test_found_inf_has_one_element():
    p = pyburn.nn.Parameter(pyburn.ones(2))
    p.grad = pyburn.ones(2)
    optimizer = pyburn.optim.SGD([p], lr=0.1)
    optimizer.found_inf = pyburn.zeros(3)
    with pytest.raises(pyburn.ShapeError, match="one element"):
        optimizer.step()


def test_sparse_adam_leaves_alone_what_has_no_gradient() -> None:
    table = nn.Embedding(5, 2, sparse=True)
    start = table.weight.detach().clone()
    optimizer = pyburn.optim.SparseAdam(table.parameters(), lr=0.1)
    dense = nn.Parameter(start[[1, 3]].clone())
    adam = pyburn.optim.Adam([dense], lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        (table(pyburn.tensor([1, 3])) ** 2).sum().backward()
        optimizer.step()
        adam.zero_grad()
        (dense**2).sum().backward()
        adam.step()
    assert pyburn.equal(table.weight[[0, 2, 4]], start[[0, 2, 4]])
    assert pyburn.allclose(table.weight[[1, 3]], dense, atol=1e-6)
    state = optimizer.state_dict()
    assert state["state"][0]["step"] == 3 and list(state["state"][0]) == ["step", "exp_avg", "exp_avg_sq"]
    with pytest.raises(ValueError, match="Invalid beta parameter at index 0"):
        pyburn.optim.SparseAdam(table.parameters(), betas=(1.0, 0.0))


def test_nothing_to_optimise() -> None:
    loss = pyburn.tensor(3.0)
    assert pyburn.optim.LBFGS([{"params": []}]).step(lambda: loss) is loss
    nowhere = nn.Parameter(pyburn.ones(2, device="null"))
    nowhere.grad = pyburn.ones(2, device="null")
    with pytest.raises(RuntimeError, match="fused=True"):
        pyburn.optim.Adam([nowhere], fused=True).step()


def test_adamw_stays_adamw_with_a_state_of_adam():
    weight = nn.Parameter(pyburn.ones(2))
    adamw = pyburn.optim.AdamW([weight])
    adamw.load_state_dict(pyburn.optim.Adam([weight], lr=0.5).state_dict())
    assert adamw.param_groups[0]["decoupled_weight_decay"] is True and adamw.param_groups[0]["lr"] == 0.5
