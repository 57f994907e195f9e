"""Optimizers: groups, state dicts, pickles and hooks, as PyTorch has them."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import numpy as np
import pytest
from tests.python.optim_helpers import GOLDEN, NAMES, optim_cases, parameter, set_gradient, tolerance_of

import pyburn
import pyburn.compat
from pyburn import nn, optim


def restored(value):
    if isinstance(value, dict) and "tensor" in value:
        return pyburn.tensor(value["tensor"], dtype=pyburn.float64).reshape(tuple(value["shape"]))
    return [restored(v) for v in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", NAMES)
def test_loads_pytorchs_state(name):
    """Goes on from a state that PyTorch saved as from its own."""
    saved = GOLDEN["saved"][name]
    state = {int(i): {key: restored(value) for key, value in values.items()} for i, values in saved["state"].items()}
    loaded = {"state": state, "param_groups": saved["param_groups"]}
    if name == "LBFGS":
        _, mine = optim_cases.rosenbrock(pyburn, optim_cases.LBFGS[-1])
    else:
        _, mine = optim_cases.run_optimizer(pyburn, name, {})
    parameters = [p for group in mine.param_groups for p in group["params"]]
    fresh = [nn.Parameter(p.detach().clone()) for p in parameters]
    other = getattr(optim, name)(fresh)
    other.load_state_dict(loaded)
    for p, q in zip(parameters, fresh):
        p.grad, q.grad = pyburn.ones_like(p.detach()), pyburn.ones_like(q.detach())
    if name == "LBFGS":
        for optimizer, tensors in ((mine, parameters), (other, fresh)):
            optimizer.step(lambda tensors=tensors: sum((p.detach() ** 2).sum() for p in tensors))
    else:
        mine.step(), other.step()
    for p, q in zip(parameters, fresh):
        np.testing.assert_allclose(p.tolist(), q.tolist(), rtol=0, atol=tolerance_of(name))
    assert mine.param_groups[0]["lr"] == other.param_groups[0]["lr"]


def test_groups():
    a, b, c = parameter(), parameter(), parameter()
    optimizer = optim.SGD([{"params": [a]}, {"params": b, "lr": 0.5}], lr=0.25)
    optimizer.add_param_group({"params": [c], "lr": 1.0, "tag": "new"})
    for p in (a, b, c):
        set_gradient(p, 1.0)
    optimizer.step()
    assert [p.item() for p in (a, b, c)] == [0.75, 0.5, 0.0]
    assert optimizer.param_groups[2]["tag"] == "new"
    optimizer.param_groups[0]["lr"] = 0.75
    optimizer.step()
    assert a.item() == 0.0
    gradient = a.grad
    optimizer.zero_grad(set_to_none=False)
    assert a.grad is gradient and a.grad.item() == 0
    optimizer.zero_grad()
    assert a.grad is None


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


ROUND_TRIPS = [
    ("SGD", {"momentum": 0.9}),
    ("Adam", {"amsgrad": True}),
    *((name, {}) for name in optim_cases.OPTIONS),
    ("Lion", {}),
    ("Adan", {}),
]


@pytest.mark.parametrize(("name", "options"), [case for case in ROUND_TRIPS if case[0] != "Muon"])
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
    assert p.item() == pytest.approx(q.item(), abs=1e-9)


def test_named_parameters():
    model = nn.Linear(2, 3)
    optimizer = optim.Adam(model.named_parameters())
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["weight", "bias"]
    with pytest.raises(ValueError, match="without names to the optimizer"):
        optimizer.add_param_group({"params": [parameter()]})
    with pytest.raises(ValueError, match="Some param names are missing"):
        optim.SGD([("a", parameter()), parameter()])


def test_hooks():
    p = parameter()
    optimizer = optim.SGD([p], lr=0.25)
    calls = []
    handles = [
        optimizer.register_step_pre_hook(lambda o, args, kwargs: calls.append(("pre", o is optimizer, args, kwargs))),
        optimizer.register_step_post_hook(lambda o, args, kwargs: calls.append(("post", p.item()))),
        optim.optimizer.register_optimizer_step_pre_hook(lambda o, args, kwargs: calls.append("all before")),
        optim.optimizer.register_optimizer_step_post_hook(lambda o, args, kwargs: calls.append("all after")),
    ]
    set_gradient(p, 1.0)
    optimizer.step()
    assert calls == ["all before", ("pre", True, (optimizer,), {}), ("post", 0.75), "all after"]
    for handle in handles:
        handle.remove()
    optimizer.step()
    assert len(calls) == 4
    with optimizer.register_step_pre_hook(lambda o, args, kwargs: 3), pytest.raises(RuntimeError, match="must return None or a tuple"):
        optimizer.step()
    loss = []
    with optimizer.register_step_pre_hook(lambda o, args, kwargs: (args, {"closure": lambda: loss.append(1)})):
        optimizer.step()
    assert loss == [1]


def test_state_dict_hooks():
    optimizer = optim.SGD([parameter()], lr=0.25)
    calls = []
    optimizer.register_state_dict_pre_hook(lambda o: calls.append("pre"))
    optimizer.register_state_dict_pre_hook(lambda o: calls.append("first"), prepend=True)
    optimizer.register_state_dict_post_hook(lambda o, d: {**d, "more": 1})
    saved = optimizer.state_dict()
    assert calls == ["first", "pre"] and saved["more"] == 1

    def change(o, d):
        d["param_groups"] = [{**d["param_groups"][0], "lr": 7.0}]

    optimizer.register_load_state_dict_pre_hook(change)
    optimizer.register_load_state_dict_post_hook(lambda o: calls.append(o.param_groups[0]["lr"]))
    optimizer.load_state_dict(saved)
    assert calls[-1] == 7.0 and saved["param_groups"][0]["lr"] == 0.25


def test_hooks_run_once_in_a_subclass_of_a_subclass():
    class Loud(optim.SGD):
        def step(self, closure=None):
            return super().step(closure)

    optimizer = Loud([parameter()])
    calls = []
    optimizer.register_step_post_hook(lambda *_: calls.append(1))
    optimizer.step()
    assert calls == [1]


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("Muon", "LBFGS")])
def test_pickled_and_copied(name):
    p = parameter()
    optimizer = getattr(optim, name)([p])
    set_gradient(p, 0.5)
    optimizer.step()
    for other in (pickle.loads(pickle.dumps(optimizer)), copy.deepcopy(optimizer)):
        q = other.param_groups[0]["params"][0]
        q.grad = pyburn.full((1,), 2.0, dtype=q.dtype)
        other.step()
        assert q.item() != p.item()
        assert repr(other) == repr(optimizer)


def test_duplicates_warn():
    p = parameter()
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optim.SGD([p, p])


def test_counts_are_tensors_where_they_are_looked_at():
    p = parameter(dtype=pyburn.float32)
    optimizer = optim.NAdam([p], lr=0.1)
    for count in (1, 2, 3):
        set_gradient(p, 1.0)
        optimizer.step()
        state = optimizer.state[p]
        assert isinstance(state["step"], pyburn.Tensor) and state["step"].item() == count
    assert all(isinstance(value, pyburn.Tensor) for value in state.values())
    state["step"].fill_(10)  # seen by the next step
    set_gradient(p, 1.0)
    optimizer.step()
    assert optimizer.state[p].get("step").item() == 11 and optimizer.state[p].get("none") is None
    assert copy.deepcopy(optimizer).state_dict()["state"][0]["step"].item() == 11


def test_a_group_is_the_dict_that_was_given() -> None:
    p, q = nn.Parameter(pyburn.ones(1)), nn.Parameter(pyburn.ones(1))
    group: dict[str, Any] = {"params": [("p", p)]}
    optimizer = pyburn.optim.SGD([group], lr=0.5)
    assert optimizer.param_groups[0] is group and group["params"] == [p] and group["param_names"] == ["p"]
    group["lr"] = 0.25
    p.grad = pyburn.ones(1)
    optimizer.step()
    assert p.item() == 0.75
    refused: dict[str, Any] = {"params": q, "lr": -1.0}
    with pytest.raises(ValueError, match="with/without names"):
        optimizer.add_param_group(refused)
    assert refused == {"params": q, "lr": -1.0}


def test_what_files_round_is_rounded_while_training() -> None:
    """So an interrupted run continues exactly like an uninterrupted one, and like PyTorch's, which keeps these numbers in float32."""
    for make in (pyburn.optim.NAdam, pyburn.optim.ASGD):
        p, q = (nn.Parameter(pyburn.full((3,), 2.0, dtype=pyburn.float64)) for _ in range(2))
        one, other = make([p], lr=0.1), make([q], lr=0.1)
        for step in range(6):
            p.grad, q.grad = p.detach().cos(), q.detach().cos()
            one.step()
            other.step()
            file = io.BytesIO()
            pyburn.save(other.state_dict(), file)
            file.seek(0)
            other.load_state_dict(pyburn.load(file))
            assert pyburn.equal(p, q), (make, step)
