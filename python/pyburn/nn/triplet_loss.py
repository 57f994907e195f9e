"""The triplet margin loss with a distance written in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._layers import Module, PairwiseDistance
from .loss_functions import triplet_margin_with_distance_loss


class TripletMarginWithDistanceLoss(Module):
    """Triplet margin loss with a custom distance: max(0, distance(anchor, positive) - distance(anchor, negative) + margin).

    Args:
        distance_function: The distance; by default the Euclidean distance.
        margin: The margin.
        swap: Whether to use the smaller of the distances of anchor and positive to the negative.
        reduction: "mean", "sum" or "none".

    Raises:
        ValueError: margin is not positive.

    >>> loss = pyburn.nn.TripletMarginWithDistanceLoss(distance_function=lambda x, y: (x - y).abs().sum(-1))
    >>> loss(pyburn.zeros(1, 2), pyburn.ones(1, 2), pyburn.zeros(1, 2))
    """

    __module__ = "pyburn.nn"

    def __init__(
        self, *, distance_function: Callable[..., Any] | None = None, margin: float = 1.0, swap: bool = False, reduction: str = "mean"
    ) -> None:
        super().__init__()
        if margin <= 0:
            raise ValueError(f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin} instead")
        self.distance_function = distance_function if distance_function is not None else PairwiseDistance()
        self.margin, self.swap, self.reduction = margin, swap, reduction

    def forward(self, anchor: Any, positive: Any, negative: Any) -> Any:
        return triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )
