"""The checks of each sample on a device. A check raises AssertionError, or SkipTest if it does not apply."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any
from unittest import SkipTest

import numpy as np

import pyburn
from pyburn import _core

from .calls import (
    TABLE,
    TOLERANCE,
    Call,
    assert_close,
    download,
    has_float64,
    has_in_place,
    has_out,
    has_several_results,
    results_of,
    with_history,
)
from .differences import first_differences, has_differences, second_differences
from .samples import Sample, read_sample

FUNCTIONS = {name.split(".")[0].lstrip("_") for name in TABLE} | {name.split(".")[0] for name in TABLE}
# The functions that errors of building blocks name, as in support/error.cpp.
_FUNCTION_OF = {"_border_pad": "pad", "attention": "scaled_dot_product_attention", "class_loss": "cross_entropy", "distinct": "unique"}

# References are dicts: value, dtype (value1, dtype1, ... for further results), grad0, ... by input, after0, ... for modified inputs.


@cache
def _numpy_values(op: str, line: str) -> dict[str, Any]:
    sample = read_sample(op, line)
    call = Call(sample, "numpy", gradient=False)
    y = call()
    reference: dict[str, Any] = {} if results_of(y) else {"value": y}
    for k, r in enumerate(results_of(y)):
        reference |= {f"value{k or ''}": download(r), f"dtype{k or ''}": r.dtype.name}
    return reference | {f"after{i}": download(t) for i, (_, t) in enumerate(call.made)}


@cache
def _cpu_gradients(op: str, line: str) -> dict[str, Any]:
    call = Call(read_sample(op, line), "cpu")
    y = call()
    return {f"grad{i}": g for i, g in call.gradients(y).items()} if call.leaves and with_history(y) else {}


def numpy_values(sample: Sample) -> dict[str, Any]:
    """Returns the results of the reference backend, computed once per sample."""
    return _numpy_values(sample.op, sample.line)


def cpu_gradients(sample: Sample) -> dict[str, Any]:
    """Returns the gradients on the CPU, which differences() checks."""
    return _cpu_gradients(sample.op, sample.line)


def lacks_dtype(error: Exception) -> bool:
    """Returns whether the device cannot store a dtype that was needed, such as that of an index.

    Args:
        error: The error of the device.

    >>> lacks_dtype(pyburn.DTypeError("[to] mine cannot store float64"))
    True
    """
    return isinstance(error, pyburn.DTypeError) and "cannot store" in str(error)


def check_value(sample: Sample, device: Any, *references: dict[str, Any]) -> None:
    call = Call(sample, device)
    y = call()
    results = results_of(y)
    for expected in references or (numpy_values(sample),):
        if not results:  # a plain value
            assert y == expected["value"], f"got {y}, expected {expected['value']}"
        for k, r in enumerate(results):
            n = k or ""
            assert r.dtype.name == expected[f"dtype{n}"], f"dtype: got {r.dtype.name}, expected {expected[f'dtype{n}']}"
            assert r.device == _core.Device(device), f"device: got {r.device}, expected {device}"
            assert_close(download(r), expected[f"value{n}"], r.dtype.name)
        assert f"value{len(results) or 1}" not in expected, "fewer results than expected"
        for i, (x, t) in enumerate(call.made):  # inputs are unchanged, except for those that PyTorch changes too
            assert_close(download(t), expected.get(f"after{i}", x.array), x.dtype)
    if "requires_grad" in sample.keywords:
        assert _core._requires_grad(y) == sample.keywords["requires_grad"]


def check_gradient(sample: Sample, device: Any, expected: dict[str, Any] | None = None) -> None:
    expected = cpu_gradients(sample) if expected is None else expected
    if not any(key.startswith("grad") for key in expected):
        raise SkipTest("no gradient")
    call = Call(sample, device)
    y = call()
    found = call.gradients(y)
    dtype = results_of(y)[0].dtype.name
    for i, t in call.leaves.items():
        coarser = dtype if dtype in TOLERANCE and TOLERANCE[dtype] > TOLERANCE[t.dtype.name] else t.dtype.name
        zeros = np.zeros(tuple(t.shape))  # no gradient arrives
        assert_close(found.get(i, zeros), expected.get(f"grad{i}", zeros), coarser)


def check_derivative(sample: Sample, device: Any) -> None:
    """Checks first and second derivatives in float64 against finite differences, computed once on the CPU."""
    if not has_float64(device) or not has_differences(sample, sum(g.size for g in cpu_gradients(sample).values())):
        raise SkipTest("no difference quotients")
    call = Call(sample, device, float64=True)
    for found, expected in ((call.first_order(), first_differences(sample)), (call.second_order(), second_differences(sample))):
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def strided_like(y: Any) -> Any:
    """Returns a tensor for y's values with reversed dimension order in memory and every second element unused."""
    shape = tuple(y.shape)
    base = pyburn.zeros((*reversed(shape), 2), dtype=y.dtype, device=y.device)
    return pyburn.permute(pyburn.select(base, len(shape), 1), tuple(reversed(range(len(shape)))))


def check_out(sample: Sample, device: Any) -> None:
    results = results_of(Call(sample, device, gradient=False)())
    for make in (pyburn.zeros_like, strided_like):
        targets = tuple(make(r) for r in results)
        target = targets if has_several_results(sample.op) else targets[0]
        assert Call(sample, device, gradient=False)(out=target) is target
        for r, t in zip(results, targets):
            assert_close(download(t), download(r), r.dtype.name)


def check_in_place(sample: Sample, device: Any) -> None:
    y = Call(sample, device, gradient=False)()
    call = Call(sample, device, gradient=False)
    target = call.arguments[0]
    if not isinstance(target, pyburn.Tensor) or target.shape != y.shape:
        raise SkipTest("the result has another shape than the first operand")
    target = pyburn.contiguous_copy(target)
    write = getattr(target, sample.function + "_")
    if target.dtype != y.dtype and (y.dtype.is_floating_point > target.dtype.is_floating_point or target.dtype is pyburn.bool):
        try:
            write(*call.arguments[1:], **call.keywords)
        except pyburn.DTypeError as error:
            assert "can't be cast" in str(error), error
            return
        raise AssertionError("a result of another dtype was written without an error")
    version = target._version
    assert write(*call.arguments[1:], **call.keywords) is target
    assert target._version == version + 1
    assert_close(download(target), download(pyburn.cast(y, target.dtype)), target.dtype.name)


def check_error(sample: Sample, device: Any) -> None:
    try:
        [download(r) for r in results_of(Call(sample, device, gradient=False)())]
    except (pyburn.PyburnError, TypeError) as error:
        message = str(error)
        if (isinstance(error, pyburn.UnsupportedOp) or lacks_dtype(error)) and str(sample.error) not in message:
            raise
    else:
        raise AssertionError(f"no error was raised; expected one with {sample.error!r}")
    assert str(sample.error) in message, f"expected an error with {sample.error!r}: got {message!r}"
    named = re.match(r"\[(\w+)\] \S", message)
    assert named, f"the error does not name the operation: got {message!r}"
    # A composite operation may raise the error in one of its parts, and a building block names the function that users call.
    assert (
        named[1] in {sample.function.lstrip("_"), _FUNCTION_OF.get(sample.function)} if TABLE[sample.op]["row"] else named[1] in FUNCTIONS
    ), message


# The checks by name, and the samples they apply to.
OF_SAMPLES: dict[str, tuple[Callable[[Sample, Any], None], Callable[[Sample], bool]]] = {
    "value": (check_value, lambda s: not s.error),
    "gradient": (check_gradient, lambda s: not s.error and any(x.is_leaf for x in s.inputs)),
    "derivative": (check_derivative, lambda s: has_differences(s, sum(x.array.size for x in s.inputs if x.is_leaf))),
    "out": (check_out, lambda s: not s.error and has_out(s.op)),
    "in_place": (check_in_place, lambda s: not s.error and has_in_place(s.op)),
    "error": (check_error, lambda s: bool(s.error)),
}
