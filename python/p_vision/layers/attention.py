"""Attention layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pyburn
from pyburn import Tensor
from pyburn.nn import functional

from .arguments import ARGUMENTS, one_of
from .dropout import SeededLayer

_SIZES = ("num_heads", "key_dim", "value_dim", "sliding_window", "head_dim", "num_query_heads", "num_key_value_heads")


def _causal(rows: int, columns: int, like: Tensor) -> Tensor:
    return pyburn.ones(rows, columns, dtype=pyburn.bool, device=like.device).tril()


def _near(rows: int, columns: int, window: int, like: Tensor) -> Tensor:
    """True where two steps are less than `window` apart."""
    return pyburn.ones(rows, columns, dtype=pyburn.bool, device=like.device).tril(window - 1).triu(1 - window)


def _both(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    return second if first is None else first if second is None else first & second


class _HeadAttention(SeededLayer):
    """Base class: attention of several heads. Weights have one dimension for the heads and one for the features of a head."""

    checks = dict.fromkeys(_SIZES, ARGUMENTS["units"].check)
    # `_sizes`: query heads, key heads, the features of a query and key head, those of a value head

    def __call__(self, query: Any, value: Any = None, key: Any = None, **options: Any) -> Any:  # type: ignore[override]
        if value is None and isinstance(query, (list, tuple)) and len(query) == 3:
            return super().__call__(query, **options)  # called as in a saved graph
        if value is None:
            raise TypeError(f"[{type(self).__name__}] give a query and a value: layer(x, x) is attention of a sequence to itself")
        return super().__call__([query, value, value if key is None else key], **options)

    def build(self, input_shape: Any) -> None:
        query, value, key = (shape[-1] for shape in input_shape)
        heads, key_heads, inner, outer = self._sizes
        self._add("query", (query, heads, inner), (heads, inner))
        self._add("key", (key, key_heads, inner), (key_heads, inner))
        if self.use_gate:
            self._add("gate", (query, heads, outer), (heads, outer))
        self._add("value", (value, key_heads, outer), (key_heads, outer))
        given: Any = self.output_shape
        width = (query,) if given is None else (given,) if isinstance(given, int) else tuple(given)
        self._add("output", (heads, outer, *width), width)

    def _add(self, name: str, kernel: Sequence[int], bias: Sequence[int]) -> None:
        setattr(self, f"{name}_kernel", self.weight_of("kernel", kernel))
        setattr(self, f"{name}_bias", self.weight_of("bias", bias) if self.use_bias else None)

    def _projected(self, x: Tensor, name: str) -> Tensor:
        """Projects x to (batch, sizes ..., heads, features)."""
        kernel, bias = getattr(self, f"{name}_kernel"), getattr(self, f"{name}_bias")
        flat = functional.linear(x, kernel.flatten(1).T, None if bias is None else bias.flatten())
        heads, key_heads = self._sizes[:2]
        found = flat.reshape(*x.shape[:-1], *kernel.shape[1:])
        return found.repeat_interleave(heads // key_heads, -2) if name in ("key", "value") and heads != key_heads else found

    def _axes(self, rank: int) -> list[int]:
        """Returns the dimensions that attention runs over, for inputs with `rank` dimensions."""
        if self.attention_axes is None:
            return list(range(1, rank - 1))
        given: Any = [self.attention_axes] if isinstance(self.attention_axes, int) else self.attention_axes
        return [axis % rank for axis in given]

    def forward(
        self,
        inputs: Sequence[Tensor],
        attention_mask: Tensor | None = None,
        return_attention_scores: bool = False,
        use_causal_mask: bool = False,
        mask: Any = None,
        query_mask: Tensor | None = None,
        value_mask: Tensor | None = None,
        key_mask: Tensor | None = None,
    ) -> Any:
        query, value, key = inputs
        order = _order(query.ndim, self._axes(query.ndim))
        named = ((query, "query"), (key, "key"), (value, "value"))
        q, k, v = (_sequences(self._projected(x, name), order, self._axes(x.ndim)) for x, name in named)
        extents = [[x.shape[axis] for axis in self._axes(x.ndim)] for x in (query, key)]
        allowed = None if attention_mask is None else _flat_mask(attention_mask.bool(), *extents)
        of_query, of_value, of_key = (None, None, None) if mask is None else mask
        for given, own, axis in ((query_mask, of_query, -1), (value_mask, of_value, -2), (key_mask, of_key, -2)):
            steps = own if given is None else given
            if steps is not None:
                allowed = _both(allowed, steps.unsqueeze(axis))
        rows, columns = q.shape[-2], k.shape[-2]
        if use_causal_mask:
            allowed = _both(allowed, _causal(rows, columns, query))
        if self.sliding_window is not None:
            allowed = _both(allowed, _near(rows, columns, self.sliding_window, query))
        while allowed is not None and allowed.ndim < q.ndim:
            allowed = allowed.unsqueeze(-3)  # broadcast over the heads and the other dimensions
        rate, scores = self.dropout if self.training else 0.0, None
        if return_attention_scores or (rate and self.seed is not None):
            scores = _shares(q @ k.mT / math.sqrt(self._sizes[2]), allowed)
            mixed = self.dropped(scores, rate) @ v
        else:
            mixed = _attended(q, k, v, allowed, rate)
        seen = mixed.unflatten(-2, extents[0]).permute([order.index(axis) for axis in range(len(order))])
        if self.use_gate:
            seen = seen * self._projected(query, "gate").sigmoid()
        bias = None if self.output_bias is None else self.output_bias.flatten()
        flat = functional.linear(seen.flatten(-2), self.output_kernel.flatten(2).flatten(0, 1).T, bias)
        output = flat.unflatten(-1, self.output_kernel.shape[2:])
        if not return_attention_scores or scores is None:
            return output
        return [output, scores.unflatten(-1, extents[1]).unflatten(q.ndim - 2, extents[0])]

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return None if mask is None else mask[0]


class MultiHeadAttention(_HeadAttention):
    """Multi-head attention: `layer(query, value, key=None)`; self-attention is `layer(x, x)`.

    The call takes an `attention_mask` (batch, query steps, key steps), which is True where attention is allowed, `use_causal_mask` and
    `return_attention_scores`; the masks of the inputs are applied too. The attention scores are only materialized if they are requested.

    Args:
        num_heads: The number of heads.
        key_dim: The size of a query and key head.
        value_dim: The size of a value head; by default key_dim.
        dropout: The dropout rate of the attention weights.
        output_shape: The size, or the shape, of the output features; by default those of the query.
        attention_axes: The dimensions that attention runs over; by default all between the batch and the last dimension.
        sliding_window: Each step attends only to steps less than this many steps away.
        use_gate: Whether to multiply the attention output by a sigmoid gate computed from the query.

    Raises:
        ValueError: A size is not positive, or the dropout rate is not in [0, 1).

    >>> layer = p_vision.MultiHeadAttention(num_heads=2, key_dim=4)
    >>> x = pyburn.rand(3, 5, 8)
    >>> output, scores = layer(x, x, return_attention_scores=True, use_causal_mask=True)
    >>> output.shape, scores.shape
    (pyburn.Size([3, 5, 8]), pyburn.Size([3, 2, 5, 5]))
    """

    num_heads: int
    key_dim: int
    value_dim: int | None = None
    dropout: float = 0.0
    use_bias: bool = True
    output_shape: int | Sequence[int] | None = None
    attention_axes: int | Sequence[int] | None = None
    sliding_window: int | None = None
    flash_attention: bool | None = None
    kernel_initializer: Any = "glorot_uniform"
    bias_initializer: Any = "zeros"
    kernel_regularizer: Any = None
    bias_regularizer: Any = None
    use_gate: bool = False
    seed: int | None = None

    def prepare(self) -> None:
        self._sizes = self.num_heads, self.num_heads, self.key_dim, self.value_dim or self.key_dim
        self.value_dim = self._sizes[-1]


class GroupQueryAttention(_HeadAttention):
    """Grouped-query attention: several query heads share each key and value head. It is called as MultiHeadAttention is.

    Args:
        head_dim: The size of a head.
        num_query_heads: The number of query heads.
        num_key_value_heads: The number of key and value heads.
        dropout: The dropout rate of the attention weights.
        use_gate: Whether to multiply the attention output by a sigmoid gate computed from the query.

    Raises:
        ValueError: num_query_heads is not a multiple of num_key_value_heads.

    >>> x = pyburn.rand(3, 5, 8)
    >>> p_vision.GroupQueryAttention(head_dim=4, num_query_heads=4, num_key_value_heads=2)(x, x).shape
    pyburn.Size([3, 5, 8])
    """

    head_dim: int
    num_query_heads: int
    num_key_value_heads: int
    dropout: float = 0.0
    use_bias: bool = True
    flash_attention: bool | None = None
    kernel_initializer: Any = "glorot_uniform"
    bias_initializer: Any = "zeros"
    kernel_regularizer: Any = None
    bias_regularizer: Any = None
    use_gate: bool = False
    seed: int | None = None

    def prepare(self) -> None:
        heads, groups = self.num_query_heads, self.num_key_value_heads
        if heads % groups:
            raise ValueError(f"[GroupQueryAttention] num_query_heads must be a multiple of num_key_value_heads: got {heads} and {groups}")
        self._sizes = heads, groups, self.head_dim, self.head_dim
        self.output_shape = self.attention_axes = self.sliding_window = None


def _order(rank: int, axes: Sequence[int]) -> list[int]:
    """Returns the permutation of (batch, sizes ..., heads, features) that puts the attention dimensions after the heads."""
    return [0, *(axis for axis in range(1, rank - 1) if axis not in axes), rank - 1, *axes, rank]


def _sequences(x: Tensor, order: Sequence[int], axes: Sequence[int]) -> Tensor:
    """Reshapes to (batch, other sizes ..., heads, steps, features)."""
    return x.permute(list(order)).flatten(-1 - len(axes), -2)


def _flat_mask(mask: Tensor, query: Sequence[int], key: Sequence[int]) -> Tensor:
    """Flattens a mask with one dimension per attention dimension to (..., query steps, key steps)."""
    if len(query) == 1:
        return mask
    whole = mask.expand(*mask.shape[: mask.ndim - 2 * len(query)], *query, *key)
    return whole.flatten(-len(key)).flatten(-1 - len(query), -2)


def _shares(scores: Tensor, allowed: Tensor | None) -> Tensor:
    if allowed is not None:
        scores = pyburn.where(allowed, scores, -1e9)
    return scores.softmax(-1)


def _attended(q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None, dropout: float) -> Tensor:
    if allowed is None:
        return functional.scaled_dot_product_attention(q, k, v, None, dropout)
    bias = pyburn.where(allowed, 0.0, -1e9).to(q.dtype)  # a fully masked row attends to everything, as in Keras
    return functional.scaled_dot_product_attention(q, k, v, bias.expand(*q.shape[:-1], k.shape[-2]), dropout)


class _DotAttention(SeededLayer):
    """Base class of attention without projections."""

    def _scores(self, query: Tensor, key: Tensor) -> Tensor:
        raise NotImplementedError

    def forward(
        self, inputs: Sequence[Tensor], mask: Any = None, return_attention_scores: bool = False, use_causal_mask: bool = False
    ) -> Any:
        query, value = inputs[0], inputs[1]
        key = inputs[2] if len(inputs) > 2 else value
        masks = list(mask) if mask is not None else [None, None]
        allowed = None if masks[1] is None else masks[1].unsqueeze(-2)
        if use_causal_mask:
            allowed = _both(allowed, _causal(query.shape[-2], key.shape[-2], query))
        scores = self.dropped(_shares(self._scores(query, key), allowed), self.dropout)
        result = scores @ value
        if masks[0] is not None:
            result = result * masks[0].unsqueeze(-1)
        return [result, scores] if return_attention_scores else result

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return None if mask is None else next(iter(mask), None)


class Attention(_DotAttention):
    """Dot-product (Luong) attention without projections: `layer([query, value])` or `layer([query, value, key])`.

    Args:
        use_scale: Whether to learn a scale for the scores.
        score_mode: "dot", or "concat" for scores from a tanh of the sum of query and key.
        dropout: The dropout rate of the attention weights.
        seed: The seed of the dropout.

    Raises:
        ValueError: score_mode is unknown.

    >>> p_vision.Attention()([pyburn.rand(2, 3, 8), pyburn.rand(2, 5, 8)]).shape
    pyburn.Size([2, 3, 8])
    """

    use_scale: bool = False
    score_mode: str = "dot"
    dropout: float = 0.0
    seed: int | None = None

    def prepare(self) -> None:
        one_of("Attention", "score_mode", self.score_mode, ("dot", "concat"))

    def build(self, input_shape: Any) -> None:
        self.scale = self.add_weight((), "ones") if self.use_scale else None
        self.concat_score_weight = self.add_weight((), "ones") if self.score_mode == "concat" else None

    def _scores(self, query: Tensor, key: Tensor) -> Tensor:
        if self.score_mode == "dot":
            scores = query @ key.mT
            return scores if self.scale is None else scores * self.scale
        sums = query.unsqueeze(-2) + key.unsqueeze(-3)
        weight: Any = self.concat_score_weight
        return (sums if self.scale is None else sums * self.scale).tanh().sum(-1) * weight


class AdditiveAttention(_DotAttention):
    """Additive (Bahdanau) attention: the scores are sums over tanh(query + key), with a learned scale per feature.

    Args:
        use_scale: Whether to learn the scales.
        dropout: The dropout rate of the attention weights.

    >>> p_vision.AdditiveAttention()([pyburn.rand(2, 3, 8), pyburn.rand(2, 5, 8)]).shape
    pyburn.Size([2, 3, 8])
    """

    use_scale: bool = True
    dropout: float = 0.0
    seed: int | None = None

    def build(self, input_shape: Any) -> None:
        self.scale = self.add_weight((input_shape[0][-1],), "glorot_uniform") if self.use_scale else None

    def _scores(self, query: Tensor, key: Tensor) -> Tensor:
        sums = (query.unsqueeze(-2) + key.unsqueeze(-3)).tanh()
        return (sums if self.scale is None else sums * self.scale).sum(-1)
