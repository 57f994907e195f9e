"""An error of a module says where in the model it arose, whatever of the model is C++ and whatever Python."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import pyburn
from pyburn import nn


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.parts = nn.Sequential(nn.ReLU(), nn.Linear(5, 2))

    def forward(self, x: pyburn.Tensor) -> pyburn.Tensor:
        return self.parts(self.fc(x))


class Own(nn.Module):
    def forward(self, x: pyburn.Tensor) -> pyburn.Tensor:
        return x @ pyburn.ones(7, 7)


def hooked(model: nn.Module) -> nn.Module:
    model.register_forward_hook(lambda module, inputs, output: None)
    return model


CASES = {
    "deep in C++": (
        lambda: nn.Sequential(nn.ReLU(), nn.Sequential(nn.Linear(5, 2))),
        "in Sequential.1.0 (Linear 5 → 2): expected 5 features, got 4",
    ),
    "C++ in Python in C++": (
        lambda: nn.Sequential(nn.ReLU(), Block()),
        "in Sequential.1.parts.1 (Linear 5 → 2): expected 5 features, got 4",
    ),
    "Python in Python": (Block, "in Block.parts.1 (Linear 5 → 2): expected 5 features, got 4"),
    "an operation of a Python module": (lambda: nn.Sequential(Own()), "in Sequential.0 (Own): [matmul] inner dimensions differ"),
    "several inputs": (lambda: nn.Sequential(nn.LSTM(3, 4)), "in Sequential.0 (LSTM): "),
    "with hooks": (lambda: hooked(nn.Sequential(hooked(nn.Linear(5, 2)))), "in Sequential.0 (Linear 5 → 2): expected 5 features, got 4"),
    "a module alone": (lambda: nn.Linear(5, 2), "[linear] expected 5 features, got 4"),
    "inside a C++ layer": (
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2), 2),
        "in TransformerEncoder.layers.0.self_attn (MultiheadAttention): ",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_an_error_names_the_path_and_the_layer(case: str) -> None:
    make, text = CASES[case]
    with pytest.raises((ValueError, RuntimeError)) as caught:
        make()(pyburn.ones(3, 2, 4))
    assert str(caught.value).startswith(text)


def test_the_kind_of_an_error_stays() -> None:
    model = nn.Sequential(nn.Linear(2, 2))
    with pytest.raises(pyburn.DTypeError, match="in Sequential.0 "):
        model(pyburn.ones(1, 2, dtype=pyburn.int64))
    with pytest.raises(pyburn.DeviceError, match="in Sequential.0 "):
        model(pyburn.ones(1, 2, device="fusion(ndarray)"))


def test_an_error_that_was_caught_leaves_nothing_behind() -> None:
    class Careful(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(5, 2), nn.Linear(6, 2)

        def forward(self, x: pyburn.Tensor) -> pyburn.Tensor:
            with pytest.raises(pyburn.ShapeError):
                self.first(x)
            return self.second(x)

    with pytest.raises(pyburn.ShapeError, match=r"in Careful.second \(Linear 6 → 2\): expected 6 features"):
        Careful()(pyburn.ones(1, 4))


def test_errors_of_users_stay_as_they_are() -> None:
    class Broken(nn.Module):
        def forward(self, x: pyburn.Tensor) -> pyburn.Tensor:
            raise KeyError("mine")

    with pytest.raises(KeyError) as caught:
        nn.Sequential(Broken())(pyburn.ones(1))
    assert caught.value.args == ("mine",)


@pytest.mark.parametrize("array", [np.zeros((1, 2)), [[0.0, 1.0]]])
@pytest.mark.parametrize("wrap", [lambda layer: layer, nn.Sequential])
def test_the_error_for_an_array_suggests_as_tensor(array: object, wrap: Callable[[nn.Module], nn.Module]) -> None:
    with pytest.raises(TypeError, match=r"expected a Tensor, got a (numpy.ndarray|list): convert it with pyburn.as_tensor"):
        wrap(nn.Linear(2, 2))(array)
