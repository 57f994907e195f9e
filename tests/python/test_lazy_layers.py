"""Lazy layers become what they stand for at the first call."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import pyburn
from pyburn import nn

pytest.importorskip("pyburn.nn.lazy")
from pyburn.nn import lazy_layers

CASES: list[tuple[str, tuple[Any, ...], dict[str, Any], tuple[int, ...]]] = [
    ("Linear", (2,), {}, (4, 3)),
    ("Linear", (2, False), {"dtype": pyburn.float64}, (4, 3)),
    ("Conv1d", (4, 3), {"padding": 1}, (2, 3, 5)),
    ("Conv2d", (4, (3, 2)), {"groups": 2, "bias": False}, (1, 4, 5, 5)),
    ("Conv3d", (2, 2), {}, (3, 4, 4, 4)),
    ("ConvTranspose1d", (4, 3), {"stride": 2}, (2, 3, 5)),
    ("ConvTranspose2d", (4, 2), {"groups": 2}, (1, 6, 5, 5)),
    ("ConvTranspose3d", (2, 2), {}, (1, 3, 2, 2, 2)),
    ("BatchNorm1d", (), {}, (4, 3)),
    ("BatchNorm2d", (0.1,), {"affine": False}, (2, 3, 4, 4)),
    ("BatchNorm3d", (), {"track_running_stats": False}, (2, 3, 2, 2, 2)),
    ("InstanceNorm1d", (), {"affine": True, "track_running_stats": False}, (3, 4)),
    ("InstanceNorm2d", (), {"affine": True, "track_running_stats": True}, (2, 3, 4, 4)),
    ("InstanceNorm3d", (0.1, None, False, False), {}, (2, 3, 2, 2, 2)),
]


@pytest.mark.parametrize(("name", "args", "kwargs", "shape"), CASES)
def test_a_lazy_layer_becomes_the_layer(name: str, args: Any, kwargs: Any, shape: tuple[int, ...]) -> None:
    lazy = getattr(lazy_layers, f"Lazy{name}")(*args, **kwargs)
    x = pyburn.randn(*shape, dtype=kwargs.get("dtype", pyburn.float32))
    assert all(isinstance(p, nn.UninitializedParameter) for p in lazy.parameters())
    twin = copy.deepcopy(lazy)
    y = lazy(x)
    cls = getattr(nn, name)
    axes = int(name[-2]) if name[-1] == "d" else 0
    size = shape[-1] if not axes else shape[1] if len(shape) == axes + 2 or name == "BatchNorm1d" else shape[0]
    plain = cls(size, *args, **kwargs)
    assert type(lazy) is cls
    assert repr(lazy) == repr(plain)
    assert {k: v.shape for k, v in lazy.state_dict().items()} == {k: v.shape for k, v in plain.state_dict().items()}
    twin.load_state_dict(lazy.state_dict())
    twin.eval()
    lazy.eval()
    assert pyburn.equal(twin(x), lazy(x))
    assert y.shape == plain(x).shape


def test_lazy_instance_norms_scale_and_track_unless_told_otherwise() -> None:
    layer = lazy_layers.LazyInstanceNorm1d()
    layer(pyburn.randn(2, 3, 4))
    assert repr(layer) == repr(nn.InstanceNorm1d(3, affine=True, track_running_stats=True))


def test_lazy_layers_refuse_what_does_not_fit() -> None:
    with pytest.raises(RuntimeError, match="4D"):
        lazy_layers.LazyConv2d(2, 3)(pyburn.ones(3, 3))
    with pytest.raises(ValueError, match="groups"):
        lazy_layers.LazyConv2d(2, 3, groups=2)(pyburn.ones(1, 3, 4, 4))
    with pytest.raises(TypeError):
        lazy_layers.LazyLinear()
