"""Losses that take a Python callable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _core

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._core import Tensor


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """Computes the triplet margin loss with a custom distance: max(0, distance(anchor, positive) - distance(anchor, negative) + margin).

    Args:
        anchor: The anchors.
        positive: The positive examples.
        negative: The negative examples.
        distance_function: The distance; by default the Euclidean distance.
        margin: The margin.
        swap: Whether to use the smaller of the distances of anchor and positive to the negative.
        reduction: "mean", "sum" or "none".

    Returns:
        A 0-d tensor, or one loss per sample with reduction="none".

    Raises:
        ArgumentError: margin is not positive, or reduction is unknown.

    >>> a = pyburn.zeros(1, 2)
    >>> pyburn.nn.functional.triplet_margin_with_distance_loss(a, a, a + 1, distance_function=lambda x, y: (x - y).abs().sum(-1))
    tensor(0.)
    """
    if reduction not in ("mean", "sum", "none"):
        raise _core.ArgumentError(f"[triplet_margin_with_distance_loss] reduction is 'mean', 'sum' or 'none': got {reduction!r}")
    if margin <= 0:
        raise _core.ArgumentError(f"[triplet_margin_with_distance_loss] margin must be greater than 0: got {margin}")
    distance = distance_function or _core.pairwise_distance
    far = distance(anchor, negative)
    if swap:
        far = _core.minimum(far, distance(positive, negative))
    loss = (distance(anchor, positive) - far + margin).clamp_min(0)
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss
