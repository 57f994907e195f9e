"""A GPU beside other devices: sessions, models that move, checkpoints, the router, two devices. Skipped where there is no adapter."""

from __future__ import annotations

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
GPUS = ["wgpu", "fusion(wgpu)"]


def convolutional() -> nn.Module:
    pyburn.manual_seed(1)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 10), nn.LayerNorm(10)
    ).eval()


def close(a: pyburn.Tensor, b: pyburn.Tensor) -> bool:
    return np.allclose(a.detach().cpu().numpy(), b.detach().cpu().numpy(), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("device", GPUS)
def test_a_session_runs_on_a_gpu(device: str) -> None:
    model, x = convolutional(), pyburn.randn(4, 3, 8, 8)
    session = pyburn.inference.compile(model, x, device=device)
    assert pyburn.device(device) == session.device
    for _ in range(3):
        x = pyburn.randn(4, 3, 8, 8)
        y = session(x.to(device))
        assert y.device == pyburn.device(device) and close(y, model(x))
    with pytest.raises(pyburn.DeviceError, match=r"move it to session\.device"):
        session(x)


@pytest.mark.parametrize("device", GPUS)
def test_a_session_serves_any_batch_and_repeats(device: str) -> None:
    model = nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.Linear(16, 3), nn.Softmax(-1)).eval()
    session = pyburn.inference.compile(model, pyburn.randn(2, 6), device=device, dynamic={0: {0: "batch"}})
    for batch in (1, 5, 9):
        x = pyburn.randn(batch, 6)
        assert close(session(x.to(device)), model(x))
    there = x.to(device)
    session(there).tolist()
    before = gpu.counters(device)
    session(there)
    after = gpu.counters(device)
    assert after.pipelines == before.pipelines and after.downloaded == before.downloaded and after.host_calls == before.host_calls


@pytest.mark.parametrize("device", GPUS)
def test_a_session_changes_its_state(device: str) -> None:
    model = nn.BatchNorm1d(4)
    session = pyburn.inference.compile(model.train(), pyburn.randn(8, 4), device=device)
    x = pyburn.randn(8, 4) * 3 + 1
    expected = nn.BatchNorm1d(4)
    for _ in range(3):
        assert close(session(x.to(device)), expected(x))


@pytest.mark.parametrize("device", GPUS)
def test_a_model_moves_back_and_forth(device: str) -> None:
    model, x = convolutional(), pyburn.randn(2, 3, 8, 8)
    expected = model(x)
    for _ in range(2):
        model.backend = device
        assert all(p.device == pyburn.device(device) for p in model.parameters())
        assert close(model(x.to(device)), expected)
        model.backend = "cpu"
        assert (model(x) == expected).all()


@pytest.mark.parametrize(("from_", "to"), [("wgpu", "cpu"), ("cpu", "fusion(wgpu)"), ("fusion(wgpu)", "wgpu")])
def test_training_goes_on_elsewhere_from_a_checkpoint(from_: str, to: str, tmp_path: Path) -> None:
    x, target = pyburn.randn(16, 5), pyburn.randn(16, 2)

    def train(device: str, model: nn.Module, optimizer: optim.Optimizer) -> float:
        for _ in range(4):
            loss = nn.functional.mse_loss(model(x.to(device)), target.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return loss.item()

    def begin(device: str) -> tuple[nn.Module, optim.Optimizer]:
        pyburn.manual_seed(3)
        model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 2)).to(device)
        return model, optim.Adam(model.parameters(), lr=0.05)

    expected_model, expected_optimizer = begin("cpu")
    for _ in range(2):
        expected = train("cpu", expected_model, expected_optimizer)

    model, optimizer = begin(from_)
    train(from_, model, optimizer)
    pyburn.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, tmp_path / "checkpoint.pt")
    other, other_optimizer = begin(to)
    saved = pyburn.load(tmp_path / "checkpoint.pt")
    other.load_state_dict(saved["model"])
    other_optimizer.load_state_dict(saved["optimizer"])
    assert train(to, other, other_optimizer) == pytest.approx(expected, rel=1e-4)


def test_the_router_works_over_a_gpu() -> None:
    device = "router(wgpu, ndarray)"
    model, x = convolutional(), pyburn.randn(2, 3, 8, 8)
    assert close(model.to(device)(x.to(device)), model.to("cpu")(x))
    y = pyburn.randn(6, 6)
    y = y @ y.T + 6 * pyburn.eye(6)
    assert close(pyburn.linalg.cholesky(y.to(device)), pyburn.linalg.cholesky(y))


def test_two_devices_in_one_process() -> None:
    x = pyburn.randn(50, 20)
    here, plain, fused = x.exp().sum(1), x.to("wgpu").exp().sum(1), x.to("fusion(wgpu)").exp().sum(1)
    assert close(plain, here) and close(fused, here)
    with pytest.raises(pyburn.DeviceError, match="different devices"):
        plain + fused
    assert close(plain + fused.to("wgpu"), here * 2)
    total = (here.to("fusion(wgpu)") + fused).to("wgpu") + plain
    assert close(total, here * 3)
    with pytest.raises(pyburn.DeviceError, match="different devices"):
        plain + here
