"""The area under the ROC or precision-recall curve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyburn
from pyburn import Tensor

from .. import losses
from ..symbolic.masks import spread
from .metric import Metric, as_numbers, as_values

_HEIGHTS = {"interpolation": lambda a, b: (a + b) / 2, "minoring": pyburn.minimum, "majoring": pyburn.maximum}


class AUC(Metric):
    """The area under the ROC curve, or the precision-recall curve with curve="PR", from counts at `num_thresholds` thresholds.

    With `multi_label`, each column has its own curve, and the result is the mean of their areas, weighted by `label_weights`.
    """

    _direction = "up"

    def __init__(
        self,
        num_thresholds: int = 200,
        curve: str = "ROC",
        summation_method: str = "interpolation",
        name: str = "auc",
        dtype: Any = None,
        thresholds: Sequence[float] | None = None,
        multi_label: bool = False,
        num_labels: int | None = None,
        label_weights: Sequence[float] | None = None,
        from_logits: bool = False,
    ) -> None:
        if thresholds is None and num_thresholds < 2:
            raise ValueError(f"[AUC] num_thresholds must be at least 2: got {num_thresholds}")
        if curve not in ("ROC", "PR"):
            raise ValueError(f"[AUC] curve is 'ROC' or 'PR': got {curve!r}")
        if summation_method not in _HEIGHTS:
            raise ValueError(f"[AUC] summation_method is one of {', '.join(_HEIGHTS)}: got {summation_method!r}")
        if any(not 0 <= threshold <= 1 for threshold in thresholds or ()):
            raise ValueError(f"[AUC] thresholds lie between 0 and 1: got {thresholds}")
        if label_weights is not None and not multi_label:
            raise ValueError("[AUC] label_weights are for multi_label=True")
        self.num_thresholds, self.curve, self.summation_method, self.name = num_thresholds, curve, summation_method, name
        self.thresholds = None if thresholds is None else sorted(float(threshold) for threshold in thresholds)
        self.multi_label, self.num_labels, self.from_logits = multi_label, num_labels, from_logits
        self.label_weights = None if label_weights is None else [float(weight) for weight in label_weights]
        self.reset_state()

    def reset_state(self) -> None:
        self._yes: Any = 0.0  # positives above each threshold: (thresholds, labels)
        self._no: Any = 0.0

    def _steps(self) -> list[float]:
        n = self.num_thresholds
        inner = [(i + 1) / (n - 1) for i in range(n - 2)] if self.thresholds is None else self.thresholds
        return [-1e-7, *inner, 1 + 1e-7]

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        with pyburn.no_grad():
            y_true, y_pred = losses.alike(as_values(y_true), as_values(y_pred))
            weight = pyburn.ones_like(y_pred)
            if sample_weight is not None:
                weight = spread(as_numbers(sample_weight), y_pred).expand(y_pred.shape)
            columns = y_pred.shape[-1] if self.multi_label else 1
            if columns != (self.num_labels or columns):
                raise ValueError(f"[AUC] num_labels is {self.num_labels}: got outputs for {columns}")
            p, y, weight = (x.reshape(-1, columns).t() for x in (y_pred, y_true, weight))
            p = pyburn.sigmoid(p) if self.from_logits else p
            steps = pyburn.tensor(self._steps(), dtype=p.dtype, device=p.device).reshape(1, -1, 1)
            above = (p.unsqueeze(1) > steps).float()  # (labels, thresholds, samples)
            yes = (y > 0.5).float()
            self._yes = self._yes + (above @ (yes * weight).unsqueeze(-1)).squeeze(-1).t()
            self._no = self._no + (above @ ((1 - yes) * weight).unsqueeze(-1)).squeeze(-1).t()

    def result(self) -> float:
        if not isinstance(self._yes, Tensor):
            return 0.0
        areas = self._under_precision() if (self.curve, self.summation_method) == ("PR", "interpolation") else self._summed()
        weights = pyburn.ones_like(areas) if self.label_weights is None else pyburn.tensor(self.label_weights, device=areas.device)
        return float((areas * weights).sum() / weights.sum())

    def _summed(self) -> Tensor:
        tpr, fpr = self._yes / self._yes[:1].clamp(min=1e-7), self._no / self._no[:1].clamp(min=1e-7)
        x, y = (fpr, tpr) if self.curve == "ROC" else (tpr, self._yes / (self._yes + self._no).clamp(min=1e-7))
        return ((x[:-1] - x[1:]) * _HEIGHTS[self.summation_method](y[:-1], y[1:])).sum(0)

    def _under_precision(self) -> Tensor:
        """Interpolates counts, not precisions, between thresholds (Davis and Goadrich, 2006)."""
        tp, said = self._yes, self._yes + self._no
        d_tp, d_said = tp[:-1] - tp[1:], said[:-1] - said[1:]
        slope = pyburn.where(d_said > 0, d_tp / d_said.clamp(min=1e-7), 0.0)
        intercept = tp[1:] - slope * said[1:]
        safe = (said[:-1] > 0) & (said[1:] > 0)
        logs = pyburn.where(safe, (said[:-1] / said[1:].clamp(min=1e-7)).clamp(min=1e-30).log(), 0.0)
        return (slope * (d_tp + intercept * logs) / tp[:1].clamp(min=1e-7)).sum(0)
