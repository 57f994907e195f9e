"""Metrics by name, and lists and dicts of them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from .confusion import F1, ConfusionMatrix, Dice, FBeta, HammingLoss, HammingScore, IoU, Precision, Recall
from .means import Accuracy, Perplexity, TopKAccuracy
from .metric import Metric
from .ranking import AUPRC, AUROC
from .regression import MAE, MSE, R2, RMSE
from .text import CER, WER
from .text_scores import Bleu, RougeL

_KINDS = (Accuracy, AUPRC, AUROC, Bleu, CER, Dice, F1, FBeta, IoU, MAE, MSE, Perplexity, Precision, R2, Recall, RMSE, WER)
_TWO_WORDS: dict[str, type[Metric]] = {"hamming_loss": HammingLoss, "hamming_score": HammingScore, "rouge_l": RougeL, "top_k": TopKAccuracy}
_BY_NAME = dict(sorted({**{kind.__name__.lower(): kind for kind in _KINDS}, **_TWO_WORDS, "confusion": ConfusionMatrix}.items()))


def metric_by_name(name: str, **options: Any) -> Metric:
    """Creates a metric from its name, as used in configurations.

    Args:
        name: The name, such as "accuracy".
        **options: Arguments for the metric class.

    Returns:
        The metric.

    Raises:
        ValueError: The name is unknown.

    >>> pyburn.train.metrics.metric_by_name("f1", average="micro")
    F1(name='f1')
    """
    if name not in _BY_NAME:
        close = difflib.get_close_matches(name, _BY_NAME, 1)
        hint = f": did you mean {close[0]!r}?" if close else "."
        raise ValueError(f"[metrics] unknown metric {name!r}{hint} Expected one of {', '.join(_BY_NAME)}")
    return _BY_NAME[name](**options)


def _metric(given: Any) -> Any:
    """Returns the metric of a name; a metric of another interface, such as Keras's, has the class of its adapter as `learner_adapter`."""
    if isinstance(given, str):
        return metric_by_name(given)
    adapter = None if isinstance(given, Metric) else getattr(type(given), "learner_adapter", None)
    return given if adapter is None else adapter(given)


def metrics_from(given: Any) -> dict[str, Metric]:
    """Returns metrics by name, from a dict or from a list of metrics and metric names.

    Args:
        given: A dict of metrics by name, or a list of metrics and names.

    Raises:
        TypeError: An item is neither a Metric nor a name.
        ValueError: A name is used twice, or is "loss" or "lr".

    >>> list(pyburn.train.metrics.metrics_from(["accuracy", pyburn.train.metrics.F1("f1_macro")]))
    ['accuracy', 'f1_macro']
    """
    if given is None:
        return {}
    if isinstance(given, (str, Metric)) or hasattr(type(given), "learner_adapter"):
        given = [given]
    if isinstance(given, Mapping):
        items: Iterable[tuple[str, Any]] = given.items()
        found = {name: _metric(metric) for name, metric in items}
    else:
        listed = [_metric(metric) for metric in given]
        found = {}
        for metric in listed:
            if getattr(metric, "name", None) in found:
                raise ValueError(f"[metrics] two metrics are called {metric.name!r}: give one of them another name")
            found[getattr(metric, "name", "")] = metric
    for name, metric in found.items():
        if not isinstance(metric, Metric):
            raise TypeError(f"[metrics] expected metrics or their names: got {metric!r} ({name!r})")
        if name in ("loss", "lr"):
            raise ValueError(f"[metrics] {name!r} is always there: give the metric another name")
    return found
