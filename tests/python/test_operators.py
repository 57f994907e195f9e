"""Python's operators on tensors, other names of functions, and activations with inplace."""

from __future__ import annotations

import operator
import re
from pathlib import Path

import pytest

import pyburn
from pyburn import nn

INTEGERS = [operator.floordiv, operator.mod, operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]
IN_PLACE = [operator.ifloordiv, operator.imod, operator.iand, operator.ior, operator.ixor, operator.ilshift, operator.irshift]
FLOATS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow]


def elementwise(function, left, right) -> list:
    return [function(a, b) for a, b in zip(left, right, strict=True)]


@pytest.mark.parametrize("function", INTEGERS)
def test_integers(function) -> None:
    left, right = [7, -7, 12, 5], [2, 3, 5, 1]
    x, y = pyburn.tensor(left), pyburn.tensor(right)
    assert function(x, y).tolist() == elementwise(function, left, right)
    assert function(x, 3).tolist() == elementwise(function, left, [3] * 4)
    assert function(9, y).tolist() == elementwise(function, [9] * 4, right)


@pytest.mark.parametrize("function", FLOATS)
def test_floats(function) -> None:
    left, right = [7.5, 0.5, 12.0, 5.25], [2.0, 3.0, -1.5, 1.0]
    x, y = pyburn.tensor(left, dtype=pyburn.float64), pyburn.tensor(right, dtype=pyburn.float64)
    assert function(x, y).tolist() == pytest.approx(elementwise(function, left, right))
    assert function(x, 2.5).tolist() == pytest.approx(elementwise(function, left, [2.5] * 4))
    assert function(2.5, y).tolist() == pytest.approx(elementwise(function, [2.5] * 4, right))


@pytest.mark.parametrize(("function", "plain"), list(zip(IN_PLACE, INTEGERS, strict=True)))
def test_in_place(function, plain) -> None:
    x = pyburn.tensor([7, -7, 12, 5])
    expected, place = plain(x, 3).tolist(), x
    x = function(x, 3)
    assert x is place and x.tolist() == expected
    x **= 2
    assert x is place and x.tolist() == [v * v for v in expected]


def test_one_operand() -> None:
    x = pyburn.tensor([1.5, -2.0])
    assert (+x) is not None and (+x).tolist() == x.tolist()
    assert (~pyburn.tensor([0, 5])).tolist() == [-1, -6]
    assert (~pyburn.tensor([True, False])).tolist() == [False, True]
    with pytest.raises(pyburn.DTypeError, match="bitwise"):
        operator.invert(x)


def test_divmod() -> None:
    x = pyburn.tensor([7, -7])
    for quotient, rest in (divmod(x, 2), divmod(x, pyburn.tensor([2, 2]))):
        assert quotient.tolist() == [3, -4] and rest.tolist() == [1, 1]
    assert [t.tolist() for t in divmod(9, pyburn.tensor([2, 4]))] == [[4, 2], [1, 1]]
    with pytest.raises(TypeError, match="unsupported"):
        divmod(x, "text")


def test_integers_over_zero_are_refused() -> None:
    for function in (operator.floordiv, operator.mod):
        with pytest.raises(pyburn.ArgumentError, match="zero"):
            function(pyburn.tensor([1, 2]), 0)
    assert (pyburn.tensor([1.0]) // 0).tolist() == [float("inf")]
    smallest = pyburn.tensor([-(2**63)])
    assert (smallest // -1).tolist() == [-(2**63)] and (smallest % -1).tolist() == [0]


def test_strangers_are_left_to_themselves() -> None:
    class Stranger:
        def __rand__(self, other):
            return "asked"

    assert pyburn.tensor([1]) & Stranger() == "asked"
    with pytest.raises(TypeError, match="unsupported"):
        pyburn.tensor([1]) | object()


def test_aliases_are_the_functions() -> None:
    header = Path(__file__).resolve().parents[2] / "src" / "pyburn" / "ops" / "aliases.h"
    aliases = re.findall(r'\{"(\w+)", "(\w+)"\},', header.read_text())
    assert ("absolute", "abs") in aliases
    for alias, function in aliases:
        assert repr(getattr(pyburn, alias)) == f"<pyburn function {function}>"
        assert hasattr(pyburn.Tensor, alias) == hasattr(pyburn.Tensor, function)
        assert hasattr(pyburn.Tensor, alias + "_") == hasattr(pyburn.Tensor, function + "_")
    x = pyburn.tensor([-1.0, 2.0])
    assert x.absolute_() is x and x.multiply(3).tolist() == [3.0, 6.0]


def test_activations_in_place() -> None:
    f = nn.functional
    for function, arguments in [
        (f.relu, ()),
        (f.leaky_relu, (0.5,)),
        (f.elu, (2.0,)),
        (f.hardtanh, (-0.5, 0.5)),
        (f.threshold, (0.1, 7.0)),
    ]:
        x = pyburn.tensor([-1.0, 0.25, 2.0])
        expected = function(x, *arguments).tolist()
        assert x.tolist() == [-1.0, 0.25, 2.0]
        assert function(x.clone(), *arguments, True).tolist() == expected
        assert function(x, *arguments, inplace=True) is x
        assert x.tolist() == expected
    x = pyburn.tensor([-2.0])
    assert f.relu_(x) is x and x.tolist() == [0.0]
    assert f.leaky_relu(pyburn.tensor([-2.0]), negative_slope=0.25).tolist() == [-0.5]
