"""Files of models written for torchvision, as it writes them, over pyburn.compat: what they import besides layers."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pyburn
import pyburn.compat

_FILE = """
from functools import partial
from typing import Any, Optional
import torch
from torch import nn, Tensor
from torchvision.ops.misc import Conv2dNormActivation, SqueezeExcitation
from torchvision.ops.feature_pyramid_network import ExtraFPNBlock, FeaturePyramidNetwork, LastLevelP6P7
from torchvision.transforms._presets import ImageClassification, InterpolationMode
from torchvision.utils import _log_api_usage_once, _make_ntuple
from torchvision._internally_replaced_utils import load_state_dict_from_url
from torchvision._utils import sequence_to_str
from torchvision.models._api import register_model, Weights, WeightsEnum
from torchvision.models._meta import _IMAGENET_CATEGORIES
from torchvision.models._utils import _make_divisible, _ovewrite_named_param, handle_legacy_interface, IntermediateLayerGetter

class Net(nn.Module):
    def __init__(self, num_classes: int = 1000) -> None:
        super().__init__()
        _log_api_usage_once(self)
        self.stem = Conv2dNormActivation(3, _make_divisible(7.0, 8), norm_layer=partial(nn.BatchNorm2d, eps=0.001))
        self.squeeze = SqueezeExcitation(8, 4)
        self.head = nn.Linear(8, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.squeeze(self.stem(x)).mean((2, 3)))

class Net_Weights(WeightsEnum):
    V1 = Weights(
        url="https://example.org/net-0000.pth",
        transforms=partial(ImageClassification, crop_size=8, interpolation=InterpolationMode.BICUBIC),
        meta={"num_params": 123, "categories": _IMAGENET_CATEGORIES},
    )
    DEFAULT = V1

@register_model()
@handle_legacy_interface(weights=("pretrained", Net_Weights.V1))
def net_of_a_test(*, weights: Optional[Net_Weights] = None, progress: bool = True, **kwargs: Any) -> Net:
    weights = Net_Weights.verify(weights)
    if weights is not None:
        _ovewrite_named_param(kwargs, "num_classes", len(weights.meta["categories"]))
    model = Net(**kwargs)
    if weights is not None:
        model.load_state_dict(weights.get_state_dict(progress=progress, check_hash=True))
    return model
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    (tmp_path / "net_file_of_a_test.py").write_text(_FILE)
    monkeypatch.syspath_prepend(str(tmp_path))
    pyburn.compat.install()
    try:
        yield importlib.import_module("net_file_of_a_test")
    finally:
        sys.modules.pop("net_file_of_a_test", None)
        importlib.import_module("pyburn.compat.torchvision.builders")._registered.pop("net_of_a_test", None)
        pyburn.compat.uninstall()


def test_a_file_of_torchvision_builds_its_model(file: Any) -> None:
    models = importlib.import_module("torchvision.models")
    assert "net_of_a_test" in models.list_models() and "resnet18" in models.list_models(include="resnet*", exclude=["resnet5*"])
    model = models.get_model("net_of_a_test", num_classes=5)
    assert isinstance(model, file.Net) and model(pyburn.rand(2, 3, 8, 8)).shape == (2, 5)
    assert models.get_model_weights("net_of_a_test") is file.Net_Weights and models.get_weight("Net_Weights.V1") is file.Net_Weights.DEFAULT
    with pytest.raises(ValueError, match="Unknown model no_net"):
        models.get_model("no_net")
    with pytest.raises(ValueError, match="resnet18 has no weights by name"):
        models.get_model_weights("resnet18")
    with pytest.raises(ValueError, match="couldn't be retrieved"):
        models.get_weight("Other_Weights.V1")


def test_weights_by_name_are_loaded_from_their_place(file: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    folder = tmp_path / "hub" / "checkpoints"
    folder.mkdir(parents=True)
    saved = file.Net()
    pyburn.save(saved.state_dict(), folder / "net-0000.pth")
    with pytest.warns(UserWarning, match="'pretrained' is deprecated"):
        older = file.net_of_a_test(pretrained=True)
    for model in (older, file.net_of_a_test(weights="V1"), file.net_of_a_test(weights=file.Net_Weights.DEFAULT)):
        assert pyburn.equal(model.head.weight, saved.head.weight)
    with pytest.warns(UserWarning, match="'weights' as positional"):
        assert not pyburn.equal(file.net_of_a_test(None).head.weight, saved.head.weight)
    with pytest.raises(ValueError, match="'num_classes' expected value 1000 but got 5"):
        file.net_of_a_test(weights="V1", num_classes=5)
    with pytest.raises(TypeError, match="expected Net_Weights but received int"):
        file.net_of_a_test(weights=3)
    assert repr(file.Net_Weights.V1) == "Net_Weights.V1" and file.Net_Weights(file.Net_Weights.V1.value) is file.Net_Weights.V1


def test_presets_of_pictures(file: Any) -> None:
    presets = importlib.import_module("torchvision.transforms._presets")
    x = (pyburn.arange(3 * 20 * 16) % 251).to(pyburn.uint8).reshape(3, 20, 16)
    assert file.Net_Weights.V1.transforms()(x).shape == (3, 8, 8)
    step = presets.VideoClassification(crop_size=(8, 8), resize_size=(10, 12))
    frames = step(x.reshape(1, 1, 3, 20, 16).expand(2, 4, -1, -1, -1))
    assert frames.shape == (2, 3, 4, 8, 8) and float(frames.sum()) == pytest.approx(602.364, abs=0.01)  # torchvision's
    assert step(x[None].expand(4, -1, -1, -1)).shape == (3, 4, 8, 8)
    assert [float(t.sum()) for t in presets.OpticalFlow()(x, x)] == pytest.approx([-54.54116] * 2, abs=1e-3)
    assert float(presets.ObjectDetection()(x).sum()) == pytest.approx(452.72943, abs=1e-3)
    assert presets.SemanticSegmentation(resize_size=None)(x).shape == x.shape
    assert "resize_size=[10]" in repr(presets.SemanticSegmentation(resize_size=10)) and repr(presets.OpticalFlow()) == "OpticalFlow()"


def test_layers_on_the_way_and_more_levels(file: Any) -> None:
    models = importlib.import_module("torchvision.models")
    body = file.IntermediateLayerGetter(models.resnet18(num_classes=3), {"layer1": "fine", "layer3": "coarse"})
    assert list(body)[-1] == "layer3" and list(body.state_dict())[0] == "conv1.weight"
    features = body(pyburn.rand(1, 3, 64, 64))
    assert {name: tuple(x.shape) for name, x in features.items()} == {"fine": (1, 64, 16, 16), "coarse": (1, 256, 4, 4)}
    pyramid = file.FeaturePyramidNetwork([64, 256], 8, extra_blocks=file.LastLevelP6P7(256, 8))
    assert list(pyramid(features)) == ["fine", "coarse", "p6", "p7"] and isinstance(pyramid.extra_blocks, file.ExtraFPNBlock)
    pool = importlib.import_module("torchvision.ops").MultiScaleRoIAlign(["0", "1"], 7, 2)
    assert repr(pool) == "MultiScaleRoIAlign(featmap_names=['0', '1'], output_size=(7, 7), sampling_ratio=2)"
    with pytest.raises(ValueError, match="not present"):
        file.IntermediateLayerGetter(models.resnet18(), {"layer9": "x"})
    assert not importlib.import_module("torchvision")._is_tracing()
    assert file.sequence_to_str(("a", "b", "c"), "and ") == "'a', 'b', and 'c'" and file._make_ntuple(3, 2) == (3, 3)


def test_losses_of_boxes(file: Any) -> None:
    ops = importlib.import_module("torchvision.ops")
    a, b = pyburn.tensor([[0.0, 0, 10, 10], [1, 1, 4, 9]]), pyburn.tensor([[2.0, 3, 9, 14], [5, 0, 8, 2]])
    for name, expected in {  # torchvision's
        "generalized_box_iou_loss": [0.70290178, 1.52380955],
        "distance_box_iou_loss": [0.65941721, 1.24615383],
        "complete_box_iou_loss": [0.66000718, 1.26766586],
    }.items():
        loss = getattr(ops, name)
        assert loss(a, b).tolist() == pytest.approx(expected, abs=1e-6) and float(loss(a, b, "sum")) == pytest.approx(
            sum(expected), abs=1e-5
        )
        with pytest.raises(ValueError, match="reduction"):
            loss(a, b, "other")


def test_progress_bars_of_the_hub(file: Any) -> None:
    hub = importlib.import_module("torch.hub")
    with hub.tqdm(total=3, disable=True) as bar:
        bar.update(2)
    assert list(hub.tqdm([1, 2], disable=True)) == [1, 2]
    from pyburn.compat.hub import _NoBar

    with _NoBar([1, 2]) as plain:
        plain.update()
    assert plain.n == 1 and list(plain) == [1, 2]
