"""Losses: by name, as objects with options, or as functions of (y_true, y_pred)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

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
    """Base class of losses: subclasses define `call(y_true, y_pred)`; calling a loss returns the reduced value.

    Args:
        name: The name of the loss.
        reduction: "sum_over_batch_size" and "mean" divide by the number of values, "mean_with_sample_weight" by the sum of the weights;
            "sum" sums; "none" and None return the unreduced values.
        dtype: Accepted for compatibility: losses are computed in float32 or in the dtype of the outputs.

    Raises:
        ValueError: The reduction is unknown.

    >>> class Cubed(p_vision.Loss):
    ...     def call(self, y_true, y_pred):
    ...         return (y_true - y_pred).abs() ** 3
    >>> Cubed()(pyburn.tensor([1.0, 2.0]), pyburn.tensor([3.0, 2.0]))
    tensor(4.)
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
    """A loss made of a function of (y_true, y_pred).

    Args:
        fn: The function, which returns one value per sample.
        name: The name of the loss.
        reduction: How the values are reduced, as in Loss.

    >>> p_vision.losses.FunctionLoss(lambda y_true, y_pred: (y_true - y_pred).abs())(pyburn.tensor([1.0, 2.0]), pyburn.tensor([3.0, 2.0]))
    tensor(1.)
    """

    def __init__(self, fn: Callable[..., Tensor], name: str | None = None, reduction: str | None = "sum_over_batch_size") -> None:
        self._say(name, reduction)
        self.fn = fn

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        return self.fn(y_true, y_pred)


class _NamedLoss(OfFunction, Loss):
    """Base class of losses from `functions`; takes the arguments of the function, the reduction and the name."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self._say(**self.keep_options(self.config_arguments(), args, options))

    last: ClassVar[tuple[str, ...]] = ()  # arguments after the others, in Keras's order

    @classmethod
    def config_arguments(cls) -> dict[str, Any]:
        found = {**cls.function_options(), "reduction": "sum_over_batch_size", "name": None}
        return {name: found[name] for name in [*(name for name in found if name not in cls.last), *cls.last]}

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        return type(self).function(y_true, y_pred, **{name: getattr(self, name) for name in self.function_options()})


class MeanSquaredError(_NamedLoss, function=functions.mean_squared_error):
    """The mean of (y_true - y_pred)².

    >>> p_vision.losses.MeanSquaredError()(pyburn.tensor([[0.0, 1.0], [2.0, 3.0]]), pyburn.tensor([[0.5, 1.0], [2.0, 1.0]]))
    tensor(1.0625)
    """


class MeanAbsoluteError(_NamedLoss, function=functions.mean_absolute_error):
    """The mean of |y_true - y_pred|.

    >>> p_vision.losses.MeanAbsoluteError()(pyburn.tensor([[0.0, 1.0], [2.0, 3.0]]), pyburn.tensor([[0.5, 1.0], [2.0, 1.0]]))
    tensor(0.6250)
    """


class MeanAbsolutePercentageError(_NamedLoss, function=functions.mean_absolute_percentage_error):
    """The mean of 100 |y_true - y_pred| / |y_true|.

    >>> p_vision.losses.MeanAbsolutePercentageError()(pyburn.tensor([[1.0, 2.0]]), pyburn.tensor([[1.5, 2.0]]))
    tensor(25.)
    """


class MeanSquaredLogarithmicError(_NamedLoss, function=functions.mean_squared_logarithmic_error):
    """The mean of (log(1 + y_true) - log(1 + y_pred))².

    >>> p_vision.losses.MeanSquaredLogarithmicError()(pyburn.tensor([[0.0, 1.0], [2.0, 3.0]]), pyburn.tensor([[0.5, 1.0], [2.0, 1.0]]))
    tensor(0.1612)
    """


class Huber(_NamedLoss, function=functions.huber):
    """Huber loss: squared for errors up to delta, linear beyond.

    >>> p_vision.losses.Huber()(pyburn.tensor([[0.0, 1.0], [2.0, 3.0]]), pyburn.tensor([[0.5, 1.0], [2.0, 1.0]]))
    tensor(0.4062)
    """


class LogCosh(_NamedLoss, function=functions.log_cosh):
    """The mean of log(cosh(y_pred - y_true)).

    >>> p_vision.losses.LogCosh()(pyburn.tensor([[0.0, 1.0], [2.0, 3.0]]), pyburn.tensor([[0.5, 1.0], [2.0, 1.0]]))
    tensor(0.3613)
    """


class CosineSimilarity(_NamedLoss, function=functions.cosine_similarity):
    """The negative cosine similarity of targets and outputs: -1 for the same direction.

    >>> p_vision.losses.CosineSimilarity()(pyburn.tensor([[0.0, 1.0]]), pyburn.tensor([[0.0, 2.0]]))
    tensor(-1.)
    """


class Hinge(_NamedLoss, function=functions.hinge):
    """Hinge loss: the mean of max(1 - y_true * y_pred, 0) for targets of -1 and 1; 0 counts as -1.

    >>> p_vision.losses.Hinge()(pyburn.tensor([[0.0, 1.0]]), pyburn.tensor([[0.2, 0.7]]))
    tensor(0.7500)
    """


class SquaredHinge(_NamedLoss, function=functions.squared_hinge):
    """The mean of max(1 - y_true * y_pred, 0)² for targets of -1 and 1; 0 counts as -1.

    >>> p_vision.losses.SquaredHinge()(pyburn.tensor([[0.0, 1.0]]), pyburn.tensor([[0.2, 0.7]]))
    tensor(0.7650)
    """


class CategoricalHinge(_NamedLoss, function=functions.categorical_hinge):
    """Categorical hinge loss of one-hot targets: max(1 + the largest wrong output - the correct output, 0).

    >>> p_vision.losses.CategoricalHinge()(pyburn.tensor([[0.0, 1.0, 0.0]]), pyburn.tensor([[0.1, 0.8, 0.1]]))
    tensor(0.3000)
    """


class KLDivergence(_NamedLoss, function=functions.kl_divergence):
    """Kullback-Leibler divergence: the sum of y_true * log(y_true / y_pred).

    >>> p_vision.losses.KLDivergence()(pyburn.tensor([[0.5, 0.5]]), pyburn.tensor([[0.9, 0.1]]))
    tensor(0.5108)
    """


class Poisson(_NamedLoss, function=functions.poisson):
    """Poisson loss: the mean of y_pred - y_true * log(y_pred).

    >>> p_vision.losses.Poisson()(pyburn.tensor([[1.0, 2.0]]), pyburn.tensor([[1.5, 2.0]]))
    tensor(0.8541)
    """


class BinaryCrossentropy(_NamedLoss, function=functions.binary_crossentropy):
    """Cross entropy of binary targets (0 or 1) and probabilities, or logits.

    >>> p_vision.losses.BinaryCrossentropy()(pyburn.tensor([[0.0, 1.0]]), pyburn.tensor([[0.2, 0.7]]))
    tensor(0.2899)
    """


class BinaryFocalCrossentropy(_NamedLoss, function=functions.binary_focal_crossentropy):
    """Focal cross entropy of binary targets: (1 - p)^gamma weights the cross entropy, where p is the probability of the target (Lin et al.
    2018).

    >>> p_vision.losses.BinaryFocalCrossentropy()(pyburn.tensor([[0.0, 1.0]]), pyburn.tensor([[0.2, 0.7]]))
    tensor(0.0205)
    """


class CategoricalCrossentropy(_NamedLoss, function=functions.categorical_crossentropy):
    """Cross entropy of one-hot targets and class probabilities, or logits.

    >>> p_vision.losses.CategoricalCrossentropy()(pyburn.tensor([[0.0, 1.0, 0.0]]), pyburn.tensor([[0.1, 0.8, 0.1]]))
    tensor(0.2231)
    """


class CategoricalFocalCrossentropy(_NamedLoss, function=functions.categorical_focal_crossentropy):
    """Focal cross entropy of one-hot targets (Lin et al. 2018).

    >>> p_vision.losses.CategoricalFocalCrossentropy()(pyburn.tensor([[0.0, 1.0, 0.0]]), pyburn.tensor([[0.1, 0.8, 0.1]]))
    tensor(0.0022)
    """


class SparseCategoricalCrossentropy(_NamedLoss, function=functions.sparse_categorical_crossentropy):
    """Cross entropy of integer classes and class probabilities, or logits.

    >>> p_vision.losses.SparseCategoricalCrossentropy()(pyburn.tensor([1]), pyburn.tensor([[0.1, 0.8, 0.1]]))
    tensor(0.2231)
    """

    last = ("reduction", "axis", "name")


class Dice(_NamedLoss, function=functions.dice):
    """Dice loss of segmentation masks: 1 - 2 |A ∩ B| / (|A| + |B|).

    >>> p_vision.losses.Dice()(pyburn.tensor([[0.0, 1.0]]), pyburn.tensor([[0.2, 0.7]]))
    tensor(0.2632)
    """

    last = ("reduction", "name", "axis")


class Tversky(_NamedLoss, function=functions.tversky):
    """Tversky loss of segmentation masks: Dice with weights for false positives and false negatives (Salehi et al. 2017).

    >>> p_vision.losses.Tversky()(pyburn.tensor([[0.0, 1.0]]), pyburn.tensor([[0.2, 0.7]]))
    tensor(0.2632)
    """

    last = ("reduction", "name", "axis")


class CTC(_NamedLoss, function=functions.ctc):
    """Connectionist temporal classification (CTC) loss of labels (batch, length) and logits (batch, steps, classes); label 0 is padding.

    >>> p_vision.losses.CTC()(pyburn.tensor([[1, 2]]), pyburn.zeros(1, 4, 3))
    tensor(1.6864)
    """


class Circle(_NamedLoss, function=functions.circle):
    """Circle loss of integer classes and L2-normalized embeddings: pulls embeddings of the same class together (Sun et al. 2020).

    >>> p_vision.losses.Circle()(pyburn.tensor([0, 0, 1]), pyburn.eye(3)).shape
    pyburn.Size([])
    """

    last = ("remove_diagonal", "reduction", "name", "ref_labels", "ref_embeddings")


class CategoricalGeneralizedCrossEntropy(_NamedLoss, function=functions.categorical_generalized_cross_entropy):
    """Generalized cross entropy of integer classes: (1 - p^q) / q with p the probability of the class; robust to label noise (Zhang and
    Sabuncu 2018).

    >>> p_vision.losses.CategoricalGeneralizedCrossEntropy()(pyburn.tensor([1]), pyburn.tensor([[0.1, 0.8, 0.1]]))
    tensor(0.2111)
    """


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
    """Reduces the values of a loss. Weights scale the values; only with "mean_with_sample_weight" do they change the divisor.

    Args:
        values: The values, one per sample or element.
        sample_weight: The weights of the samples.
        mask: The mask of time steps; masked values do not count.
        reduction: How the values are reduced, as in Loss.

    Returns:
        The reduced value, or the weighted values.

    >>> p_vision.losses.reduced(pyburn.tensor([1.0, 3.0]), [1.0, 0.0])
    tensor(0.5000)
    """
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
