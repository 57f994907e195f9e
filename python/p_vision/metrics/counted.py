"""Metrics from counts: confusion counts at thresholds, and confusion matrices."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import pyburn
from pyburn import Tensor

from .. import losses
from ..configured import snake_case
from ..symbolic.masks import mask_of, spread, weights_of
from .metric import Metric, as_numbers, as_values


class _Counted(Metric):
    """Counts predictions at one or several thresholds; `class_id` selects one class of the last dimension."""

    def __init__(self, thresholds: Any = None, class_id: int | None = None, name: str | None = None, dtype: Any = None) -> None:
        self.thresholds, self.class_id, self.name = thresholds, class_id, name or snake_case(type(self).__name__)
        for threshold in self._limits():
            if not 0 <= threshold <= 1:
                raise ValueError(f"[{type(self).__name__}] thresholds lie between 0 and 1: got {threshold}")
        self.reset_state()

    def _limits(self) -> list[float]:
        given = 0.5 if self.thresholds is None else self.thresholds
        return [float(limit) for limit in given] if isinstance(given, (list, tuple)) else [float(given)]

    def reset_state(self) -> None:
        self._counts: dict[str, Any] = dict.fromkeys(("tp", "fp", "fn", "tn"), 0.0)

    def _said(self, y_pred: Tensor) -> Tensor:
        """Returns the positive predictions at each threshold: (thresholds, ...)."""
        limits = pyburn.tensor(self._limits(), dtype=y_pred.dtype, device=y_pred.device)
        return y_pred.unsqueeze(0) > limits.reshape(-1, *[1] * y_pred.ndim)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        with pyburn.no_grad():
            mask = mask_of(y_pred)
            y_true, y_pred = losses.alike(as_values(y_true), as_values(y_pred))
            yes, said = (y_true > 0.5).float(), self._said(y_pred).float()
            if self.class_id is not None:
                yes, said = yes[..., self.class_id], said[..., self.class_id]
            given = weights_of(mask, None if sample_weight is None else as_numbers(sample_weight), yes, scaled=False)
            weight: Any = 1.0 if given is None else spread(given, yes)
            for kind, found in (("tp", yes * said), ("fp", (1 - yes) * said), ("fn", yes * (1 - said)), ("tn", (1 - yes) * (1 - said))):
                self._counts[kind] = self._counts[kind] + (found * weight).flatten(1).sum(1)

    def _told(self, values: Tensor | float) -> Any:
        """Returns a number, or an array if `thresholds` is a list."""
        if not isinstance(values, Tensor):
            return values if not isinstance(self.thresholds, (list, tuple)) else [values] * len(self.thresholds)
        return values.to("cpu").numpy() if isinstance(self.thresholds, (list, tuple)) else float(values[0])

    def _share(self, found: str, *others: str) -> Any:
        total = sum((self._counts[kind] for kind in others), self._counts[found])
        return self._told(self._counts[found] / total.clamp(min=1e-30) if isinstance(total, Tensor) else 0.0)


class _Best(_Counted):
    """With `top_k`, the k largest outputs of each row are the positive predictions, and, if a threshold is given, only those above it."""

    _direction = "up"

    def __init__(
        self, thresholds: Any = None, top_k: int | None = None, class_id: int | None = None, name: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__(thresholds, class_id, name)
        if top_k is not None and (not isinstance(top_k, int) or top_k < 1):
            raise ValueError(f"[{type(self).__name__}] top_k is a positive number: got {top_k!r}")
        self.top_k = top_k

    def _said(self, y_pred: Tensor) -> Tensor:
        if self.top_k is None:
            return super()._said(y_pred)
        best = pyburn.zeros_like(y_pred).scatter(-1, y_pred.topk(min(self.top_k, y_pred.shape[-1]), -1)[1], 1.0) > 0
        return best.unsqueeze(0) if self.thresholds is None else best & super()._said(y_pred)


class Precision(_Best):
    """Precision: true positives / predicted positives."""

    def result(self) -> Any:
        return self._share("tp", "fp")


class Recall(_Best):
    """Recall: true positives / actual positives."""

    def result(self) -> Any:
        return self._share("tp", "fn")


class _Count(_Counted):
    """Base class of the four confusion counts."""

    kind: str

    def __init__(self, thresholds: Any = None, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(thresholds, None, name)

    def result(self) -> Any:
        return self._told(self._counts[self.kind])


class TruePositives(_Count):
    """The number of true positives."""

    kind = "tp"


class TrueNegatives(_Count):
    """The number of true negatives."""

    kind = "tn"


class FalsePositives(_Count):
    """The number of false positives."""

    kind = "fp"


class FalseNegatives(_Count):
    """The number of false negatives."""

    kind = "fn"


class FBetaScore(Metric):
    """The F-beta score of each class: the weighted harmonic mean of precision and recall.

    Args:
        average: None for the scores of all classes, or "micro", "macro" or "weighted".
        beta: The weight of recall.
        threshold: Outputs above it are positive; without a threshold, the largest output is the predicted class.
        name: The name of the metric.
    """

    _direction = "up"

    def __init__(
        self, average: str | None = None, beta: float = 1.0, threshold: float | None = None, name: str = "fbeta_score", dtype: Any = None
    ) -> None:
        if average not in (None, "micro", "macro", "weighted"):
            raise ValueError(f"[{type(self).__name__}] average is None, 'micro', 'macro' or 'weighted': got {average!r}")
        self.average, self.beta, self.threshold, self.name = average, beta, threshold, name
        self.reset_state()

    def reset_state(self) -> None:
        self._tp: Any = 0.0
        self._said: Any = 0.0
        self._yes: Any = 0.0

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        with pyburn.no_grad():
            y_true, y_pred = losses.alike(as_values(y_true), as_values(y_pred))
            limit = y_pred.amax(-1, keepdim=True) if self.threshold is None else self.threshold
            said = ((y_pred >= limit) & (y_pred.abs() > 1e-9) if self.threshold is None else y_pred > limit).float()
            weight: Any = 1.0 if sample_weight is None else spread(as_numbers(sample_weight), said)
            classes = said.shape[-1]
            tp, said, yes = ((x * weight).reshape(-1, classes).sum(0) for x in (said * y_true, said, y_true))
            self._tp, self._said, self._yes = self._tp + tp, self._said + said, self._yes + yes

    def result(self) -> Any:
        tp, said, yes = (pyburn.as_tensor(x) for x in (self._tp, self._said, self._yes))
        if self.average == "micro":
            tp, said, yes = tp.sum(), said.sum(), yes.sum()
        square = self.beta**2
        below = square * yes + said
        score = pyburn.where(below > 0, (1 + square) * tp / below.clamp(min=1e-7), 0.0)
        if self.average == "weighted":
            score = (score * yes / yes.sum().clamp(min=1e-7)).sum()
        elif self.average == "macro":
            score = score.mean()
        return float(score) if not score.ndim else score.to("cpu").numpy()


class F1Score(FBetaScore):
    """The F1 score of each class: the harmonic mean of precision and recall."""

    def __init__(self, average: str | None = None, threshold: float | None = None, name: str = "f1_score", dtype: Any = None) -> None:
        super().__init__(average, 1.0, threshold, name)


class IoU(Metric):
    """Intersection over union, averaged over `target_class_ids`; classes are integer labels, or one-hot vectors.

    Samples whose label is `ignore_class` or not a class are not counted.
    """

    _direction = "up"

    def __init__(
        self,
        num_classes: int,
        target_class_ids: Sequence[int] | None = None,
        name: str | None = None,
        dtype: Any = None,
        ignore_class: int | None = None,
        sparse_y_true: bool = True,
        sparse_y_pred: bool = True,
        axis: int = -1,
    ) -> None:
        self.num_classes, self.target_class_ids = num_classes, None if target_class_ids is None else list(target_class_ids)
        self.ignore_class, self.sparse_y_true, self.sparse_y_pred, self.axis = ignore_class, sparse_y_true, sparse_y_pred, axis
        self.name = name or snake_case(type(self).__name__)
        self.reset_state()

    def reset_state(self) -> None:
        self._matrix: Any = None

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        with pyburn.no_grad():
            truth, said = as_values(y_true), as_values(y_pred)
            truth = truth if self.sparse_y_true else truth.argmax(self.axis)
            said = said if self.sparse_y_pred else said.argmax(self.axis)
            weight = None
            if sample_weight is not None:
                weight = spread(as_numbers(sample_weight), truth.float()).expand(truth.shape).reshape(-1)
            self._count(truth.long().reshape(-1), said.long().reshape(-1), weight)

    def _count(self, truth: Tensor, said: Tensor, weight: Tensor | None) -> None:
        n = self.num_classes
        counted = (truth >= 0) & (truth < n) & (said >= 0) & (said < n)
        if self.ignore_class is not None:
            counted = counted & (truth != self.ignore_class)
        at = pyburn.where(counted, truth * n + said, n * n)  # ignored samples get a bin of their own
        counts = pyburn.bincount(at, weights=weight, minlength=n * n + 1)[:-1].reshape(n, n)
        self._matrix = counts if self._matrix is None else self._matrix + counts

    def result(self) -> float:
        if self._matrix is None:
            return 0.0
        both, union = self._matrix.diagonal(), self._matrix.sum(0) + self._matrix.sum(1) - self._matrix.diagonal()
        chosen = range(self.num_classes) if self.target_class_ids is None else self.target_class_ids
        shares = [float(both[i]) / float(union[i]) for i in chosen if float(union[i])]
        return sum(shares) / len(shares) if shares else 0.0


class MeanIoU(IoU):
    """The mean intersection over union of all classes."""

    def __init__(
        self,
        num_classes: int,
        name: str | None = None,
        dtype: Any = None,
        ignore_class: int | None = None,
        sparse_y_true: bool = True,
        sparse_y_pred: bool = True,
        axis: int = -1,
    ) -> None:
        super().__init__(num_classes, None, name, dtype, ignore_class, sparse_y_true, sparse_y_pred, axis)


class BinaryIoU(IoU):
    """The intersection over union of the classes 0 and 1; outputs above a threshold are class 1."""

    def __init__(
        self, target_class_ids: Sequence[int] = (0, 1), threshold: float = 0.5, name: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__(2, target_class_ids, name)
        self.threshold = threshold

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        super().update_state(y_true, as_values(y_pred) >= self.threshold, sample_weight)


class R2Score(Metric):
    """The coefficient of determination (R²).

    Args:
        class_aggregation: How several outputs are combined: "uniform_average", "variance_weighted_average", or None for one score each.
        num_regressors: Adjusts the score for this number of inputs.
    """

    _direction = "up"

    def __init__(
        self, class_aggregation: str | None = "uniform_average", num_regressors: int = 0, name: str = "r2_score", dtype: Any = None
    ) -> None:
        if class_aggregation not in (None, "uniform_average", "variance_weighted_average"):
            raise ValueError(
                f"[R2Score] class_aggregation is 'uniform_average', 'variance_weighted_average' or None: got {class_aggregation!r}"
            )
        if num_regressors < 0:
            raise ValueError(f"[R2Score] num_regressors is not negative: got {num_regressors}")
        self.class_aggregation, self.num_regressors, self.name = class_aggregation, num_regressors, name
        self.reset_state()

    def reset_state(self) -> None:
        self._sums: list[Any] = [0.0] * 4  # weights, targets, squared targets, squared errors
        self._seen = 0

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        with pyburn.no_grad():
            truth, said = (x.double() for x in losses.alike(as_values(y_true), as_values(y_pred)))
            weight = pyburn.ones_like(truth) if sample_weight is None else spread(as_numbers(sample_weight), truth).expand(truth.shape)
            parts = (weight, weight * truth, weight * truth.square(), weight * (truth - said).square())
            self._sums = [before + part.reshape(-1, truth.shape[-1]).sum(0) for before, part in zip(self._sums, parts)]
            self._seen += truth.numel()

    def result(self) -> Any:
        count, total, squares, errors = self._sums
        if not isinstance(count, Tensor):
            return 0.0
        variance = squares - total.square() / count
        scores = 1 - errors / variance.clamp(min=1e-30)
        if self.class_aggregation == "uniform_average":
            scores = scores.mean()
        elif self.class_aggregation == "variance_weighted_average":
            scores = (variance * scores).sum() / variance.sum()
        rest = self._seen - self.num_regressors - 1
        if self.num_regressors and rest > 0:
            scores = 1 - (1 - scores) * (self._seen - 1) / rest
        elif self.num_regressors:
            warnings.warn("[R2Score] there are not more examples than regressors: the score is not adjusted", stacklevel=2)
        return float(scores) if not scores.ndim else scores.to("cpu").numpy()
