"""Layers with parameters: what no golden says."""

from __future__ import annotations

import importlib
import math
from typing import Any

import pytest

import pyburn
from pyburn import nn


@pytest.mark.parametrize(
    ("family", "names"),
    [
        ("attention", ["MultiheadAttention"]),
        ("conv", ["Conv2d", "ConvTranspose2d"]),
        ("embedding", ["Embedding", "EmbeddingBag"]),
        ("gru", ["GRU"]),
        ("linear", ["Linear", "Bilinear"]),
        ("norm", ["BatchNorm2d", "LayerNorm", "RMSNorm"]),
        ("rnn", ["LSTM", "RNNCell"]),
        ("transformer", ["Transformer", "TransformerEncoderLayer", "SwiGLU"]),
    ],
)
def test_families_are_modules(family: str, names: list[str]) -> None:
    module = importlib.import_module(f"pyburn.nn.{family}")
    assert all(getattr(module, name) is getattr(nn, name) for name in names)
    assert set(names) <= set(module.__all__)


def test_sync_batch_norm_is_batch_norm_for_one_process() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3, eps=0.1, bias=False), nn.Sequential(nn.BatchNorm2d(3)))
    model[1](pyburn.randn(4, 3))
    expected = model[1].eval()(pyburn.ones(4, 3))
    converted = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    assert [type(m).__name__ for m in converted.modules()] == ["Sequential", "Linear", "SyncBatchNorm", "Sequential", "SyncBatchNorm"]
    assert not converted[1].training
    assert pyburn.equal(converted[1](pyburn.ones(4, 3)), expected)
    assert converted[1].bias is None
    with pytest.raises(NotImplementedError, match="process"):
        nn.SyncBatchNorm(3, process_group=1)
    with pytest.raises(ValueError, match="at least 2D"):
        nn.SyncBatchNorm(3)(pyburn.ones(3))


@pytest.mark.parametrize("kind", [nn.Embedding, nn.EmbeddingBag])
def test_sparse_gradients_are_dense(kind: Any) -> None:
    layer = kind(3, 2, sparse=True)
    assert layer.sparse and "sparse=True" in repr(layer)
    layer(pyburn.tensor([[0, 2, 2]])).sum().backward()
    assert layer.weight.grad.shape == (3, 2) and layer.weight.grad[1].tolist() == [0, 0]


def test_embeddings_from_tables() -> None:
    table = pyburn.tensor([[1.0, 2.0], [3.0, 4.0]])
    layer = nn.Embedding.from_pretrained(table, padding_idx=-1)
    assert layer.padding_idx == 1
    assert not layer.weight.requires_grad
    assert pyburn.equal(layer.weight, table)  # the padding row, too, is as it was
    assert nn.EmbeddingBag.from_pretrained(table, freeze=False, mode="sum").weight.requires_grad
    with pytest.raises(AssertionError, match="2-dimensional"):
        nn.Embedding.from_pretrained(pyburn.ones(3))


@pytest.mark.parametrize(
    ("layer", "name", "bound"),
    [
        (nn.ConvTranspose2d(8, 4, 3), "weight", 1 / math.sqrt(4 * 9)),
        (nn.Bilinear(9, 4, 5), "bias", 1 / 3),
        (nn.GRU(7, 16), "weight_ih_l0", 1 / 4),
        (nn.LSTMCell(7, 16), "bias_hh", 1 / 4),
        (nn.MultiheadAttention(8, 2), "in_proj_weight", math.sqrt(6 / 32)),
    ],
)
def test_parameters_start_within_pytorchs_bounds(layer: nn.Module, name: str, bound: float) -> None:  # type: ignore[name-defined]
    pyburn.manual_seed(1)
    layer.reset_parameters()
    values = getattr(layer, name).detach().abs()
    assert 0.7 * bound < float(values.max()) <= bound
    before = getattr(layer, name).detach().clone()
    layer.reset_parameters()
    assert not pyburn.equal(before, getattr(layer, name))


def test_layers_are_created_with_device_and_dtype() -> None:
    for make in (
        lambda **p: nn.ConvTranspose1d(2, 2, 2, **p),
        lambda **p: nn.InstanceNorm2d(2, affine=True, track_running_stats=True, **p),
        lambda **p: nn.GroupNorm(1, 2, **p),
        lambda **p: nn.EmbeddingBag(3, 2, **p),
        lambda **p: nn.LSTM(2, 2, **p),
        lambda **p: nn.TransformerDecoderLayer(2, 1, 4, **p),
        lambda **p: nn.Transformer(2, 1, 1, 1, 4, **p),
    ):
        layer = make(dtype=pyburn.float64, device="cpu")
        assert {p.dtype for p in layer.parameters()} == {pyburn.float64}
        assert layer.to(pyburn.float32) is layer
        assert {p.dtype for p in layer.parameters()} == {pyburn.float32}


def test_attributes_that_code_for_pytorch_reads() -> None:
    assert nn.MultiheadAttention(6, 2).head_dim == 3
    assert [m.mode for m in (nn.LSTM(1, 1), nn.GRU(1, 1), nn.RNN(1, 1), nn.RNN(1, 1, nonlinearity="relu"))] == [
        "LSTM",
        "GRU",
        "RNN_TANH",
        "RNN_RELU",
    ]
    assert nn.Embedding(4, 3, padding_idx=-1).padding_idx == 3
    assert nn.ConvTranspose2d(1, 1, 3).kernel_size == (3, 3)
    assert nn.LayerNorm(4).normalized_shape == (4,)
    assert nn.MultiheadAttention(6, 2).kdim == 6
