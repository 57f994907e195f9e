"""F-beta, R² and intersection over union."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field
from typing import Any

import numpy as np

import pyburn
from pyburn import Tensor

from ..symbolic.masks import spread
from .metric import Summed, as_numbers, as_values


@dataclass(eq=False, repr=False)
class FBetaScore(Summed):
    """The F-beta score of each class: the weighted harmonic mean of precision and recall.

    Args:
        average: None for the scores of all classes, or "micro", "macro" or "weighted".
        beta: The weight of recall.
        threshold: Outputs above it are positive; without a threshold, the largest output is the predicted class.
        name: The name of the metric.
        dtype: Accepted for compatibility; has no effect.

    Raises:
        ValueError: The average is unknown.

    >>> p_vision.metrics.FBetaScore('macro', beta=2.0)(pyburn.eye(3), pyburn.eye(3))
    1.0
    """

    parts = ("tp", "said", "yes")
    higher_is_better = True
    average: str | None = None
    beta: float = 1.0
    threshold: float | None = None
    name: str = "fbeta_score"
    dtype: InitVar[Any] = None

    def __post_init__(self, dtype: Any = None) -> None:
        if self.average not in (None, "micro", "macro", "weighted"):
            raise ValueError(f"[{type(self).__name__}] average is None, 'micro', 'macro' or 'weighted': got {self.average!r}")
        super().__post_init__()

    def sums_of(self, y_true: Tensor, y_pred: Tensor, weight: Tensor) -> dict[str, Any]:
        limit = y_pred.amax(-1, keepdim=True) if self.threshold is None else self.threshold
        said = ((y_pred >= limit) & (y_pred.abs() > 1e-9) if self.threshold is None else y_pred > limit).float()
        parts = {"tp": said * y_true, "said": said, "yes": y_true}
        return {name: (part * weight).reshape(-1, said.shape[-1]).sum(0) for name, part in parts.items()}

    def compute(self) -> Any:
        tp, said, yes = (self.state[part].sum() if self.average == "micro" else self.state[part] for part in self.parts)
        square = self.beta**2
        below = square * yes + said
        score = np.where(below > 0, (1 + square) * tp / np.maximum(below, 1e-7), 0.0)
        if self.average == "weighted":
            return (score * yes / np.maximum(yes.sum(), 1e-7)).sum()
        return score.mean() if self.average == "macro" else score


@dataclass(eq=False, repr=False)
class F1Score(FBetaScore):
    """The F1 score of each class: the harmonic mean of precision and recall.

    Args:
        average: None for the scores of all classes, or "micro", "macro" or "weighted".
        threshold: Outputs above it are positive; without a threshold, the largest output is the predicted class.
        name: The name of the metric.
        dtype: Accepted for compatibility; has no effect.

    >>> p_vision.metrics.F1Score()(pyburn.eye(2), pyburn.eye(2)).tolist()
    [1.0, 1.0]
    """

    beta: float = field(default=1.0, init=False)
    name: str = "f1_score"


@dataclass(eq=False, repr=False)
class R2Score(Summed):
    """The coefficient of determination (R²): 1 for perfect outputs, 0 for the mean of the targets.

    Args:
        class_aggregation: How several outputs are combined: "uniform_average", "variance_weighted_average", or None for one score each.
        num_regressors: Adjusts the score for this number of inputs.
        name: The name of the metric.
        dtype: Accepted for compatibility; has no effect.

    Raises:
        ValueError: An argument has an unknown value.

    >>> p_vision.metrics.R2Score()(pyburn.tensor([[1.0], [2.0], [3.0]]), pyburn.tensor([[1.0], [2.0], [3.0]]))
    1.0
    """

    parts = ("weight", "total", "squares", "errors", "seen")
    higher_is_better = True
    class_aggregation: str | None = "uniform_average"
    num_regressors: int = 0
    name: str = "r2_score"
    dtype: InitVar[Any] = None

    def __post_init__(self, dtype: Any) -> None:
        if self.class_aggregation not in (None, "uniform_average", "variance_weighted_average"):
            raise ValueError(
                f"[R2Score] class_aggregation is 'uniform_average', 'variance_weighted_average' or None: got {self.class_aggregation!r}"
            )
        if self.num_regressors < 0:
            raise ValueError(f"[R2Score] num_regressors is not negative: got {self.num_regressors}")
        super().__post_init__()

    def sums_of(self, y_true: Tensor, y_pred: Tensor, weight: Tensor) -> dict[str, Any]:
        truth, said, weight = y_true.double(), y_pred.double(), weight.double()
        parts = (weight, weight * truth, weight * truth.square(), weight * (truth - said).square())
        return {**{name: part.reshape(-1, truth.shape[-1]).sum(0) for name, part in zip(self.parts, parts)}, "seen": truth.numel()}

    def compute(self) -> Any:
        weight, total, squares, errors, seen = (self.state[part] for part in self.parts)
        if not weight.ndim:
            return 0.0
        variance = squares - total**2 / weight
        scores = 1 - errors / np.maximum(variance, 1e-30)
        if self.class_aggregation == "uniform_average":
            scores = scores.mean()
        elif self.class_aggregation == "variance_weighted_average":
            scores = (variance * scores).sum() / variance.sum()
        rest = seen - self.num_regressors - 1
        if self.num_regressors and rest > 0:
            scores = 1 - (1 - scores) * (seen - 1) / rest
        elif self.num_regressors:
            warnings.warn("[R2Score] there are not more examples than regressors: the score is not adjusted", stacklevel=2)
        return scores


@dataclass(eq=False, repr=False)
class IoU(Summed):
    """Intersection over union, averaged over classes. Samples whose label is `ignore_class` or not a class are not counted.

    Args:
        num_classes: The number of classes.
        target_class_ids: The classes to average over; None for all.
        name: The name of the metric.
        dtype: Accepted for compatibility; has no effect.
        ignore_class: A class that does not count; None for none.
        sparse_y_true: Whether targets are integer classes, not one-hot vectors.
        sparse_y_pred: Whether outputs are integer classes, not scores per class.
        axis: The axis of the classes.

    >>> p_vision.metrics.IoU(num_classes=2, target_class_ids=[1])(pyburn.tensor([0, 1, 1]), pyburn.tensor([0, 1, 0]))
    0.5
    """

    parts = ("matrix",)
    higher_is_better = True
    num_classes: int
    target_class_ids: Sequence[int] | None = None
    name: Any = None
    dtype: InitVar[Any] = None
    ignore_class: int | None = None
    sparse_y_true: bool = True
    sparse_y_pred: bool = True
    axis: int = -1

    def __post_init__(self, dtype: Any = None) -> None:
        self.target_class_ids = None if self.target_class_ids is None else list(self.target_class_ids)
        super().__post_init__()

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        with pyburn.no_grad():
            truth, said = as_values(y_true), as_values(y_pred)
            truth = truth if self.sparse_y_true else truth.argmax(self.axis)
            said = said if self.sparse_y_pred else said.argmax(self.axis)
            weight = None
            if sample_weight is not None:
                weight = spread(as_numbers(sample_weight), truth.float()).expand(truth.shape).reshape(-1)
            n, truth, said = self.num_classes, truth.long().reshape(-1), said.long().reshape(-1)
            counted = (truth >= 0) & (truth < n) & (said >= 0) & (said < n)
            if self.ignore_class is not None:
                counted = counted & (truth != self.ignore_class)
            at = pyburn.where(counted, truth * n + said, n * n)  # ignored samples get a bin of their own
            self.add_sums({"matrix": pyburn.bincount(at, weights=weight, minlength=n * n + 1)[:-1].reshape(n, n)})

    def compute(self) -> Any:
        if not self.state["matrix"].ndim:
            return 0.0
        matrix = self.state["matrix"]
        both, union = matrix.diagonal(), matrix.sum(0) + matrix.sum(1) - matrix.diagonal()
        chosen = range(self.num_classes) if self.target_class_ids is None else self.target_class_ids
        shares = [both[i] / union[i] for i in chosen if union[i]]
        return sum(shares) / len(shares) if shares else 0.0


@dataclass(eq=False, repr=False)
class MeanIoU(IoU):
    """The mean intersection over union of all classes.

    Args:
        num_classes: The number of classes.
        name: The name of the metric.
        dtype: Accepted for compatibility; has no effect.
        ignore_class: A class that does not count; None for none.
        sparse_y_true: Whether targets are integer classes, not one-hot vectors.
        sparse_y_pred: Whether outputs are integer classes, not scores per class.
        axis: The axis of the classes.

    >>> p_vision.metrics.MeanIoU(num_classes=2)(pyburn.tensor([0, 1, 1]), pyburn.tensor([0, 1, 0]))
    0.5
    """

    target_class_ids: Sequence[int] | None = field(default=None, init=False)


class BinaryIoU(IoU):
    """The intersection over union of the classes 0 and 1; outputs above a threshold are class 1.

    Args:
        target_class_ids: The classes to average over.
        threshold: Outputs of at least this value are class 1.
        name: The name of the metric.
        dtype: Accepted for compatibility; has no effect.

    >>> p_vision.metrics.BinaryIoU([1])(pyburn.tensor([0, 1, 1]), pyburn.tensor([0.1, 0.9, 0.2]))
    0.5
    """

    def __init__(
        self, target_class_ids: Sequence[int] = (0, 1), threshold: float = 0.5, name: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__(2, target_class_ids, name)
        self.threshold = threshold

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        super().update_state(y_true, as_values(y_pred) >= self.threshold, sample_weight)


@dataclass(eq=False, repr=False)
class OneHotIoU(IoU):
    """Intersection over union of one-hot encoded classes, averaged over classes.

    Args:
        num_classes: The number of classes.
        target_class_ids: The classes to average over; None for all.
        name: The name of the metric.
        dtype: Accepted for compatibility; has no effect.
        ignore_class: A class that does not count; None for none.
        sparse_y_pred: Whether outputs are integer classes, not scores per class.
        axis: The axis of the classes.

    >>> p_vision.metrics.OneHotIoU(2, [1])(pyburn.eye(2), pyburn.eye(2))
    1.0
    """

    target_class_ids: Sequence[int] | None
    sparse_y_true: bool = field(default=False, init=False)
    sparse_y_pred: bool = False


@dataclass(eq=False, repr=False)
class OneHotMeanIoU(OneHotIoU):
    """The mean intersection over union of all classes, for one-hot encoded classes.

    Args:
        num_classes: The number of classes.
        name: The name of the metric.
        dtype: Accepted for compatibility; has no effect.
        ignore_class: A class that does not count; None for none.
        sparse_y_pred: Whether outputs are integer classes, not scores per class.
        axis: The axis of the classes.

    >>> p_vision.metrics.OneHotMeanIoU(2)(pyburn.eye(2), pyburn.eye(2))
    1.0
    """

    target_class_ids: Sequence[int] | None = field(default=None, init=False)
