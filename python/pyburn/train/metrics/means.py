"""Mean, accuracy and perplexity: metrics that are a sum over a count."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._core import Tensor, arange, float64, where
from ...nn.functional import log_softmax
from ...tensor import from_numpy
from .metric import (
    MOST_WAITING,
    Ratio,
    array,
    as_classes,
    as_rows,
    check_targets,
    class_axis_on_device,
    kept_sum,
    kept_targets,
    numbers,
    probabilities,
)


class Mean(Ratio):
    """The weighted mean of values, such as a loss weighted by the batch size.

    Args:
        name: The name of the metric.
        higher_is_better: The direction of the metric; None if it has none.

    >>> mean = pyburn.train.metrics.Mean("loss")
    >>> mean.update(1.0, 32)
    >>> mean.update(4.0, 16)
    >>> mean.compute()
    2.0
    """

    def __init__(self, name: str = "mean", *, higher_is_better: bool | None = None) -> None:
        self.higher_is_better = higher_is_better
        super().__init__(name)

    def initial(self) -> dict[str, Any]:
        return {"total": 0.0, "weight": 0.0}

    def update(self, output: Any, target: Any = 1.0) -> None:
        """Adds the value `output` with weight `target`. Tensors are read from the device when the state is accessed.

        Args:
            output: The value.
            target: The weight.
        """
        if isinstance(output, Tensor):
            self._waiting.append({"value": output.detach().reshape(()).clone(), "weight": float(target)})  # may change in place
            if len(self._waiting) >= MOST_WAITING:
                self._settle()
        else:
            state, weight = self.state, float(target)
            state["total"] += float(output) * weight
            state["weight"] += weight

    def take(self, sums: dict[str, Sequence[Any]]) -> None:
        products = [value * weight for value, weight in zip(sums["value"], sums["weight"])]
        super().take({"total": products, "weight": sums["weight"]})


class Loss(Mean):
    """The mean loss over all samples: batches are weighted by their size.

    Args:
        name: The name of the metric.

    >>> loss = pyburn.train.metrics.Loss()
    >>> loss.update(1.0, 32)
    >>> loss.update(4.0, 16)
    >>> loss.compute()
    2.0
    """

    def __init__(self, name: str = "loss") -> None:
        super().__init__(name, higher_is_better=False)


class _OfClasses(Ratio):
    """A mean over samples with a class as their target: by default, the fraction that is right."""

    live = True

    def initial(self) -> dict[str, Any]:
        return {"right": 0, "count": 0}

    def take(self, sums: dict[str, Sequence[Any]]) -> None:
        check_targets(self, sums)
        super().take(sums)


class _OfScores(_OfClasses):
    """A mean over samples with a score per class. Arrays become tensors, so that there is one formula: `sums`."""

    ignore_index: int | None

    def measure(self, output: Any, target: Any) -> None:
        scores, truth = as_rows(output, target, self.ignore_index)
        if scores.ndim != 2:
            raise ValueError(f"[{type(self).__name__}] expected scores with an axis of classes")
        truth = as_classes(truth, "targets")
        if truth.max(initial=-1) >= scores.shape[1]:
            raise ValueError(f"[{type(self).__name__}] there are {scores.shape[1]} classes: got target {truth.max()}")
        if len(truth):
            sums = self.sums(from_numpy(scores.astype(np.float64)), from_numpy(truth)) or {}
            self.take({name: numbers([value]) for name, value in sums.items()})


class Accuracy(_OfClasses):
    """The fraction of samples whose class was predicted correctly.

    Args:
        name: The name of the metric.
        ignore_index: The target value to ignore.
        threshold: None for scores with a class dimension, or class indices. Otherwise there is one score per sample, and scores above the
            threshold count as class 1.
        logits: With a threshold, whether the scores are logits, so that a sigmoid is applied first.

    >>> accuracy = pyburn.train.metrics.Accuracy()
    >>> accuracy.update([[0.1, 0.9], [0.8, 0.2], [0.6, 0.4]], [1, 0, 1])
    >>> accuracy.update([1], [1])
    >>> accuracy.compute()
    0.75
    """

    def __init__(
        self, name: str = "accuracy", *, ignore_index: int | None = None, threshold: float | None = None, logits: bool = False
    ) -> None:
        self.ignore_index, self.threshold, self.logits = ignore_index, threshold, logits
        super().__init__(name)

    def sums(self, output: Tensor, target: Tensor) -> dict[str, Any] | None:
        axis = class_axis_on_device(output.shape, target.shape, target.dtype) if self.threshold is None else None
        if axis is None:
            return None
        if self.ignore_index is None:
            return {"right": (output.argmax(axis) == target).sum(), "count": target.numel(), "lowest": target.amin()}
        kept = target != self.ignore_index
        right = (output.argmax(axis) == target) & kept
        return {"right": right.sum(), "count": kept.sum(), "lowest": where(kept, target, 0).amin()}

    def measure(self, output: Any, target: Any) -> None:
        if self.threshold is not None:
            scores, truth = array(output).reshape(-1), array(target).reshape(-1)
            if scores.shape != truth.shape:
                raise ValueError(f"[Accuracy] with a threshold there is a number per item: got {scores.shape} and {truth.shape}")
            kept = np.ones(len(truth), bool) if self.ignore_index is None else truth != self.ignore_index
            found = (probabilities(scores, self.logits) > self.threshold)[kept]
            truth = as_classes(truth[kept], "targets")
        else:
            scores, truth = as_rows(output, target, self.ignore_index)
            truth = as_classes(truth, "targets")
            found = scores.argmax(axis=1) if scores.ndim == 2 else as_classes(scores, "predictions")
        self.state["right"] += int((found == truth).sum())
        self.state["count"] += len(truth)


def _counted(target: Tensor, kept: Tensor | None, classes: int) -> dict[str, Any]:
    """Returns the number of targets that count, and their range for `check_targets`."""
    count = target.numel() if kept is None else kept.sum()
    return {"count": count, "lowest": target.amin(), "highest": target.amax(), "classes": classes}


class TopKAccuracy(_OfScores):
    """The fraction of samples whose class is among the `k` highest scores.

    Args:
        k: The number of classes that count as predicted.
        name: The name of the metric; by default "top{k}_accuracy".
        ignore_index: The target value to ignore.

    Raises:
        ValueError: k is not positive.

    >>> top2 = pyburn.train.metrics.TopKAccuracy(2)
    >>> top2.update([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]], [1, 0])
    >>> top2.compute()
    0.5
    """

    def __init__(self, k: int = 5, name: str | None = None, *, ignore_index: int | None = None) -> None:
        if k < 1:
            raise ValueError(f"[TopKAccuracy] k must be positive: got {k}")
        self.k, self.ignore_index = k, ignore_index
        super().__init__(name or f"top{k}_accuracy")

    def sums(self, output: Tensor, target: Tensor) -> dict[str, Any] | None:
        axis = class_axis_on_device(output.shape, target.shape, target.dtype)
        if axis is None:
            return None
        target, kept = kept_targets(target, self.ignore_index)
        scores, place = output.detach().movedim(axis, -1), target.unsqueeze(-1)
        classes = scores.shape[-1]
        own = scores.gather(-1, place.long())
        ahead = (scores > own) | ((scores == own) & (arange(classes, device=output.device) < place))
        # A NaN score ranks below every other score.
        right = kept_sum((ahead.sum(-1) < self.k) & (own == own).squeeze(-1), kept)
        return {"right": right, **_counted(target, kept, classes)}


class Perplexity(_OfScores):
    """Perplexity: the exponential of the mean cross-entropy.

    Args:
        name: The name of the metric.
        ignore_index: The target value to ignore.
        log_probabilities: Whether the outputs are log probabilities instead of logits.

    >>> perplexity = pyburn.train.metrics.Perplexity()
    >>> perplexity.update(pyburn.zeros(2, 5, 8), pyburn.zeros(2, 5, dtype=pyburn.int64))  # eight tokens, all as likely
    >>> round(perplexity.compute(), 6)
    8.0
    """

    higher_is_better = False
    initial = Ratio.initial

    def __init__(self, name: str = "perplexity", *, ignore_index: int | None = -100, log_probabilities: bool = False) -> None:
        self.ignore_index, self.log_probabilities = ignore_index, log_probabilities
        super().__init__(name)

    def sums(self, output: Tensor, target: Tensor) -> dict[str, Any] | None:
        axis = class_axis_on_device(output.shape, target.shape, target.dtype)
        if axis is None:
            return None
        target, kept = kept_targets(target, self.ignore_index)
        logs = output.detach().movedim(axis, -1)
        logs = logs if logs.dtype == float64 else logs.float()
        logs = logs if self.log_probabilities else log_softmax(logs, dim=-1)
        own = logs.gather(-1, target.long().unsqueeze(-1)).squeeze(-1)
        return {"total": kept_sum(-own, kept), **_counted(target, kept, logs.shape[-1])}

    def compute(self) -> float:
        mean = super().compute()
        return math.inf if mean >= 709 else math.exp(mean)
