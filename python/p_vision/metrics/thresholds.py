"""Metrics at the best threshold, such as precision at recall; one-hot IoU; correlations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyburn
from pyburn import Tensor

from .. import losses
from ..configured import snake_case
from ..symbolic.masks import spread
from .counted import IoU
from .metric import Metric, as_numbers, as_values


class _AtThreshold(Metric):
    """Base class: counts at evenly spaced thresholds; subclasses choose the constrained and the reported measure."""

    _direction = "up"

    def __init__(self, value: float, num_thresholds: int, class_id: int | None, name: str | None) -> None:
        if num_thresholds < 1:
            raise ValueError(f"[{type(self).__name__}] num_thresholds must be at least 1: got {num_thresholds}")
        if not 0 <= value <= 1:
            raise ValueError(f"[{type(self).__name__}] a share lies between 0 and 1: got {value}")
        self.num_thresholds, self.class_id, self.name = num_thresholds, class_id, name or snake_case(type(self).__name__)
        self._value = value
        self.reset_state()

    def reset_state(self) -> None:
        self._tp: Any = 0.0
        self._fp: Any = 0.0
        self._yes: Any = 0.0
        self._no: Any = 0.0

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        with pyburn.no_grad():
            truth, said = losses.alike(as_values(y_true), as_values(y_pred))
            if self.class_id is not None:
                truth, said = truth[..., self.class_id], said[..., self.class_id]
            weight = pyburn.ones_like(said) if sample_weight is None else spread(as_numbers(sample_weight), said).expand(said.shape)
            yes, weight = (truth.reshape(-1) > 0.5).float(), weight.reshape(-1)
            n = self.num_thresholds
            steps = [i / (n - 1) for i in range(n)] if n > 1 else [0.5]
            above = (said.reshape(1, -1) > pyburn.tensor(steps, dtype=said.dtype, device=said.device).unsqueeze(1)).float()
            self._tp = self._tp + above @ (yes * weight)
            self._fp = self._fp + above @ ((1 - yes) * weight)
            self._yes, self._no = self._yes + (yes * weight).sum(), self._no + ((1 - yes) * weight).sum()

    def _measures(self) -> tuple[Tensor, Tensor, Tensor]:
        """Returns sensitivity (recall), specificity and precision at each threshold."""
        tiny = 1e-7
        return (
            self._tp / self._yes.clamp(min=tiny),
            1 - self._fp / self._no.clamp(min=tiny),
            self._tp / (self._tp + self._fp).clamp(min=tiny),
        )

    def _best(self, limited: Tensor, told: Tensor) -> float:
        return float(pyburn.where(limited >= self._value, told, 0.0).amax())

    def result(self) -> float:
        return self._found() if isinstance(self._tp, Tensor) else 0.0

    def _found(self) -> float:
        raise NotImplementedError


class SensitivityAtSpecificity(_AtThreshold):
    """The best sensitivity at thresholds where the specificity is at least a value."""

    def __init__(
        self, specificity: float, num_thresholds: int = 200, class_id: int | None = None, name: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__(specificity, num_thresholds, class_id, name)
        self.specificity = specificity

    def _found(self) -> float:
        sensitivity, specificity, _ = self._measures()
        return self._best(specificity, sensitivity)


class SpecificityAtSensitivity(_AtThreshold):
    """The best specificity at thresholds where the sensitivity is at least a value."""

    def __init__(
        self, sensitivity: float, num_thresholds: int = 200, class_id: int | None = None, name: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__(sensitivity, num_thresholds, class_id, name)
        self.sensitivity = sensitivity

    def _found(self) -> float:
        sensitivity, specificity, _ = self._measures()
        return self._best(sensitivity, specificity)


class PrecisionAtRecall(_AtThreshold):
    """The best precision at thresholds where the recall is at least a value."""

    def __init__(
        self, recall: float, num_thresholds: int = 200, class_id: int | None = None, name: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__(recall, num_thresholds, class_id, name)
        self.recall = recall

    def _found(self) -> float:
        recall, _, precision = self._measures()
        return self._best(recall, precision)


class RecallAtPrecision(_AtThreshold):
    """The best recall at thresholds where the precision is at least a value."""

    def __init__(
        self, precision: float, num_thresholds: int = 200, class_id: int | None = None, name: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__(precision, num_thresholds, class_id, name)
        self.precision = precision

    def _found(self) -> float:
        recall, _, precision = self._measures()
        return self._best(precision, recall)


class OneHotIoU(IoU):
    """IoU of one-hot encoded classes."""

    def __init__(
        self,
        num_classes: int,
        target_class_ids: Sequence[int],
        name: str | None = None,
        dtype: Any = None,
        ignore_class: int | None = None,
        sparse_y_pred: bool = False,
        axis: int = -1,
    ) -> None:
        super().__init__(num_classes, target_class_ids, name, dtype, ignore_class, False, sparse_y_pred, axis)


class OneHotMeanIoU(IoU):
    """The mean IoU of all classes, for one-hot encoded classes."""

    def __init__(
        self,
        num_classes: int,
        name: str | None = None,
        dtype: Any = None,
        ignore_class: int | None = None,
        sparse_y_pred: bool = False,
        axis: int = -1,
    ) -> None:
        super().__init__(num_classes, None, name, dtype, ignore_class, False, sparse_y_pred, axis)


def pearson_correlation(y_true: Tensor, y_pred: Tensor, axis: int = -1) -> Tensor:
    y_true, y_pred = losses.aligned(y_true, y_pred)
    a, b = (x - x.mean(axis, keepdim=True) for x in (y_true, y_pred))
    return (a * b).mean(axis) / (a.square().mean(axis).sqrt() * b.square().mean(axis).sqrt())


def concordance_correlation(y_true: Tensor, y_pred: Tensor, axis: int = -1) -> Tensor:
    y_true, y_pred = losses.aligned(y_true, y_pred)
    mean_a, mean_b = y_true.mean(axis, keepdim=True), y_pred.mean(axis, keepdim=True)
    a, b = y_true - mean_a, y_pred - mean_b
    below = a.square().mean(axis) + b.square().mean(axis) + (mean_a - mean_b).square().squeeze(axis)
    return 2 * (a * b).mean(axis) / below
