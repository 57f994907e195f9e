"""Metrics computed from per-class counts of true and false positives and negatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .metric import Metric, array, as_classes, as_rows, check_choice, grown, label_names, per_class, probabilities

AVERAGES = ("micro", "macro", "weighted", "none")
TASKS = ("multiclass", "binary", "multilabel")


class ClassCounts(Metric):
    """Base class of metrics that are computed from true positives (`hits`), false positives (`false_alarms`), false negatives (`misses`)
    and true negatives (`rest`) per class.

    Args:
        name: The name of the metric; by default the lower-case class name.
        task: "multiclass" (scores with a class dimension, or class indices), "binary" (one score per sample; the result is that of class 1)
            or "multilabel" (labels in the last dimension).
        average: "micro" (over all decisions), "macro" (unweighted mean over the classes that occur), "weighted" (mean weighted by class
            frequency), or "none" or None (an array with one value per class).
        threshold: Probabilities above it count as positive ("binary" and "multilabel").
        logits: Whether the scores are logits, so that a sigmoid is applied first.
        top_k: The number of highest scores that count as predicted ("multiclass").
        ignore_index: The target value to ignore.
        labels: Class names for tables.
        zero_division: The value where the denominator is 0. NaN excludes the class from averages.

    Raises:
        ValueError: An option has an invalid value.

    >>> precision = pyburn.train.metrics.Precision(task="binary")
    >>> precision.update([0.9, 0.8], [1, 0])
    >>> precision.state["hits"].tolist(), precision.state["false_alarms"].tolist()
    ([1], [1])
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        task: str = "multiclass",
        average: str | None = "macro",
        threshold: float = 0.5,
        logits: bool = False,
        top_k: int = 1,
        ignore_index: int | None = None,
        labels: Sequence[str] | None = None,
        zero_division: float = 0.0,
    ) -> None:
        average = "none" if average is None else average
        check_choice(self, "task", task, TASKS)
        check_choice(self, "average", average, AVERAGES)
        if top_k < 1 or (top_k > 1 and task != "multiclass"):
            raise ValueError(f"[{type(self).__name__}] top_k is a positive number, for several classes: got {top_k} ({task})")
        self.task, self.average, self.threshold, self.logits = task, average, threshold, logits
        self.top_k, self.ignore_index, self.labels, self.zero_division = top_k, ignore_index, labels, float(zero_division)
        super().__init__(name)

    def initial(self) -> dict[str, Any]:
        return {key: np.zeros(0, np.int64) for key in ("hits", "false_alarms", "misses", "rest")}

    def measure(self, output: Any, target: Any) -> None:
        found, truth, classes = self._decisions(output, target)
        if self.task == "multiclass" and self.top_k == 1:
            hits = np.bincount(truth[found == truth], minlength=classes)
            predicted, true = np.bincount(found, minlength=classes), np.bincount(truth, minlength=classes)
            self._add(hits, predicted, true, len(truth))
        else:
            self._add((found & truth).sum(axis=0), found.sum(axis=0), truth.sum(axis=0), len(truth))

    def _decisions(self, output: Any, target: Any) -> tuple[np.ndarray, np.ndarray, int]:
        """Returns predictions and targets, as class indices or as boolean tables with a column per class, and the number of classes."""
        if self.task == "multiclass":
            scores, truth = as_rows(output, target, self.ignore_index)
            truth = as_classes(truth, "targets")
            if scores.ndim == 1:
                found = as_classes(scores, "predictions")
                return found, truth, int(max(found.max(initial=-1), truth.max(initial=-1))) + 1
            classes = max(scores.shape[1], int(truth.max(initial=-1)) + 1)
            if self.top_k == 1:
                return scores.argmax(axis=1), truth, classes
            best = np.argsort(-scores, axis=1, kind="stable")[:, : self.top_k]
            return _table(best, classes), _table(truth[:, None], classes), classes
        scores, truth = array(output), array(target)
        if scores.shape != truth.shape:
            raise ValueError(
                f"[{type(self).__name__}] output and target need one shape for {self.task}: got {scores.shape} and {truth.shape}"
            )
        width = scores.shape[-1] if self.task == "multilabel" and scores.ndim else 1
        scores, truth = scores.reshape(-1, width), truth.reshape(-1, width)
        if self.ignore_index is not None:
            if self.task == "multilabel":
                raise ValueError(f"[{type(self).__name__}] ignore_index has no meaning for multilabel targets")
            kept = truth[:, 0] != self.ignore_index
            scores, truth = scores[kept], truth[kept]
        return probabilities(scores, self.logits) > self.threshold, as_classes(truth, "targets") > 0, width

    def _add(self, hits: np.ndarray, predicted: np.ndarray, true: np.ndarray, items: int) -> None:
        state = self.state
        size = max(len(state["hits"]), len(hits))
        seen = int(sum(int(v[0]) for v in state.values())) if len(state["hits"]) else 0
        hits, predicted, true = (grown(np.asarray(v, np.int64), (size,)) for v in (hits, predicted, true))
        if len(state["hits"]) < size:  # for a class seen for the first time, all earlier samples are true negatives
            new = size - len(state["hits"])
            for key in state:
                state[key] = np.concatenate([state[key], np.full(new, seen if key == "rest" else 0, np.int64)])
        state["hits"] = state["hits"] + hits
        state["false_alarms"] = state["false_alarms"] + predicted - hits
        state["misses"] = state["misses"] + true - hits
        state["rest"] = state["rest"] + items - predicted - true + hits

    def merge(self, other: Metric) -> None:
        """Adds the counts of another metric of the same type.

        Args:
            other: The other metric.
        """
        mine, theirs = (sum(int(v[0]) for v in m.state.values()) if len(m.state["hits"]) else 0 for m in (self, other))
        sizes = len(self.state["hits"]), len(other.state["hits"])
        super().merge(other)
        # For a class that only one of the two has seen, all samples of the other are true negatives.
        self.state["rest"][sizes[0] :] += mine
        self.state["rest"][sizes[1] :] += theirs

    def ratio(self, hits: np.ndarray, false_alarms: np.ndarray, misses: np.ndarray) -> np.ndarray:
        """Computes the value per class (or of the summed counts).

        Args:
            hits: True positives per class.
            false_alarms: False positives per class.
            misses: False negatives per class.

        Returns:
            The value per class.
        """
        raise NotImplementedError

    def per_class(self) -> np.ndarray:
        """Returns the value of each class."""
        return self.ratio(self.state["hits"], self.state["false_alarms"], self.state["misses"])

    def compute(self) -> Any:
        hits, false_alarms, misses = self.state["hits"], self.state["false_alarms"], self.state["misses"]
        if self.average == "none":
            return self.per_class()
        if not len(hits):
            return float("nan")
        if self.task == "binary":
            return float(self.ratio(hits, false_alarms, misses)[0])
        if self.average == "micro":
            return float(self.ratio(*(np.array([v.sum()]) for v in (hits, false_alarms, misses)))[0])
        values, support = self.per_class(), hits + misses
        defined = ~np.isnan(values)
        if self.average == "weighted":
            total = support[defined].sum()
            return float((values * support)[defined].sum() / total) if total else self.zero_division
        occurs = hits + false_alarms + misses > 0 if self.task == "multiclass" else np.ones(len(hits), bool)
        counted = occurs & defined
        return float(values[counted].mean()) if counted.any() else float("nan")

    def table(self) -> dict[str, Any] | None:
        return per_class(self.per_class(), self.labels) if self.average == "none" else None


def _table(classes: np.ndarray, width: int) -> np.ndarray:
    out = np.zeros((len(classes), width), bool)
    np.put_along_axis(out, classes, True, axis=1)
    return out


def divided(above: np.ndarray, below: np.ndarray, otherwise: float = 0.0) -> np.ndarray:
    """Divides element-wise; `otherwise` where the denominator is 0, like scikit-learn's zero_division."""
    return np.divide(above, below, out=np.full(np.shape(above), otherwise, np.float64), where=np.asarray(below) != 0)


class Precision(ClassCounts):
    """Precision: the fraction of positive predictions that are correct, TP / (TP + FP). Options as in ClassCounts.

    >>> precision = pyburn.train.metrics.Precision(task="binary")
    >>> precision.update([0.9, 0.8, 0.1], [1, 0, 1])
    >>> precision.compute()
    0.5
    """

    def ratio(self, hits: np.ndarray, false_alarms: np.ndarray, misses: np.ndarray) -> np.ndarray:
        return divided(hits, hits + false_alarms, self.zero_division)


class Recall(ClassCounts):
    """Recall: the fraction of positive samples that were predicted, TP / (TP + FN). Options as in ClassCounts.

    >>> recall = pyburn.train.metrics.Recall(average="macro")
    >>> recall.update([0, 0, 1], [0, 1, 1])
    >>> recall.compute()
    0.75
    """

    def ratio(self, hits: np.ndarray, false_alarms: np.ndarray, misses: np.ndarray) -> np.ndarray:
        return divided(hits, hits + misses, self.zero_division)


class FBeta(ClassCounts):
    """F-beta score: the weighted harmonic mean of precision and recall. Options as in ClassCounts.

    Args:
        beta: The weight of recall relative to precision.

    Raises:
        ValueError: beta is negative.

    >>> f2 = pyburn.train.metrics.FBeta(2.0, task="binary")
    >>> f2.update([0.9, 0.8, 0.1], [1, 0, 1])
    >>> f2.compute()
    0.5
    """

    def __init__(self, beta: float = 1.0, name: str | None = None, **options: Any) -> None:
        if not beta >= 0:
            raise ValueError(f"[FBeta] beta must not be negative: got {beta}")
        self.beta = beta
        super().__init__(name or f"f{beta:g}", **options)

    def ratio(self, hits: np.ndarray, false_alarms: np.ndarray, misses: np.ndarray) -> np.ndarray:
        square = self.beta**2
        return divided((1 + square) * hits, (1 + square) * hits + square * misses + false_alarms, self.zero_division)


class F1(FBeta):
    """F1 score: the harmonic mean of precision and recall. Options as in ClassCounts.

    Args:
        name: The name of the metric.
        **options: Options of ClassCounts.

    >>> f1 = pyburn.train.metrics.F1(average="micro")
    >>> f1.update([0, 1, 2, 2], [0, 1, 1, 2])
    >>> f1.compute()
    0.75
    """

    def __init__(self, name: str | None = None, **options: Any) -> None:
        super().__init__(1.0, name or "f1", **options)


class IoU(ClassCounts):
    """Intersection over union (Jaccard index) per class, over the elements of all masks. Options as in ClassCounts.

    >>> iou = pyburn.train.metrics.IoU(task="binary")
    >>> iou.update(pyburn.tensor([[1., 1.], [0., 0.]]), pyburn.tensor([[1, 0], [0, 0]]))
    >>> iou.compute()
    0.5
    """

    def ratio(self, hits: np.ndarray, false_alarms: np.ndarray, misses: np.ndarray) -> np.ndarray:
        return divided(hits, hits + false_alarms + misses, self.zero_division)


class Dice(FBeta):
    """Dice coefficient, which equals F1: twice the intersection over the sum of the sizes, over the elements of all masks.

    Args:
        name: The name of the metric.
        **options: Options of ClassCounts.

    >>> dice = pyburn.train.metrics.Dice(task="binary")
    >>> dice.update(pyburn.tensor([[1., 1.], [0., 0.]]), pyburn.tensor([[1, 0], [0, 0]]))
    >>> round(dice.compute(), 4)
    0.6667
    """

    def __init__(self, name: str | None = None, **options: Any) -> None:
        super().__init__(1.0, name or "dice", **options)


class HammingLoss(ClassCounts):
    """Hamming loss: the fraction of wrong labels; for multiclass targets, the fraction of wrong samples. Options as in ClassCounts.

    Args:
        name: The name of the metric.
        task: The task, as in ClassCounts.
        **options: Options of ClassCounts.

    >>> hamming = pyburn.train.metrics.HammingLoss()
    >>> hamming.update([[0.9, 0.2], [0.1, 0.8]], [[1, 1], [0, 1]])
    >>> hamming.compute()
    0.25
    """

    higher_is_better = False

    def __init__(self, name: str | None = None, *, task: str = "multilabel", **options: Any) -> None:
        super().__init__(name or "hamming_loss", task=task, average="micro", **options)

    def compute(self) -> float:
        wrong = self.state["false_alarms"] + self.state["misses"]
        total = int(sum(int(v.sum()) for v in self.state.values()))
        if self.task == "multiclass":  # a wrong sample is a false positive of one class and a false negative of another
            total = int((self.state["hits"] + self.state["misses"]).sum())
            return float(self.state["misses"].sum() / total) if total else float("nan")
        return float(wrong.sum() / total) if total else float("nan")


class HammingScore(HammingLoss):
    """The fraction of correct labels: 1 - HammingLoss.

    Args:
        name: The name of the metric.
        **options: Options of ClassCounts.

    >>> score = pyburn.train.metrics.HammingScore()
    >>> score.update([[0.9, 0.2], [0.1, 0.8]], [[1, 1], [0, 1]])
    >>> score.compute()
    0.75
    """

    higher_is_better = True

    def __init__(self, name: str | None = None, **options: Any) -> None:
        super().__init__(name or "hamming_score", **options)

    def compute(self) -> float:
        return 1 - super().compute()


class ConfusionMatrix(Metric):
    """Confusion matrix: counts by true class (rows) and predicted class (columns). It grows as classes appear.

    Args:
        name: The name of the metric.
        labels: Class names for tables; also sets the initial size.
        threshold: For one score per sample: scores above it count as class 1.
        ignore_index: The target value to ignore.
        normalize: "true" (each row sums to 1), "pred" (each column), "all" (the whole matrix), or None for counts. Tables in runs always
            hold counts.

    Raises:
        ValueError: normalize is unknown.

    >>> confusion = pyburn.train.metrics.ConfusionMatrix()
    >>> confusion.update([0, 1, 1], [0, 1, 0])
    >>> confusion.compute().tolist()
    [[1, 1], [0, 1]]
    """

    higher_is_better = None

    def __init__(
        self,
        name: str = "confusion",
        *,
        labels: Sequence[str] | None = None,
        threshold: float | None = None,
        ignore_index: int | None = None,
        normalize: str | None = None,
    ) -> None:
        check_choice(self, "normalize", normalize, ("true", "pred", "all", None))
        self.labels, self.threshold, self.ignore_index, self.normalize = labels, threshold, ignore_index, normalize
        super().__init__(name)

    def initial(self) -> dict[str, Any]:
        size = len(self.labels) if self.labels is not None else 0
        return {"counts": np.zeros((size, size), np.int64)}

    def measure(self, output: Any, target: Any) -> None:
        if self.threshold is not None:
            output = array(output) > self.threshold
        scores, truth = as_rows(output, target, self.ignore_index)
        truth = as_classes(truth, "targets")
        found = scores.argmax(axis=1) if scores.ndim == 2 else as_classes(scores, "predictions")
        width = scores.shape[1] if scores.ndim == 2 else 0
        size = max(len(self.state["counts"]), width, int(found.max(initial=-1)) + 1, int(truth.max(initial=-1)) + 1)
        counts = np.bincount(truth * size + found, minlength=size * size).reshape(size, size)
        self.state["counts"] = grown(self.state["counts"], (size, size)) + counts

    def compute(self) -> np.ndarray:
        counts = self.state["counts"]
        if self.normalize is None:
            return counts
        total = counts.sum() if self.normalize == "all" else counts.sum(axis=1 if self.normalize == "true" else 0, keepdims=True)
        return divided(counts, np.broadcast_to(total, counts.shape))

    def table(self) -> dict[str, Any]:
        counts = self.state["counts"]
        return {"type": "confusion_matrix", "labels": label_names(self.labels, len(counts)), "values": counts}
