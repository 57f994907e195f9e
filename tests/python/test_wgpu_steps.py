"""What training and inference ask of a GPU, counted: kernels, batches, compiled shaders and bytes. Skipped where there is no adapter."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import pyburn
from pyburn import nn, optim
from pyburn.backend import gpu

try:
    pyburn.device("wgpu")
    WHY = ""
except pyburn.DeviceError as error:
    WHY = str(error)

pytestmark = pytest.mark.skipif(bool(WHY), reason=f"THE GPU BACKEND IS NOT TESTED: {WHY}")


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 5))


def spent(device: str, work: Callable[[], object]) -> gpu.Counters:
    before = gpu.counters(device)
    work()
    return gpu.Counters(*(b - a for a, b in zip(before, gpu.counters(device), strict=True)))


def steps_of(device: str, count: int) -> list[gpu.Counters]:
    """Trains without reading anything."""
    pyburn.manual_seed(0)
    model = perceptron().to(device)
    x, target = pyburn.randn(32, 20).to(device), pyburn.randint(0, 5, (32,)).to(device)
    optimizer = optim.Adam(model.parameters(), lr=0.01)

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), target).backward()
        optimizer.step()

    return [spent(device, step) for _ in range(count)]


@pytest.mark.parametrize("device", ["wgpu", "fusion(wgpu)"])
def test_a_step_is_few_batches_and_repeats(device: str) -> None:
    steps = steps_of(device, 12)
    for step in steps:
        assert step.submissions <= 2 and step.dispatches > 0
        assert step.downloaded == 0 and step.host_calls == 0
    for step in steps[2:]:
        assert step.pipelines == 0 and step.uploaded == 0
        assert step.dispatches == steps[2].dispatches


def test_fusion_needs_fewer_kernels() -> None:
    plain, fused = (steps_of(device, 4)[-1].dispatches for device in ("wgpu", "fusion(wgpu)"))
    assert fused < plain


OPTIMIZERS = {
    "SGD": {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
    "ASGD": {"lambd": 0.1, "t0": 0},
    "Adam": {"amsgrad": True, "weight_decay": 0.1},
    "AdamW": {"weight_decay": 0.1, "maximize": True},
    "Adamax": {},
    "NAdam": {"weight_decay": 0.1},
    "RAdam": {},
    "Lion": {},
    "Adan": {},
    "Adagrad": {"lr_decay": 0.1},
    "Adadelta": {},
    "RMSprop": {"centered": True, "momentum": 0.5},
    "Rprop": {},
}


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("dtype", [pyburn.float32, pyburn.bfloat16])
def test_an_optimizer_updates_a_parameter_in_one_kernel(name: str, dtype: pyburn.dtype) -> None:
    pyburn.manual_seed(2)
    start, gradients = [pyburn.randn(6, 7).to(dtype).T, pyburn.randn(9).to(dtype)], [pyburn.randn(6, 7).T, pyburn.randn(9)]

    def run(device: str) -> list[pyburn.Tensor]:
        parameters = [nn.Parameter(t.clone().to(device)) for t in start]
        optimizer = getattr(optim, name)(parameters, lr=0.05, **OPTIMIZERS[name])
        for step in range(6):
            for p, g in zip(parameters, gradients, strict=True):
                p.grad = ((g * (step % 3 - 0.5)).to(dtype)).to(device)
            if device == "wgpu" and step > 0:
                assert spent(device, optimizer.step).dispatches == 2
            else:
                optimizer.step()
        return [p.detach().cpu().float() for p in parameters]

    for a, b, before in zip(run("cpu"), run("wgpu"), start, strict=True):
        assert not np.array_equal(a.numpy(), before.float().numpy())
        np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=2e-2 if dtype == pyburn.bfloat16 else 1e-5, atol=1e-6)


def test_a_step_with_infinite_gradients_changes_nothing() -> None:
    for device in ("wgpu", "fusion(wgpu)"):
        p = nn.Parameter(pyburn.ones(5, device=device))
        optimizer, scaler = optim.Adam([p], lr=0.1), pyburn.amp.GradScaler(device)
        for factor, changes in ((1.0, True), (float("inf"), False), (float("nan"), False), (1.0, True)):
            before = p.tolist()
            optimizer.zero_grad()
            scaler.scale((p * factor).sum()).backward()
            scaler.step(optimizer)
            scaler.update()
            assert (p.tolist() != before) == changes


def test_what_ends_a_run_is_part_of_its_kernel() -> None:
    device = "fusion(wgpu)"
    x, y = (pyburn.randn(300, 200).to(device) for _ in range(2))
    expected = np.tanh(x.cpu().numpy() * 2 + y.cpu().numpy())

    def rows() -> pyburn.Tensor:
        return (x * 2 + y).tanh().mean(1)

    np.testing.assert_allclose(rows().cpu().numpy(), expected.mean(1), atol=1e-6)
    count = spent(device, lambda: rows().cpu())
    assert count.dispatches == 1 and count.downloaded == 300 * 4
    total = (x * 2 + y).tanh().sum()
    assert spent(device, total.item).dispatches == 2  # long rows: parts, then their sum
    np.testing.assert_allclose(total.item(), expected.sum(), rtol=1e-5)


def test_sizes_and_numbers_are_not_compiled_into_kernels() -> None:
    device = "fusion(wgpu)"

    def run(n: int, factor: float) -> None:
        x = pyburn.ones(n, 3).to(device)
        assert (x * factor + 1).relu().sum(1).tolist() == [3 * (factor + 1)] * n

    run(5, 2.0)
    assert spent(device, lambda: run(9, 4.0)).pipelines == 0


def test_a_run_may_overwrite_what_it_reads() -> None:
    for device in ("cpu", "fusion(wgpu)"):
        x = pyburn.arange(12.0).reshape(3, 4).to(device)
        before = x.clone()
        old = x * 2
        x.add_(1).mul_(old)
        kept = x + before
        x[:, ::2] = 0
        x.sub_(kept.sum(1, keepdim=True))
        first = np.arange(12.0).reshape(3, 4)
        product = (first + 1) * first * 2
        expected = np.where(np.arange(4) % 2, product, 0) - (product + first).sum(1, keepdims=True)
        assert x.tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", [pyburn.float16, pyburn.bfloat16, pyburn.int8, pyburn.uint8, pyburn.int64])
def test_a_run_rounds_like_single_operations(dtype: pyburn.dtype) -> None:
    values = pyburn.arange(100).to(dtype)

    def run(device: str) -> list[float]:
        x = values.to(device)
        return ((x * 3 + 5) * x - x * 7).to(pyburn.float32).tolist()

    assert run("fusion(wgpu)") == run("wgpu") == run("cpu")


def test_a_run_of_more_tensors_than_a_kernel_can_bind() -> None:
    device = "fusion(wgpu)"
    tensors = [pyburn.full((7,), float(k)).to(device) for k in range(70)]
    total = tensors[0]
    for t in tensors[1:]:
        total = total + t * 2
    assert total.tolist() == [2.0 * sum(range(70))] * 7


def test_a_product_reads_as_often_as_its_tiles_need() -> None:
    """The benchmark counts what kernels read, in a process of its own: counting changes them."""
    command = [sys.executable, str(Path(__file__).resolve().parents[2] / "benchmarks" / "wgpu.py"), "--part", "products"]
    environment = {**os.environ, "PYBURN_WGPU_COUNT_READS": "1"}
    output = subprocess.run(command, check=True, env=environment, capture_output=True, text=True).stdout
    rows = re.findall(r"^\| \d.*\| ([\d,]+) \| ([\d,]+) \|", output, re.MULTILINE)
    assert len(rows) == 4
    for read, needed in rows:
        assert read == needed
