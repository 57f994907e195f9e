"""Errors that arise after the call belong to the storage they spoil. The leaf `late` (tests/plugins/late_leaf.cpp) fails when told to."""

import os

import pytest

import pyburn

PATH = os.environ.get("PYBURN_LATE_LEAF")
if not PATH:
    pytest.skip("PYBURN_LATE_LEAF is not set: make test sets it", allow_module_level=True)
pyburn.load_library(PATH)

STACKS = ["{}", "fusion({})", "remote({})", "trace({})", "router({}, cpu)"]
pytestmark = pytest.mark.parametrize("stack", STACKS)


@pytest.fixture
def failing(stack):
    return stack.format("late:fail=log")


def test_only_reads_that_depend_on_the_failed_operation_raise(failing):
    x = pyburn.ones(4, device=failing)
    bad = x.log()
    other = x * 2
    worse = bad + other
    assert other.tolist() == [2, 2, 2, 2]
    for spoiled in (bad, worse, bad[1:], worse.sum()):
        with pytest.raises(pyburn.OutOfMemoryError, match=r"^\[log\] failed late"):
            spoiled.tolist()
    assert (x + 1).tolist() == [2, 2, 2, 2]


def test_a_full_overwrite_clears_the_error(failing):
    x = pyburn.ones(4, device=failing)
    bad = x.log()
    bad[:2] = 5
    with pytest.raises(pyburn.OutOfMemoryError):
        bad.tolist()
    bad += 1
    with pytest.raises(pyburn.OutOfMemoryError):
        bad.tolist()
    bad.copy_(x)
    assert bad.tolist() == [1, 1, 1, 1]


def test_a_failure_in_place_spoils_the_tensor_and_its_views(failing):
    x = pyburn.ones(4, device=failing)
    view = x[2:]
    untouched = x.clone()
    x.log_()
    for spoiled in (x, view):
        with pytest.raises(pyburn.OutOfMemoryError):
            spoiled.tolist()
    x.fill_(3)
    assert view.tolist() == [3, 3]
    assert untouched.tolist() == [1, 1, 1, 1]


def test_the_backward_pass_carries_the_error_to_the_gradient(failing):
    w = pyburn.ones(3, device=failing, requires_grad=True)
    v = pyburn.ones(3, device=failing, requires_grad=True)
    (w.log() * v + v).sum().backward()
    with pytest.raises(pyburn.OutOfMemoryError):
        v.grad.tolist()


def test_a_device_without_float64_says_so(stack):
    device = stack.format("late")
    with pytest.raises(pyburn.DTypeError, match="float64"):
        pyburn.zeros(2, dtype=pyburn.float64, device=device)
    with pytest.raises(pyburn.DTypeError, match="float64"):
        pyburn.ones(2, device=device).double()
    assert pyburn.ones(2, device=device).sum().item() == 2


def test_an_operation_with_more_tensors_than_the_device_binds(stack):
    device = stack.format("late")
    parts = [pyburn.full((2,), float(i), device=device) for i in range(20)]
    assert pyburn.cat(parts).tolist() == [float(i // 2) for i in range(40)]
    assert pyburn.stack(parts).sum().item() == 380
    optimiser = pyburn.optim.Adam([p.requires_grad_() for p in parts], lr=0.1)
    pyburn.stack(parts).sum().backward()
    optimiser.step()
    assert abs(parts[3][0].item() - 2.9) < 1e-5


def test_a_lost_device_spoils_everything(stack):
    operation = ("erf", "sin", "cos", "tan", "atan")[STACKS.index(stack)]  # a device each: it stays lost
    device = stack.format(f"late:lose={operation}")
    x = pyburn.ones(4, device=device)
    assert x.tolist() == [1, 1, 1, 1]
    y = getattr(x, operation)()
    # A call that finds the device lost may raise at once.
    for read in (y.tolist, x.tolist, lambda: (x + 1).tolist(), lambda: pyburn.ones(4, device=device).tolist()):
        with pytest.raises(pyburn.DeviceError, match="lost"):
            read()


def test_synchronize_waits_and_leaves_errors_to_those_who_read(stack, failing):
    x = pyburn.ones(4, device=failing)
    bad, good = x.log(), x * 2
    pyburn.synchronize(failing)
    pyburn.device(failing).synchronize()
    assert good.tolist() == [2, 2, 2, 2]
    with pytest.raises(pyburn.OutOfMemoryError):
        bad.tolist()
    pyburn.synchronize(failing)


def test_synchronize_raises_if_the_device_is_lost(stack):
    operation = ("exp", "tanh", "sinh", "cosh", "asin")[STACKS.index(stack)]
    device = stack.format(f"late:lose={operation}")
    made = getattr(pyburn.zeros(4, device=device), operation)()  # kept: fusion does not compute what nobody holds
    with pytest.raises(pyburn.DeviceError, match="lost"):
        pyburn.synchronize(device)
    assert made.shape == (4,)
