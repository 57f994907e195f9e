"""Hooks of all modules by PyTorch's names, and what is kept of hooks."""

import warnings
from collections import OrderedDict, namedtuple

import pytest

import pyburn
from pyburn import nn

ALL = nn.modules.module  # type: ignore[attr-defined]


def test_hooks_of_all_modules_run_until_they_are_removed():
    seen = []
    with (
        ALL.register_module_forward_pre_hook(lambda module, args: seen.append("pre")),
        ALL.register_module_forward_hook(lambda module, args, output: seen.append("after")),
        ALL.register_module_backward_hook(lambda module, grad_input, grad_output: seen.append("backward")),
    ):
        assert len(ALL._global_forward_hooks) == 1 and not ALL._global_forward_hooks_always_called
        nn.Sigmoid()(pyburn.ones(2, requires_grad=True)).sum().backward()
    nn.Sigmoid()(pyburn.ones(2))
    assert seen == ["pre", "after", "backward"]


def test_all_are_forgotten_where_the_name_is_set():
    ALL.register_module_forward_hook(lambda module, args, output: -output)
    ALL._global_forward_hooks = OrderedDict()
    assert nn.ReLU()(pyburn.ones(())).item() == 1


def test_registration_hooks():
    with ALL.register_module_buffer_registration_hook(lambda module, name, buffer: buffer + 1):
        layer = nn.BatchNorm1d(2)
        layer.register_buffer("extra", pyburn.zeros(1))
    assert layer.extra.item() == 1


def test_hooks_are_kept_as_they_were_given():
    def hook(module, args, kwargs):
        return None

    layer = nn.Linear(2, 2)
    handle = layer.register_forward_pre_hook(hook, with_kwargs=True)
    assert list(layer._forward_pre_hooks.values()) == [hook] and handle.id in layer._forward_pre_hooks_with_kwargs
    assert handle.id in handle.hooks_dict_ref()
    handle.remove()
    assert not layer._forward_pre_hooks and handle.id not in layer._forward_pre_hooks_with_kwargs
    layer.register_load_state_dict_post_hook(lambda module, keys: 1 / 0)
    del layer._load_state_dict_post_hooks
    layer.load_state_dict(layer.state_dict())


def test_a_hook_of_state_dicts_says_by_which_door_it_came():
    def hook(module, state, prefix, metadata):
        return None

    layer = nn.Linear(1, 1)
    layer.register_state_dict_post_hook(hook)
    with pytest.raises(RuntimeError, match="previously registered via register_state_dict_post_hook"):
        layer._register_state_dict_hook(hook)


def test_backward_hooks_leave_constants_and_named_tuples_as_they_are():
    pair = namedtuple("pair", "product double")

    class Both(nn.Module):
        def forward(self, a, b):
            assert not b.requires_grad
            return pair(a * b, b * 2)

    seen = []
    module = Both()
    module.register_full_backward_hook(lambda module, grad_input, grad_output: seen.append((grad_input, grad_output)))
    found = module(pyburn.ones(2, requires_grad=True), pyburn.full((2,), 3.0))
    assert isinstance(found, pair) and not found.double.requires_grad
    found.product.sum().backward()
    (grad_input, grad_output) = seen[0]
    assert [g.tolist() for g in grad_input] == [[3, 3], [0, 0]] and grad_output[1] is None


def test_backward_hooks_of_a_dict_are_warned_of():
    class Named(nn.Module):
        def forward(self, x):
            return {"x": x}

    module = Named()
    module.register_full_backward_hook(lambda *args: None)
    with pytest.warns(UserWarning, match="should be a Tensor or a tuple of Tensors"):
        module(pyburn.ones(1, requires_grad=True))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Named()(pyburn.ones(1, requires_grad=True))


def test_a_prefix_is_taken_off_a_state_dict():
    state = nn.Sequential(OrderedDict(module=nn.Linear(2, 3))).state_dict()
    nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")  # type: ignore[attr-defined]
    assert list(state) == ["weight", "bias"] and list(state._metadata) == [""]
    nn.Linear(2, 3).load_state_dict(state)
