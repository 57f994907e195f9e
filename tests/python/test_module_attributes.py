"""Attributes of modules: what registers itself, what the class defines, and how subclasses change it, as with PyTorch's."""

from __future__ import annotations

import timeit
from typing import Any

import pytest

import pyburn
from pyburn import nn

X = pyburn.ones(1, 2)


@pytest.mark.parametrize("make", [nn.Module, lambda: nn.Linear(1, 1), lambda: type("Mine", (nn.Linear,), {})(1, 1)])
def test_object_setattr_jumps_over_the_registry(make: Any) -> None:
    module, child = make(), nn.ReLU()
    object.__setattr__(module, "child", child)
    assert module.child is child and vars(module)["child"] is child and not list(module.children())
    object.__delattr__(module, "child")
    assert not hasattr(module, "child")


def test_setattr_of_a_subclass_is_called() -> None:
    log = []

    class Logged(nn.Module):
        def __setattr__(self, name: str, value: Any) -> None:
            log.append(name)
            super().__setattr__(name, value)

        def __delattr__(self, name: str) -> None:
            log.append(f"del {name}")
            super().__delattr__(name)

    logged = Logged()
    logged.value, logged.layer = 1, nn.ReLU()
    object.__setattr__(logged, "silent", 1)
    assert list(logged._modules) == ["layer"]
    del logged.value, logged.layer
    assert log == ["value", "layer", "del value", "del layer"] and not logged._modules


def test_getattr_of_a_subclass_is_asked_for_what_is_registered() -> None:
    log = []

    class Wrapper(nn.Module):
        def __init__(self, module: nn.Module) -> None:
            super().__init__()
            self.module = module

        def __getattr__(self, name: str) -> Any:
            log.append(name)
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(self.module, name)

    wrapper = Wrapper(nn.Linear(2, 3))
    assert wrapper.weight.shape == (3, 2) and log == ["weight", "module"] and wrapper.training


def test_getattr_may_be_added_to_a_class_later() -> None:
    class Net(nn.Module):
        pass

    class Child(Net):
        pass

    net, child = Net(), Child()
    assert not hasattr(net, "other") and not hasattr(child, "other")
    Net.__getattr__ = lambda self, name: f"mine {name}"  # type: ignore[method-assign]
    assert net.other == child.other == Child().other == "mine other"
    del Net.__getattr__
    assert not hasattr(net, "other") and not hasattr(child, "other")


def test_attributes_of_the_class_come_before_what_is_registered() -> None:
    class Net(nn.Module):
        layer: Any = None

        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.ReLU()

        @property
        def broken(self) -> Any:
            return self.missing

    net = Net()
    assert net.layer is None and list(net._modules) == ["layer"]  # as PyTorch has it
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'missing'"):
        _ = net.broken
    with pytest.raises(AttributeError, match="^'Linear' object has no attribute 'nothing'$"):
        _ = nn.Linear(1, 1).nothing
    with pytest.raises(AttributeError):
        net.__getattr__("training")  # only what is registered


def test_slots() -> None:
    class Slotted(nn.Module):
        __slots__ = ("kept",)

        def __init__(self) -> None:
            super().__init__()
            self.kept, self.layer = 3, nn.ReLU()

    slotted = Slotted()
    assert slotted.kept == 3 and "kept" not in vars(slotted) and list(slotted._modules) == ["layer"]


def test_the_class_of_a_module_may_change() -> None:
    class Doubled(nn.Linear):
        def forward(self, x: Any) -> Any:
            return 2 * super().forward(x)

    class Shape(nn.Module):
        def forward(self, x: Any) -> Any:
            return self.weight.shape

    layer = nn.Linear(2, 2)
    row, plain = nn.Sequential(layer), layer(X)
    layer.__class__ = Doubled
    assert pyburn.equal(row(X), 2 * plain) and type(layer) is layer.__class__ is Doubled
    layer.__class__ = Shape
    assert row(X) == (2, 2)
    object.__setattr__(layer, "__class__", nn.Linear)
    assert pyburn.equal(row(X), plain)
    with pytest.raises(TypeError, match="layout differs"):
        layer.__class__ = nn.ReLU
    with pytest.raises(TypeError, match="layout differs"):
        object.__setattr__(layer, "__class__", nn.ReLU)


def test_names_of_the_class_are_found_however_many_children_there_are() -> None:
    def seconds(children: int, statement: str) -> float:
        class Wide(nn.Module):
            def forward(self, x: Any) -> Any:
                return x

        wide = Wide()
        for i in range(children):
            wide.add_module(f"child{i}", nn.Identity())
        return min(timeit.repeat(statement, globals={"wide": wide}, number=2000, repeat=20))

    for statement in ("wide.forward", "wide.training", "wide(1)"):
        assert seconds(1000, statement) < 5 * seconds(0, statement)  # a walk past 1000 children takes 50 times as long


def test_options_are_found_by_name() -> None:
    conv = nn.Conv2d(3, 4, 3, stride=(1, 2), padding=1)
    assert conv.stride == (1, 2) and conv.in_channels == 3 and conv.padding_mode == "zeros"
    conv.stride = (2, 2)
    assert conv.stride == (2, 2)
    option = min(timeit.repeat("conv.padding_mode", globals={"conv": conv}, number=2000, repeat=20))
    every = min(timeit.repeat("conv._pb_config()", globals={"conv": conv}, number=2000, repeat=20))
    assert option < every / 2  # not by way of a dict of all options
