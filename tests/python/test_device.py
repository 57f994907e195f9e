"""Devices by name, enum and object; defaults; random numbers."""

from __future__ import annotations

import threading

import pytest

import pyburn


def test_names_in_any_case_are_one_device() -> None:
    cpu = pyburn.device("cpu")
    assert cpu == pyburn.device("CPU") == pyburn.Device("NdArray") == pyburn.device(pyburn.BackendKind.NDARRAY) == pyburn.device(cpu)
    assert cpu == "cpu" and cpu != "nonsense" and cpu != 3
    assert isinstance(cpu, pyburn.device)
    assert repr(cpu) == "device('autodiff(ndarray)')" and str(cpu) == "autodiff(ndarray)"
    assert cpu.type == "cpu"
    assert len({cpu, pyburn.device("CPU")}) == 1


def test_everything_that_names_a_device_is_accepted() -> None:
    for d in ("cpu", "NDARRAY", pyburn.device("cpu"), pyburn.BackendKind.NDARRAY):
        assert pyburn.ones(1, device=d).device == "cpu"
        assert pyburn.tensor([1], device=d).device == "cpu"
        assert pyburn.ones(1).to(d).device == "cpu"


def test_the_default_device() -> None:
    assert pyburn.get_default_device() == "cpu"
    try:
        pyburn.set_default_device("numpy")
        assert pyburn.ones(1).device == pyburn.tensor([1]).device == "numpy"
        with pyburn.device("cpu") as d:
            assert d == "cpu" == pyburn.get_default_device()
            with pyburn.device("numpy"):
                assert pyburn.zeros(1).device == "numpy"
            assert pyburn.zeros(1).device == "cpu"
    finally:
        pyburn.set_default_device(None)
    assert pyburn.ones(1).device == "cpu"


def test_a_block_ends_with_an_error_too() -> None:
    with pytest.raises(ZeroDivisionError), pyburn.device("numpy"):
        _ = 1 / 0
    assert pyburn.get_default_device() == "cpu"


def test_a_block_is_of_its_thread() -> None:
    seen = []
    with pyburn.device("numpy"):
        thread = threading.Thread(target=lambda: seen.append(pyburn.get_default_device()))
        thread.start()
        thread.join()
    assert seen[0] == "cpu"


def test_moving_between_devices_is_differentiable() -> None:
    x = pyburn.arange(3.0).detach().requires_grad_()
    y = (x * 2).to("numpy")
    assert y.device == "numpy" and y.requires_grad and "ToCopyBackward0" in repr(y)
    (y * y).sum().to("cpu").backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0, 8, 16] and x.grad.device == "cpu"
    with pyburn.no_grad():
        assert not x.to("numpy").requires_grad
    with pytest.raises(pyburn.DeviceError, match="different devices"):
        x + y


def test_values_are_copied_from_other_devices() -> None:
    x = pyburn.arange(3.0, device="numpy").requires_grad_()
    y = pyburn.zeros(2, 3)
    y[0] = x
    y[1].copy_(x * 2)
    assert y.device == "cpu" and y.tolist() == [[0, 1, 2], [0, 2, 4]]
    (y * pyburn.tensor([[1.0], [10.0]])).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [21, 21, 21] and x.grad.device == "numpy"


def test_unknown_and_unavailable_devices_are_explained() -> None:
    with pytest.raises(pyburn.DeviceError, match="ndarray.*autodiff|autodiff.*ndarray"):
        pyburn.device("nonsense")
    with pytest.raises(pyburn.DeviceError, match="not available here"):
        pyburn.device(pyburn.BackendKind.PYTORCH)
    with pytest.raises(TypeError, match="device"):
        pyburn.ones(1, device=3)


def test_the_table_of_backends() -> None:
    table = pyburn.backends()
    by_name = {b.name: b for b in table}
    assert by_name["ndarray"].available and by_name["ndarray"].aliases == ("cpu",)
    assert by_name["numpy"].available
    assert by_name["autodiff"].decorator
    assert not by_name["torch"].available and by_name["torch"].reason
    text = repr(table)
    assert "autodiff(...)" in text and by_name["torch"].reason in text
    assert len(text.splitlines()) == len(table) + 1
    assert "not available" in repr(by_name["torch"])


def test_reading_through_a_queue() -> None:
    x = pyburn.arange(6.0, device=pyburn.BackendKind.FUSIONJITBACKEND).reshape(2, 3)
    y = (x * 2 + 1)[:, 1:]
    y[0, 0] = 9
    assert y.tolist() == y.numpy().tolist() == y.cpu().tolist() == [[9, 5], [9, 11]]
    assert repr(y) == "tensor([[ 9.,  5.],\n        [ 9., 11.]], device='fusion(ndarray)')"
    w = pyburn.ones(3, requires_grad=True)
    (w.to("fusion(cpu)") * x).sum().backward()
    assert w.grad is not None and w.grad.tolist() == [3, 5, 7]


def test_seeds() -> None:
    assert pyburn.manual_seed(3) is pyburn.default_generator
    a = pyburn.rand(4)
    state = pyburn.get_rng_state()
    b = pyburn.rand(4)
    pyburn.set_rng_state(state)
    assert pyburn.equal(pyburn.rand(4), b) and not pyburn.equal(a, b)
    pyburn.manual_seed(3)
    assert pyburn.equal(pyburn.rand(4), a) and pyburn.initial_seed() == 3
    pyburn.manual_seed(-1)
    assert pyburn.initial_seed() == 2**64 - 1
    assert pyburn.seed() == pyburn.initial_seed()
    g = pyburn.Generator().manual_seed(3)
    assert pyburn.equal(pyburn.rand(4, generator=g), a)
    pyburn.manual_seed(3)
    assert pyburn.equal(pyburn.rand(4, device="numpy").cpu(), a)
    with pytest.raises(ValueError):
        pyburn.manual_seed(2**64)


@pytest.mark.parametrize("name", ["cpu", "fusion(cpu)", "numpy", "inner(cpu)", "router(numpy, cpu)", "remote(cpu)", "meta"])
def test_every_device_can_be_waited_for(name):
    x = pyburn.ones(3, device=name) * 2
    pyburn.synchronize(name)
    pyburn.synchronize(x.device)
    x.device.synchronize()


def test_synchronize_without_a_device_waits_for_the_default_one():
    waited = []

    class Waited(pyburn.backend.Backend):
        name = "waited"

        def synchronize(self):
            waited.append(True)

    pyburn.backend.register("waited", Waited)
    pyburn.synchronize()
    assert waited == []
    with pyburn.device("waited"):
        pyburn.synchronize()
        pyburn.cuda.synchronize()
        pyburn.cuda.synchronize(0)
    assert len(waited) == 3
    pyburn.synchronize("waited")
    assert len(waited) == 4
    with pytest.raises(pyburn.DeviceError):
        pyburn.synchronize("no such device")
