"""Names and import paths of PyTorch."""

from __future__ import annotations

import importlib
import math
import subprocess
import sys

import pytest

import pyburn
from pyburn import nn


def test_numbers_and_types():
    assert (pyburn.pi, pyburn.e, pyburn.inf) == (math.pi, math.e, math.inf) and math.isnan(pyburn.nan) and pyburn.newaxis is None
    assert isinstance(pyburn.float32, pyburn.dtype)
    assert isinstance(pyburn.ones(1), pyburn.autograd.Variable)
    assert not pyburn.ones(1).is_xpu and not pyburn.ones(1).is_sparse
    assert not pyburn.ones(1).is_cuda and not pyburn.cuda.is_available() and pyburn.cuda.device_count() == 0
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        pyburn.nothing  # noqa: B018


def test_they_are_loaded_when_asked_for():
    program = "import sys, pyburn; assert 'pyburn.composites' not in sys.modules; pyburn.pi; assert 'pyburn.composites' in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_decorators_of_jit_change_nothing():
    @pyburn.jit.script
    def twice(x):
        return 2 * x

    @pyburn.jit.ignore(drop=True)
    def thrice(x):
        return 3 * x

    assert (twice(2), thrice(2), pyburn.jit.annotate(int, 1)) == (4, 6, 1)
    assert not pyburn.jit.is_scripting() and not pyburn.jit.is_tracing()


@pytest.mark.parametrize(
    ("place", "name", "member", "other"),
    [
        ("batchnorm", "_BatchNorm", nn.BatchNorm2d(2), nn.InstanceNorm2d(2)),
        ("batchnorm", "_NormBase", nn.InstanceNorm1d(2), nn.LayerNorm(2)),
        ("instancenorm", "_InstanceNorm", nn.InstanceNorm1d(2), nn.BatchNorm1d(2)),
        ("conv", "_ConvNd", nn.ConvTranspose1d(1, 1, 1), nn.Linear(1, 1)),
        ("conv", "_ConvTransposeNd", nn.ConvTranspose3d(1, 1, 1), nn.Conv3d(1, 1, 1)),
        ("dropout", "_DropoutNd", nn.Dropout2d(), nn.ReLU()),
        ("pooling", "_AvgPoolNd", nn.AvgPool2d(2), nn.MaxPool2d(2)),
        ("loss", "_Loss", nn.MSELoss(), nn.ReLU()),
        ("rnn", "RNNBase", nn.LSTM(1, 1), nn.LSTMCell(1, 1)),
        ("rnn", "RNNCellBase", nn.GRUCell(1, 1), nn.GRU(1, 1)),
        ("linear", "NonDynamicallyQuantizableLinear", nn.MultiheadAttention(1, 1).out_proj, nn.Linear(1, 1)),
    ],
)
def test_what_is_behind_layers(place, name, member, other):
    cls = getattr(importlib.import_module(f"pyburn.nn.modules.{place}"), name)
    assert isinstance(member, cls) and issubclass(type(member), cls)
    assert not isinstance(other, cls)


def test_import_paths_hold_the_layers():
    from pyburn.nn.modules.linear import Linear

    assert Linear is nn.Linear and nn.modules.Conv2d is nn.Conv2d
