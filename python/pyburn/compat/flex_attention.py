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
    """The result of create_block_mask. The mask is computed when it is used.

    >>> create_block_mask(noop_mask, None, None, 2, 3).shape
    (1, 1, 2, 3)
    """

    mask_mod: Callable[..., Any]
    B: int | None
    H: int | None
    Q_LEN: int
    KV_LEN: int

    @property
    def shape(self) -> tuple[int, int, int, int]:
        return (self.B or 1, self.H or 1, self.Q_LEN, self.KV_LEN)


def _indices(*sizes: int) -> list[Tensor]:
    """Returns the index along each dimension; together they broadcast to (batch, head, query, key)."""
    return [_core.arange(size).reshape(*(-1 if i == k else 1 for k in range(len(sizes)))) for i, size in enumerate(sizes)]


class AuxRequest(NamedTuple):
    """The additional outputs that flex_attention returns."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """The outputs that an AuxRequest asks for: per query, the logarithm of the sum of exponentials and the maximum score."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def noop_mask(batch: Any, head: Any, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """A mask function that lets every query attend to every key.

    Args:
        batch: The index of the batch.
        head: The index of the head.
        token_q: The index of the query.
        token_kv: The index of the key.

    Returns:
        A bool tensor of ones with the broadcast shape of token_q and token_kv.

    >>> noop_mask(0, 0, pyburn.arange(2), pyburn.arange(2))
    tensor([True, True])
    """
    return _core.ones_like(token_q + token_kv, dtype=_core.bool)


def _combined(masks: tuple[Callable[..., Any], ...], together: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def mask(*indices: Tensor) -> Any:
        result = masks[0](*indices)
        for other in masks[1:]:
            result = together(result, other(*indices))
        return result

    return mask


def and_masks(*mask_mods: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a mask function that is True where all of the given ones are.

    Args:
        *mask_mods: Mask functions of (batch, head, query, key).

    >>> causal = lambda b, h, q, k: q >= k
    >>> near = lambda b, h, q, k: q - k < 2
    >>> create_mask(and_masks(causal, near), None, None, 3, 3)[0, 0].int()
    tensor([[1, 0, 0],
            [1, 1, 0],
            [0, 1, 1]], dtype=pyburn.int32)
    """
    return _combined(mask_mods, lambda a, b: a & b)


def or_masks(*mask_mods: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a mask function that is True where one of the given ones is.

    Args:
        *mask_mods: Mask functions of (batch, head, query, key).

    >>> first = lambda b, h, q, k: k == 0
    >>> same = lambda b, h, q, k: q == k
    >>> create_mask(or_masks(first, same), None, None, 3, 3)[0, 0].int()
    tensor([[1, 0, 0],
            [1, 1, 0],
            [1, 0, 1]], dtype=pyburn.int32)
    """
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
    """Creates a mask from a function of indices.

    Args:
        mask_mod: A function of (batch, head, query, key) that returns True where the query attends to the key.
        B: The batch size; None broadcasts.
        H: The number of heads; None broadcasts.
        Q_LEN: The number of queries.
        KV_LEN: The number of keys.
        device: Ignored.
        **blocks: Ignored options of compiled kernels.

    Returns:
        A BlockMask.

    >>> create_block_mask(lambda b, h, q, k: q >= k, None, None, 4, 4).shape
    (1, 1, 4, 4)
    """
    return BlockMask(mask_mod, B, H, Q_LEN, KV_LEN)


def create_mask(
    mod_fn: Callable[..., Any], B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None, **options: Any
) -> Tensor:
    """Computes the mask of a function of indices.

    Args:
        mod_fn: A function of (batch, head, query, key).
        B: The batch size; 1 for None.
        H: The number of heads; 1 for None.
        Q_LEN: The number of queries.
        KV_LEN: The number of keys.
        device: Ignored.
        **options: Ignored.

    Returns:
        A tensor (B, H, Q_LEN, KV_LEN).

    >>> create_mask(lambda b, h, q, k: q >= k, None, None, 2, 2)[0, 0].int()
    tensor([[1, 0],
            [1, 1]], dtype=pyburn.int32)
    """
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
    """Scaled dot-product attention with functions that modify the scores and define the mask.

    Args:
        query: Queries (B, Hq, L, E).
        key: Keys (B, Hkv, S, E).
        value: Values (B, Hkv, S, Ev).
        score_mod: A function of (score, batch, head, query, key) that returns the modified scores.
        block_mask: A mask of create_block_mask.
        scale: The factor of the scores; default 1 / sqrt(E).
        enable_gqa: Whether Hkv may be smaller than Hq (grouped-query attention).
        return_lse: Whether to return (output, logarithm of the sum of exponentials of the scores).
        kernel_options: Ignored options of compiled kernels.
        return_aux: Which additional outputs to return, as (output, AuxOutput).

    Returns:
        The output (B, Hq, L, Ev), alone or in a tuple.

    >>> x = pyburn.ones(1, 1, 2, 4)
    >>> causal = create_block_mask(lambda b, h, q, k: q >= k, None, None, 2, 2)
    >>> flex_attention(x, x, x, block_mask=causal).shape
    pyburn.Size([1, 1, 2, 4])
    """
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
