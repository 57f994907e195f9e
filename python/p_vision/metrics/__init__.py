"""Metrics by name or as objects with options."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pyburn import Tensor

from .. import losses
from ..configured import Named, arguments_of, deserializer, serialize, snake_case
from .area import AUC
from .counted import (
    BinaryIoU,
    F1Score,
    FalseNegatives,
    FalsePositives,
    FBetaScore,
    IoU,
    MeanIoU,
    Precision,
    R2Score,
    Recall,
    TrueNegatives,
    TruePositives,
)
from .functions import (
    accuracy,
    binary_accuracy,
    categorical_accuracy,
    equal,
    sparse_categorical_accuracy,
    sparse_top_k_categorical_accuracy,
    top_k_categorical_accuracy,
)
from .metric import Mean, MeanMetric, Metric, Sum
from .thresholds import (
    OneHotIoU,
    OneHotMeanIoU,
    PrecisionAtRecall,
    RecallAtPrecision,
    SensitivityAtSpecificity,
    SpecificityAtSensitivity,
    concordance_correlation,
    pearson_correlation,
)


class _NamedMean(MeanMetric):
    """The mean of a function; takes the options of the function and the name."""

    _direction = "down"
    function: Callable[..., Tensor]

    def __init__(self, name: str | None = None, dtype: Any = None, **options: Any) -> None:
        known = self._known()
        unknown = [key for key in options if key not in known]
        if unknown:
            raise TypeError(f"{type(self).__name__}() takes {', '.join(['name', *known])}: got {unknown[0]!r}")
        super().__init__(type(self).function, name or snake_case(type(self).__name__), **options)
        self.__dict__.update({**known, **options})

    @classmethod
    def _known(cls) -> dict[str, Any]:
        return dict(list(arguments_of(cls.function).items())[1:])

    @classmethod
    def config_arguments(cls) -> dict[str, Any]:
        return {**cls._known(), "name": snake_case(cls.__name__)}


class Accuracy(_NamedMean):
    _direction = "up"
    function = staticmethod(equal)


class BinaryAccuracy(_NamedMean):
    _direction = "up"
    function = staticmethod(binary_accuracy)


class CategoricalAccuracy(_NamedMean):
    _direction = "up"
    function = staticmethod(categorical_accuracy)


class SparseCategoricalAccuracy(_NamedMean):
    _direction = "up"
    function = staticmethod(sparse_categorical_accuracy)


class TopKCategoricalAccuracy(_NamedMean):
    _direction = "up"
    function = staticmethod(top_k_categorical_accuracy)

    def __init__(self, k: int = 5, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name, dtype, k=k)


class SparseTopKCategoricalAccuracy(_NamedMean):
    _direction = "up"
    function = staticmethod(sparse_top_k_categorical_accuracy)

    def __init__(self, k: int = 5, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name, dtype, k=k)


class MeanSquaredError(_NamedMean):
    function = staticmethod(losses.mean_squared_error)


class MeanAbsoluteError(_NamedMean):
    function = staticmethod(losses.mean_absolute_error)


class MeanAbsolutePercentageError(_NamedMean):
    function = staticmethod(losses.mean_absolute_percentage_error)


class MeanSquaredLogarithmicError(_NamedMean):
    function = staticmethod(losses.mean_squared_logarithmic_error)


class Hinge(_NamedMean):
    function = staticmethod(losses.hinge)


class SquaredHinge(_NamedMean):
    function = staticmethod(losses.squared_hinge)


class CategoricalHinge(_NamedMean):
    function = staticmethod(losses.categorical_hinge)


class KLDivergence(_NamedMean):
    function = staticmethod(losses.kl_divergence)


class Poisson(_NamedMean):
    function = staticmethod(losses.poisson)


class LogCoshError(_NamedMean):
    function = staticmethod(losses.log_cosh)


class BinaryCrossentropy(_NamedMean):
    function = staticmethod(losses.binary_crossentropy)


class CategoricalCrossentropy(_NamedMean):
    function = staticmethod(losses.categorical_crossentropy)


class SparseCategoricalCrossentropy(_NamedMean):
    function = staticmethod(losses.sparse_categorical_crossentropy)


class CosineSimilarity(_NamedMean):
    """The cosine similarity of targets and outputs; higher is better, unlike the loss."""

    _direction = "up"

    @staticmethod
    def function(y_true: Tensor, y_pred: Tensor, axis: int = -1) -> Tensor:  # type: ignore[override]
        return -losses.cosine_similarity(y_true, y_pred, axis)


class PearsonCorrelation(_NamedMean):
    _direction = "up"
    function = staticmethod(pearson_correlation)


class ConcordanceCorrelation(_NamedMean):
    _direction = "up"
    function = staticmethod(concordance_correlation)


class RootMeanSquaredError(MeanMetric):
    _direction = "down"

    def __init__(self, name: str = "root_mean_squared_error", dtype: Any = None) -> None:
        super().__init__(losses.mean_squared_error, name)

    @classmethod
    def config_arguments(cls) -> dict[str, Any]:
        return {"name": "root_mean_squared_error"}

    def result(self) -> float:
        return math.sqrt(super().result())


MeanMetricWrapper = MeanMetric  # Keras's name

_FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    **losses.FUNCTIONS,
    "pearson_correlation": pearson_correlation,
    "concordance_correlation": concordance_correlation,
    "accuracy": accuracy,
    "acc": accuracy,
    "binary_accuracy": binary_accuracy,
    "categorical_accuracy": categorical_accuracy,
    "sparse_categorical_accuracy": sparse_categorical_accuracy,
    "top_k_categorical_accuracy": top_k_categorical_accuracy,
    "sparse_top_k_categorical_accuracy": sparse_top_k_categorical_accuracy,
}
globals().update(_FUNCTIONS)
_COUNTS = (R2Score, F1Score, TruePositives, TrueNegatives, FalsePositives, FalseNegatives)
_CLASSES: dict[str, Callable[[], Metric]] = {
    **{snake_case(cls.__name__): cls for cls in (RootMeanSquaredError, *_COUNTS)},
    "auc": AUC,
    "precision": Precision,
    "recall": Recall,
    "rmse": RootMeanSquaredError,
}
_named = Named("metric", {**_FUNCTIONS, **_CLASSES})


def get(identifier: Any) -> Any:
    """Returns the metric for a name, a class, an object with `update_state` and `result`, or a function of (y_true, y_pred)."""
    if isinstance(identifier, str):
        found = _named(identifier)
        return found() if identifier.lower() in _CLASSES else MeanMetric(found, identifier)
    if isinstance(identifier, type) and issubclass(identifier, Metric):
        return identifier()
    if hasattr(identifier, "update_state") and hasattr(identifier, "result"):
        return identifier
    if isinstance(identifier, dict):
        return deserialize(identifier)
    if callable(identifier):
        return MeanMetric(identifier)
    raise TypeError(f"a metric is a name, a Metric or a function of (y_true, y_pred): got {identifier!r}")


deserialize = deserializer(get)
__all__ = [
    "AUC",
    "BinaryIoU",
    "F1Score",
    "FBetaScore",
    "FalseNegatives",
    "FalsePositives",
    "IoU",
    "Mean",
    "MeanIoU",
    "MeanMetric",
    "MeanMetricWrapper",
    "Metric",
    "Precision",
    "R2Score",
    "Recall",
    "Sum",
    "TrueNegatives",
    "TruePositives",
    "Accuracy",
    "BinaryAccuracy",
    "CategoricalAccuracy",
    "SparseCategoricalAccuracy",
    "TopKCategoricalAccuracy",
    "SparseTopKCategoricalAccuracy",
    "MeanSquaredError",
    "MeanAbsoluteError",
    "MeanAbsolutePercentageError",
    "MeanSquaredLogarithmicError",
    "Hinge",
    "SquaredHinge",
    "CategoricalHinge",
    "KLDivergence",
    "Poisson",
    "LogCoshError",
    "BinaryCrossentropy",
    "CategoricalCrossentropy",
    "SparseCategoricalCrossentropy",
    "CosineSimilarity",
    "RootMeanSquaredError",
    "ConcordanceCorrelation",
    "OneHotIoU",
    "OneHotMeanIoU",
    "PearsonCorrelation",
    "PrecisionAtRecall",
    "RecallAtPrecision",
    "SensitivityAtSpecificity",
    "SpecificityAtSensitivity",
    *_FUNCTIONS,
    "deserialize",
    "get",
    "serialize",
]
