"""Metrics by name or as objects with options."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

from pyburn import Tensor, train

from .. import losses
from ..configured import OfFunction, Registry, serialize, snake_case
from ..described import parameter
from ..losses import functions as _losses
from . import functions
from .functions import *  # noqa: F403
from .metric import Mean as Mean
from .metric import MeanMetric as MeanMetric
from .metric import Metric as Metric
from .metric import OfLearner as _OfLearner
from .metric import Sum as Sum
from .scores import BinaryIoU as BinaryIoU
from .scores import F1Score as F1Score
from .scores import FBetaScore as FBetaScore
from .scores import IoU as IoU
from .scores import MeanIoU as MeanIoU
from .scores import OneHotIoU as OneHotIoU
from .scores import OneHotMeanIoU as OneHotMeanIoU
from .scores import R2Score as R2Score
from .thresholds import AUC as AUC
from .thresholds import FalseNegatives as FalseNegatives
from .thresholds import FalsePositives as FalsePositives
from .thresholds import Precision as Precision
from .thresholds import PrecisionAtRecall as PrecisionAtRecall
from .thresholds import Recall as Recall
from .thresholds import RecallAtPrecision as RecallAtPrecision
from .thresholds import SensitivityAtSpecificity as SensitivityAtSpecificity
from .thresholds import SpecificityAtSensitivity as SpecificityAtSensitivity
from .thresholds import TrueNegatives as TrueNegatives
from .thresholds import TruePositives as TruePositives


class _NamedMean(OfFunction, MeanMetric):
    """The mean of a function; takes the name, the dtype, and the options of the function by name."""

    def __init_subclass__(cls, function: Callable[..., Tensor], up: bool, **options: Any) -> None:
        super().__init_subclass__(function, **options)
        cls.higher_is_better = up

    def __init__(self, name: str | None = None, dtype: Any = None, **options: Any) -> None:
        self.keep_options(self.function_options(), (), options)
        kept = {option: getattr(self, option) for option in self.function_options()}
        MeanMetric.__init__(self, type(self).function, name or snake_case(type(self).__name__), **kept)

    @classmethod
    def config_arguments(cls) -> dict[str, Any]:
        return {**cls.function_options(), "name": snake_case(cls.__name__)}

    @classmethod
    def constructor_parameters(cls) -> list[inspect.Parameter] | None:
        found = super().constructor_parameters()
        if found is None:
            return None
        options = [option.replace(kind=option.KEYWORD_ONLY) for option in found[:-1]]
        return [parameter("name", None), parameter("dtype", None), *options]


class Accuracy(_NamedMean, function=functions.equal, up=True):
    """How often outputs are equal to targets.

    >>> p_vision.metrics.Accuracy()(pyburn.tensor([[1], [2]]), pyburn.tensor([[1], [3]]))
    0.5
    """


class BinaryAccuracy(_NamedMean, function=functions.binary_accuracy, up=True):
    """How often outputs above `threshold` match binary targets.

    >>> p_vision.metrics.BinaryAccuracy()(pyburn.tensor([[1.0], [0.0]]), pyburn.tensor([[0.7], [0.6]]))
    0.5
    """


class CategoricalAccuracy(_NamedMean, function=functions.categorical_accuracy, up=True):
    """How often the largest output is that of a one-hot target.

    >>> p_vision.metrics.CategoricalAccuracy()(pyburn.tensor([[0.0, 1.0], [1.0, 0.0]]), pyburn.tensor([[0.2, 0.8], [0.3, 0.7]]))
    0.5
    """


class SparseCategoricalAccuracy(_NamedMean, function=functions.sparse_categorical_accuracy, up=True):
    """How often the largest output is that of an integer class.

    >>> p_vision.metrics.SparseCategoricalAccuracy()(pyburn.tensor([1, 0]), pyburn.tensor([[0.2, 0.8], [0.3, 0.7]]))
    0.5
    """


class TopKCategoricalAccuracy(_NamedMean, function=functions.top_k_categorical_accuracy, up=True):
    """How often the class of a one-hot target is among the k largest outputs.

    Args:
        k: The number of outputs.
        name: The name of the metric.
        dtype: Accepted for compatibility; has no effect.

    >>> p_vision.metrics.TopKCategoricalAccuracy(k=2)(pyburn.tensor([[0.0, 0.0, 1.0]]), pyburn.tensor([[0.1, 0.6, 0.3]]))
    1.0
    """

    def __init__(self, k: int = 5, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name, dtype, k=k)


class SparseTopKCategoricalAccuracy(_NamedMean, function=functions.sparse_top_k_categorical_accuracy, up=True):
    """How often an integer class is among the k largest outputs.

    Args:
        k: The number of outputs.
        name: The name of the metric.
        dtype: Accepted for compatibility; has no effect.

    >>> p_vision.metrics.SparseTopKCategoricalAccuracy(k=2)(pyburn.tensor([2]), pyburn.tensor([[0.1, 0.6, 0.3]]))
    1.0
    """

    def __init__(self, k: int = 5, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name, dtype, k=k)


class CosineSimilarity(_NamedMean, function=functions.cosine, up=True):
    """The cosine similarity of targets and outputs; higher is better, unlike the loss.

    >>> p_vision.metrics.CosineSimilarity()(pyburn.tensor([[0.0, 1.0]]), pyburn.tensor([[0.0, 2.0]]))
    1.0
    """


class PearsonCorrelation(_NamedMean, function=functions.pearson_correlation, up=True):
    """The Pearson correlation of targets and outputs along an axis.

    >>> p_vision.metrics.PearsonCorrelation()(pyburn.tensor([[0.0, 1.0, 2.0]]), pyburn.tensor([[1.0, 3.0, 5.0]]))
    1.0
    """


class ConcordanceCorrelation(_NamedMean, function=functions.concordance_correlation, up=True):
    """The concordance correlation of targets and outputs along an axis: 1 only if they are equal.

    >>> p_vision.metrics.ConcordanceCorrelation()(pyburn.tensor([[0.0, 1.0, 2.0]]), pyburn.tensor([[0.0, 1.0, 2.0]]))
    1.0
    """


class MeanSquaredError(_NamedMean, function=_losses.mean_squared_error, up=False):
    """The mean of (y_true - y_pred)².

    >>> p_vision.metrics.MeanSquaredError()(pyburn.tensor([[0.0, 1.0], [2.0, 3.0]]), pyburn.tensor([[0.5, 1.0], [2.0, 1.0]]))
    1.0625
    """


class MeanAbsoluteError(_NamedMean, function=_losses.mean_absolute_error, up=False):
    """The mean of |y_true - y_pred|.

    >>> p_vision.metrics.MeanAbsoluteError()(pyburn.tensor([[0.0, 1.0], [2.0, 3.0]]), pyburn.tensor([[0.5, 1.0], [2.0, 1.0]]))
    0.625
    """


class MeanAbsolutePercentageError(_NamedMean, function=_losses.mean_absolute_percentage_error, up=False):
    """The mean of 100 |y_true - y_pred| / |y_true|.

    >>> p_vision.metrics.MeanAbsolutePercentageError()(pyburn.tensor([[1.0, 2.0]]), pyburn.tensor([[1.5, 2.0]]))
    25.0
    """


class MeanSquaredLogarithmicError(_NamedMean, function=_losses.mean_squared_logarithmic_error, up=False):
    """The mean of (log(1 + y_true) - log(1 + y_pred))².

    >>> p_vision.metrics.MeanSquaredLogarithmicError()(pyburn.tensor([[0.0]]), pyburn.tensor([[0.0]]))
    0.0
    """


class Hinge(_NamedMean, function=_losses.hinge, up=False):
    """The mean hinge loss; targets are -1 and 1, or 0 and 1.

    >>> p_vision.metrics.Hinge()(pyburn.tensor([[0.0, 1.0]]), pyburn.tensor([[0.2, 0.7]]))
    0.75
    """


class SquaredHinge(_NamedMean, function=_losses.squared_hinge, up=False):
    """The mean squared hinge loss; targets are -1 and 1, or 0 and 1.

    >>> p_vision.metrics.SquaredHinge()(pyburn.tensor([[0.0, 1.0]]), pyburn.tensor([[0.0, 1.0]]))
    0.5
    """


class CategoricalHinge(_NamedMean, function=_losses.categorical_hinge, up=False):
    """The mean categorical hinge loss of one-hot targets.

    >>> p_vision.metrics.CategoricalHinge()(pyburn.tensor([[0.0, 1.0]]), pyburn.tensor([[0.0, 1.0]]))
    0.0
    """


class KLDivergence(_NamedMean, function=_losses.kl_divergence, up=False):
    """The mean Kullback-Leibler divergence of distributions.

    >>> p_vision.metrics.KLDivergence()(pyburn.tensor([[0.5, 0.5]]), pyburn.tensor([[0.5, 0.5]]))
    0.0
    """


class Poisson(_NamedMean, function=_losses.poisson, up=False):
    """The mean Poisson loss.

    >>> p_vision.metrics.Poisson()(pyburn.tensor([[1.0]]), pyburn.tensor([[1.0]]))
    0.9999998807907104
    """


class LogCoshError(_NamedMean, function=_losses.log_cosh, up=False):
    """The mean of log(cosh(y_pred - y_true)).

    >>> p_vision.metrics.LogCoshError()(pyburn.tensor([[1.0]]), pyburn.tensor([[1.0]]))
    0.0
    """


class BinaryCrossentropy(_NamedMean, function=_losses.binary_crossentropy, up=False):
    """The mean cross entropy of binary targets and probabilities, or logits.

    >>> p_vision.metrics.BinaryCrossentropy(from_logits=True)(pyburn.tensor([[1.0]]), pyburn.tensor([[0.0]]))
    0.6931471824645996
    """


class CategoricalCrossentropy(_NamedMean, function=_losses.categorical_crossentropy, up=False):
    """The mean cross entropy of one-hot targets and class probabilities, or logits.

    >>> p_vision.metrics.CategoricalCrossentropy()(pyburn.tensor([[1.0, 0.0]]), pyburn.tensor([[0.5, 0.5]]))
    0.6931471824645996
    """


class SparseCategoricalCrossentropy(_NamedMean, function=_losses.sparse_categorical_crossentropy, up=False):
    """The mean cross entropy of integer classes and class probabilities, or logits.

    >>> p_vision.metrics.SparseCategoricalCrossentropy()(pyburn.tensor([0]), pyburn.tensor([[0.5, 0.5]]))
    0.6931471824645996
    """


class RootMeanSquaredError(MeanMetric):
    """The square root of the mean of (y_true - y_pred)².

    Args:
        name: The name of the metric.
        dtype: Accepted for compatibility; has no effect.

    >>> p_vision.metrics.RootMeanSquaredError()(pyburn.tensor([[0.0, 0.0]]), pyburn.tensor([[3.0, 3.0]]))
    3.0
    """

    higher_is_better = False

    def __init__(self, name: str = "root_mean_squared_error", dtype: Any = None) -> None:
        super().__init__(_losses.mean_squared_error, name)

    @classmethod
    def config_arguments(cls) -> dict[str, Any]:
        return {"name": "root_mean_squared_error"}

    def compute(self) -> Any:
        return math.sqrt(super().compute())


MeanMetricWrapper = MeanMetric  # Keras's name

_FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    **losses.FUNCTIONS,
    **{name: getattr(functions, name) for name in functions.__all__},
    "acc": functions.accuracy,
}
globals().update(_FUNCTIONS)
_SCORES = (AUC, Precision, Recall, RootMeanSquaredError, R2Score, F1Score, TruePositives, TrueNegatives, FalsePositives, FalseNegatives)
_CLASSES = {**{snake_case(cls.__name__): cls for cls in _SCORES}, "rmse": RootMeanSquaredError}


def _of_callable(found: Any, name: str | None) -> Any:
    """Makes a metric of a metric of pyburn.train, or of a function of (y_true, y_pred)."""
    if isinstance(found, type):
        found = found()
    if isinstance(found, train.metrics.Metric):
        return _OfLearner(found)
    return found if hasattr(found, "update_state") and hasattr(found, "result") else MeanMetric(found, name)


get = Registry("metric", Metric, {**_FUNCTIONS, **_CLASSES}, wrap=_of_callable)
deserialize = get.deserialize
__all__ = [name for name, value in globals().items() if isinstance(value, type) and issubclass(value, Metric) and name[0] != "_"]
__all__ += [*_FUNCTIONS, "deserialize", "get", "serialize"]
