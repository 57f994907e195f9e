"""Metric: a number over a stream of batches, exact whatever the sizes of the batches, and mergeable."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ..._core import Tensor, bfloat16
from ...tensor import from_numpy


def array(value: Any) -> np.ndarray:
    """Tensors of any device, arrays and lists as an array."""
    if isinstance(value, Tensor):
        value = value.detach()
        return (value.float() if value.dtype == bfloat16 else value).cpu().numpy()
    return np.asarray(value)


class Metric:
    """Batches go in with `update`, the value over all of them comes out of `compute`; `reset` starts over.

    A subclass gives `initial()`, the names and first values of its state, and works on `self.state`. Numbers and arrays of a state are
    sums, lists are collected: that is how `merge`, `state_dict` and `load_state_dict` know what to do. Of two metrics that saw two parts
    of the data, `a.merge(b)` makes `a` what it would be after both.

    >>> class Longest(pyburn.train.metrics.Metric):
    ...     higher_is_better = None
    ...     def initial(self):
    ...         return {"lengths": []}
    ...     def update(self, output, target=None):
    ...         self.state["lengths"].append(np.array([len(output)]))
    ...     def compute(self):
    ...         return float(np.max(self.state["lengths"]))
    >>> import numpy as np
    >>> metric = Longest()
    >>> metric.update("abc")
    >>> metric.compute()
    3.0
    """

    higher_is_better: bool | None = True
    unit = ""
    live = False  # whether the value of one batch says something, so that it is worth a curve while training

    def __init__(self, name: str | None = None) -> None:
        if name is not None and not isinstance(name, str):
            raise TypeError(f"[{type(self).__name__}] the name of a metric is text: got {name!r}")
        self.name = name or type(self).__name__.lower()
        self.state: dict[str, Any] = {}
        self.reset()

    def initial(self) -> dict[str, Any]:
        raise NotImplementedError(f"{type(self).__name__}.initial")

    def update(self, output: Any, target: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__}.update")

    def compute(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__}.compute")

    def table(self) -> dict[str, Any] | None:
        """For results that are no number: what `Run.log_table` takes. A metric with a table is left out of the curves."""
        return None

    def __call__(self, output: Any, target: Any) -> Any:
        """The value of one batch alone, which also goes into the total."""
        alone = self.fresh()
        alone.update(output, target)
        self.merge(alone)
        return alone.compute()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r})"

    def reset(self) -> None:
        self.state = self.initial()

    def fresh(self) -> Any:
        """A metric with the same options that has seen nothing."""
        other = copy.copy(self)
        other.reset()
        return other

    def merge(self, other: Metric) -> None:
        if type(other) is not type(self):
            raise TypeError(f"[merge] expected a {type(self).__name__}: got a {type(other).__name__}")
        for key, mine in self.state.items():
            self.state[key] = _joined(mine, other.state[key])

    def state_dict(self) -> dict[str, Any]:
        """What it has seen, as tensors and numbers that `pyburn.save` writes."""
        return {key: _saved(value) for key, value in self.state.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        expected = self.initial()
        if set(state) != set(expected):
            raise KeyError(f"[load_state_dict] the state of {self!r} has keys {sorted(expected)}: got {sorted(state)}")
        self.state = {key: _loaded(value) for key, value in state.items()}


def _joined(mine: Any, theirs: Any) -> Any:
    if isinstance(mine, list):
        return mine + theirs
    if isinstance(mine, np.ndarray) and mine.shape != theirs.shape:  # classes that only one of them has met
        shape = tuple(max(a, b) for a, b in zip(mine.shape, theirs.shape))
        return grown(mine, shape) + grown(theirs, shape)
    return mine + theirs


def grown(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """With zeros at the end of each axis."""
    return np.pad(values, [(0, max(0, new - old)) for old, new in zip(values.shape, shape)])


def _saved(value: Any) -> Any:
    if isinstance(value, list):
        return [_saved(item) for item in value]
    if isinstance(value, np.ndarray):
        return from_numpy(np.ascontiguousarray(value)) if value.ndim else {"number": value.item()}
    return value.item() if isinstance(value, np.generic) else value


def _loaded(value: Any) -> Any:
    if isinstance(value, list):
        return [_loaded(item) for item in value]
    if isinstance(value, dict):
        return np.asarray(value["number"])
    return array(value).copy() if isinstance(value, Tensor) else value


def class_axis(scores: np.ndarray, target: np.ndarray) -> int | None:
    """Where the classes are: the axis without which the shapes agree, as PyTorch's cross_entropy the second before the last. None
    if the shapes are equal, so that `scores` are classes already."""
    if scores.shape == target.shape:
        return None
    for axis in (1, -1) if scores.ndim > 1 else ():
        shape = list(scores.shape)
        del shape[axis]
        if tuple(shape) == target.shape:
            return axis
    if scores.ndim == 1 and target.ndim == 0:
        return 0
    raise ValueError(f"[metrics] scores need the axes of the targets and one of classes: got {scores.shape} and {target.shape}")


def as_rows(output: Any, target: Any, ignore_index: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Scores as (items, classes), or classes as (items,), and targets as (items,), without those to be ignored."""
    scores, truth = array(output), array(target)
    axis = class_axis(scores, truth)
    scores = scores.reshape(-1) if axis is None else np.moveaxis(scores, axis, -1).reshape(-1, scores.shape[axis])
    truth = truth.reshape(-1)
    if ignore_index is not None:
        kept = truth != ignore_index
        scores, truth = scores[kept], truth[kept]
    return scores, truth


def as_classes(values: np.ndarray, what: str) -> np.ndarray:
    """Whole numbers from 0 up."""
    if values.dtype.kind == "b":
        return values.astype(np.int64)
    if values.dtype.kind not in "iu":
        whole = values.astype(np.int64)
        if not np.array_equal(whole, values):
            raise ValueError(f"[metrics] {what} must be numbers of classes, or scores with an axis of classes: got {values.dtype}")
        values = whole
    if values.size and values.min() < 0:
        raise ValueError(f"[metrics] numbers of classes start at 0 (ignore_index leaves some out): got {values.min()} in {what}")
    return values.astype(np.int64)


def probabilities(output: np.ndarray, logits: bool) -> np.ndarray:
    """Of independent labels."""
    values = output.astype(np.float64)
    if logits:
        with np.errstate(over="ignore"):
            values = 1 / (1 + np.exp(-values))
    return values
