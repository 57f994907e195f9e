"""The training objective of a compiled model: losses and metrics of its outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyburn
from pyburn import Tensor
from pyburn._nested import leaves

from . import losses, metrics
from .metrics.metric import Mean
from .symbolic.masks import mask_of, with_mask

_AUXILIARY = 0.3  # the weight of auxiliary losses, as in the GoogLeNet paper


class Objective:
    """The losses, loss weights and metrics of each output. Their values over an epoch become the logs."""

    def __init__(self, loss: Any, loss_weights: Any, metric: Any, weighted_metrics: Any) -> None:
        self.loss, self.loss_weights, self.metric, self.weighted_metrics = loss, loss_weights, metric, weighted_metrics
        for item in leaves(loss):
            if isinstance(item, str):
                losses.get(item)  # unknown names raise here rather than at the first batch
        wrong = [weight for weight in leaves(loss_weights) if not isinstance(weight, (int, float))]
        if wrong:
            raise TypeError(f"[compile] loss_weights are numbers: got {wrong[0]!r}; metrics are given by name, metrics=[...]")
        self.total = Mean("loss")
        self._names: list[str] | None = None
        self._losses: list[Any] = []
        self._weights: list[float] = []
        self._parts: list[Mean] = []
        self._metrics: list[tuple[int, str, Any, bool]] = []  # output, name, metric, weighted

    def prepare(self, names: list[str]) -> None:
        """Assigns losses and metrics to the outputs; called when the outputs are known."""
        if self._names is not None and len(self._names) == len(names):
            return
        self._names = names
        chosen = per_output(self.loss, names, "loss")
        self._losses = [None if loss is None else losses.get(loss) for loss in chosen]
        given = per_output(self.loss_weights, names, "loss_weights") if self.loss_weights is not None else [1.0] * len(names)
        self._weights = [1.0 if weight is None else float(weight) for weight in given]
        self._parts = [Mean(f"{name}_loss") for name in names] if len(names) > 1 else []
        self._metrics = self._apart(self._named_metrics(self.metric, names, False), self._named_metrics(self.weighted_metrics, names, True))

    def _named_metrics(self, given: Any, names: list[str], weighted: bool) -> list[tuple[int, str, Any, bool]]:
        found = []
        for index, chosen in enumerate(_metrics_per_output(given, names)):
            for item in chosen:
                metric = metrics.get(item)
                name = getattr(metric, "name", type(metric).__name__)
                found.append((index, f"{names[index]}_{name}" if len(names) > 1 else name, metric, weighted))
        return found

    @staticmethod
    def _apart(plain: list[Any], weighted: list[Any]) -> list[Any]:
        """Returns all metrics; a weighted metric with the name of an unweighted one is renamed to weighted_..."""
        taken = {name for _, name, _, _ in plain}
        return plain + [(i, f"weighted_{name}" if name in taken else name, metric, w) for i, name, metric, w in weighted]

    def loss_of(self, y_true: Any, output: Any, sample_weight: Any, names: list[str]) -> Tensor:
        """Computes the loss to minimize."""
        y_pred, auxiliary = _outputs(output)
        if isinstance(output, Mapping):  # the output of a subclassed model: its keys are the names
            names = list(output)
        self.prepare(names if len(names) == len(y_pred) else [f"output_{i}" for i in range(len(y_pred))])
        targets, weights = _listed(y_true, self._names or []), _listed(sample_weight, self._names or [])
        if all(loss is None for loss in self._losses):
            return pyburn.zeros((), device=y_pred[0].device)
        if len(targets) != len(y_pred):
            if not targets:
                raise ValueError("[fit] the loss needs targets: give y, or data with (x, y)")
            raise ValueError(f"[fit] the model has {len(y_pred)} outputs: got targets for {len(targets)}")
        weights = weights if len(weights) == len(y_pred) else (weights or [None]) * len(y_pred)
        total: Any = 0.0
        for index, (loss, target, predicted) in enumerate(zip(self._losses, targets, y_pred)):
            if loss is None:
                continue
            value = loss(target, predicted, weights[index])
            for part in auxiliary:
                value = value + _AUXILIARY * loss(target, part, weights[index])
            if value.ndim:
                raise ValueError("[compile] a model is trained with one number: give the loss a reduction")
            if self._parts:
                self._parts[index].add(value.detach() * len(predicted), len(predicted))
            total = total + self._weights[index] * value
        return total

    def update(self, loss: Tensor, y_true: Any, output: Any, sample_weight: Any) -> None:
        """Adds a batch to the logged values."""
        y_pred, _ = _outputs(output)
        count = len(y_pred[0])
        self.total.add(loss.detach() * count, count)
        targets, weights = _listed(y_true, self._names or []), _listed(sample_weight, self._names or [])
        for index, _, metric, weighted in self._metrics if targets else ():
            weight = weights[min(index, len(weights) - 1)] if weighted and weights else None
            metric.update_state(targets[index], with_mask(y_pred[index].detach(), mask_of(y_pred[index])), weight)

    def logs(self) -> dict[str, float]:
        """Returns the loss and the metrics since the last reset."""
        found = {"loss": self.total.result()}
        found.update((part.name, part.result()) for part in self._parts)
        found.update((name, as_number(metric.result())) for _, name, metric, _ in self._metrics)
        return found

    def named_metrics(self) -> list[tuple[str, Any]]:
        """Returns the metrics without the losses, with their names in the logs."""
        return [(name, metric) for _, name, metric, _ in self._metrics]

    def all_metrics(self) -> list[Any]:
        """Returns the loss, the losses of several outputs and the metrics."""
        return [self.total, *self._parts, *(metric for _, _, metric, _ in self._metrics)]


def as_number(value: Any) -> Any:
    """Converts the result of a metric to a number, or to an array if it has several values."""
    if getattr(value, "ndim", 0):
        return value.detach().to("cpu").numpy() if isinstance(value, Tensor) else value
    return float(value)


def _outputs(output: Any) -> tuple[list[Tensor], list[Tensor]]:
    """Splits outputs into main and auxiliary ones, which torchvision's models return in a named tuple with `logits`."""
    if isinstance(output, tuple) and "logits" in getattr(output, "_fields", ()):
        logits = output.logits  # type: ignore[attr-defined]
        return [logits], [part for part in output if part is not logits and isinstance(part, Tensor)]
    return list(leaves(output)), []


def _listed(value: Any, names: list[str]) -> list[Any]:
    """Returns a list of values by output; dicts are looked up by the names of the outputs."""
    if value is None:
        return []
    if isinstance(value, Mapping):
        return [value[name] for name in names] if all(name in value for name in names) else list(leaves(value))
    return list(value) if isinstance(value, (list, tuple)) else [value]


def per_output(value: Any, names: list[str], what: str) -> list[Any]:
    """Returns a list with one value per output, from a single value, a list or a dict by name."""
    if isinstance(value, Mapping):
        unknown = [name for name in value if name not in names]
        if unknown:
            raise ValueError(f"[compile] {what} names an output that is not there: got {unknown[0]!r} (outputs: {', '.join(names)})")
        return [value.get(name) for name in names]
    if isinstance(value, (list, tuple)):
        if len(value) != len(names):
            raise ValueError(f"[compile] expected {what} for {len(names)} outputs: got {len(value)}")
        return list(value)
    return [value] * len(names)


def _metrics_per_output(given: Any, names: list[str]) -> list[list[Any]]:
    if given is None:
        return [[] for _ in names]
    if isinstance(given, Mapping):
        chosen = per_output(given, names, "metrics")
        return [[] if item is None else list(item) if isinstance(item, (list, tuple)) else [item] for item in chosen]
    items = list(given) if isinstance(given, (list, tuple)) else [given]
    if len(names) > 1 and len(items) == len(names) and all(item is None or isinstance(item, (list, tuple)) for item in items):
        return [list(item or ()) for item in items]
    return [items for _ in names]


def default_loss(y: Any, last: Any) -> Any:
    """Chooses the loss of a model that is not compiled: a cross entropy for integer targets or a softmax or sigmoid output, else mean
    squared error.

    Args:
        y: The targets.
        last: The name of the last activation.

    Raises:
        ValueError: There are no targets.
    """
    target = next(leaves(y), None)
    if target is None:
        raise ValueError("training needs targets: give data with (x, y), or compile the model with a loss of your own")
    dtype = pyburn.as_tensor(target).dtype
    if not dtype.is_floating_point:
        if last == "sigmoid":
            return losses.BinaryCrossentropy()
        return losses.SparseCategoricalCrossentropy(from_logits=last != "softmax")
    if last == "softmax":
        return losses.CategoricalCrossentropy()
    return losses.BinaryCrossentropy() if last == "sigmoid" else losses.MeanSquaredError()
