"""Metrics from counts: of yes and no above thresholds, of classes against classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyburn
from pyburn import Tensor

from .. import losses
from ..configured import snake_case
from ..symbolic.masks import mask_of, spread, weights_of
from .metric import Metric, as_numbers, as_values


class _Counted(Metric):
    """Counts of yes and no above a threshold; `class_id` looks at one class of the last axis alone."""

    def __init__(self, thresholds: float | None = None, class_id: int | None = None, name: str | None = None, dtype: Any = None) -> None:
        self.thresholds, self.class_id, self.name = thresholds, class_id, name or snake_case(type(self).__name__)
        self.reset_state()

    def reset_state(self) -> None:
        self._counts: dict[str, Any] = dict.fromkeys(("tp", "fp", "fn", "tn"), 0.0)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        with pyburn.no_grad():
            mask = mask_of(y_pred)
            y_true, y_pred = losses.aligned(as_values(y_true), as_values(y_pred))
            if self.class_id is not None:
                y_true, y_pred = y_true[..., self.class_id], y_pred[..., self.class_id]
            yes, said = (y_true > 0.5).float(), (y_pred > (0.5 if self.thresholds is None else self.thresholds)).float()
            given = weights_of(mask, None if sample_weight is None else as_numbers(sample_weight), yes, scaled=False)
            weight: Any = 1.0 if given is None else spread(given, yes)
            for kind, found in (("tp", yes * said), ("fp", (1 - yes) * said), ("fn", yes * (1 - said)), ("tn", (1 - yes) * (1 - said))):
                self._counts[kind] = self._counts[kind] + (found * weight).sum()

    def _share(self, found: str, *others: str) -> float:
        total = sum(float(self._counts[kind]) for kind in (found, *others))
        return float(self._counts[found]) / total if total else 0.0


class Precision(_Counted):
    """The share of what is true in what was said to be."""

    def result(self) -> float:
        return self._share("tp", "fp")


class Recall(_Counted):
    """The share of what was said to be in what is true."""

    def result(self) -> float:
        return self._share("tp", "fn")


class _Count(_Counted):
    """One of the four counts."""

    kind: str

    def result(self) -> float:
        return float(self._counts[self.kind])


class TruePositives(_Count):
    """How many were said to be, and are."""

    kind = "tp"


class TrueNegatives(_Count):
    """How many were said not to be, and are not."""

    kind = "tn"


class FalsePositives(_Count):
    """How many were said to be, and are not."""

    kind = "fp"


class FalseNegatives(_Count):
    """How many were said not to be, and are."""

    kind = "fn"


class FBetaScore(Metric):
    """The weighted harmonic mean of precision and recall of each class; `average` is None (all of them), "micro", "macro" or "weighted".

    Without a threshold, the largest output is the class that is said.
    """

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
            y_true, y_pred = losses.aligned(as_values(y_true), as_values(y_pred))
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
    """The harmonic mean of precision and recall of each class."""

    def __init__(self, average: str | None = None, threshold: float | None = None, name: str = "f1_score", dtype: Any = None) -> None:
        super().__init__(average, 1.0, threshold, name)


class AUC(Metric):
    """The area under the ROC curve (with curve="PR": of precision over recall), from the counts at `num_thresholds` thresholds."""

    def __init__(
        self, num_thresholds: int = 200, curve: str = "ROC", from_logits: bool = False, name: str = "auc", dtype: Any = None
    ) -> None:
        if num_thresholds < 2:
            raise ValueError(f"[AUC] num_thresholds must be at least 2: got {num_thresholds}")
        if curve not in ("ROC", "PR"):
            raise ValueError(f"[AUC] curve is 'ROC' or 'PR': got {curve!r}")
        self.num_thresholds, self.curve, self.from_logits, self.name = num_thresholds, curve, from_logits, name
        self.reset_state()

    def reset_state(self) -> None:
        self._yes: Any = 0.0  # counts above each threshold
        self._no: Any = 0.0

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        with pyburn.no_grad():
            y_true, y_pred = losses.aligned(as_values(y_true), as_values(y_pred))
            p = (pyburn.sigmoid(y_pred) if self.from_logits else y_pred).reshape(-1)
            n = self.num_thresholds
            steps = [-1e-7, *((i + 1) / (n - 1) for i in range(n - 2)), 1 + 1e-7]
            above = (p.unsqueeze(0) > pyburn.tensor(steps, dtype=p.dtype, device=p.device).unsqueeze(1)).float()
            weight = (
                pyburn.ones_like(p) if sample_weight is None else spread(as_numbers(sample_weight), y_true).expand(y_true.shape).reshape(-1)
            )
            yes = (y_true.reshape(-1) > 0.5).float()
            self._yes = self._yes + above @ (yes * weight)
            self._no = self._no + above @ ((1 - yes) * weight)

    def result(self) -> float:
        if not isinstance(self._yes, Tensor):
            return 0.0
        if self.curve == "PR":
            return self._under_precision()
        tpr, fpr = self._yes / self._yes[0].clamp(min=1e-7), self._no / self._no[0].clamp(min=1e-7)
        return float(((fpr[:-1] - fpr[1:]) * (tpr[:-1] + tpr[1:]) / 2).sum())

    def _under_precision(self) -> float:
        """Counts, not precisions, are interpolated between two thresholds (Davis and Goadrich, 2006)."""
        tp, said = self._yes, self._yes + self._no
        d_tp, d_said = tp[:-1] - tp[1:], said[:-1] - said[1:]
        slope = pyburn.where(d_said > 0, d_tp / d_said.clamp(min=1e-7), 0.0)
        intercept = tp[1:] - slope * said[1:]
        safe = (said[:-1] > 0) & (said[1:] > 0)
        logs = pyburn.where(safe, (said[:-1] / said[1:].clamp(min=1e-7)).clamp(min=1e-30).log(), 0.0)
        return float((slope * (d_tp + intercept * logs) / tp[0].clamp(min=1e-7)).sum())


class IoU(Metric):
    """The overlap of classes over their union, as the mean of `target_class_ids`; classes are given as numbers, or one-hot where told."""

    def __init__(
        self,
        num_classes: int,
        target_class_ids: Sequence[int] | None = None,
        name: str | None = None,
        dtype: Any = None,
        sparse_y_true: bool = True,
        sparse_y_pred: bool = True,
        axis: int = -1,
    ) -> None:
        self.num_classes, self.target_class_ids = num_classes, None if target_class_ids is None else list(target_class_ids)
        self.sparse_y_true, self.sparse_y_pred, self.axis = sparse_y_true, sparse_y_pred, axis
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
        counts = pyburn.bincount(truth * n + said, weights=weight, minlength=n * n).reshape(n, n)
        self._matrix = counts if self._matrix is None else self._matrix + counts

    def result(self) -> float:
        if self._matrix is None:
            return 0.0
        both, union = self._matrix.diagonal(), self._matrix.sum(0) + self._matrix.sum(1) - self._matrix.diagonal()
        chosen = range(self.num_classes) if self.target_class_ids is None else self.target_class_ids
        shares = [float(both[i]) / float(union[i]) for i in chosen if float(union[i])]
        return sum(shares) / len(shares) if shares else 0.0


class MeanIoU(IoU):
    """The mean of the overlaps of all classes."""

    def __init__(
        self,
        num_classes: int,
        name: str | None = None,
        dtype: Any = None,
        sparse_y_true: bool = True,
        sparse_y_pred: bool = True,
        axis: int = -1,
    ) -> None:
        super().__init__(num_classes, None, name, dtype, sparse_y_true, sparse_y_pred, axis)


class BinaryIoU(IoU):
    """The overlap of no (0) and of yes (1), which is what lies above a threshold."""

    def __init__(
        self, target_class_ids: Sequence[int] = (0, 1), threshold: float = 0.5, name: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__(2, target_class_ids, name)
        self.threshold = threshold

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        super().update_state(y_true, as_values(y_pred) >= self.threshold, sample_weight)


class R2Score(Metric):
    """The share of the variance of the targets that the outputs explain, as the mean over the last axis."""

    def __init__(self, name: str = "r2_score", dtype: Any = None) -> None:
        self.name = name
        self.reset_state()

    def reset_state(self) -> None:
        self._sums: list[Any] = [0.0] * 4  # weights, targets, squares of targets, squares of errors

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        with pyburn.no_grad():
            truth, said = (x.double() for x in losses.aligned(as_values(y_true), as_values(y_pred)))
            weight = pyburn.ones_like(truth) if sample_weight is None else spread(as_numbers(sample_weight), truth).expand(truth.shape)
            parts = (weight, weight * truth, weight * truth.square(), weight * (truth - said).square())
            self._sums = [before + part.reshape(-1, truth.shape[-1]).sum(0) for before, part in zip(self._sums, parts)]

    def result(self) -> float:
        count, total, squares, errors = self._sums
        if not isinstance(count, Tensor):
            return 0.0
        spread_of_targets = squares - total.square() / count
        return float((1 - errors / spread_of_targets.clamp(min=1e-30)).mean())
