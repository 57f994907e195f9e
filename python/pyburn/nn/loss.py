"""Losses; those that take functions of Python are written here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from ._layers import (
    BCELoss,
    BCEWithLogitsLoss,
    CosineEmbeddingLoss,
    CrossEntropyLoss,
    GaussianNLLLoss,
    HingeEmbeddingLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    LpLoss,
    MarginRankingLoss,
    Module,
    MSELoss,
    NLLLoss,
    NLLLoss2d,
    PairwiseDistance,
    PoissonNLLLoss,
    RNNTLoss,
    SmoothL1Loss,
    SoftMarginLoss,
    TripletMarginLoss,
)


class TripletMarginWithDistanceLoss(Module):
    """max(0, distance(anchor, positive) - distance(anchor, negative) + margin), with a distance of your own.

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
        far = self.distance_function(anchor, negative)
        if self.swap:
            far = _core.minimum(far, self.distance_function(positive, negative))
        loss = _core.relu(self.distance_function(anchor, positive) - far + self.margin)
        if self.reduction not in ("mean", "sum", "none"):
            raise ValueError(f"{self.reduction} is not a valid value for reduction")
        return loss if self.reduction == "none" else getattr(loss, self.reduction)()


__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "LpLoss",
    "MSELoss",
    "MarginRankingLoss",
    "NLLLoss",
    "NLLLoss2d",
    "PoissonNLLLoss",
    "RNNTLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]
