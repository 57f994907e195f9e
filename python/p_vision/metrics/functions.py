"""Accuracies as functions of (y_true, y_pred), which return one value per sample."""

from __future__ import annotations

from pyburn import Tensor

from .. import losses


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


def equal(y_true: Tensor, y_pred: Tensor) -> Tensor:
    """1 where both are equal, else 0."""
    y_true, y_pred = losses.aligned(y_true, y_pred)
    return (y_true == y_pred).float()


def accuracy(y_true: Tensor, y_pred: Tensor) -> Tensor:
    """Categorical, sparse categorical or binary accuracy, chosen by the shapes."""
    if y_pred.ndim > 1 and y_pred.shape[-1] > 1:
        same = y_true.ndim == y_pred.ndim and y_true.shape[-1] > 1
        return categorical_accuracy(y_true, y_pred) if same else sparse_categorical_accuracy(y_true, y_pred)
    return binary_accuracy(y_true, y_pred)
