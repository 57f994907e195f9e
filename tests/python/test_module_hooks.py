"""Hooks of all modules, hooks that travel with copies, and what the collector sees of them."""

from __future__ import annotations

import contextlib
import copy
import gc
import pickle
import weakref
from collections import OrderedDict

import pytest

import pyburn
import pyburn.module as M
from pyburn import nn


def note(module, args):
    module.seen = len(args)


def add_one(module, args, output):
    return output + 1


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(2, 2), nn.ReLU())

    def forward(self, x):
        return self.inner(x)


def test_global_hooks_see_every_module_and_go_away():
    seen = []
    block = Block()
    with M.register_module_forward_hook(lambda m, args, out: seen.append(type(m).__name__)):
        with M.register_module_forward_pre_hook(lambda m, args: (args[0] * 0,)):
            assert pyburn.equal(block.inner[0](pyburn.ones(1, 2))[0], block.inner[0].bias)
        block(pyburn.ones(1, 2))
    assert seen == ["Linear", "Linear", "ReLU", "Sequential", "Block"]
    block(pyburn.ones(1, 2))
    assert len(seen) == 5


def test_global_backward_hooks():
    seen = []
    block = Block()
    x = pyburn.ones(1, 2, requires_grad=True)
    handles = [
        M.register_module_full_backward_pre_hook(lambda m, out: seen.append(("pre", type(m).__name__))),
        M.register_module_full_backward_hook(lambda m, into, out: seen.append(("after", type(m).__name__))),
    ]
    block(x).sum().backward()
    for handle in handles:
        handle.remove()
    assert [name for kind, name in seen if kind == "pre"] == ["Block", "Sequential", "ReLU", "Linear"]
    assert [name for kind, name in seen if kind == "after"] == ["ReLU", "Linear", "Sequential", "Block"]


def test_global_forward_hook_with_kwargs_and_errors():
    class Broken(nn.Module):
        def forward(self, *, x):
            raise ValueError("no")

    seen = []
    hook = lambda m, args, kwargs, out: seen.append((sorted(kwargs), out))  # noqa: E731
    with M.register_module_forward_hook(hook, with_kwargs=True, always_call=True), pytest.raises(ValueError, match="no"):
        Broken()(x=1)
    assert seen == [(["x"], None)]


def test_an_error_in_a_hook_that_is_always_called_is_a_warning():
    def fails(module, args, output):
        raise RuntimeError("hook")

    module = nn.Module()
    module.register_forward_hook(fails, always_call=True)
    with pytest.warns(UserWarning, match="silenced as another error"), pytest.raises(NotImplementedError):
        module(1)


def test_registration_hooks_see_what_layers_register_in_c():
    seen = []

    def note(module, name, value):
        seen.append(f"{type(module).__name__}.{name}")
        assert isinstance(module.training, bool)

    kinds = ("parameter", "buffer", "module")
    with contextlib.ExitStack() as stack:
        for kind in kinds:
            stack.enter_context(getattr(M, f"register_module_{kind}_registration_hook")(note))
        nn.Linear(2, 3, bias=False)
        nn.BatchNorm1d(2)
        chain = nn.Sequential(nn.ReLU())
        chain.append(nn.Identity())
        attention = nn.MultiheadAttention(4, 2)
    assert seen == [
        "Linear.weight",
        *[f"BatchNorm1d.{name}" for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")],
        *["Sequential.0", "Sequential.1"],
        *["MultiheadAttention.in_proj_weight", "MultiheadAttention.in_proj_bias"],
        *["NonDynamicallyQuantizableLinear.weight", "NonDynamicallyQuantizableLinear.bias", "MultiheadAttention.out_proj"],
    ]
    assert attention.out_proj.weight.shape == (4, 4)

    with M.register_module_parameter_registration_hook(lambda m, name, p: nn.Parameter(p.detach() * 0 + 2)):

        class Subclass(nn.Linear):
            def __init__(self):
                super().__init__(1, 1)
                assert self.weight.item() == 2

        layer = Subclass()
    assert layer(pyburn.ones(1)).item() == 4
    assert gc.collect() is not None and layer.weight.requires_grad


def test_registration_hooks():
    seen = []
    with (
        M.register_module_parameter_registration_hook(lambda m, name, p: seen.append(("p", name))),
        M.register_module_buffer_registration_hook(lambda m, name, b: b * 0 + 7),
        M.register_module_module_registration_hook(lambda m, name, child: nn.Identity()),
    ):
        m = nn.Module()
        m.weight = nn.Parameter(pyburn.zeros(1))
        m.register_buffer("b", pyburn.zeros(1))
        m.child = nn.ReLU()
    assert seen == [("p", "weight")] and m.b.item() == 7 and isinstance(m.child, nn.Identity)
    m.other = nn.ReLU()
    assert isinstance(m.other, nn.ReLU)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["deepcopy", "pickle"])
def test_copies_carry_hooks(duplicate):
    layer = nn.Linear(2, 2)
    layer.register_forward_pre_hook(note)
    handle = layer.register_forward_hook(add_one)
    other = duplicate(nn.Sequential(layer))
    x = pyburn.ones(1, 2)
    assert pyburn.allclose(other(x), layer.forward(x) + 1) and other[0].seen == 1
    handle.remove()
    assert pyburn.allclose(other(x), layer.forward(x) + 1)
    assert pyburn.allclose(layer(x), layer.forward(x))


def test_hooks_run_inside_containers_of_cpp():
    seen = []
    layer = nn.Linear(2, 2)
    layer.register_forward_hook(lambda m, args, out: seen.append(1))
    nn.Sequential(nn.Sequential(layer, nn.ReLU()))(pyburn.ones(1, 2))
    assert seen == [1]


def test_the_dicts_of_hooks_are_visible():
    layer = nn.ReLU()
    assert not layer._forward_hooks and not layer._forward_pre_hooks and not layer._backward_hooks
    handle = layer.register_forward_hook(add_one)
    assert list(layer._forward_hooks) == [handle.id]
    layer._forward_hooks.clear()
    assert layer(pyburn.ones(1)).item() == 1


def test_hooks_do_not_keep_modules():
    def made() -> weakref.ref:
        layer = nn.Linear(1, 1)
        layer.register_forward_hook(lambda m, args, out: layer)
        layer.register_state_dict_pre_hook(lambda *a: layer)
        return weakref.ref(layer)

    ref = made()
    gc.collect()
    assert ref() is None


def test_a_backward_hook_sees_every_output_and_argument():
    class Two(nn.Module):
        def forward(self, a, n, b):
            return a * n, "text", b * 2

    seen = []
    m = Two()
    m.register_full_backward_hook(lambda m, into, out: seen.append(([g is None for g in into], [g is None for g in out])))
    a, b = pyburn.ones(2, requires_grad=True), pyburn.ones(2, requires_grad=True)
    x, _, y = m(a, 3, b)
    (x.sum() + y.sum()).backward()
    assert seen == [([False, True, False], [False, True, False])]
    assert a.grad.tolist() == [3, 3] and b.grad.tolist() == [2, 2]


def test_state_dict_by_position_and_old_hooks():
    layer = nn.Linear(1, 1)
    kept = OrderedDict()
    assert layer.state_dict(kept, "p.", True) is kept and kept["p.weight"] is layer.weight
    layer._register_state_dict_hook(lambda m, state, prefix, meta: {"changed": 1})
    assert layer.state_dict() == {"changed": 1}
    seen = []
    layer._register_load_state_dict_pre_hook(lambda state, *rest: seen.append(len(rest)))
    layer.load_state_dict({"weight": pyburn.ones(1, 1), "bias": pyburn.ones(1)})
    assert seen == [6]
