"""Losses: by name, as objects with options, or as functions of (y_true, y_pred)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyburn
from pyburn import Tensor
from pyburn.nn import Module

from ..configured import Configured, Named, arguments, arguments_of, deserializer, serialize
from ..dtype_policies import in_full
from ..symbolic.masks import mask_of, spread, weights_of
from .functions import (
    aligned,
    alike,
    binary_crossentropy,
    binary_focal_crossentropy,
    categorical_crossentropy,
    categorical_focal_crossentropy,
    categorical_generalized_cross_entropy,
    categorical_hinge,
    circle,
    cosine_similarity,
    ctc,
    dice,
    hinge,
    huber,
    kl_divergence,
    log_cosh,
    mean_absolute_error,
    mean_absolute_percentage_error,
    mean_squared_error,
    mean_squared_logarithmic_error,
    poisson,
    sparse_categorical_crossentropy,
    squared_hinge,
    tversky,
)

_REDUCTIONS = ("sum_over_batch_size", "sum", "mean", "mean_with_sample_weight", "none", None)


class Loss(Configured):
    """Base class of losses: subclasses define `call`; calling a loss returns the reduced value.

    Args:
        name: The name of the loss.
        reduction: "sum_over_batch_size" and "mean" divide by the number of values, "mean_with_sample_weight" by the sum of the weights;
            "sum" sums; "none" and None return the unreduced values.
    """

    name: str | None = None
    reduction: str | None = "sum_over_batch_size"

    def __init__(self, name: str | None = None, reduction: str | None = "sum_over_batch_size", dtype: Any = None) -> None:
        self._say(name, reduction)

    def _say(self, name: str | None, reduction: str | None) -> None:
        if reduction not in _REDUCTIONS:
            raise ValueError(f"[{type(self).__name__}] reduction is one of {', '.join(map(repr, _REDUCTIONS))}: got {reduction!r}")
        self.name, self.reduction = name, reduction

    @classmethod
    def config_arguments(cls) -> dict[str, Any]:
        return {key: default for key, default in arguments(cls).items() if key != "dtype"}

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not say what it computes: define call(self, y_true, y_pred)")

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Tensor:
        y_pred = in_full(_tensor(y_pred))
        values = self.call(_tensor(y_true), y_pred)
        if not isinstance(values, Tensor):
            raise TypeError(f"a loss gives a tensor: {self!r} gave {type(values).__name__}")
        return reduced(values, sample_weight, mask_of(y_pred), self.reduction)


class FunctionLoss(Loss):
    """Wraps a function of (y_true, y_pred)."""

    def __init__(self, fn: Callable[..., Tensor], name: str | None = None, reduction: str | None = "sum_over_batch_size") -> None:
        self._say(name, reduction)
        self.fn = fn

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        return self.fn(y_true, y_pred)


class _NamedLoss(Loss):
    """Base class of losses from `functions`; takes the arguments of the function, the reduction and the name."""

    function: Callable[..., Tensor]

    def __init__(self, *args: Any, **options: Any) -> None:
        defaults = self.config_arguments()
        options.pop("dtype", None)
        unknown = [name for name in options if name not in defaults]
        if unknown or len(args) > len(defaults):
            raise TypeError(f"{type(self).__name__}() takes {', '.join(defaults)}: got {', '.join(unknown) or f'{len(args)} arguments'}")
        given = {**defaults, **dict(zip(defaults, args)), **options}
        self._say(given.pop("name"), given.pop("reduction"))
        self.__dict__.update(given)

    @classmethod
    def config_arguments(cls) -> dict[str, Any]:
        of_function = dict(list(arguments_of(cls.function).items())[1:])
        return {**of_function, "reduction": "sum_over_batch_size", "name": None}

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        config = self.get_config()
        return type(self).function(y_true, y_pred, **{key: config[key] for key in config if key not in ("reduction", "name")})


class MeanSquaredError(_NamedLoss):
    function = staticmethod(mean_squared_error)


class MeanAbsoluteError(_NamedLoss):
    function = staticmethod(mean_absolute_error)


class MeanAbsolutePercentageError(_NamedLoss):
    function = staticmethod(mean_absolute_percentage_error)


class MeanSquaredLogarithmicError(_NamedLoss):
    function = staticmethod(mean_squared_logarithmic_error)


class Huber(_NamedLoss):
    function = staticmethod(huber)


class LogCosh(_NamedLoss):
    function = staticmethod(log_cosh)


class CosineSimilarity(_NamedLoss):
    function = staticmethod(cosine_similarity)


class Hinge(_NamedLoss):
    function = staticmethod(hinge)


class SquaredHinge(_NamedLoss):
    function = staticmethod(squared_hinge)


class CategoricalHinge(_NamedLoss):
    function = staticmethod(categorical_hinge)


class KLDivergence(_NamedLoss):
    function = staticmethod(kl_divergence)


class Poisson(_NamedLoss):
    function = staticmethod(poisson)


class BinaryCrossentropy(_NamedLoss):
    function = staticmethod(binary_crossentropy)


class BinaryFocalCrossentropy(_NamedLoss):
    function = staticmethod(binary_focal_crossentropy)


class CategoricalCrossentropy(_NamedLoss):
    function = staticmethod(categorical_crossentropy)


class CategoricalFocalCrossentropy(_NamedLoss):
    function = staticmethod(categorical_focal_crossentropy)


class SparseCategoricalCrossentropy(_NamedLoss):
    function = staticmethod(sparse_categorical_crossentropy)


class Dice(_NamedLoss):
    function = staticmethod(dice)


class Tversky(_NamedLoss):
    function = staticmethod(tversky)


class CTC(_NamedLoss):
    function = staticmethod(ctc)


class Circle(_NamedLoss):
    function = staticmethod(circle)


class CategoricalGeneralizedCrossEntropy(_NamedLoss):
    function = staticmethod(categorical_generalized_cross_entropy)


FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    function.__name__: function
    for function in (
        mean_squared_error,
        mean_absolute_error,
        mean_absolute_percentage_error,
        mean_squared_logarithmic_error,
        huber,
        log_cosh,
        cosine_similarity,
        hinge,
        squared_hinge,
        categorical_hinge,
        kl_divergence,
        poisson,
        binary_crossentropy,
        binary_focal_crossentropy,
        categorical_crossentropy,
        categorical_focal_crossentropy,
        sparse_categorical_crossentropy,
        dice,
        tversky,
        ctc,
        circle,
        categorical_generalized_cross_entropy,
    )
}
_SHORT = {
    "mse": mean_squared_error,
    "mae": mean_absolute_error,
    "mape": mean_absolute_percentage_error,
    "msle": mean_squared_logarithmic_error,
    "bce": binary_crossentropy,
    "kld": kl_divergence,
    "logcosh": log_cosh,
}
FUNCTIONS.update(_SHORT)
_named = Named("loss", FUNCTIONS)


def get(identifier: Any) -> Loss:
    """Returns the loss for a name, a class, a Loss, a config, a loss module of pyburn.nn or a function of (y_true, y_pred)."""
    if isinstance(identifier, str):
        return FunctionLoss(_named(identifier))
    if isinstance(identifier, Loss):
        return identifier
    if isinstance(identifier, type) and issubclass(identifier, Loss):
        return identifier()
    if isinstance(identifier, dict):
        return deserialize(identifier)
    if isinstance(identifier, Module):  # PyTorch's argument order
        return FunctionLoss(lambda y_true, y_pred: identifier(y_pred, y_true))
    if callable(identifier):
        return FunctionLoss(identifier)
    raise TypeError(f"a loss is a name, a Loss, a loss of pyburn.nn or a function of (y_true, y_pred): got {identifier!r}")


def reduced(values: Tensor, sample_weight: Any = None, mask: Tensor | None = None, reduction: str | None = "sum_over_batch_size") -> Tensor:
    """Reduces the values of a loss. Weights scale the values; only with "mean_with_sample_weight" do they change the divisor."""
    if sample_weight is not None:
        sample_weight = _tensor(sample_weight).to(device=values.device, dtype=values.dtype)
    weight = weights_of(mask, sample_weight, values, scaled=reduction in ("sum_over_batch_size", "mean"))
    if weight is not None:
        weight = weight.squeeze(-1) if weight.ndim == values.ndim + 1 and weight.shape[-1] == 1 else spread(weight, values)
        values = values * weight
    if reduction in (None, "none") or not values.ndim:
        return values
    if reduction == "sum":
        return values.sum()
    if reduction == "mean_with_sample_weight" and weight is not None:
        return values.sum() / weight.sum()
    return values.mean()


def _tensor(value: Any) -> Tensor:
    """Converts an array to a tensor, and float64 to float32."""
    if isinstance(value, Tensor):
        return value
    tensor = pyburn.as_tensor(value)
    return tensor.float() if tensor.dtype == pyburn.float64 else tensor


deserialize = deserializer(get)
mse, mae, mape, msle = (_SHORT[name] for name in ("mse", "mae", "mape", "msle"))
__all__ = [
    *(name for name in FUNCTIONS if name not in _SHORT),
    "FUNCTIONS",
    "FunctionLoss",
    "Loss",
    "aligned",
    "alike",
    "deserialize",
    "get",
    "reduced",
    "serialize",
]
