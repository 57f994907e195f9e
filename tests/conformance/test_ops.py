"""Every operation on every device: values, dtypes, gradients of first and second order, in-place and out=, errors."""

from __future__ import annotations

import re

import numpy as np
import pytest
from differences import first_differences, has_differences, second_differences
from harness import (
    DEVICES,
    SAMPLES,
    TABLE,
    TOLERANCE,
    Call,
    assert_close,
    download,
    fits,
    golden,
    has_float64,
    name_of,
    numpy_values,
    results_of,
)
from schema import read_all

import pyburn
from pyburn import _core

CASES = [s for s in SAMPLES if not s.error]
ERRORS = [s for s in SAMPLES if s.error]
ENTRIES = {e.name: e for e in read_all()}
HAS_OUT = {name for name, e in ENTRIES.items() if e.has_out}
HAS_IN_PLACE = {name for name, e in ENTRIES.items() if e.has_inplace}

FUNCTIONS = {e.function for e in ENTRIES.values()}

on_every_device = pytest.mark.parametrize("device", DEVICES)


@pytest.fixture(autouse=True)
def dtypes_of_the_device(request):
    """Skips the samples whose dtypes the device does not have."""
    if not fits(request.getfixturevalue("sample"), request.getfixturevalue("device")):
        pytest.skip("the device has no float64")


@on_every_device
@pytest.mark.parametrize("sample", CASES, ids=name_of)
def test_value(sample, device):
    expected = golden(sample)
    call = Call(sample, device)
    y = call()
    results = results_of(y)
    if not results:  # a plain value
        assert y == expected["value"]
    for k, (r, reference) in enumerate(zip(results, numpy_values(sample.op, sample.line), strict=True)):
        n = k or ""
        assert r.dtype.name == expected[f"dtype{n}"]
        assert r.device == _core.Device(device)
        value = download(r)
        assert_close(value, expected[f"value{n}"], r.dtype.name)
        assert_close(value, reference, r.dtype.name)
    assert f"value{len(results)}" not in expected
    for i, (x, t) in enumerate(call.made):  # inputs stay as they were, but for those that PyTorch changes too
        assert_close(download(t), expected.get(f"after{i}", x.array), x.dtype)
    if "requires_grad" in sample.keywords:
        assert _core._requires_grad(y) == sample.keywords["requires_grad"]


@on_every_device
@pytest.mark.parametrize("sample", [s for s in CASES if any(key.startswith("grad") for key in golden(s))], ids=name_of)
def test_gradient(sample, device):
    expected = golden(sample)
    call = Call(sample, device)
    y = call()
    found = call.gradients(y)
    y = results_of(y)[0]
    for i, t in call.leaves.items():
        coarser = y.dtype.name if y.dtype.name in TOLERANCE and TOLERANCE[y.dtype.name] > TOLERANCE[t.dtype.name] else t.dtype.name
        zeros = np.zeros(tuple(t.shape))  # where no gradient arrives
        assert_close(found.get(i, zeros), expected.get(f"grad{i}", zeros), coarser)


@pytest.mark.parametrize("device", [d for d in DEVICES if has_float64(d)])
@pytest.mark.parametrize("sample", [s for s in CASES if has_differences(s)], ids=name_of)
def test_gradient_is_the_derivative(sample, device):
    """First and second gradients, in float64, against difference quotients that were computed once, on the cpu."""
    call = Call(sample, device, float64=True)
    for found, expected in ((call.first_order(), first_differences(sample)), (call.second_order(), second_differences(sample))):
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def strided_like(y):
    """A tensor for y's values that lies in memory with its axes reversed, each second element unused."""
    shape = tuple(y.shape)
    base = pyburn.zeros((*reversed(shape), 2), dtype=y.dtype, device=y.device)
    return pyburn.permute(pyburn.select(base, len(shape), 1), tuple(reversed(range(len(shape)))))


@on_every_device
@pytest.mark.parametrize("sample", [s for s in CASES if s.op in HAS_OUT], ids=name_of)
def test_out(sample, device):
    y = Call(sample, device, gradient=False)()
    results = results_of(y)
    for make in (pyburn.zeros_like, strided_like):
        targets = tuple(make(r) for r in results)
        target = targets if ENTRIES[sample.op].results else targets[0]
        assert Call(sample, device, gradient=False)(out=target) is target
        for r, t in zip(results, targets):
            assert_close(download(t), download(r), r.dtype.name)


@on_every_device
@pytest.mark.parametrize("sample", [s for s in CASES if s.op in HAS_IN_PLACE], ids=name_of)
def test_in_place(sample, device):
    y = Call(sample, device, gradient=False)()
    call = Call(sample, device, gradient=False)
    target = call.arguments[0]
    if not isinstance(target, pyburn.Tensor) or target.shape != y.shape:
        pytest.skip("the result does not fit the first operand")
    target = pyburn.contiguous_copy(target)
    write = getattr(target, sample.function + "_")
    if target.dtype != y.dtype and (y.dtype.is_floating_point > target.dtype.is_floating_point or target.dtype is pyburn.bool):
        with pytest.raises(pyburn.DTypeError, match="can't be cast"):
            write(*call.arguments[1:], **call.keywords)
        return
    version = target._version
    assert write(*call.arguments[1:], **call.keywords) is target
    assert target._version == version + 1
    assert_close(download(target), download(pyburn.cast(y, target.dtype)), target.dtype.name)


@on_every_device
@pytest.mark.parametrize("sample", ERRORS, ids=name_of)
def test_error(sample, device):
    with pytest.raises((pyburn.PyburnError, TypeError)) as caught:
        [download(r) for r in results_of(Call(sample, device, gradient=False)())]
    message = str(caught.value)
    assert sample.error in message
    named = re.match(r"\[(\w+)\] \S", message)
    assert named, message
    # A composite may leave the refusal to an operation that it is made of.
    assert named[1] == sample.function if TABLE[sample.op]["row"] else named[1] in FUNCTIONS
