"""Layers without parameters and losses: chance, options, deprecated arguments, documentation, stubs."""

from __future__ import annotations

import inspect
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import pyburn
from pyburn import nn
from pyburn.nn import functional

TOOLS = Path(__file__).resolve().parents[2] / "tools"
LAYERS = [getattr(nn, name) for name in nn._layers.__all__]


# ---- chance


@pytest.mark.parametrize(("layer", "shape"), [(nn.Dropout(0.25), (10000,)), (nn.Dropout1d(0.25), (50, 200, 3))])
def test_dropout_drops_its_share_and_scales_the_rest(layer: Any, shape: tuple[int, ...]) -> None:
    pyburn.manual_seed(0)
    y = layer(pyburn.ones(*shape))
    kept = y[y != 0]
    assert (kept - 1 / 0.75).abs().max() < 1e-6
    assert abs(float(kept.numel()) / y.numel() - 0.75) < 0.02


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_dropout_of_channels_keeps_or_drops_them_whole(axes: int) -> None:
    pyburn.manual_seed(0)
    y = getattr(nn, f"Dropout{axes}d")()(pyburn.ones(4, 16, *[3] * axes)).reshape(64, -1)
    assert (y == y[:, :1]).all()
    assert 0 < float((y[:, 0] == 0).sum()) < 64


@pytest.mark.parametrize("layer", [nn.AlphaDropout(0.3), nn.FeatureAlphaDropout(0.3)])
def test_alpha_dropout_keeps_mean_and_variance(layer: Any) -> None:
    pyburn.manual_seed(0)
    y = layer(pyburn.randn(200, 200, 2))
    assert abs(float(y.mean())) < 0.02
    assert abs(float(y.var()) - 1) < 0.05


def test_dropout_writes_over_its_input_when_told_to() -> None:
    x = pyburn.ones(100)
    y = nn.Dropout(0.5, inplace=True)(x)
    assert (x == y).all()
    assert (x == 0).any()


def test_rrelu_draws_slopes_while_it_trains() -> None:
    pyburn.manual_seed(0)
    x = -pyburn.ones(1000)
    y = nn.RReLU(0.25, 0.5)(x)
    assert (y <= -0.25).all()
    assert (y >= -0.5).all()
    assert float(y.std()) > 0.05
    assert abs(float(y.mean()) + 0.375) < 0.02


def test_gaussian_noise() -> None:
    pyburn.manual_seed(0)
    noise = nn.GaussianNoise(0.5)
    y = noise(pyburn.ones(10000))
    assert abs(float(y.mean()) - 1) < 0.02
    assert abs(float(y.std()) - 0.5) < 0.02
    with pytest.raises(ValueError, match="standard deviation"):
        nn.GaussianNoise(-1)


# ---- options


def test_options_are_attributes_and_may_be_changed() -> None:
    pool = nn.MaxPool2d(3, stride=(2, 1), return_indices=True)
    assert (pool.kernel_size, pool.stride, pool.padding, pool.ceil_mode) == (3, (2, 1), 0, False)
    pool.return_indices = False
    assert isinstance(pool(pyburn.ones(1, 1, 6, 6)), pyburn.Tensor)
    assert nn.AvgPool1d(2).stride == (2,)
    assert nn.LPPool2d(2, 3).stride is None
    assert nn.AdaptiveAvgPool2d((None, 7)).output_size == (None, 7)
    assert nn.Upsample(scale_factor=2).scale_factor == 2.0
    assert nn.Upsample(scale_factor=(2, 3)).scale_factor == (2.0, 3.0)
    assert nn.Upsample(size=4, align_corners=True).align_corners is True
    assert nn.ELU(2).alpha == 2
    assert nn.Softmax().dim is None
    loss = nn.HuberLoss()
    loss.reduction, loss.delta = "sum", 0.5
    assert float(loss(pyburn.zeros(2), pyburn.ones(2))) == pytest.approx(0.75)


def test_weights_of_losses_are_buffers() -> None:
    weight = pyburn.tensor([1.0, 2.0])
    loss = nn.CrossEntropyLoss(weight)
    assert loss.weight is weight
    assert list(loss.state_dict()) == ["weight"]
    assert loss.double().weight.dtype == pyburn.float64
    assert nn.CrossEntropyLoss().weight is None
    assert list(nn.BCEWithLogitsLoss(pos_weight=weight).state_dict()) == ["pos_weight"]
    empty = nn.NLLLoss()
    empty.weight = weight
    assert list(empty.state_dict()) == ["weight"]
    with pytest.raises(TypeError, match="weight"):
        nn.NLLLoss([1.0, 2.0])


def test_a_module_of_python_may_hold_them() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.act = nn.GELU()
            self.pool = nn.MaxPool1d(2, return_indices=True)

        def forward(self, x: Any) -> Any:
            return self.pool(self.act(x))

    y, at = Net()(pyburn.ones(1, 1, 4))
    assert y.shape == at.shape == (1, 1, 2)
    assert "GELU(approximate='none')" in repr(Net())
    assert nn.Sequential(nn.Softplus(), nn.ZeroPad1d(1))(pyburn.ones(1, 3)).shape == (1, 5)


@pytest.mark.parametrize("name", ["Hardtanh", "GELU", "LeakyReLU", "CircularPad2d"])
def test_wrong_arguments_are_errors(name: str) -> None:
    cls = getattr(nn, name)
    with pytest.raises(TypeError, match="unexpected keyword"):
        cls(wrong=1)
    with pytest.raises(TypeError, match="positional"):
        cls(*range(9))


# ---- deprecated arguments


def test_flags_of_losses_warn() -> None:
    with pytest.warns(UserWarning, match="please use reduction='sum' instead"):
        loss = nn.MSELoss(size_average=False)
    assert loss.reduction == "sum"
    with pytest.warns(UserWarning, match="please use reduction='none' instead"):
        value = functional.l1_loss(pyburn.zeros(2), pyburn.ones(2), None, False)
    assert value.shape == (2,)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert float(functional.mse_loss(pyburn.zeros(2), pyburn.ones(2), reduction="sum")) == 2
        assert nn.MSELoss(None, None, "sum").reduction == "sum"


def test_former_names_of_bounds_warn() -> None:
    with pytest.warns(FutureWarning, match="min_value"):
        assert nn.Hardtanh(min_value=-3).min_val == -3


def test_softmax_picks_an_axis_with_a_warning() -> None:
    x = pyburn.randn(2, 3)
    with pytest.warns(UserWarning, match="Implicit dimension choice for softmax"):
        y = functional.softmax(x)
    assert (y == functional.softmax(x, 1)).all()


def test_functional_losses_have_pytorchs_arguments() -> None:
    names = list(inspect.signature(functional.cross_entropy).parameters)
    assert names == ["input", "target", "weight", "size_average", "ignore_index", "reduce", "reduction", "label_smoothing"]
    with pytest.raises(TypeError, match="unexpected keyword"):
        functional.mse_loss(pyburn.zeros(1), pyburn.zeros(1), wrong=1)
    assert list(inspect.signature(functional.softmax).parameters) == ["input", "dim", "_stacklevel", "dtype"]
    assert functional.gaussian_nll_loss(pyburn.zeros(1), pyburn.ones(1), 0.5) == nn.GaussianNLLLoss()(pyburn.zeros(1), pyburn.ones(1), 0.5)


# ---- names and texts


@pytest.mark.parametrize(("module", "word"), [(nn.loss, "Loss"), (nn.pool, "ool")])
def test_families_hold_their_layers(module: Any, word: str) -> None:
    expected = {name for name in nn.__all__ if word in name and isinstance(getattr(nn, name), type)}
    assert expected == {name for name in module.__all__ if word in name}


@pytest.mark.parametrize("cls", [*LAYERS, nn.TripletMarginWithDistanceLoss], ids=lambda cls: cls.__name__)
def test_examples_run(cls: type) -> None:
    doc = inspect.getdoc(cls) or ""
    lines = [line.removeprefix(">>> ") for line in doc.splitlines() if line.startswith(">>> ")]
    assert lines or cls is nn.Module
    exec("\n".join(lines), {"pyburn": pyburn})


@pytest.mark.parametrize("tool", ["nn_stubs.py", "parity_layers.py"])
def test_generated_files_are_up_to_date(tool: str) -> None:
    subprocess.run([sys.executable, TOOLS / tool, "--check"], check=True)
