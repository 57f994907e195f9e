"""Accuracies and correlations as functions of (y_true, y_pred), which return one value per sample."""

from __future__ import annotations

from pyburn import Tensor

from ..configured import OPTIONS, public
from ..described import describe
from ..losses.functions import aligned
from ..losses.functions import cosine_similarity as _negative_cosine


def binary_accuracy(y_true: Tensor, y_pred: Tensor, threshold: float = 0.5) -> Tensor:
    """How often outputs above the threshold match binary targets."""
    y_true, y_pred = aligned(y_true, y_pred)
    return ((y_pred > threshold).to(y_true.dtype) == y_true).float().mean(-1)


def categorical_accuracy(y_true: Tensor, y_pred: Tensor) -> Tensor:
    """Whether the largest output is that of a one-hot target."""
    return (y_true.argmax(-1) == y_pred.argmax(-1)).float()


def sparse_categorical_accuracy(y_true: Tensor, y_pred: Tensor) -> Tensor:
    """Whether the largest output is that of an integer class."""
    return (_classes(y_true, y_pred) == y_pred.argmax(-1)).float()


def top_k_categorical_accuracy(y_true: Tensor, y_pred: Tensor, k: int = 5) -> Tensor:
    """Whether the class of a one-hot target is among the k largest outputs."""
    return sparse_top_k_categorical_accuracy(y_true.argmax(-1), y_pred, k)


def sparse_top_k_categorical_accuracy(y_true: Tensor, y_pred: Tensor, k: int = 5) -> Tensor:
    """Whether an integer class is among the k largest outputs."""
    best = y_pred.topk(min(k, y_pred.shape[-1]), -1)[1]
    return (best == _classes(y_true, y_pred).unsqueeze(-1)).any(-1).float()


def _classes(y_true: Tensor, y_pred: Tensor) -> Tensor:
    return (y_true.squeeze(-1) if y_true.ndim == y_pred.ndim and y_true.shape[-1] == 1 else y_true).long()


def equal(y_true: Tensor, y_pred: Tensor) -> Tensor:
    """1 where targets and outputs are equal, else 0."""
    y_true, y_pred = aligned(y_true, y_pred)
    return (y_true == y_pred).float()


def accuracy(y_true: Tensor, y_pred: Tensor) -> Tensor:
    """Categorical, sparse categorical or binary accuracy, chosen by the shapes."""
    if y_pred.ndim > 1 and y_pred.shape[-1] > 1:
        same = y_true.ndim == y_pred.ndim and y_true.shape[-1] > 1
        return categorical_accuracy(y_true, y_pred) if same else sparse_categorical_accuracy(y_true, y_pred)
    return binary_accuracy(y_true, y_pred)


def pearson_correlation(y_true: Tensor, y_pred: Tensor, axis: int = -1) -> Tensor:
    """The Pearson correlation along an axis."""
    y_true, y_pred = aligned(y_true, y_pred)
    a, b = (x - x.mean(axis, keepdim=True) for x in (y_true, y_pred))
    return (a * b).mean(axis) / (a.square().mean(axis).sqrt() * b.square().mean(axis).sqrt())


def concordance_correlation(y_true: Tensor, y_pred: Tensor, axis: int = -1) -> Tensor:
    """The concordance correlation along an axis."""
    y_true, y_pred = aligned(y_true, y_pred)
    mean_a, mean_b = y_true.mean(axis, keepdim=True), y_pred.mean(axis, keepdim=True)
    a, b = y_true - mean_a, y_pred - mean_b
    below = a.square().mean(axis) + b.square().mean(axis) + (mean_a - mean_b).square().squeeze(axis)
    return 2 * (a * b).mean(axis) / below


def cosine(y_true: Tensor, y_pred: Tensor, axis: int = -1) -> Tensor:
    """The cosine similarity; higher is better, unlike the loss."""
    return -_negative_cosine(y_true, y_pred, axis)


__all__ = public(globals())
for _name in set(__all__) - {"aligned", "alike"}:
    describe(globals()[_name], OPTIONS, "One value per sample, or per element of the dimensions before the last.")
