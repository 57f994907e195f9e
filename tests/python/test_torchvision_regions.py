"""torchvision's compiled operations over pyburn: nms, regions of interest, deformable convolution; and torchvision itself over pyburn."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyburn
import pyburn.compat


@pytest.fixture
def ops() -> Iterator[Any]:
    pyburn.compat.install()
    try:
        yield importlib.import_module("torchvision.ops")
    finally:
        pyburn.compat.uninstall()


def _wave(function: Any, step: float, *shape: int) -> pyburn.Tensor:
    return function(pyburn.arange(int(np.prod(shape)), dtype=pyburn.float64) * step).reshape(*shape)


def _mix(*shape: int) -> pyburn.Tensor:
    return _wave(pyburn.cos, 0.71, *shape)


_BOXES = [[0, 1.2, 0.7, 5.1, 4.9], [1, -2.0, -1.0, 9.0, 8.0], [1, 3.3, 2.2, 3.9, 2.4], [0, 4.0, 4.0, 2.0, 3.0]]

# What torchvision 0.29 gives: the shape, and the sums of the result and of the gradient times a fixed wave.
_CASES = {
    "roi_align": (lambda f, x, b: f(x, b, (3, 2), 0.8, 2), (4, 8, 3, 2), -4.527667059, 4.381670825),
    "roi_align adaptive": (lambda f, x, b: f(x, b, 2, 1.0, -1, True), (4, 8, 2, 2), 1.739295988, -2.736080187),
    "ps_roi_align": (lambda f, x, b: f(x, b, 2, 0.9, 2), (4, 2, 2, 2), -0.274313078, -0.577501793),
    "roi_pool": (lambda f, x, b: f(x, b, (2, 3), 0.9), (4, 8, 2, 3), 0.892176162, 11.023305992),
    "ps_roi_pool": (lambda f, x, b: f(x, b[:1], 2, 0.9), (1, 2, 2, 2), 0.000715279, -0.221140149),
    "deform_conv2d": (
        lambda f, x, b: f(
            x, 2 * _mix(2, 24, 6, 4), _mix(4, 4, 3, 2), _mix(4), stride=(1, 2), padding=1, dilation=1, mask=1 + _mix(2, 12, 6, 4)
        ),
        (2, 4, 6, 4),
        -2.383983843,
        -22.439279970,
    ),
}


@pytest.mark.parametrize("name", _CASES)
def test_values_and_gradients_of_torchvision(ops: Any, name: str) -> None:
    call, shape, value, gradient = _CASES[name]
    x = _wave(pyburn.sin, 0.37, 2, 8, 6, 7).requires_grad_()
    y = call(getattr(ops, name.partition(" ")[0]), x, pyburn.tensor(_BOXES, dtype=pyburn.float64))
    assert tuple(y.shape) == shape
    total = (y * _mix(*shape)).sum()
    total.backward()
    assert x.grad is not None
    assert float(total) == pytest.approx(value, abs=1e-8) and float((x.grad * _mix(*x.shape)).sum()) == pytest.approx(gradient, abs=1e-8)


def test_the_offsets_of_a_deformable_convolution_learn(ops: Any) -> None:
    layer = ops.DeformConv2d(3, 4, 3, padding=1)
    assert list(layer.state_dict()) == ["weight", "bias"] and "DeformConv2d(3, 4, kernel_size=(3, 3)" in repr(layer)
    x, offset = pyburn.randn(1, 3, 5, 5), pyburn.zeros(1, 18, 5, 5, requires_grad=True)
    plain = pyburn.nn.functional.conv2d(x, layer.weight, layer.bias, padding=1)
    found = layer(x, offset)
    assert pyburn.allclose(found, plain, atol=1e-5)  # without offsets it is a convolution
    found.square().sum().backward()
    assert offset.grad is not None and float(offset.grad.abs().sum()) > 0
    assert layer(x, pyburn.zeros(1, 54, 5, 5)).shape == (1, 4, 5, 5)  # each channel has offsets of its own
    with pytest.raises(RuntimeError, match=r"expected offsets \(1, 18, 5, 5\).* got \(1, 16, 5, 5\)"):
        layer(x, pyburn.zeros(1, 16, 5, 5))


def test_nms_of_many_boxes_is_that_of_all_pairs(ops: Any) -> None:
    numbers = np.random.RandomState(0).uniform(0, 50, (400, 4)).astype(np.float32)
    numbers[:, 2:] += numbers[:, :2]
    boxes, scores = pyburn.from_numpy(numbers), pyburn.from_numpy(np.random.RandomState(1).uniform(size=400))
    overlaps, kept = ops.box_iou(boxes, boxes).numpy(), []
    for i in scores.argsort(descending=True).tolist():
        if all(overlaps[i, j] <= 0.3 for j in kept):
            kept.append(i)
    assert ops.nms(boxes, scores, 0.3).tolist() == kept and ops.nms(boxes[:0], scores[:0], 0.3).shape == (0,)
    with pytest.raises(pyburn.ShapeError, match=r"expected boxes \(N, 4\)"):
        ops.nms(boxes[:, :3], scores, 0.3)


def test_no_regions_keep_the_graph(ops: Any) -> None:
    x = pyburn.ones(1, 2, 4, 4, requires_grad=True)
    pooled = ops.RoIAlign(output_size=3, spatial_scale=1.0, sampling_ratio=2)(x, [pyburn.zeros(0, 4)])
    assert pooled.shape == (0, 2, 3, 3)
    pooled.sum().backward()
    assert x.grad is not None and not x.grad.any()
    assert repr(ops.RoIPool(3, 0.5)) == "RoIPool(output_size=3, spatial_scale=0.5)"
    with pytest.raises(TypeError, match="sampling_ratio"):
        ops.RoIAlign(3, 1.0)


def test_the_installed_torchvision_finds_its_operations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package of this name that asks for its compiled operations as torchvision does."""
    folder = tmp_path / "torchvision"
    folder.mkdir()
    (folder / "_C_stable.so").write_bytes(b"")
    (folder / "__init__.py").write_text(
        "import os, torch, torch._custom_ops\n"
        "torch.ops.load_library(os.path.join(os.path.dirname(__file__), '_C_stable.so'))\n"
        "torch.library.Library('torchvision', 'IMPL', 'Meta').impl(torch.ops.torchvision.qnms.default, len)\n"
        "torch.library.register_autograd('torchvision::roi_align', len, setup_context=len)\n"
        "keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU) | torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCUDA)\n"
        "def nms(boxes, scores, limit):\n    return torch.ops.torchvision.nms(boxes, scores, limit)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    pyburn.compat.install(own_torchvision=False)
    try:
        package = importlib.import_module("torchvision")
        assert Path(str(package.__file__)).parent == folder
        boxes = pyburn.tensor([[0.0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 40]])
        assert package.nms(boxes, pyburn.tensor([0.5, 0.9, 0.1]), 0.5).tolist() == [1, 2]
        torch = importlib.import_module("torch")
        x, rois = pyburn.ones(1, 4, 5, 5), pyburn.tensor([[0, 0.0, 0.0, 3.0, 3.0]])
        place = torch.ops.torchvision
        assert place.roi_align(x, rois, 1.0, 2, 2, 1, True).shape == (1, 4, 2, 2) and place.roi_pool(x, rois, 1.0, 2, 2)[0].shape == (
            1,
            4,
            2,
            2,
        )
        assert place.ps_roi_align(x, rois, 1.0, 2, 2, 1)[0].shape == place.ps_roi_pool(x, rois, 1.0, 2, 2)[0].shape == (1, 1, 2, 2)
        weight, offset = pyburn.ones(2, 4, 1, 1), pyburn.zeros(1, 2, 5, 5)
        assert (place.deform_conv2d(x, weight, offset, offset, pyburn.ones(2), 1, 1, 0, 0, 1, 1, 1, 1, False) == 5).all()
        with pytest.raises(RuntimeError, match="torch.ops.torchvision.qnms is not implemented"):
            place.qnms(boxes)
        with pytest.raises(OSError, match="compiled for PyTorch"):
            torch.ops.load_library(str(tmp_path / "other.so"))
    finally:
        pyburn.compat.uninstall()
    assert "torchvision" not in sys.modules
    (tmp_path / "script.py").write_text("import torch, torchvision\nprint(torchvision.__file__, torch.ones(1).item())\n")
    command = [sys.executable, "-m", "pyburn.compat", "--installed-torchvision", str(tmp_path / "script.py")]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    assert shown.stdout.split() == [str(folder / "__init__.py"), "1.0"]
