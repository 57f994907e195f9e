"""Losses as functions of (y_true, y_pred): one number per example, or per element of what lies before the last axis."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pyburn
from pyburn import Tensor
from pyburn.nn import Module, functional

from .configured import Configured, Named

_EPSILON = 1e-7  # probabilities are kept this far from 0 and 1


def mean_squared_error(y_true: Tensor, y_pred: Tensor) -> Tensor:
    y_true, y_pred = aligned(y_true, y_pred)
    return (y_true - y_pred).square().mean(-1)


def mean_absolute_error(y_true: Tensor, y_pred: Tensor) -> Tensor:
    y_true, y_pred = aligned(y_true, y_pred)
    return (y_true - y_pred).abs().mean(-1)


def mean_absolute_percentage_error(y_true: Tensor, y_pred: Tensor) -> Tensor:
    y_true, y_pred = aligned(y_true, y_pred)
    return 100 * ((y_true - y_pred) / y_true.abs().clamp(min=_EPSILON)).abs().mean(-1)


def mean_squared_logarithmic_error(y_true: Tensor, y_pred: Tensor) -> Tensor:
    y_true, y_pred = (x.clamp(min=_EPSILON).log1p() for x in aligned(y_true, y_pred))
    return (y_true - y_pred).square().mean(-1)


def huber(y_true: Tensor, y_pred: Tensor, delta: float = 1.0) -> Tensor:
    y_true, y_pred = aligned(y_true, y_pred)
    return functional.huber_loss(y_pred, y_true, reduction="none", delta=delta).mean(-1)


def log_cosh(y_true: Tensor, y_pred: Tensor) -> Tensor:
    y_true, y_pred = aligned(y_true, y_pred)
    x = y_pred - y_true
    return (x + functional.softplus(-2 * x) - math.log(2)).mean(-1)


def hinge(y_true: Tensor, y_pred: Tensor) -> Tensor:
    y_true, y_pred = aligned(y_true, y_pred)
    return pyburn.relu(1 - _signs(y_true) * y_pred).mean(-1)


def squared_hinge(y_true: Tensor, y_pred: Tensor) -> Tensor:
    y_true, y_pred = aligned(y_true, y_pred)
    return pyburn.relu(1 - _signs(y_true) * y_pred).square().mean(-1)


def categorical_hinge(y_true: Tensor, y_pred: Tensor) -> Tensor:
    y_true, y_pred = aligned(y_true, y_pred)
    return pyburn.relu(((1 - y_true) * y_pred).amax(-1) - (y_true * y_pred).sum(-1) + 1)


def kl_divergence(y_true: Tensor, y_pred: Tensor) -> Tensor:
    y_true, y_pred = (x.clamp(_EPSILON, 1) for x in aligned(y_true, y_pred))
    return (y_true * (y_true / y_pred).log()).sum(-1)


def poisson(y_true: Tensor, y_pred: Tensor) -> Tensor:
    y_true, y_pred = aligned(y_true, y_pred)
    return (y_pred - y_true * (y_pred + _EPSILON).log()).mean(-1)


def cosine_similarity(y_true: Tensor, y_pred: Tensor, axis: int = -1) -> Tensor:
    """The cosine with a minus sign, so that less is better."""
    y_true, y_pred = aligned(y_true, y_pred)
    return -(functional.normalize(y_true, dim=axis) * functional.normalize(y_pred, dim=axis)).sum(axis)


def binary_crossentropy(y_true: Tensor, y_pred: Tensor, from_logits: bool = False, label_smoothing: float = 0.0) -> Tensor:
    y_true, y_pred = aligned(y_true, y_pred)
    if label_smoothing:
        y_true = y_true * (1 - label_smoothing) + 0.5 * label_smoothing
    if from_logits:
        return functional.binary_cross_entropy_with_logits(y_pred, y_true, reduction="none").mean(-1)
    p = y_pred.clamp(_EPSILON, 1 - _EPSILON)
    return -(y_true * p.log() + (1 - y_true) * (1 - p).log()).mean(-1)


def categorical_crossentropy(
    y_true: Tensor, y_pred: Tensor, from_logits: bool = False, label_smoothing: float = 0.0, axis: int = -1
) -> Tensor:
    y_true, y_pred = aligned(y_true, y_pred)
    if label_smoothing:
        y_true = y_true * (1 - label_smoothing) + label_smoothing / y_true.shape[axis]
    return -(y_true * _log_probabilities(y_pred, from_logits, axis)).sum(axis)


def sparse_categorical_crossentropy(
    y_true: Tensor, y_pred: Tensor, from_logits: bool = False, ignore_class: int | None = None, axis: int = -1
) -> Tensor:
    if y_true.ndim == y_pred.ndim and y_true.shape[axis] == 1:
        y_true = y_true.squeeze(axis)
    classes = y_true.long()
    ignored = None if ignore_class is None else classes == ignore_class
    if ignored is not None:
        classes = classes.masked_fill(ignored, 0)
    if from_logits and axis in (-1, y_pred.ndim - 1):
        scores = y_pred.reshape(-1, y_pred.shape[-1])  # one fused operation
        loss = functional.cross_entropy(scores, classes.reshape(-1), reduction="none").reshape(classes.shape)
    else:
        loss = -_log_probabilities(y_pred, from_logits, axis).gather(axis, classes.unsqueeze(axis)).squeeze(axis)
    return loss if ignored is None else loss.masked_fill(ignored, 0.0)


def binary_focal_crossentropy(
    y_true: Tensor,
    y_pred: Tensor,
    apply_class_balancing: bool = False,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
) -> Tensor:
    y_true, y_pred = aligned(y_true, y_pred)
    if label_smoothing:
        y_true = y_true * (1 - label_smoothing) + 0.5 * label_smoothing
    p = (pyburn.sigmoid(y_pred) if from_logits else y_pred).clamp(_EPSILON, 1 - _EPSILON)
    loss = -(y_true * p.log() + (1 - y_true) * (1 - p).log()) * (1 - (y_true * p + (1 - y_true) * (1 - p))).pow(gamma)
    if apply_class_balancing:
        loss = loss * (y_true * alpha + (1 - y_true) * (1 - alpha))
    return loss.mean(-1)


def _log_probabilities(y_pred: Tensor, from_logits: bool, axis: int) -> Tensor:
    if from_logits:
        return functional.log_softmax(y_pred, axis)
    return (y_pred / y_pred.sum(axis, keepdim=True)).clamp(_EPSILON, 1 - _EPSILON).log()


def _signs(y_true: Tensor) -> Tensor:
    """Labels 0 and 1 as -1 and 1."""
    return pyburn.where(((y_true == 0) | (y_true == 1)).all(), 2 * y_true - 1, y_true)


def aligned(y_true: Tensor, y_pred: Tensor) -> tuple[Tensor, Tensor]:
    """Both in the dtype of y_pred, and with as many axes where one has a last axis of 1 more."""
    if y_pred.ndim == 1:
        y_pred = y_pred.unsqueeze(-1)  # one number per example
    if y_true.ndim + 1 == y_pred.ndim and y_pred.shape[-1] == 1:
        y_true = y_true.unsqueeze(-1)
    elif y_pred.ndim + 1 == y_true.ndim and y_true.shape[-1] == 1:
        y_pred = y_pred.unsqueeze(-1)
    if tuple(y_true.shape) != tuple(y_pred.shape):
        raise pyburn.ShapeError(f"[loss] targets and outputs differ in shape: got {tuple(y_true.shape)} and {tuple(y_pred.shape)}")
    return y_true.to(y_pred.dtype), y_pred


FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    "mean_squared_error": mean_squared_error,
    "mse": mean_squared_error,
    "mean_absolute_error": mean_absolute_error,
    "mae": mean_absolute_error,
    "mean_absolute_percentage_error": mean_absolute_percentage_error,
    "mape": mean_absolute_percentage_error,
    "mean_squared_logarithmic_error": mean_squared_logarithmic_error,
    "msle": mean_squared_logarithmic_error,
    "huber": huber,
    "log_cosh": log_cosh,
    "hinge": hinge,
    "squared_hinge": squared_hinge,
    "categorical_hinge": categorical_hinge,
    "kl_divergence": kl_divergence,
    "poisson": poisson,
    "cosine_similarity": cosine_similarity,
    "binary_crossentropy": binary_crossentropy,
    "bce": binary_crossentropy,
    "categorical_crossentropy": categorical_crossentropy,
    "sparse_categorical_crossentropy": sparse_categorical_crossentropy,
    "binary_focal_crossentropy": binary_focal_crossentropy,
}
_named = Named("loss", FUNCTIONS)


class Loss(Configured):
    """A loss with options; subclasses say in `call` what it is. Called, it is one number: the mean, weighted or not."""

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not say what it computes: define call(self, y_true, y_pred)")

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Tensor:
        return weighted_mean(self.call(pyburn.as_tensor(y_true), pyburn.as_tensor(y_pred)), sample_weight)


class _FunctionLoss(Loss):
    """A loss of this module by its function; the arguments of the class are those of the function."""

    function: Callable[..., Tensor]

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        return type(self).function(y_true, y_pred, **self.get_config())


class MeanSquaredError(_FunctionLoss):
    function = staticmethod(mean_squared_error)


class MeanAbsoluteError(_FunctionLoss):
    function = staticmethod(mean_absolute_error)


class Huber(_FunctionLoss):
    function = staticmethod(huber)

    def __init__(self, delta: float = 1.0) -> None:
        self.delta = delta


class BinaryCrossentropy(_FunctionLoss):
    function = staticmethod(binary_crossentropy)

    def __init__(self, from_logits: bool = False, label_smoothing: float = 0.0) -> None:
        self.from_logits, self.label_smoothing = from_logits, label_smoothing


class BinaryFocalCrossentropy(_FunctionLoss):
    function = staticmethod(binary_focal_crossentropy)

    def __init__(
        self,
        apply_class_balancing: bool = False,
        alpha: float = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
    ) -> None:
        self.apply_class_balancing, self.alpha, self.gamma = apply_class_balancing, alpha, gamma
        self.from_logits, self.label_smoothing = from_logits, label_smoothing


class CategoricalCrossentropy(_FunctionLoss):
    function = staticmethod(categorical_crossentropy)

    def __init__(self, from_logits: bool = False, label_smoothing: float = 0.0, axis: int = -1) -> None:
        self.from_logits, self.label_smoothing, self.axis = from_logits, label_smoothing, axis


class SparseCategoricalCrossentropy(_FunctionLoss):
    function = staticmethod(sparse_categorical_crossentropy)

    def __init__(self, from_logits: bool = False, ignore_class: int | None = None, axis: int = -1) -> None:
        self.from_logits, self.ignore_class, self.axis = from_logits, ignore_class, axis


def get(identifier: Any) -> Callable[[Tensor, Tensor], Tensor]:
    """The function of (y_true, y_pred) that a name, a Loss, a loss of pyburn.nn or a function means."""
    if isinstance(identifier, str):
        return _named(identifier)
    if isinstance(identifier, Loss):
        return identifier.call
    if isinstance(identifier, type) and issubclass(identifier, Loss):
        return identifier().call
    if isinstance(identifier, Module):  # PyTorch's order of the arguments
        return lambda y_true, y_pred: identifier(y_pred, y_true)
    if callable(identifier):
        return identifier
    raise TypeError(f"a loss is a name, a Loss, a loss of pyburn.nn or a function of (y_true, y_pred): got {identifier!r}")


def weighted_mean(values: Tensor, sample_weight: Any = None) -> Tensor:
    """The mean of a loss. Weights scale the examples and do not change what the sum is divided by."""
    if sample_weight is None:
        return values.mean() if values.ndim else values
    weight = pyburn.as_tensor(sample_weight).to(device=values.device, dtype=values.dtype)
    if weight.ndim == values.ndim + 1 and weight.shape[-1] == 1:
        weight = weight.squeeze(-1)
    while weight.ndim < values.ndim:
        weight = weight.unsqueeze(-1)
    return (values * weight).mean()
