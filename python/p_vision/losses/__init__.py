"""Losses: by name, as objects with options, or as functions of (y_true, y_pred)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyburn
from pyburn import Tensor
from pyburn.nn import Module

from ..configured import Configured, OfFunction, Registry, arguments, serialize
from ..conversion import to_tensor
from ..dtype_policies import in_full
from ..symbolic.masks import mask_of, spread, weights_of
from . import functions
from .functions import *  # noqa: F403  (losses.huber and so on)
from .functions import aligned, alike

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
        y_pred = in_full(to_tensor(y_pred))
        values = self.call(to_tensor(y_true), y_pred)
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


class _NamedLoss(OfFunction, Loss):
    """Base class of losses from `functions`; takes the arguments of the function, the reduction and the name."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self._say(**self.keep_options(self.config_arguments(), args, options))

    @classmethod
    def config_arguments(cls) -> dict[str, Any]:
        return {**cls.function_options(), "reduction": "sum_over_batch_size", "name": None}

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        return type(self).function(y_true, y_pred, **{name: getattr(self, name) for name in self.function_options()})


class MeanSquaredError(_NamedLoss, function=functions.mean_squared_error): ...


class MeanAbsoluteError(_NamedLoss, function=functions.mean_absolute_error): ...


class MeanAbsolutePercentageError(_NamedLoss, function=functions.mean_absolute_percentage_error): ...


class MeanSquaredLogarithmicError(_NamedLoss, function=functions.mean_squared_logarithmic_error): ...


class Huber(_NamedLoss, function=functions.huber): ...


class LogCosh(_NamedLoss, function=functions.log_cosh): ...


class CosineSimilarity(_NamedLoss, function=functions.cosine_similarity): ...


class Hinge(_NamedLoss, function=functions.hinge): ...


class SquaredHinge(_NamedLoss, function=functions.squared_hinge): ...


class CategoricalHinge(_NamedLoss, function=functions.categorical_hinge): ...


class KLDivergence(_NamedLoss, function=functions.kl_divergence): ...


class Poisson(_NamedLoss, function=functions.poisson): ...


class BinaryCrossentropy(_NamedLoss, function=functions.binary_crossentropy): ...


class BinaryFocalCrossentropy(_NamedLoss, function=functions.binary_focal_crossentropy): ...


class CategoricalCrossentropy(_NamedLoss, function=functions.categorical_crossentropy): ...


class CategoricalFocalCrossentropy(_NamedLoss, function=functions.categorical_focal_crossentropy): ...


class SparseCategoricalCrossentropy(_NamedLoss, function=functions.sparse_categorical_crossentropy): ...


class Dice(_NamedLoss, function=functions.dice): ...


class Tversky(_NamedLoss, function=functions.tversky): ...


class CTC(_NamedLoss, function=functions.ctc): ...


class Circle(_NamedLoss, function=functions.circle): ...


class CategoricalGeneralizedCrossEntropy(_NamedLoss, function=functions.categorical_generalized_cross_entropy): ...


_SHORT = {
    "mse": functions.mean_squared_error,
    "mae": functions.mean_absolute_error,
    "mape": functions.mean_absolute_percentage_error,
    "msle": functions.mean_squared_logarithmic_error,
    "bce": functions.binary_crossentropy,
    "kld": functions.kl_divergence,
    "logcosh": functions.log_cosh,
}
FUNCTIONS: dict[str, Callable[..., Tensor]] = {**{cls.function.__name__: cls.function for cls in _NamedLoss.__subclasses__()}, **_SHORT}


def _of_callable(function: Any, name: str | None) -> Loss:
    """Makes a loss of a function of (y_true, y_pred), or of a loss module of pyburn.nn, which takes (output, target)."""
    if isinstance(function, type) and issubclass(function, Module):  # nn.CrossEntropyLoss without ()
        function = function()
    return FunctionLoss((lambda y_true, y_pred: function(y_pred, y_true)) if isinstance(function, Module) else function)


def reduced(values: Tensor, sample_weight: Any = None, mask: Tensor | None = None, reduction: str | None = "sum_over_batch_size") -> Tensor:
    """Reduces the values of a loss. Weights scale the values; only with "mean_with_sample_weight" do they change the divisor."""
    if sample_weight is not None:
        sample_weight = to_tensor(sample_weight).to(device=values.device, dtype=values.dtype)
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


get = Registry("loss", Loss, FUNCTIONS, wrap=_of_callable)
deserialize = get.deserialize
mse, mae, mape, msle = (_SHORT[name] for name in ("mse", "mae", "mape", "msle"))
__all__ = [*(name for name in FUNCTIONS if name not in _SHORT), "FUNCTIONS", "FunctionLoss", "Loss"]
__all__ += ["aligned", "alike", "deserialize", "get", "reduced", "serialize"]
