"""Metrics from the confusion counts at thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field
from typing import Any, ClassVar

import numpy as np

import pyburn
from pyburn import Tensor

from ..losses import functions
from .metric import Summed, as_values

_TINY = 1e-7
_HEIGHTS: dict[str, Any] = {"interpolation": lambda a, b: (a + b) / 2, "minoring": np.minimum, "majoring": np.maximum}


class _Counts(Summed):
    """Sums of weights at each threshold: (thresholds, labels) true and false positives, and all positives and negatives."""

    parts = ("tp", "fp", "yes", "no")
    class_id: int | None = None
    columns = 1  # labels with counts of their own

    def limits(self) -> Sequence[float]:
        """Returns the thresholds."""
        raise NotImplementedError

    def positive(self, y_pred: Tensor) -> Tensor:
        """Returns the positive predictions at each threshold: (thresholds, ...)."""
        limits = pyburn.tensor(list(self.limits()), dtype=y_pred.dtype, device=y_pred.device)
        return y_pred.unsqueeze(0) > limits.reshape(-1, *[1] * y_pred.ndim)

    def sums_of(self, y_true: Tensor, y_pred: Tensor, weight: Tensor) -> dict[str, Any]:
        said = self.positive(y_pred)
        if self.class_id is not None:
            said, y_true, weight = (x[..., self.class_id] for x in (said, y_true, weight))
        yes = (y_true > 0.5).float()
        said = said.float().reshape(len(said), -1, self.columns)
        yes, no = ((part * weight).reshape(-1, self.columns) for part in (yes, 1 - yes))
        return {"tp": (said * yes).sum(1), "fp": (said * no).sum(1), "yes": yes.sum(0), "no": no.sum(0)}

    def counts(self) -> list[np.ndarray]:
        """Returns true positives, false positives, positives and negatives."""
        return [np.asarray(self.state[part]) for part in self.parts]

    def rates(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns sensitivity (recall), specificity and precision at each threshold."""
        tp, fp, yes, no = self.counts()
        return tp / np.maximum(yes, _TINY), 1 - fp / np.maximum(no, _TINY), tp / np.maximum(tp + fp, _TINY)


@dataclass(eq=False, repr=False)
class _AtGiven(_Counts):
    """Base class of metrics at one or several thresholds; a list of thresholds gives a list of results."""

    thresholds: Any = None

    def __post_init__(self) -> None:
        for threshold in self.limits():
            if not 0 <= threshold <= 1:
                raise ValueError(f"[{type(self).__name__}] thresholds lie between 0 and 1: got {threshold}")
        super().__post_init__()

    def limits(self) -> Sequence[float]:
        given = 0.5 if self.thresholds is None else self.thresholds
        return [float(limit) for limit in given] if isinstance(given, (list, tuple)) else [float(given)]

    def value(self, tp: Any, fp: Any, yes: Any, no: Any) -> Any:
        """Computes the results from the counts."""
        raise NotImplementedError

    def compute(self) -> Any:
        values = np.broadcast_to(self.value(*self.counts()), (len(self.limits()), 1))[:, 0]
        return values if isinstance(self.thresholds, (list, tuple)) else values[0]


@dataclass(eq=False, repr=False)
class _Best(_AtGiven):
    """With `top_k`, the k largest outputs of each row are the positive predictions, and, if a threshold is given, only those above it."""

    higher_is_better = True
    top_k: int | None = None
    class_id: int | None = None
    name: Any = None
    dtype: InitVar[Any] = None

    def __post_init__(self, dtype: Any) -> None:
        super().__post_init__()
        if self.top_k is not None and (not isinstance(self.top_k, int) or self.top_k < 1):
            raise ValueError(f"[{type(self).__name__}] top_k is a positive number: got {self.top_k!r}")

    def positive(self, y_pred: Tensor) -> Tensor:
        if self.top_k is None:
            return super().positive(y_pred)
        best = pyburn.zeros_like(y_pred).scatter(-1, y_pred.topk(min(self.top_k, y_pred.shape[-1]), -1)[1], 1.0) > 0
        return best.unsqueeze(0) if self.thresholds is None else best & super().positive(y_pred)


class Precision(_Best):
    """Precision: true positives / predicted positives, over thresholds, the `top_k` largest outputs, or the column `class_id`.

    >>> p_vision.metrics.Precision()(pyburn.tensor([0.0, 0.0, 1.0, 1.0]), pyburn.tensor([0.1, 0.6, 0.8, 0.4]))
    0.5
    """

    def value(self, tp: Any, fp: Any, yes: Any, no: Any) -> Any:
        return tp / np.maximum(tp + fp, 1e-30)


class Recall(_Best):
    """Recall: true positives / actual positives, over thresholds, the `top_k` largest outputs, or the column `class_id`.

    >>> p_vision.metrics.Recall()(pyburn.tensor([0.0, 0.0, 1.0, 1.0]), pyburn.tensor([0.1, 0.6, 0.8, 0.4]))
    0.5
    """

    def value(self, tp: Any, fp: Any, yes: Any, no: Any) -> Any:
        return tp / np.maximum(yes, 1e-30)


@dataclass(eq=False, repr=False)
class _Count(_AtGiven):
    name: Any = None
    dtype: InitVar[Any] = None

    def __post_init__(self, dtype: Any) -> None:
        super().__post_init__()


class TruePositives(_Count):
    """The number of true positives at a threshold (default 0.5), or at each of a list of thresholds.

    >>> p_vision.metrics.TruePositives()(pyburn.tensor([0.0, 0.0, 1.0, 1.0]), pyburn.tensor([0.1, 0.6, 0.8, 0.4]))
    1.0
    """

    def value(self, tp: Any, fp: Any, yes: Any, no: Any) -> Any:
        return tp


class TrueNegatives(_Count):
    """The number of true negatives at a threshold (default 0.5), or at each of a list of thresholds.

    >>> p_vision.metrics.TrueNegatives()(pyburn.tensor([0.0, 0.0, 1.0, 1.0]), pyburn.tensor([0.1, 0.6, 0.8, 0.4]))
    1.0
    """

    def value(self, tp: Any, fp: Any, yes: Any, no: Any) -> Any:
        return no - fp


class FalsePositives(_Count):
    """The number of false positives at a threshold (default 0.5), or at each of a list of thresholds.

    >>> p_vision.metrics.FalsePositives()(pyburn.tensor([0.0, 0.0, 1.0, 1.0]), pyburn.tensor([0.1, 0.6, 0.8, 0.4]))
    1.0
    """

    def value(self, tp: Any, fp: Any, yes: Any, no: Any) -> Any:
        return fp


class FalseNegatives(_Count):
    """The number of false negatives at a threshold (default 0.5), or at each of a list of thresholds.

    >>> p_vision.metrics.FalseNegatives()(pyburn.tensor([0.0, 0.0, 1.0, 1.0]), pyburn.tensor([0.1, 0.6, 0.8, 0.4]))
    1.0
    """

    def value(self, tp: Any, fp: Any, yes: Any, no: Any) -> Any:
        return yes - tp


class _AtBest(_Counts):
    """The best value of one measure at evenly spaced thresholds where another one is at least a limit.

    Both are places in `rates()`.
    """

    higher_is_better = True
    limited: ClassVar[int]
    told: ClassVar[int]

    def _start(self, value: float, num_thresholds: int, class_id: int | None, name: str | None) -> None:
        if num_thresholds < 1:
            raise ValueError(f"[{type(self).__name__}] num_thresholds must be at least 1: got {num_thresholds}")
        if not 0 <= value <= 1:
            raise ValueError(f"[{type(self).__name__}] a share lies between 0 and 1: got {value}")
        self.num_thresholds, self.class_id, self._least = num_thresholds, class_id, value
        super().__init__(name)

    def limits(self) -> Sequence[float]:
        n = self.num_thresholds
        return [i / (n - 1) for i in range(n)] if n > 1 else [0.5]

    def compute(self) -> Any:
        rates = self.rates()
        return np.where(rates[self.limited] >= self._least, rates[self.told], 0.0).max()


_SENSITIVITY, _SPECIFICITY, _PRECISION = range(3)


class SensitivityAtSpecificity(_AtBest):
    """The best sensitivity at thresholds where the specificity is at least a value.

    Args:
        specificity: The least specificity.
        num_thresholds: The number of evenly spaced thresholds.
        class_id: The column of the outputs to measure; None for all.
        name: The name of the metric.
        dtype: Accepted for compatibility; has no effect.

    Raises:
        ValueError: A number is out of range.

    >>> p_vision.metrics.SensitivityAtSpecificity(0.5)(pyburn.tensor([0.0, 0.0, 1.0, 1.0]), pyburn.tensor([0.1, 0.6, 0.8, 0.4]))
    1.0
    """

    limited, told = _SPECIFICITY, _SENSITIVITY

    def __init__(
        self, specificity: float, num_thresholds: int = 200, class_id: int | None = None, name: str | None = None, dtype: Any = None
    ) -> None:
        self.specificity = specificity
        self._start(specificity, num_thresholds, class_id, name)


class SpecificityAtSensitivity(_AtBest):
    """The best specificity at thresholds where the sensitivity is at least a value.

    Args:
        sensitivity: The least sensitivity.
        num_thresholds: The number of evenly spaced thresholds.
        class_id: The column of the outputs to measure; None for all.
        name: The name of the metric.
        dtype: Accepted for compatibility; has no effect.

    Raises:
        ValueError: A number is out of range.

    >>> p_vision.metrics.SpecificityAtSensitivity(0.5)(pyburn.tensor([0.0, 0.0, 1.0, 1.0]), pyburn.tensor([0.1, 0.6, 0.8, 0.4]))
    1.0
    """

    limited, told = _SENSITIVITY, _SPECIFICITY

    def __init__(
        self, sensitivity: float, num_thresholds: int = 200, class_id: int | None = None, name: str | None = None, dtype: Any = None
    ) -> None:
        self.sensitivity = sensitivity
        self._start(sensitivity, num_thresholds, class_id, name)


class PrecisionAtRecall(_AtBest):
    """The best precision at thresholds where the recall is at least a value.

    Args:
        recall: The least recall.
        num_thresholds: The number of evenly spaced thresholds.
        class_id: The column of the outputs to measure; None for all.
        name: The name of the metric.
        dtype: Accepted for compatibility; has no effect.

    Raises:
        ValueError: A number is out of range.

    >>> p_vision.metrics.PrecisionAtRecall(0.5)(pyburn.tensor([0.0, 0.0, 1.0, 1.0]), pyburn.tensor([0.1, 0.6, 0.8, 0.4]))
    1.0
    """

    limited, told = _SENSITIVITY, _PRECISION

    def __init__(
        self, recall: float, num_thresholds: int = 200, class_id: int | None = None, name: str | None = None, dtype: Any = None
    ) -> None:
        self.recall = recall
        self._start(recall, num_thresholds, class_id, name)


class RecallAtPrecision(_AtBest):
    """The best recall at thresholds where the precision is at least a value.

    Args:
        precision: The least precision.
        num_thresholds: The number of evenly spaced thresholds.
        class_id: The column of the outputs to measure; None for all.
        name: The name of the metric.
        dtype: Accepted for compatibility; has no effect.

    Raises:
        ValueError: A number is out of range.

    >>> p_vision.metrics.RecallAtPrecision(0.8)(pyburn.tensor([0.0, 0.0, 1.0, 1.0]), pyburn.tensor([0.1, 0.6, 0.8, 0.4]))
    0.5
    """

    limited, told = _PRECISION, _SENSITIVITY

    def __init__(
        self, precision: float, num_thresholds: int = 200, class_id: int | None = None, name: str | None = None, dtype: Any = None
    ) -> None:
        self.precision = precision
        self._start(precision, num_thresholds, class_id, name)


@dataclass(eq=False, repr=False)
class AUC(_Counts):
    """The area under the ROC curve, or the precision-recall curve, from counts at `num_thresholds` thresholds.

    Args:
        num_thresholds: The number of thresholds between 0 and 1.
        curve: "ROC" or "PR".
        summation_method: How areas between thresholds are summed: "interpolation", "minoring" or "majoring".
        name: The name of the metric.
        dtype: Accepted for compatibility; has no effect.
        thresholds: The thresholds, instead of num_thresholds.
        multi_label: Whether each column has its own curve; the result is the mean of their areas.
        num_labels: The number of columns, with multi_label.
        label_weights: The weights of the columns in the mean, with multi_label.
        from_logits: Whether the outputs are logits instead of probabilities.

    Raises:
        ValueError: An argument has an unknown value.

    >>> p_vision.metrics.AUC()(pyburn.tensor([0.0, 0.0, 1.0, 1.0]), pyburn.tensor([0.1, 0.6, 0.8, 0.4]))
    0.75
    """

    higher_is_better = True
    num_thresholds: int = 200
    curve: str = "ROC"
    summation_method: str = "interpolation"
    name: str = "auc"
    dtype: InitVar[Any] = None
    thresholds: Sequence[float] | None = None
    multi_label: bool = False
    num_labels: int | None = None
    label_weights: Sequence[float] | None = None
    from_logits: bool = False
    columns: int = field(default=1, init=False)

    def __post_init__(self, dtype: Any) -> None:
        if self.thresholds is None and self.num_thresholds < 2:
            raise ValueError(f"[AUC] num_thresholds must be at least 2: got {self.num_thresholds}")
        if self.curve not in ("ROC", "PR"):
            raise ValueError(f"[AUC] curve is 'ROC' or 'PR': got {self.curve!r}")
        if self.summation_method not in _HEIGHTS:
            raise ValueError(f"[AUC] summation_method is one of {', '.join(_HEIGHTS)}: got {self.summation_method!r}")
        if any(not 0 <= threshold <= 1 for threshold in self.thresholds or ()):
            raise ValueError(f"[AUC] thresholds lie between 0 and 1: got {self.thresholds}")
        if self.label_weights is not None and not self.multi_label:
            raise ValueError("[AUC] label_weights are for multi_label=True")
        self.thresholds = None if self.thresholds is None else sorted(float(threshold) for threshold in self.thresholds)
        self.label_weights = None if self.label_weights is None else [float(weight) for weight in self.label_weights]
        super().__post_init__()

    def limits(self) -> Sequence[float]:
        n = self.num_thresholds
        inner = [(i + 1) / (n - 1) for i in range(n - 2)] if self.thresholds is None else self.thresholds
        return [-1e-7, *inner, 1 + 1e-7]

    def positive(self, y_pred: Tensor) -> Tensor:
        return super().positive(pyburn.sigmoid(y_pred) if self.from_logits else y_pred)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        self.columns = functions.aligned(as_values(y_true), as_values(y_pred))[1].shape[-1] if self.multi_label else 1
        if self.columns != (self.num_labels or self.columns):
            raise ValueError(f"[AUC] num_labels is {self.num_labels}: got outputs for {self.columns}")
        super().update_state(y_true, y_pred, sample_weight)

    def compute(self) -> Any:
        if not self.state["tp"].ndim:
            return 0.0
        areas = self._under_precision() if (self.curve, self.summation_method) == ("PR", "interpolation") else self._summed()
        return np.average(areas, weights=self.label_weights)

    def _summed(self) -> np.ndarray:
        recall, specificity, precision = self.rates()
        x, y = (1 - specificity, recall) if self.curve == "ROC" else (recall, precision)
        return ((x[:-1] - x[1:]) * _HEIGHTS[self.summation_method](y[:-1], y[1:])).sum(0)

    def _under_precision(self) -> np.ndarray:
        """Interpolates counts, not precisions, between thresholds (Davis and Goadrich, 2006)."""
        tp, fp, yes, _ = self.counts()
        said = tp + fp
        d_tp, d_said = tp[:-1] - tp[1:], said[:-1] - said[1:]
        slope = np.where(d_said > 0, d_tp / np.maximum(d_said, _TINY), 0.0)
        intercept = tp[1:] - slope * said[1:]
        safe = (said[:-1] > 0) & (said[1:] > 0)
        logs = np.where(safe, np.log(np.maximum(said[:-1] / np.maximum(said[1:], _TINY), 1e-30)), 0.0)
        return (slope * (d_tp + intercept * logs) / np.maximum(yes, _TINY)).sum(0)
