"""Metrics by name or as objects: gathered batch by batch, exact over batches of different sizes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pyburn
from pyburn import Tensor

from . import losses
from .configured import Configured, Named


class Metric(Configured):
    """Base of metrics: `update_state` takes a batch, `result` gives the number, `reset_state` starts over."""

    name: str = "metric"

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> None:
        raise NotImplementedError

    def result(self) -> float:
        raise NotImplementedError

    def reset_state(self) -> None:
        raise NotImplementedError


class Mean(Metric):
    """The mean of numbers, each with its weight. Nothing is read from the device before `result`."""

    def __init__(self, name: str = "mean") -> None:
        self.name = name
        self.reset_state()

    def reset_state(self) -> None:
        self._total: Any = 0.0
        self._weight: Any = 0.0

    def add(self, total: Any, weight: Any) -> None:
        self._total = self._total + total
        self._weight = self._weight + weight

    def result(self) -> float:
        weight = float(self._weight)
        return float(self._total) / weight if weight else 0.0


class MeanMetric(Mean):
    """The mean of a function of (y_true, y_pred) over examples."""

    def __init__(self, fn: Callable[..., Tensor], name: str | None = None) -> None:
        super().__init__(name or str(getattr(fn, "__name__", "metric")))
        self.fn = fn

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> None:
        with pyburn.no_grad():
            values = self.fn(y_true, y_pred).float()
            if sample_weight is None:
                self.add(values.sum(), values.numel())
            else:
                weight = sample_weight.float().reshape(-1, *[1] * (values.ndim - 1)).expand(values.shape)
                self.add((values * weight).sum(), weight.sum())


def binary_accuracy(y_true: Tensor, y_pred: Tensor, threshold: float = 0.5) -> Tensor:
    y_true, y_pred = losses.aligned(y_true, y_pred)
    return ((y_pred > threshold).to(y_true.dtype) == y_true).float().mean(-1)


def categorical_accuracy(y_true: Tensor, y_pred: Tensor) -> Tensor:
    return (y_true.argmax(-1) == y_pred.argmax(-1)).float()


def sparse_categorical_accuracy(y_true: Tensor, y_pred: Tensor) -> Tensor:
    return (_classes(y_true, y_pred) == y_pred.argmax(-1)).float()


def top_k_categorical_accuracy(y_true: Tensor, y_pred: Tensor, k: int = 5) -> Tensor:
    return sparse_top_k_categorical_accuracy(y_true.argmax(-1), y_pred, k)


def sparse_top_k_categorical_accuracy(y_true: Tensor, y_pred: Tensor, k: int = 5) -> Tensor:
    best = y_pred.topk(min(k, y_pred.shape[-1]), -1)[1]
    return (best == _classes(y_true, y_pred).unsqueeze(-1)).any(-1).float()


def _classes(y_true: Tensor, y_pred: Tensor) -> Tensor:
    return (y_true.squeeze(-1) if y_true.ndim == y_pred.ndim and y_true.shape[-1] == 1 else y_true).long()


def accuracy(y_true: Tensor, y_pred: Tensor) -> Tensor:
    """Of classes, one-hot classes or yes and no, as the shapes tell."""
    if y_pred.ndim > 1 and y_pred.shape[-1] > 1:
        same = y_true.ndim == y_pred.ndim and y_true.shape[-1] > 1
        return categorical_accuracy(y_true, y_pred) if same else sparse_categorical_accuracy(y_true, y_pred)
    return binary_accuracy(y_true, y_pred)


class RootMeanSquaredError(MeanMetric):
    def __init__(self, name: str = "root_mean_squared_error") -> None:
        super().__init__(losses.mean_squared_error, name)

    def result(self) -> float:
        return math.sqrt(super().result())


class _Counted(Metric):
    """A share of yes among answers above a threshold, or above it among those that are yes."""

    def __init__(self, thresholds: float = 0.5, name: str | None = None) -> None:
        self.thresholds, self.name = thresholds, name or type(self).__name__.lower()
        self.reset_state()

    def reset_state(self) -> None:
        self._found: Any = 0.0
        self._of: Any = 0.0

    def _count(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None) -> None:
        y_true, y_pred = losses.aligned(y_true, y_pred)
        yes, said = (y_true > 0.5).float(), (y_pred > self.thresholds).float()
        weight: Any = 1.0 if sample_weight is None else sample_weight.float().reshape(-1, *[1] * (yes.ndim - 1))
        self._found = self._found + (yes * said * weight).sum()
        self._of = self._of + ((said if isinstance(self, Precision) else yes) * weight).sum()

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> None:
        with pyburn.no_grad():
            self._count(y_true, y_pred, sample_weight)

    def result(self) -> float:
        of = float(self._of)
        return float(self._found) / of if of else 0.0


class Precision(_Counted):
    """The share of what is true in what was said to be."""


class Recall(_Counted):
    """The share of what was said to be in what is true."""


class AUC(Metric):
    """The area under the ROC curve, from the counts at `num_thresholds` thresholds between 0 and 1."""

    def __init__(self, num_thresholds: int = 200, from_logits: bool = False, name: str = "auc") -> None:
        if num_thresholds < 2:
            raise ValueError(f"[AUC] num_thresholds must be at least 2: got {num_thresholds}")
        self.num_thresholds, self.from_logits, self.name = num_thresholds, from_logits, name
        self.reset_state()

    def reset_state(self) -> None:
        self._yes: Any = 0.0  # counts above each threshold
        self._no: Any = 0.0

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> None:
        with pyburn.no_grad():
            y_true, y_pred = losses.aligned(y_true, y_pred)
            p = (pyburn.sigmoid(y_pred) if self.from_logits else y_pred).reshape(-1)
            n = self.num_thresholds
            steps = [-1e-7, *((i + 1) / (n - 1) for i in range(n - 2)), 1 + 1e-7]
            above = (p.unsqueeze(0) > pyburn.tensor(steps, dtype=p.dtype, device=p.device).unsqueeze(1)).float()
            weight = pyburn.ones_like(p) if sample_weight is None else _spread(sample_weight, y_true).reshape(-1)
            yes = (y_true.reshape(-1) > 0.5).float()
            self._yes = self._yes + above @ (yes * weight)
            self._no = self._no + above @ ((1 - yes) * weight)

    def result(self) -> float:
        if not isinstance(self._yes, Tensor):
            return 0.0
        tpr, fpr = self._yes / self._yes[0].clamp(min=1e-7), self._no / self._no[0].clamp(min=1e-7)
        return float(((fpr[:-1] - fpr[1:]) * (tpr[:-1] + tpr[1:]) / 2).sum())


def _spread(weight: Tensor, like: Tensor) -> Tensor:
    return weight.float().reshape(-1, *[1] * (like.ndim - 1)).expand(like.shape)


_FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    **losses.FUNCTIONS,
    "accuracy": accuracy,
    "acc": accuracy,
    "binary_accuracy": binary_accuracy,
    "categorical_accuracy": categorical_accuracy,
    "sparse_categorical_accuracy": sparse_categorical_accuracy,
    "top_k_categorical_accuracy": top_k_categorical_accuracy,
    "sparse_top_k_categorical_accuracy": sparse_top_k_categorical_accuracy,
}
_CLASSES: dict[str, Callable[[], Metric]] = {
    "auc": AUC,
    "precision": Precision,
    "recall": Recall,
    "root_mean_squared_error": RootMeanSquaredError,
    "rmse": RootMeanSquaredError,
}
_named = Named("metric", {**_FUNCTIONS, **_CLASSES})


def get(identifier: Any) -> Any:
    """The metric that a name, an object with `update_state` and `result`, or a function of (y_true, y_pred) means."""
    if isinstance(identifier, str):
        found = _named(identifier)
        return found() if identifier.lower() in _CLASSES else MeanMetric(found, identifier)
    if isinstance(identifier, type) and issubclass(identifier, Metric):
        return identifier()
    if hasattr(identifier, "update_state") and hasattr(identifier, "result"):
        return identifier
    if callable(identifier):
        return MeanMetric(identifier)
    raise TypeError(f"a metric is a name, a Metric or a function of (y_true, y_pred): got {identifier!r}")
