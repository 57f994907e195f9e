"""Calls of operations that a C++ plugin brings (tests/plugins/odd_operations.cpp): arguments, results, forms and gradients."""

from __future__ import annotations

import inspect
import pickle
from pathlib import Path
from typing import Any

import pytest

import pyburn
from pyburn import inference, plugins

PATH = Path(__file__).parents[2] / "build/release/tests/libodd_operations.so"
if not PATH.exists():
    pytest.skip("tests/plugins/odd_operations.cpp is not built (make build)", allow_module_level=True)
odd = pyburn.load_library(PATH)
x = pyburn.tensor([1.0, 2.0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: odd.odd_gate(None, x, x), r"\[odd_gate\] argument 'a' must be a Tensor: got NoneType"),
        (lambda: odd.odd_gate([], [], []), r"\[odd_gate\] argument 'a' must be a Tensor: got list"),
        (lambda: odd.odd_gate([x, x], x, x), r"\[odd_gate\] argument 'a' must be a Tensor: got list"),
        (lambda: odd.odd_gate(x, x), r"\[odd_gate\] missing argument: 'c'"),
        (lambda: odd.odd_gate(x, x, x, x), r"\[odd_gate\] takes at most 3 positional arguments: got 4"),
        (lambda: odd.odd_gate(x, x, x, d=x), r"\[odd_gate\] unexpected keyword argument: got 'd'"),
        (lambda: odd.odd_gate(x, x, c=x, b=x), r"\[odd_gate\] argument given twice: got 'b'"),
        (lambda: odd.odd_gate(), r"\[odd_gate\] missing argument: 'a'"),
        (lambda: odd.odd_each([]), r"\[odd_each\] argument 'tensors' must be a sequence of at least one Tensor"),
        (lambda: odd.odd_each([x, None]), r"\[odd_each\] argument 'tensors' must be a sequence of Tensors"),
        (lambda: odd.odd_everything(x, "1"), r"\[odd_everything\] argument 'i' must be an int: got str"),
        (lambda: odd.odd_everything(x, i=1.5), r"\[odd_everything\] argument 'i' must be an int: got float"),
        (lambda: odd.odd_everything(x, b=1), r"\[odd_everything\] argument 'b' must be a bool: got int"),
        (lambda: odd.odd_everything(x, s=None), r"\[odd_everything\] argument 's' must be a str: got NoneType"),
        (lambda: odd.odd_everything(x, d=("a",)), r"\[odd_everything\] argument 'd' must be an int or a sequence of ints"),
        (lambda: odd.odd_everything(x, n=[None]), r"\[odd_everything\] argument 'n' must be a number or a sequence of numbers"),
        (lambda: odd.odd_everything(x, out=3), r"\[odd_everything\] out must be a Tensor: got int"),
        (lambda: odd.odd_pair(x, out=x), r"\[odd_pair\] out must be a tuple of 2 Tensors"),
    ],
)
def test_wrong_arguments_are_errors_that_name_them(call: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call()


def test_arguments_of_every_type_reach_the_attributes() -> None:
    def text(**arguments: Any) -> str:
        graph = inference.capture(lambda t: odd.odd_everything(t, **arguments), x, simplify=False)
        return next(line for line in str(graph).splitlines() if "odd_everything" in line).partition("(")[2].partition(") [")[0]

    assert text() == (
        "i=1, oi=None, f=0.5, of=None, b=True, ob=None, s='x', os=None, d=(1, 2), od=None, n=(0.5, 1.0), on=None, dt=None, sc=1, osc=None"
    )
    given = {"i": 2, "oi": 3, "f": 4, "of": 0.5, "b": False, "ob": True, "s": "a", "os": "b", "d": 7, "od": [8, 9], "n": 1, "on": [2, 3]}
    assert text(**given, dt=pyburn.float64, sc=2.5, osc=False) == (
        "i=2, oi=3, f=4.0, of=0.5, b=False, ob=True, s='a', os='b', d=(7,), od=(8, 9), n=(1.0,), on=(2.0, 3.0), "
        "dt=float64, sc=2.5, osc=False"
    )


def test_attributes_of_every_type_are_saved_in_graphs(tmp_path: Path) -> None:
    graph = inference.capture(lambda t: odd.odd_everything(t, os="b", on=[2, 3], oi=4, dt=pyburn.int8), x)
    graph.save(str(tmp_path / "odd.graph"))
    again = inference.load(tmp_path / "odd.graph")
    assert str(again.graph) == str(graph) and again(x).tolist() == [7.5, 8.5]


def test_results_and_forms() -> None:
    assert odd.odd_gate(x, x, x).tolist() == [2, 6]
    assert [t.tolist() for t in odd.odd_each([x, x + 1])] == [[2, 4], [4, 6]]
    assert [t.tolist() for t in odd.odd_each(x, x + 1)] == [[2, 4], [4, 6]], "tensors may be spread over the arguments"
    pair = odd.odd_pair(x)
    assert pair.above.tolist() == [2, 3] and pair.below.tolist() == [0, 1] and isinstance(pair, tuple)
    target = pyburn.empty(2)
    assert odd.odd_gate(x, x, x, out=target) is target and target.tolist() == [2, 6]
    assert odd.odd_gate(target, x, x, out=target).tolist() == [3, 14]
    assert not hasattr(odd, "odd_gate_"), "only elementwise operations and those that say so have a form in place"


def test_functions_describe_themselves() -> None:
    gate = odd.odd_gate
    assert gate.__name__ == "odd_gate" and gate.__doc__ == "odd_gate(Tensor a, Tensor b, Tensor c) -> Tensor\n\na * b + c."
    assert list(inspect.signature(gate).parameters) == ["a", "b", "c", "out"]
    assert inspect.signature(odd.odd_everything).parameters["d"].default == (1, 2)
    assert pickle.loads(pickle.dumps(gate))(x, x, x).tolist() == [2, 6]
    assert plugins.operation("odd_pair")(x).above.tolist() == [2, 3]
    with pytest.raises(ValueError, match="unknown operation: got 'odd_nothing'"):
        plugins.operation("odd_nothing")


def test_gradients() -> None:
    a, b, c = (pyburn.tensor([float(i), 2.0], requires_grad=True) for i in range(3))
    odd.odd_gate(a, b, c).sum().backward()
    assert a.grad.tolist() == [1, 2] and b.grad.tolist() == [0, 2] and c.grad.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("odd_few", "the wrong number of gradients: expected 1, got 0"),
        ("odd_many", "the wrong number of gradients: expected 1, got 2"),
        ("odd_shape", r"the gradient of input 0 has a wrong shape: expected \(2,\), got \(7,\)"),
        ("odd_dtype", "the gradient of input 0 has a wrong dtype: expected float32, got float64"),
        ("odd_forgotten", "the gradient rule reads input 0, which was not saved"),
    ],
)
def test_a_wrong_gradient_is_an_error_that_names_the_operation(name: str, message: str) -> None:
    w = pyburn.ones(2, requires_grad=True)
    with pytest.raises(pyburn.GradientError, match=rf"\[{name}\].*{message}"):
        getattr(odd, name)(w).sum().backward()


def test_stubs(tmp_path: Path) -> None:
    from types import ModuleType

    from pyburn.stubs import stub_of

    module = ModuleType("odd_package")
    module.__dict__.update(vars(odd), other=len)
    text = stub_of(module)
    assert "def odd_gate(a: Tensor, b: Tensor, c: Tensor, *, out: Tensor | None = None) -> Tensor:" in text
    assert "n: float | Sequence[float] = (0.5,1)" in text and "def odd_each(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:" in text
    assert "out: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:" in text and "other" not in text
    compile(text, "odd_package.pyi", "exec")
    with pytest.raises(ValueError, match="expected a module with operations: got pathlib"):
        import pathlib

        stub_of(pathlib)
