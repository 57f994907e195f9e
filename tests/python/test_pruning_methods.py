"""The classes of nn.utils.prune."""

import pytest

import pyburn
from pyburn import nn
from pyburn.nn.utils import prune


def test_pruned_twice_is_a_container():
    layer = nn.Linear(4, 2)
    layer.weight.data = pyburn.tensor([[1.0, 2.0, 3.0, 4.0], [-4.0, -3.0, -2.0, -1.0]])
    prune.l1_unstructured(layer, "weight", amount=2)
    assert isinstance(next(iter(layer._forward_pre_hooks.values())), prune.L1Unstructured)
    prune.l1_unstructured(layer, "weight", amount=2)
    hook = next(iter(layer._forward_pre_hooks.values()))
    assert isinstance(hook, prune.PruningContainer) and len(hook) == 2 and hook._tensor_name == "weight"
    assert layer.weight.tolist() == [[0, 0, 3, 4], [-4, -3, 0, 0]]
    prune.remove(layer, "weight")
    assert not layer._forward_pre_hooks and isinstance(layer.weight, nn.Parameter)


def test_slices_are_chosen_among_those_left():
    container = prune.PruningContainer()
    method = prune.LnStructured(amount=1, n=2, dim=1)
    container._tensor_name = method._tensor_name = "weight"
    container.add_pruning_method(method)
    mask = container.compute_mask(pyburn.tensor([[1.0, 2.0, 3.0]] * 2), pyburn.tensor([[0, 1, 1]] * 2))
    assert mask.tolist() == [[0, 0, 1]] * 2 and mask.dtype == pyburn.float32
    other = prune.Identity()
    other._tensor_name = "bias"
    with pytest.raises(ValueError, match="Can only add pruning methods acting on the parameter named 'weight'"):
        container.add_pruning_method(other)


def test_a_mask_that_cannot_be_computed_leaves_the_module_as_it_was():
    class Broken(prune.BasePruningMethod):
        PRUNING_TYPE = "unstructured"

        def compute_mask(self, t, default_mask):
            raise RuntimeError("no mask")

    layer = nn.Linear(2, 2)
    with pytest.raises(RuntimeError, match="no mask"):
        Broken.apply(layer, "weight")
    assert list(layer.state_dict()) == ["weight", "bias"] and not prune.is_pruned(layer)


def test_amounts():
    for wrong in (1.1, -10):
        with pytest.raises(ValueError, match="amount="):
            prune.L1Unstructured(amount=wrong)
    with pytest.raises(TypeError, match="Must be int or float"):
        prune.RandomUnstructured(amount="half")
    with pytest.raises(ValueError, match="should be smaller than the number of parameters"):
        prune.RandomUnstructured(amount=9).prune(pyburn.ones(3))
    with pytest.raises(TypeError, match='Only "unstructured" PRUNING_TYPE'):
        prune.global_unstructured([(nn.Linear(2, 2), "weight")], prune.LnStructured, amount=1, n=2)
