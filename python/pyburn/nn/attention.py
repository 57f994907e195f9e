"""Attention: the layer, its functional form, masks, and caches for autoregressive decoding."""

from __future__ import annotations

import contextlib
import enum
from typing import Any

from .. import _core
from .._core import Tensor, _nn
from .._core._nn import AttentionCache, CrossAttention, MultiheadAttention, TransformerLayerCache

__all__ = [
    "AttentionCache",
    "CrossAttention",
    "MultiheadAttention",
    "SDPBackend",
    "TransformerLayerCache",
    "generate_autoregressive_mask",
    "generate_padding_mask",
    "multi_head_attention_forward",
    "sdpa_kernel",
]


class SDPBackend(enum.Enum):
    """PyTorch's attention backends, for compatibility. pyburn has a single implementation.

    >>> SDPBackend.MATH in list(SDPBackend)
    True
    """

    ERROR, MATH, FLASH_ATTENTION, EFFICIENT_ATTENTION, CUDNN_ATTENTION, OVERRIDEABLE = range(-1, 5)

    def __int__(self) -> int:
        return self.value


class sdpa_kernel(contextlib.ContextDecorator):  # noqa: N801, PyTorch's name
    """Context manager and decorator for compatibility with PyTorch, without effect.

    Args:
        backends: Ignored.
        set_priority: Ignored.

    >>> with pyburn.nn.attention.sdpa_kernel(pyburn.nn.attention.SDPBackend.MATH):
    ...     pass
    """

    def __init__(self, backends: Any = None, set_priority: bool = False) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        pass


def generate_autoregressive_mask(batch_size: int, seq_length: int, device: Any = None) -> Tensor:
    """Returns the causal mask (batch_size, seq_length, seq_length), which is True where a token would attend to a later one.

    Args:
        batch_size: The number of samples.
        seq_length: The number of tokens.
        device: The device.

    >>> pyburn.nn.attention.generate_autoregressive_mask(1, 2)
    tensor([[[False,  True],
             [False, False]]])
    """
    later = _core.ones(seq_length, seq_length, dtype=_core.bool, device=device).triu(1)
    return later.expand(batch_size, seq_length, seq_length)


def generate_padding_mask(
    pad_token: int, tokens: list[list[int]], max_length: int | None = None, *, fixed: bool = False, device: Any = None
) -> tuple[Tensor, Tensor]:
    """Pads lists of tokens to a batch.

    Args:
        pad_token: The padding token.
        tokens: The lists of tokens.
        max_length: The length to which longer lists are truncated.
        fixed: Whether to pad to max_length even if all lists are shorter.
        device: The device of the results.

    Returns:
        The padded tokens (batch, length), and the mask that is True at padding.

    Raises:
        ValueError: fixed is True without max_length.

    >>> padded, mask = pyburn.nn.attention.generate_padding_mask(0, [[5, 6, 7], [8]])
    >>> mask
    tensor([[False, False, False],
            [False,  True,  True]])
    """
    from ..tensor.creation import tensor

    longest = max((len(line) for line in tokens), default=0)
    if max_length is not None:
        longest = max_length if fixed else min(longest, max_length)
    elif fixed:
        raise ValueError("fixed requires max_length")
    lines = [line[:longest] for line in tokens]
    filled = [line + [pad_token] * (longest - len(line)) for line in lines]
    padded = tensor(filled, dtype=_core.int64, device=device).reshape(len(tokens), longest)
    lengths = tensor([len(line) for line in lines], dtype=_core.int64, device=device).reshape(len(tokens), 1)
    return padded, _core.arange(longest, device=device) >= lengths


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Computes multi-head attention with given weights; the functional form of MultiheadAttention, with PyTorch's arguments.

    Args:
        query: Queries (L, N, E).
        key: Keys (S, N, E).
        value: Values (S, N, E).
        embed_dim_to_check: The expected E.
        num_heads: The number of heads.
        in_proj_weight: The joint projection of queries, keys and values (3 * E, E); None with separate weights.
        in_proj_bias: The bias of the projections.
        bias_k: A bias that is appended to the keys.
        bias_v: A bias that is appended to the values.
        add_zero_attn: Whether to append zeros to keys and values.
        dropout_p: The dropout rate of the attention weights.
        out_proj_weight: The output projection (E, E).
        out_proj_bias: Its bias.
        training: Whether dropout is active.
        key_padding_mask: True or -inf for keys to ignore (N, S).
        need_weights: Whether to return the attention weights.
        attn_mask: A mask of the scores (L, S) or (N * num_heads, L, S).
        use_separate_proj_weight: Whether the projections have separate weights.
        q_proj_weight: The projection of queries.
        k_proj_weight: The projection of keys.
        v_proj_weight: The projection of values.
        static_k: Projected keys to use instead of key.
        static_v: Projected values to use instead of value.
        average_attn_weights: Whether to average the weights over the heads.
        is_causal: Whether attn_mask is the causal mask.

    Returns:
        The output, and the attention weights or None.

    Raises:
        AssertionError: The embedding dimension does not match, or weights are missing.

    >>> import pyburn
    >>> x, w = pyburn.ones(3, 1, 4), pyburn.ones(12, 4)
    >>> pyburn.nn.functional.multi_head_attention_forward(
    ...     x, x, x, 4, 2, w, None, None, None, False, 0.0, pyburn.ones(4, 4), None
    ... )[0].shape
    pyburn.Size([3, 1, 4])
    """
    given = {name: value for name, value in locals().items() if name not in ("query", "key", "value", "embed_dim_to_check", "num_heads")}
    if query.shape[-1] != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {query.shape[-1]}")
    if embed_dim_to_check % num_heads != 0:
        raise AssertionError(f"embed_dim {embed_dim_to_check} not divisible by num_heads {num_heads}")
    for name, fixed in (("key", static_k), ("value", static_v)):
        if fixed is not None and bias_k is not None and bias_v is not None:
            raise AssertionError(f"bias cannot be added to static {name}.")
    apart, together = ("q_proj_weight", "k_proj_weight", "v_proj_weight"), ("in_proj_weight",)
    needed, unused = (apart, together) if use_separate_proj_weight else (together, apart)
    for name in needed:
        if given[name] is None:
            raise AssertionError(f"use_separate_proj_weight is {use_separate_proj_weight} but {name} is None")
    return _nn._multi_head_attention_forward(query, key, value, num_heads, **given | dict.fromkeys(unused))
