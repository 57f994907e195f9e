"""Layers whose options and parameters were replaced by nonsense raise errors; the process survives."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

import pyburn
from pyburn import nn


def inputs_of(layer: nn.Module) -> tuple[Any, ...]:  # type: ignore[name-defined]
    x = pyburn.randn(3, 2, 4)
    if isinstance(layer, (nn.Embedding, nn.EmbeddingBag)):
        return (pyburn.tensor([[0, 1], [2, 1]]),)
    if isinstance(layer, (nn.MultiheadAttention,)):
        return x, x, x
    if isinstance(layer, nn.TransformerDecoderLayer):
        return x, x
    if isinstance(layer, nn.Bilinear):
        return pyburn.randn(3, 4), pyburn.randn(3, 4)
    if isinstance(layer, (nn.RNNCell, nn.GRUCell, nn.LSTMCell)):
        return (pyburn.randn(3, 4),)
    return (x,)


MAKERS = [
    lambda: nn.Linear(4, 4),
    lambda: nn.Bilinear(4, 4, 2),
    lambda: nn.Conv1d(2, 2, 2),
    lambda: nn.ConvTranspose1d(2, 2, 2),
    lambda: nn.BatchNorm1d(2),
    lambda: nn.InstanceNorm1d(2, affine=True, track_running_stats=True),
    lambda: nn.LayerNorm(4),
    lambda: nn.RMSNorm(4),
    lambda: nn.GroupNorm(2, 2),
    lambda: nn.LocalResponseNorm(2),
    lambda: nn.Embedding(4, 3, padding_idx=1, max_norm=1.0),
    lambda: nn.EmbeddingBag(4, 3, padding_idx=1),
    lambda: nn.RNN(4, 3, 2),
    lambda: nn.GRU(4, 3, bidirectional=True),
    lambda: nn.LSTM(4, 3, proj_size=2),
    lambda: nn.RNNCell(4, 3),
    lambda: nn.GRUCell(4, 3),
    lambda: nn.LSTMCell(4, 3),
    lambda: nn.MultiheadAttention(4, 2),
    lambda: nn.MultiheadAttention(4, 2, kdim=4, vdim=4, add_bias_kv=True, add_zero_attn=True),
    lambda: nn.TransformerEncoderLayer(4, 2, 8),
    lambda: nn.TransformerDecoderLayer(4, 2, 8, norm_first=True),
    lambda: nn.PositionalEncoding(4, 8),
    lambda: nn.RotaryEncoding(8, 4),
    lambda: nn.SwiGLU(4, 3),
]
NONSENSE_NUMBERS = [0, -1, 3, 2**40]


def call(layer: Any) -> None:
    with contextlib.suppress(Exception):
        layer(*inputs_of(layer))


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: repr(make()).splitlines()[0])
def test_nonsense_raises_or_works(make: Any) -> None:
    for name, value in make()._pb_config().items():
        tried: list[Any] = [not value] if isinstance(value, bool) else []
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            tried = NONSENSE_NUMBERS
        if isinstance(value, tuple):
            tried = [(), (0,), (-1,), (2, 2, 2, 2)]
        if isinstance(value, str):
            tried = ["", "no such thing"]
        for other in tried:
            layer = make()
            with contextlib.suppress(Exception):
                setattr(layer, name, other)
                call(layer)
    for name, kind, _, _ in make()._pb_entries():
        for shape in ((), (0,), (1,), (2, 2, 2), (4, 4), (1, 1, 4)):
            layer = make()
            other = None if kind == 2 else pyburn.ones(shape)
            with contextlib.suppress(Exception):
                setattr(layer, name, nn.Parameter(other) if kind == 0 else other)
                call(layer)
        layer = make()
        setattr(layer, name, None)
        call(layer)
        delattr(layer, name)
        call(layer)
    for arguments in ((), (0,), (0, 0), (-1, -1), (2**62, 2), (1, 2**62), (4, 2, 0), (4, 2, -3)):
        with contextlib.suppress(Exception):
            type(make())(*arguments)


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("kernel", [1, 2])
def test_convolutions_without_channels_are_the_bias(axes: int, kernel: int) -> None:
    for name, weight in ((f"conv{axes}d", (4, 0)), (f"conv_transpose{axes}d", (0, 4))):
        x = pyburn.ones(2, 0, *(3,) * axes, requires_grad=True)
        w = pyburn.ones(*weight, *(kernel,) * axes, requires_grad=True)
        y = getattr(nn.functional, name)(x, w, pyburn.tensor([1.0, 2.0, 3.0, 4.0]))
        assert y.amax((0, *range(2, 2 + axes))).tolist() == [1, 2, 3, 4]
        y.sum().backward()
        assert x.grad.shape == x.shape and w.grad.shape == w.shape
