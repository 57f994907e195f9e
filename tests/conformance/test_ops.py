"""Every operation on every device: values, dtypes, gradients of first and second order, in-place and out=, errors.

The checks are those of pyburn.testing.conformance; here the references are PyTorch's recorded results too.
"""

from __future__ import annotations

import pytest
from harness import DEVICES, SAMPLES, golden

from pyburn.testing.conformance import checks
from pyburn.testing.conformance.calls import fits, has_float64, has_in_place, has_out, name_of
from pyburn.testing.conformance.differences import has_differences

CASES = [s for s in SAMPLES if not s.error]
ERRORS = [s for s in SAMPLES if s.error]

on_every_device = pytest.mark.parametrize("device", DEVICES)


@pytest.fixture(autouse=True)
def dtypes_of_the_device(request):
    """Skips the samples whose dtypes the device does not have."""
    if not fits(request.getfixturevalue("sample"), request.getfixturevalue("device")):
        pytest.skip("the device has no float64")


@on_every_device
@pytest.mark.parametrize("sample", CASES, ids=name_of)
def test_value(sample, device):
    checks.check_value(sample, device, golden(sample), checks.numpy_values(sample))


@on_every_device
@pytest.mark.parametrize("sample", [s for s in CASES if any(key.startswith("grad") for key in golden(s))], ids=name_of)
def test_gradient(sample, device):
    checks.check_gradient(sample, device, golden(sample))


def elements_of_gradients(sample):
    return sum(g.size for key, g in golden(sample).items() if key.startswith("grad"))


@pytest.mark.parametrize("device", [d for d in DEVICES if has_float64(d)])
@pytest.mark.parametrize("sample", [s for s in CASES if has_differences(s, elements_of_gradients(s))], ids=name_of)
def test_gradient_is_the_derivative(sample, device):
    checks.check_derivative(sample, device)


@on_every_device
@pytest.mark.parametrize("sample", [s for s in CASES if has_out(s.op)], ids=name_of)
def test_out(sample, device):
    checks.check_out(sample, device)


@on_every_device
@pytest.mark.parametrize("sample", [s for s in CASES if has_in_place(s.op)], ids=name_of)
def test_in_place(sample, device):
    checks.check_in_place(sample, device)


@on_every_device
@pytest.mark.parametrize("sample", ERRORS, ids=name_of)
def test_error(sample, device):
    checks.check_error(sample, device)
