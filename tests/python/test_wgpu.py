"""The GPU backend: what the conformance suite does not ask. Skipped where there is no adapter, not even one in software."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import pyburn
from pyburn import nn
from pyburn.backend import gpu

try:
    pyburn.device("wgpu")
    WHY = ""
except pyburn.DeviceError as error:
    WHY = str(error)

pytestmark = pytest.mark.skipif(bool(WHY), reason=f"THE GPU BACKEND IS NOT TESTED: {WHY}")


def spent(work, device="wgpu"):
    before = gpu.counters(device)
    work()
    return gpu.Counters(*(b - a for a, b in zip(before, gpu.counters(device))))


def program(text: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", textwrap.dedent(text)], env={**os.environ, **environment}, capture_output=True, text=True)


def test_adapters_are_listed_and_chosen_by_index_and_name():
    first = gpu.adapters()[0]
    assert first.name and first.kind in ("discrete GPU", "integrated GPU", "software", "unknown") and first.largest_tensor >= 2**27
    word = first.name.split()[0]
    assert pyburn.ones(2, device=f"wgpu:{word}").tolist() == [1, 1]
    assert pyburn.device("wgpu:0") == pyburn.device("Wgpu") == pyburn.device("gpu")
    with pytest.raises(pyburn.DeviceError, match="no such adapter"):
        pyburn.device("wgpu:77")
    with pytest.raises(pyburn.DeviceError, match="no such adapter"):
        pyburn.device("wgpu:no such GPU")


def test_a_software_adapter_is_not_the_default_device():
    if any(adapter.kind != "software" for adapter in gpu.adapters()):
        pytest.skip("this machine has a GPU")
    done = program("import pyburn; print(pyburn.ones(1).device)", PYBURN_DEVICE="")
    assert done.stdout == "autodiff(ndarray)\n", done.stderr


def test_without_the_library_the_rest_works():
    done = program(
        """
        import pyburn
        assert pyburn.ones(2).sum() == 2
        try:
            pyburn.ones(2, device="wgpu")
        except pyburn.DeviceError as error:
            print(error)
        """,
        PYBURN_WGPU_LIBRARY="/no/such/library",
    )
    assert "pip install wgpu==0.32.0" in done.stdout and not done.stderr, done


def test_another_library_is_refused():
    done = program("import pyburn; pyburn.ones(2, device='wgpu')", PYBURN_WGPU_LIBRARY="libm.so.6")
    assert done.returncode == 1 and "wgpu-native has no function" in done.stderr


def test_importing_pyburn_loads_no_driver():
    done = program("import pyburn; pyburn.ones(2).sum(); print('wgpu_native' in open('/proc/self/maps').read())", PYBURN_DEVICE="cpu")
    assert done.stdout == "False\n", done.stderr


def test_float64_is_refused_when_a_tensor_is_made():
    with pytest.raises(pyburn.DTypeError, match="float64"):
        pyburn.ones(2, dtype=pyburn.float64, device="wgpu")
    with pytest.raises(pyburn.DTypeError, match="float64"):
        pyburn.ones(2, device="wgpu").double()


def test_a_tensor_that_is_too_large_is_out_of_memory():
    with pytest.raises(pyburn.OutOfMemoryError, match="at most"):
        pyburn.empty(2**33, dtype=pyburn.uint8, device="wgpu")
    assert pyburn.ones(3, device="wgpu").sum() == 3


@pytest.mark.parametrize("dtype", [pyburn.int8, pyburn.uint8, pyburn.bool, pyburn.int16, pyburn.float16, pyburn.bfloat16])
def test_narrow_elements_keep_their_neighbours(dtype):
    x = pyburn.zeros(64, 33, dtype=dtype, device="wgpu")
    x[1::2, ::3] = 1
    x[:, 5] = x[:, 6]
    expected = np.zeros((64, 33))
    expected[1::2, ::3] = 1
    expected[:, 5] = expected[:, 6]
    assert np.array_equal(x.cpu().to(pyburn.float32).numpy(), expected)


def test_integers_of_64_bits_are_exact():
    numbers = [2**62 + 3, -(2**62) - 5, 2**53 + 1, -1, 0, 7]
    a, b = pyburn.tensor(numbers, device="wgpu"), pyburn.tensor(numbers[::-1], device="wgpu")
    wrapped = [(x * y + 2**63) % 2**64 - 2**63 for x, y in zip(numbers, numbers[::-1])]
    assert (a * b).tolist() == wrapped
    assert (a // 7).tolist() == [x // 7 for x in numbers] and (a % -9).tolist() == [x % -9 for x in numbers]
    assert a.sum().item() == sum(numbers) and a.sort().values.tolist() == sorted(numbers)
    assert a.float().tolist() == [float(np.float32(x)) for x in numbers]
    total = pyburn.zeros(1, dtype=pyburn.int64, device="wgpu").index_add(0, pyburn.zeros(6, dtype=pyburn.int64, device="wgpu"), a)
    assert total.item() == sum(numbers)


def test_nan_is_found_in_its_bits():
    x = pyburn.tensor([1.0, float("nan"), -float("inf")], device="wgpu")
    assert (x != x).tolist() == [False, True, False] and (x == x).tolist() == [True, False, True]
    assert x.isnan().tolist() == [False, True, False] and np.isnan(x.relu().tolist()[1]) and np.isnan(x.max().item())
    assert x.clamp(0, 1).cpu().isnan().tolist() == [False, True, False]


def test_random_numbers_have_the_bits_of_the_cpu():
    def draws(device):
        pyburn.manual_seed(5)
        return [
            pyburn.rand(1001, device=device),
            pyburn.randint(-7, 2**31, (1001,), device=device),
            pyburn.nn.functional.dropout(pyburn.ones(1001, device=device), 0.3),
            pyburn.empty(1001, device=device).bernoulli_(0.25),
        ]

    for a, b in zip(draws("cpu"), draws("wgpu")):
        assert np.array_equal(a.numpy(), b.cpu().numpy())
    pyburn.manual_seed(5)
    normal = pyburn.randn(1001, device="wgpu").cpu().numpy()
    pyburn.manual_seed(5)
    np.testing.assert_allclose(normal, pyburn.randn(1001).numpy(), rtol=2e-4, atol=2e-5)


def test_an_index_out_of_range_spoils_what_depends_on_it():
    x = pyburn.arange(4.0, device="wgpu")
    y = x[pyburn.tensor([1, 9], device="wgpu")]
    z, other = y * 2, x + 1
    assert other.tolist() == [1, 2, 3, 4]  # nothing to do with it
    late = z.sum()
    for spoiled in (y, z, late):
        with pytest.raises(IndexError, match=r"\[index\] index 9 is out of bounds for dimension 0 with size 4"):
            spoiled.tolist()
    y.fill_(3)
    assert y.tolist() == [3, 3] and x.tolist() == [0, 1, 2, 3]
    for n in range(100):  # more lookups between two reads than there are slots
        kept = x[pyburn.tensor([n % 4], device="wgpu")]
        lost = x[pyburn.tensor([4 + n], device="wgpu")]
    with pytest.raises(IndexError, match="out of"):
        lost.tolist()
    assert x[pyburn.tensor([2], device="wgpu")].tolist() == [2] and kept.shape == (1,)


def test_work_is_submitted_in_batches_and_read_only_when_asked():
    x = pyburn.ones(100, device="wgpu")
    (x + 1).tolist()

    def work():
        y = x
        for _ in range(100):
            y = y * 1.01 + 0.5
        return y

    count = spent(work)
    assert count.dispatches == 200 and count.submissions == 0 and count.downloaded == 0 and count.pipelines <= 2
    assert spent(lambda: work().sum().item()).downloaded == 4


def test_a_fused_run_is_one_kernel():
    device = "fusion(wgpu)"
    x = pyburn.linspace(-2, 2, 1000, device=device)
    x.tolist()

    def run():
        return ((x * 2 + 1).tanh().exp() - x).sigmoid().tolist()

    expected = 1 / (1 + np.exp(-(np.exp(np.tanh(x.cpu().numpy() * 2 + 1)) - x.cpu().numpy())))
    np.testing.assert_allclose(run(), expected, rtol=1e-5)
    assert spent(run, device).dispatches == 1


def test_memory_is_recycled():
    device = pyburn.device("wgpu")
    x = pyburn.ones(1000, device=device)

    def step(n):
        y = x
        for _ in range(n):
            y = y * 0.5 + 1
        return y.sum().item()

    step(50)
    reserved = pyburn.memory_stats(device)["reserved"] if hasattr(pyburn, "memory_stats") else None
    step(1000)
    if reserved is not None:
        assert pyburn.memory_stats(device)["reserved"] <= reserved + 2**20


def test_a_network_trains_as_on_the_cpu_without_leaving_the_gpu():
    def losses(device):
        pyburn.manual_seed(0)
        model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3)).to(device)
        optimizer = pyburn.optim.Adam(model.parameters(), lr=0.02)
        x = pyburn.tensor(np.random.default_rng(0).standard_normal((32, 8)).astype("float32")).to(device)
        target = pyburn.tensor(np.arange(32) % 3).to(device)
        kept = []
        for step in range(12):
            if step == 6 and device != "cpu":
                before = gpu.counters(device)
            loss = nn.functional.cross_entropy(model(x), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            kept.append(loss.detach())
        if device != "cpu":
            after = gpu.counters(device)
            assert after.downloaded == before.downloaded and after.host_calls == before.host_calls, (before, after)
            if "fusion" not in device:  # a queue is cut at other places in each step, until the cuts repeat
                assert after.pipelines == before.pipelines, (before, after)
        return [loss.item() for loss in kept]

    expected = losses("cpu")
    assert expected[-1] < expected[0]
    np.testing.assert_allclose(losses("wgpu"), expected, rtol=1e-4)
    np.testing.assert_allclose(losses("fusion(wgpu)"), expected, rtol=1e-4)


def test_models_move_back_and_forth():
    model = nn.Linear(3, 2)
    x = pyburn.ones(4, 3)
    there = model(x)
    model.backend = "wgpu"
    assert np.allclose(model(x.to("wgpu")).cpu().detach().numpy(), there.detach().numpy(), atol=1e-6)
    model.backend = "cpu"
    assert np.array_equal(model(x).detach().numpy(), there.detach().numpy())


def test_a_lost_device_is_an_error_and_the_process_goes_on():
    done = program(
        """
        import pyburn
        x = pyburn.ones(3, device="wgpu")
        y = x + 1
        pyburn._core._injure_gpu("wgpu", -1)
        works = (y.tolist, lambda: x * 2, lambda: pyburn.ones(3, device="wgpu").tolist(), lambda: pyburn.zeros(10**6, device="wgpu") + 1)
        for work in works:
            try:
                work()
            except pyburn.DeviceError as error:
                print("lost" in str(error))
        print(pyburn.ones(3).sum().item())
        """
    )
    lines = done.stdout.split()
    assert done.returncode == 0 and lines[-1] == "3.0" and "True" in lines and "False" not in lines, done


def test_running_out_of_memory_at_every_allocation_leaks_nothing():
    done = program(
        """
        import pyburn
        from pyburn import _core
        x = pyburn.arange(5000.0, device="wgpu")
        failures = 0
        for n in range(40):
            _core._injure_gpu("wgpu", n)
            try:
                y = x
                for k in range(8):  # sizes that the pool does not have yet
                    y = pyburn.cat([y, x])[: 5000 + 700 * k + 37 * n] * 1.5
                y.sum().item()
            except pyburn.OutOfMemoryError as error:
                failures += "could not be allocated" in str(error)
        _core._injure_gpu("wgpu", 10**6)
        print(failures > 3, (x * 2)[-1].item())
        """
    )
    assert done.stdout == "True 9998.0\n", done


def test_a_forked_process_is_refused():
    done = program(
        """
        import os, pyburn
        x = pyburn.ones(3, device="wgpu")
        x.tolist()
        if child := os.fork():
            print(os.waitpid(child, 0)[1], x.sum().item())
        else:
            try:
                (x + 1).tolist()
            except pyburn.DeviceError as error:
                os._exit(0 if "forked" in str(error) else 1)
            os._exit(2)
        """
    )
    assert done.stdout == "0 3.0\n", done
