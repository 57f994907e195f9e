"""Metrics by name or as objects with options."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pyburn import Tensor, train

from .. import losses
from ..configured import OfFunction, Registry, serialize, snake_case
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


class Accuracy(_NamedMean, function=functions.equal, up=True): ...


class BinaryAccuracy(_NamedMean, function=functions.binary_accuracy, up=True): ...


class CategoricalAccuracy(_NamedMean, function=functions.categorical_accuracy, up=True): ...


class SparseCategoricalAccuracy(_NamedMean, function=functions.sparse_categorical_accuracy, up=True): ...


class TopKCategoricalAccuracy(_NamedMean, function=functions.top_k_categorical_accuracy, up=True):
    def __init__(self, k: int = 5, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name, dtype, k=k)


class SparseTopKCategoricalAccuracy(_NamedMean, function=functions.sparse_top_k_categorical_accuracy, up=True):
    def __init__(self, k: int = 5, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name, dtype, k=k)


class CosineSimilarity(_NamedMean, function=functions.cosine, up=True):
    """The cosine similarity of targets and outputs; higher is better, unlike the loss."""


class PearsonCorrelation(_NamedMean, function=functions.pearson_correlation, up=True): ...


class ConcordanceCorrelation(_NamedMean, function=functions.concordance_correlation, up=True): ...


class MeanSquaredError(_NamedMean, function=_losses.mean_squared_error, up=False): ...


class MeanAbsoluteError(_NamedMean, function=_losses.mean_absolute_error, up=False): ...


class MeanAbsolutePercentageError(_NamedMean, function=_losses.mean_absolute_percentage_error, up=False): ...


class MeanSquaredLogarithmicError(_NamedMean, function=_losses.mean_squared_logarithmic_error, up=False): ...


class Hinge(_NamedMean, function=_losses.hinge, up=False): ...


class SquaredHinge(_NamedMean, function=_losses.squared_hinge, up=False): ...


class CategoricalHinge(_NamedMean, function=_losses.categorical_hinge, up=False): ...


class KLDivergence(_NamedMean, function=_losses.kl_divergence, up=False): ...


class Poisson(_NamedMean, function=_losses.poisson, up=False): ...


class LogCoshError(_NamedMean, function=_losses.log_cosh, up=False): ...


class BinaryCrossentropy(_NamedMean, function=_losses.binary_crossentropy, up=False): ...


class CategoricalCrossentropy(_NamedMean, function=_losses.categorical_crossentropy, up=False): ...


class SparseCategoricalCrossentropy(_NamedMean, function=_losses.sparse_categorical_crossentropy, up=False): ...


class RootMeanSquaredError(MeanMetric):
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
