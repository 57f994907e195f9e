"""torch.nn.attention.flex_attention: attention whose scores and mask are functions, computed with all scores in memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from .. import _core
from .._core import Tensor

__all__ = ["BlockMask", "and_masks", "create_block_mask", "create_mask", "flex_attention", "noop_mask", "or_masks"]

_DEFAULT_SPARSE_BLOCK_SIZE = 128


class BlockMask(NamedTuple):
    """The mask of create_block_mask; it is computed when it is used."""

    mask_mod: Callable[..., Any]
    B: int | None
    H: int | None
    Q_LEN: int
    KV_LEN: int

    @property
    def shape(self) -> tuple[int, int, int, int]:
        return (self.B or 1, self.H or 1, self.Q_LEN, self.KV_LEN)


def _indices(*sizes: int) -> list[Tensor]:
    """The index along each axis, so that together they broadcast to (batch, head, query, key)."""
    return [_core.arange(size).reshape(*(-1 if i == k else 1 for k in range(len(sizes)))) for i, size in enumerate(sizes)]


class AuxRequest(NamedTuple):
    """Which further results are wanted."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """The results of an AuxRequest: of each query the logarithm of the sum of exponentials, and the largest score."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def noop_mask(batch: Any, head: Any, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """Everything attends to everything."""
    return _core.ones_like(token_q + token_kv, dtype=_core.bool)


def _combined(masks: tuple[Callable[..., Any], ...], together: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def mask(*indices: Tensor) -> Any:
        result = masks[0](*indices)
        for other in masks[1:]:
            result = together(result, other(*indices))
        return result

    return mask


def and_masks(*mask_mods: Callable[..., Any]) -> Callable[..., Any]:
    return _combined(mask_mods, lambda a, b: a & b)


def or_masks(*mask_mods: Callable[..., Any]) -> Callable[..., Any]:
    return _combined(mask_mods, lambda a, b: a | b)


def create_block_mask(
    mask_mod: Callable[..., Any],
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    **blocks: Any,  # how a compiled kernel divides the mask: the result is the same
) -> BlockMask:
    """A mask by a function of the indices (batch, head, query, key): True where the query sees the key."""
    return BlockMask(mask_mod, B, H, Q_LEN, KV_LEN)


def create_mask(
    mod_fn: Callable[..., Any], B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None, **options: Any
) -> Tensor:
    """The mask itself, (B, H, Q_LEN, KV_LEN)."""
    sizes = (B or 1, H or 1, Q_LEN, KV_LEN)
    return _core.broadcast_to(mod_fn(*_indices(*sizes)), sizes)


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Callable[..., Any] | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Any = None,  # of a compiled kernel: the result is the same
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """Attention of (batch, head, length, width), where `score_mod(score, batch, head, query, key)` changes the scores."""
    if enable_gqa:
        key, value = (x.repeat_interleave(query.shape[1] // x.shape[1], 1) for x in (key, value))
    scores = query @ key.transpose(-2, -1) * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    indices = _indices(*scores.shape)
    if score_mod is not None:
        scores = score_mod(scores, *indices)
    if block_mask is not None:
        seen = block_mask.mask_mod(*indices)
        scores = scores.masked_fill(~_core.broadcast_to(seen, scores.shape), -math.inf)
    total = scores.logsumexp(-1)
    weights = (scores - total[..., None].masked_fill(total[..., None] == -math.inf, 0)).exp()
    output = (weights @ value).to(query.dtype)
    if return_aux is not None:
        return output, AuxOutput(total if return_aux.lse else None, scores.amax(-1) if return_aux.max_scores else None)
    return (output, total) if return_lse else output
