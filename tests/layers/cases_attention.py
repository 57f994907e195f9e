"""Attention and transformers."""

from __future__ import annotations

from typing import Any


def cross_attention(queries: int, contexts: int, heads: int, shared: int, size: int, quiet: bool = False) -> Any:
    """Burn's CrossAttention in PyTorch."""
    import torch

    class Attention(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query = torch.nn.Linear(queries, heads * size)
            self.key = torch.nn.Linear(contexts, shared * size)
            self.value = torch.nn.Linear(contexts, shared * size)
            self.output = torch.nn.Linear(heads * size, queries)

        def forward(self, query: Any, context: Any, mask: Any = None) -> Any:
            q = self.query(query).unflatten(-1, (heads, size)).transpose(1, 2)
            k, v = (
                part(context).unflatten(-1, (shared, size)).transpose(1, 2).repeat_interleave(heads // shared, 1)
                for part in (self.key, self.value)
            )
            scores = q @ k.transpose(-1, -2) / size**0.5
            if mask is not None:
                scores = scores.masked_fill(mask[:, None, None], -1e4)
            weights = scores.exp() / (1 + scores.exp().sum(-1, keepdim=True)) if quiet else scores.softmax(-1)
            return self.output((weights @ v).transpose(1, 2).flatten(2))

    return Attention()


def gated(inputs: int, outputs: int, gate: Any, bias: bool = False) -> Any:
    """gate(linear_inner(x)) * linear_outer(x) in PyTorch."""
    import torch

    class Gated(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear_inner = torch.nn.Linear(inputs, outputs, bias=bias)
            self.linear_outer = torch.nn.Linear(inputs, outputs, bias=bias)

        def forward(self, x: Any) -> Any:
            return gate(self.linear_inner(x)) * self.linear_outer(x)

    return Gated()


def feed_forward(size: int, inner: int, activation: Any) -> Any:
    """Burn's PositionWiseFeedForward in PyTorch."""
    import torch

    parts = {"linear_inner": torch.nn.Linear(size, inner), "activation": activation, "linear_outer": torch.nn.Linear(inner, size)}
    made = torch.nn.Sequential()
    for name, part in parts.items():
        made.add_module(name, part)
    return made


# ruff: noqa: E501, a case is a line
TABLE = """
MultiheadAttention(4, 2) | t(3, 2, 4), t(5, 2, 4), t(5, 2, 4)
MultiheadAttention(4, 2) | t(3, 4), t(5, 4), t(5, 4)
MultiheadAttention(4, 2, bias=False) | t(3, 2, 4), t(5, 2, 4), t(5, 2, 4), need_weights=False
MultiheadAttention(4, 2, batch_first=True) | t(2, 3, 4), t(2, 5, 4), t(2, 5, 4), average_attn_weights=False
MultiheadAttention(4, 2, add_bias_kv=True) | t(3, 2, 4), t(5, 2, 4), t(5, 2, 4)
MultiheadAttention(4, 2, add_zero_attn=True) | t(3, 2, 4), t(5, 2, 4), t(5, 2, 4)
MultiheadAttention(4, 2, 0.0, True, True, True, 3, 5) | t(3, 2, 4), t(5, 2, 3), t(5, 2, 5)
MultiheadAttention(4, 2, kdim=3) | t(3, 2, 4), t(5, 2, 3), t(5, 2, 4), None, False
MultiheadAttention(4, 1, 0.5) | t(3, 2, 4), t(5, 2, 4), t(5, 2, 4) | eval
MultiheadAttention(4, 2) | t(3, 2, 4), t(3, 2, 4), t(3, 2, 4), attn_mask=tensor([[False, True, True], [False, False, True], [False, False, False]])
MultiheadAttention(4, 2) | t(3, 2, 4), t(3, 2, 4), t(3, 2, 4), attn_mask=t(4, 3, 3)
MultiheadAttention(4, 2) | t(3, 2, 4), t(3, 2, 4), t(3, 2, 4), attn_mask=Transformer.generate_square_subsequent_mask(3), is_causal=True, need_weights=False
MultiheadAttention(4, 2) | t(3, 2, 4), t(3, 2, 4), t(3, 2, 4), attn_mask=Transformer.generate_square_subsequent_mask(3), is_causal=True
MultiheadAttention(4, 2) | t(3, 2, 4), t(3, 2, 4), t(3, 2, 4), tensor([[False, False, True], [False, True, False]])
MultiheadAttention(4, 2) | t(3, 2, 4), t(3, 2, 4), t(3, 2, 4), tensor([[False, False, True], [False, True, False]]), False, t(3, 3)
MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True) | t(3, 2, 4), t(3, 2, 4), t(3, 2, 4), tensor([[False, False, True], [False, True, False]]), False, t(3, 3)
MultiheadAttention(4, 2) | t(3, 4), t(3, 4), t(3, 4), tensor([False, False, True]), True, t(2, 3, 3)
MultiheadAttention(4, 2) | t(3, 2, 4), t(3, 2, 4), t(3, 2, 4), is_causal=True ! RuntimeError
MultiheadAttention(4, 2) | t(3, 2, 4), t(3, 2, 4), t(3, 2, 4), attn_mask=t(2, 3) ! RuntimeError
MultiheadAttention(4, 0) ! ValueError
TransformerEncoderLayer(4, 2, 6, 0.0) | t(3, 2, 4)
TransformerEncoderLayer(4, 2, 6) | t(3, 2, 4) | eval
TransformerEncoderLayer(4, 2, 6, 0.0, 'gelu', 0.1, True, True) | t(2, 3, 4)
TransformerEncoderLayer(4, 2, 6, 0.0, bias=False) | t(3, 4)
TransformerEncoderLayer(4, 2, 6, dropout=0.0, activation=functional.gelu) | t(3, 2, 4), t(3, 3), tensor([[False, False, True], [False, True, False]])
TransformerEncoderLayer(4, 2, 6, dropout=0.0, activation=ReLU()) | src=t(3, 2, 4), src_mask=Transformer.generate_square_subsequent_mask(3), is_causal=True
TransformerEncoderLayer(4, 2, activation='tanh') ! RuntimeError
TransformerDecoderLayer(4, 2, 6, 0.0) | t(3, 2, 4), t(5, 2, 4)
TransformerDecoderLayer(4, 2, 6) | t(3, 2, 4), t(5, 2, 4) | eval
TransformerDecoderLayer(4, 2, 6, 0.0, 'gelu', 0.1, True, True, False) | t(2, 3, 4), t(2, 5, 4)
TransformerDecoderLayer(4, 2, 6, 0.0) | t(3, 2, 4), t(5, 2, 4), t(3, 3), t(3, 5), tensor([[False, False, True], [False, True, False]]), tensor([[False, False, True, True, False], [False, True, False, False, False]])
TransformerDecoderLayer(4, 2, 6, 0.0) | t(3, 2, 4), t(3, 2, 4), tgt_mask=Transformer.generate_square_subsequent_mask(3), tgt_is_causal=True
TransformerEncoder(TransformerEncoderLayer(4, 2, 6, 0.0), 2) ~ torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(4, 2, 6, 0.0), 2) | t(3, 2, 4)
TransformerEncoder(TransformerEncoderLayer(4, 2, 6, 0.0), 2, LayerNorm(4)) ~ torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(4, 2, 6, 0.0), 2, torch.nn.LayerNorm(4)) | t(3, 2, 4), Transformer.generate_square_subsequent_mask(3)
TransformerDecoder(TransformerDecoderLayer(4, 2, 6, 0.0), 2, LayerNorm(4)) ~ torch.nn.TransformerDecoder(torch.nn.TransformerDecoderLayer(4, 2, 6, 0.0), 2, torch.nn.LayerNorm(4)) | t(3, 2, 4), t(5, 2, 4), Transformer.generate_square_subsequent_mask(3)
Transformer(4, 2, 1, 2, 6, 0.0, 'gelu', batch_first=True, norm_first=True) ~ torch.nn.Transformer(4, 2, 1, 2, 6, 0.0, 'gelu', batch_first=True, norm_first=True) | t(2, 3, 4), t(2, 5, 4), tgt_mask=Transformer.generate_square_subsequent_mask(5), tgt_is_causal=True
Transformer(4, 2, 2, 1, 6, 0.0, bias=False) ~ torch.nn.Transformer(4, 2, 2, 1, 6, 0.0, bias=False) | t(3, 2, 4), t(5, 2, 4), src_key_padding_mask=tensor([[False, False, True], [False, True, False]])
PositionalEncoding(4, 6) ~ lambda x: x + torch.stack([torch.stack([f(p * 10000.0 ** (-torch.tensor(2.0 * i) / 4)) for i in (0, 1) for f in (torch.sin, torch.cos)]) for p in range(3)]) | t(2, 3, 4)
SwiGLU(3, 2) ~ gated(3, 2, torch.nn.functional.silu) | t(4, 3)
SwiGLU(3, 2, True) ~ gated(3, 2, torch.nn.functional.silu, True) | t(2, 4, 3)
GEGLU(3, 2) ~ gated(3, 2, torch.nn.functional.gelu) | t(4, 3)
GEGLU(3, 2, bias=True) ~ gated(3, 2, torch.nn.functional.gelu, True) | t(3)
ReGLU(3, 2) ~ gated(3, 2, torch.relu) | t(4, 3)
PositionWiseFeedForward(4, 6, 0.0) ~ feed_forward(4, 6, torch.nn.GELU()) | t(2, 3, 4)
PositionWiseFeedForward(4, 6) ~ feed_forward(4, 6, torch.nn.GELU()) | t(3, 4) | eval
PositionWiseFeedForward(4, 6, dropout=0.0, activation='leaky_relu') ~ feed_forward(4, 6, torch.nn.LeakyReLU()) | t(2, 3, 4)
PositionWiseFeedForward(4, 6, 0.0, 'SiLU') ~ feed_forward(4, 6, torch.nn.SiLU()) | t(2, 3, 4)
CrossAttention(6, 4, 2, 2, 3, 0.0) ~ cross_attention(6, 4, 2, 2, 3) | t(2, 3, 6), t(2, 5, 4)
CrossAttention(6, 4, 4, 2, 3, 0.0) ~ cross_attention(6, 4, 4, 2, 3) | t(2, 3, 6), t(2, 5, 4)
CrossAttention(6, 4, 3, 1, 2) ~ cross_attention(6, 4, 3, 1, 2) | t(2, 3, 6), t(2, 5, 4), tensor([[False, False, True, True, False], [False, True, False, False, False]]) | eval
CrossAttention(6, 4, 4, 2, 3, dropout=0.0, quiet_softmax=True) ~ cross_attention(6, 4, 4, 2, 3, True) | t(2, 3, 6), t(2, 5, 4)
"""
