"""Attention and transformers."""

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
SwiGLU(3, 2) ~ type('Gated', (torch.nn.Module,), {'__init__': lambda s: (torch.nn.Module.__init__(s), setattr(s, 'linear_inner', torch.nn.Linear(3, 2, bias=False)), setattr(s, 'linear_outer', torch.nn.Linear(3, 2, bias=False)), None)[-1], 'forward': lambda s, x: torch.nn.functional.silu(s.linear_inner(x)) * s.linear_outer(x)})() | t(4, 3)
"""
