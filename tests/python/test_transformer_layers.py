"""Attention and transformers beyond the goldens: caches, functions, modules in place of parts, positions."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest

import pyburn
from pyburn import nn
from pyburn.nn import functional


def close(a: Any, b: Any) -> None:
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5, atol=1e-6)


def in_parts(x: Any, sizes: list[int], step: Any) -> Any:
    """The outputs of step on parts of tokens (N, S, E), joined."""
    return pyburn.cat([step(part.contiguous()) for part in x.split(sizes, 1)], 1)


def causal(n: int) -> Any:
    return nn.Transformer.generate_square_subsequent_mask(n)


@pytest.mark.parametrize("sizes", [[1] * 6, [3, 1, 2], [6]])
@pytest.mark.parametrize("norm_first", [False, True])
def test_encoder_with_a_cache_is_the_causal_encoder(sizes: list[int], norm_first: bool) -> None:
    layer = nn.TransformerEncoderLayer(4, 2, 8, norm_first=norm_first, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(4)).eval()
    x = pyburn.randn(3, 6, 4)
    cache = encoder.new_autoregressive_cache()
    close(in_parts(x, sizes, lambda part: encoder.forward_cached(part, cache)), encoder(x, causal(6)))
    assert [len(c) for c in cache] == [6, 6]
    cache[0].reset()
    assert len(cache[0]) == 0
    assert cache[0].self_attn.key is None


@pytest.mark.parametrize("sizes", [[1] * 5, [2, 3]])
def test_decoder_with_a_cache_is_the_causal_decoder(sizes: list[int]) -> None:
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8, batch_first=True), 2).eval()
    x, memory = pyburn.randn(3, 5, 4), pyburn.randn(3, 7, 4)
    cache = decoder.new_autoregressive_cache()
    close(in_parts(x, sizes, lambda part: decoder.forward_cached(part, memory, cache)), decoder(x, memory, causal(5)))
    assert len(cache[0].cross_attn) == 7


def test_attention_with_a_cache_and_tokens_first() -> None:
    attention = nn.MultiheadAttention(4, 2).eval()
    x = pyburn.randn(5, 3, 4)
    cache = nn.AttentionCache()
    found = pyburn.cat([attention.forward_cached(x[i : i + 1], cache) for i in range(5)])
    close(found, attention(x, x, x, attn_mask=causal(5))[0])
    assert cache.key.shape == (3, 2, 5, 2)
    with pytest.raises(ValueError, match="add_bias_kv"):
        nn.MultiheadAttention(4, 2, add_bias_kv=True).forward_cached(x, nn.AttentionCache())
    with pytest.raises(RuntimeError):
        attention.forward_cached(x[0], cache)


def test_the_function_is_what_the_layer_computes() -> None:
    layer = nn.MultiheadAttention(4, 2, add_bias_kv=True, kdim=3, vdim=5)
    q, k, v = pyburn.randn(3, 2, 4), pyburn.randn(6, 2, 3), pyburn.randn(6, 2, 5)
    found = functional.multi_head_attention_forward(
        q, k, v, 4, 2, None, layer.in_proj_bias, layer.bias_k, layer.bias_v, False, 0.0, layer.out_proj.weight, layer.out_proj.bias,
        use_separate_proj_weight=True, q_proj_weight=layer.q_proj_weight, k_proj_weight=layer.k_proj_weight,
        v_proj_weight=layer.v_proj_weight,
    )  # fmt: skip
    for a, b in zip(found, layer(q, k, v), strict=True):
        close(a, b)


def test_static_keys_and_values_take_the_place_of_projected_ones() -> None:
    layer = nn.MultiheadAttention(4, 2, bias=False)
    x = pyburn.randn(3, 2, 4)
    keys = functional.linear(x, layer.in_proj_weight[4:8]).reshape(3, 4, 2).transpose(0, 1)
    values = functional.linear(x, layer.in_proj_weight[8:]).reshape(3, 4, 2).transpose(0, 1)
    given = (4, 2, layer.in_proj_weight, None, None, None, False, 0.0, layer.out_proj.weight, None)
    found, _ = functional.multi_head_attention_forward(x, x, x, *given, static_k=keys, static_v=values)
    close(found, layer(x, x, x)[0])


def test_dropout_of_weights_is_for_training() -> None:
    x = pyburn.randn(6, 1, 4)
    attention = nn.MultiheadAttention(4, 2, dropout=0.5)
    for need in (False, True):
        assert not pyburn.equal(attention(x, x, x, need_weights=need)[0], attention(x, x, x, need_weights=need)[0])
    attention.eval()
    assert pyburn.equal(attention(x, x, x)[0], attention(x, x, x)[0])


class Spy(nn.MultiheadAttention):
    """An attention of the user's own."""

    calls = 0

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        return super().forward(*args, **kwargs)


def test_parts_may_be_replaced_and_hooked() -> None:
    layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0)
    x = pyburn.randn(3, 2, 4)
    expected = layer(x, causal(3))
    spy = Spy(4, 2)
    spy.load_state_dict(layer.self_attn.state_dict())
    layer.self_attn = spy
    close(layer(x, causal(3)), expected)
    assert spy.calls == 1
    seen = []
    layer.linear1.register_forward_hook(lambda *a: seen.append("linear1"))
    layer.self_attn.register_forward_hook(lambda *a: seen.append("self_attn"))
    layer(x)
    assert seen == ["self_attn", "linear1"]
    layer.self_attn = nn.Identity()
    with pytest.raises(ValueError, match="MultiheadAttention"):
        layer(x)
    del layer.self_attn
    with pytest.raises(ValueError, match="self_attn"):
        layer(x)


@pytest.mark.parametrize("activation", ["relu", functional.gelu, nn.ReLU(), pyburn.tanh, lambda x: x * 2])
def test_any_activation(activation: Any) -> None:
    layer = nn.TransformerDecoderLayer(4, 2, 8, activation=activation, dropout=0.0)
    x = pyburn.randn(3, 1, 4)
    close(copy.deepcopy(layer)(x, x), layer(x, x))
    function = functional.relu if activation == "relu" else activation
    inner = layer.linear2(function(layer.linear1(x)))
    part = nn.TransformerDecoderLayer(4, 2, 8, activation=activation, dropout=0.0, norm_first=True)
    assert part(x, x).shape == inner.shape


def test_encoders_have_layers_of_their_own_and_pickle() -> None:
    layer = nn.TransformerEncoderLayer(4, 2, 8)
    encoder = nn.TransformerEncoder(layer, 3)
    assert len({id(p) for p in encoder.parameters()}) == 3 * len(list(layer.parameters()))
    assert "layers.2.self_attn.out_proj.weight" in encoder.state_dict()
    again = pickle.loads(pickle.dumps(encoder)).eval()
    x = pyburn.randn(3, 1, 4)
    close(again(x), encoder.eval()(x))


def test_transformer_checks_its_inputs() -> None:
    model = nn.Transformer(4, 2, 1, 1, 8)
    with pytest.raises(RuntimeError, match="batch number"):
        model(pyburn.ones(3, 2, 4), pyburn.ones(3, 1, 4))
    with pytest.raises(RuntimeError, match="feature number"):
        model(pyburn.ones(3, 2, 3), pyburn.ones(3, 2, 4))
    assert causal(3).tolist() == [[0, -math.inf, -math.inf], [0, 0, -math.inf], [0, 0, 0]]
    assert nn.Transformer.generate_square_subsequent_mask(2, dtype=pyburn.float64).dtype == pyburn.float64


def test_rotary_encoding_turns_pairs() -> None:
    rotary = nn.RotaryEncoding(10, 4, theta=100.0)
    x = pyburn.randn(2, 3, 6, 4)
    pairs = x.numpy()[..., 0::2] + 1j * x.numpy()[..., 1::2]
    angle = np.arange(6)[:, None] * np.array([1.0, 100.0**-0.5])[None]
    expected = pairs * np.exp(1j * angle)
    found = rotary(x).numpy()
    np.testing.assert_allclose(found[..., 0::2], expected.real, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[..., 1::2], expected.imag, rtol=1e-4, atol=1e-5)
    close(rotary.forward_from(x[:, :, 2:], 2), rotary(x)[:, :, 2:])
    with pytest.raises(RuntimeError, match="max_sequence_length"):
        rotary.forward_from(x, 5)
    assert rotary.state_dict() == {}


def test_positional_encoding_has_an_end() -> None:
    with pytest.raises(RuntimeError, match="max_sequence_size"):
        nn.PositionalEncoding(4, 3)(pyburn.ones(1, 4, 4))
    with pytest.raises(ValueError, match="even"):
        nn.PositionalEncoding(3)


def test_the_activation_is_the_function():
    layer = nn.TransformerEncoderLayer(4, 2)
    assert layer.activation is nn.functional.relu
    assert nn.TransformerDecoderLayer(4, 2, activation="gelu").activation is nn.functional.gelu
    assert nn.TransformerEncoderLayer(4, 2, activation=pyburn.tanh).activation is pyburn.tanh
    before = layer.eval()(pyburn.ones(1, 2, 4))
    layer.activation = pyburn.sin
    assert layer.activation is pyburn.sin and not pyburn.equal(layer(pyburn.ones(1, 2, 4)), before)
    layer.activation = nn.functional.relu
    assert pyburn.equal(layer(pyburn.ones(1, 2, 4)), before)
