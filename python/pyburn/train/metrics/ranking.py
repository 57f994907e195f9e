"""Areas under curves. They are exact, so the scores of all samples are kept."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from .metric import Metric, array, as_classes, as_rows, check_choice, per_class


class _Scores(Metric):
    """Collects scores (n, classes) and targets (n, classes).

    Args:
        name: The name of the metric.
        task: "binary" (one score per sample, or scores of two classes), "multiclass" (each class against the rest) or "multilabel" (labels
            in the last dimension).
        average: "macro", "weighted" (by class frequency), "micro", or "none" or None (one value per class).
        ignore_index: The target value to ignore.

    Only the order of the scores matters, so logits work as well as probabilities; "micro" needs scores of a common scale.
    """

    def __init__(
        self, name: str | None = None, *, task: str = "multiclass", average: str | None = "macro", ignore_index: int | None = None
    ) -> None:
        average = "none" if average is None else average
        check_choice(self, "task", task, ("binary", "multiclass", "multilabel"))
        check_choice(self, "average", average, ("macro", "weighted", "micro", "none"))
        self.task, self.average, self.ignore_index = task, average, ignore_index
        super().__init__(name)

    def initial(self) -> dict[str, Any]:
        return {"scores": [], "truth": []}

    def measure(self, output: Any, target: Any) -> None:
        scores, truth = array(output), array(target)
        if self.task == "multiclass":
            scores, classes = as_rows(scores, truth, self.ignore_index)
            if scores.ndim != 2:
                raise ValueError(f"[{type(self).__name__}] expected scores with an axis of classes: got shape {scores.shape}")
            classes = as_classes(classes, "targets")
            if classes.size and classes.max() >= scores.shape[1]:
                raise ValueError(f"[{type(self).__name__}] there are {scores.shape[1]} classes: got target {classes.max()}")
            truth = classes[:, None] == np.arange(scores.shape[1])
        else:
            if self.task == "binary" and scores.ndim == truth.ndim + 1 and scores.shape[-1] == 2:
                scores = scores[..., 1].astype(np.float64) - scores[..., 0]  # of two logits, the difference ranks samples
            if scores.shape != truth.shape:
                raise ValueError(f"[{type(self).__name__}] output and target need one shape: got {scores.shape} and {truth.shape}")
            width = scores.shape[-1] if self.task == "multilabel" else 1
            scores, truth = scores.reshape(-1, width), truth.reshape(-1, width)
            if self.ignore_index is not None and self.task == "binary":
                kept = truth[:, 0] != self.ignore_index
                scores, truth = scores[kept], truth[kept]
            truth = as_classes(truth, "targets") > 0
        # float32 is not widened: that would double the memory and not change the order.
        self.state["scores"].append(scores.copy() if scores.dtype in (np.float32, np.float64) else scores.astype(np.float64))
        self.state["truth"].append(np.ascontiguousarray(truth))

    def area(self, scores: np.ndarray, truth: np.ndarray) -> float:
        raise NotImplementedError

    def compute(self) -> Any:
        if not self.state["scores"]:
            return float("nan")
        scores, truth = np.concatenate(self.state["scores"]), np.concatenate(self.state["truth"])
        if self.average == "micro":
            return self.area(scores.reshape(-1), truth.reshape(-1))
        areas = np.array([self.area(scores[:, i], truth[:, i]) for i in range(scores.shape[1])])
        if self.average == "none":
            return areas
        defined = ~np.isnan(areas)
        if not defined.any():
            return float("nan")
        weights = truth.sum(axis=0)[defined] if self.average == "weighted" else np.ones(int(defined.sum()))
        return float(np.average(areas[defined], weights=weights)) if weights.sum() else float("nan")

    def table(self) -> dict[str, Any] | None:
        return per_class(np.atleast_1d(self.compute())) if self.average == "none" else None


def _steps(scores: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the cumulative counts of positive and negative samples at each distinct score, from the highest down."""
    order = np.argsort(-scores, kind="stable")
    scores, truth = scores[order], truth[order]
    last = np.r_[np.flatnonzero(np.diff(scores)), len(scores) - 1]
    true = np.cumsum(truth)[last]
    return true, last + 1 - true


class AUROC(_Scores):
    """Area under the receiver operating characteristic curve (ROC AUC).

    Classes without positive or without negative samples are excluded from averages; NaN if none is left.

    Args:
        name: The name of the metric.
        multi_class: "ovr" compares each class with the rest. "ovo" averages over all pairs of classes, which does not depend on the class
            frequencies with average="macro".
        **options: task, average and ignore_index.

    Raises:
        ValueError: An option has an unknown value, or "ovo" is used with another task than "multiclass".

    >>> auroc = pyburn.train.metrics.AUROC(task="binary")
    >>> auroc.update([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1])
    >>> auroc.compute()
    0.75
    """

    def __init__(self, name: str | None = None, *, multi_class: str = "ovr", **options: Any) -> None:
        super().__init__(name, **options)
        check_choice(self, "multi_class", multi_class, ("ovr", "ovo"))
        if multi_class == "ovo" and (self.task != "multiclass" or self.average not in ("macro", "weighted")):
            raise ValueError(f"[AUROC] pairs are for several classes, 'macro' or 'weighted': got {self.task}, {self.average!r}")
        self.multi_class = multi_class

    def compute(self) -> Any:
        if self.multi_class == "ovr" or not self.state["scores"]:
            return super().compute()
        scores, truth = np.concatenate(self.state["scores"]), np.concatenate(self.state["truth"])
        areas, weights = [], []
        for a, b in itertools.combinations(range(scores.shape[1]), 2):
            chosen = truth[:, a] | truth[:, b]
            both = [self.area(scores[chosen, one], truth[chosen, one]) for one in (a, b)]
            if not np.isnan(both).any():
                areas.append(np.mean(both))
                weights.append(chosen.mean() if self.average == "weighted" else 1.0)
        return float(np.average(areas, weights=weights)) if areas else float("nan")

    def area(self, scores: np.ndarray, truth: np.ndarray) -> float:
        true, false = _steps(scores, truth) if len(scores) else (np.zeros(1), np.zeros(1))
        if np.isnan(scores).any() or not true[-1] or not false[-1]:
            return float("nan")
        true, false = np.r_[0, true], np.r_[0, false]
        return float(np.sum(np.diff(false) * (true[1:] + true[:-1])) / (2 * true[-1] * false[-1]))

    def curve(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns the ROC curve of a binary task: (false positive rates, true positive rates)."""
        scores, truth = np.concatenate(self.state["scores"])[:, 0], np.concatenate(self.state["truth"])[:, 0]
        true, false = _steps(scores, truth)
        return np.r_[0, false / max(1, false[-1])], np.r_[0, true / max(1, true[-1])]


class AUPRC(_Scores):
    """Area under the precision-recall curve, computed as average precision. Classes without positive samples are excluded from averages.

    >>> auprc = pyburn.train.metrics.AUPRC(task="binary")
    >>> auprc.update([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1])
    >>> round(auprc.compute(), 4)
    0.8333
    """

    def area(self, scores: np.ndarray, truth: np.ndarray) -> float:
        if not len(scores) or not truth.any() or np.isnan(scores).any():
            return float("nan")
        true, false = _steps(scores, truth)
        return float(np.sum(np.diff(np.r_[0, true]) * (true / (true + false))) / true[-1])
