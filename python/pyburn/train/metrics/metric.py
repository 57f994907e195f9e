"""Metric: a value over a stream of batches, exact for any batch sizes and mergeable."""

from __future__ import annotations

import copy
import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._core import DeviceError, DTypeError, Tensor, bfloat16, cat, float32, float64, int8, int16, int32, int64, stack, uint8, where, zeros
from ...tensor import from_numpy

MOST_WAITING = 512  # batches
_MOST_BYTES = 2**24  # of copied batches
_INTEGERS = (int64, int32, uint8, int16, int8)


def array(value: Any) -> np.ndarray:
    """Converts tensors of any device, arrays and lists to a NumPy array."""
    if isinstance(value, Tensor):
        value = value.detach()
        return (value.float() if value.dtype == bfloat16 else value).cpu().numpy()
    return np.asarray(value)


class Metric:
    """Base class of streaming metrics: `update` adds a batch, `compute` returns the value over all batches, `reset` starts over.

    A subclass implements `initial()`, which returns the names and initial values of its state, and works on `self.state`. Numbers and
    arrays in the state are sums, lists are concatenated; `merge`, `state_dict` and `load_state_dict` rely on this. `a.merge(b)` makes `a`
    the metric of both parts of the data.

    A subclass implements `update`, or `measure` instead. With `measure`, batches of tensors wait on their device and are processed as
    arrays when the state is accessed, so that training does not synchronize with the device. With `sums` as well, only the contribution of
    a batch waits, not a copy of it.

    Attributes:
        higher_is_better: Whether higher values are better; None if neither.
        live: Whether the value of a single batch is meaningful enough to plot during training.
        exact: Whether the result is bit-identical however the data is split into batches.

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
    live = False
    _waiting: list[Any]  # per batch: its sums, or a copy of it
    exact = True

    def __init__(self, name: str | None = None) -> None:
        if name is not None and not isinstance(name, str):
            raise TypeError(f"[{type(self).__name__}] the name of a metric is text: got {name!r}")
        self.name = name or type(self).__name__.lower()
        self.reset()

    def initial(self) -> dict[str, Any]:
        """Returns the initial state: numbers, arrays and lists by name."""
        raise NotImplementedError(f"{type(self).__name__}.initial")

    def update(self, output: Any, target: Any) -> None:
        """Adds a batch.

        Args:
            output: The outputs of the model.
            target: The targets.
        """
        if not (isinstance(output, Tensor) and isinstance(target, Tensor)):
            self.measure(output, target)
            return
        try:
            sums = self.sums(output, target)
        except DeviceError:
            sums = self.sums(output, target.to(device=output.device))
        if sums is None:
            self._keep(output, target)
        else:
            self._waiting.append(sums)
        if len(self._waiting) >= MOST_WAITING:
            self._settle()

    def _keep(self, output: Tensor, target: Tensor) -> None:
        """Copies a batch, since the caller may change its tensors in place; large batches are measured immediately."""
        size = output.nbytes + target.nbytes
        if size > _MOST_BYTES or not (output.dim() and target.dim()):
            self.measure(output, target)
            return
        self._waiting.append((output.detach().clone(), target.detach().clone()))
        self._bytes += size
        if self._bytes > _MOST_BYTES:
            self._settle()

    def measure(self, output: Any, target: Any) -> None:
        """Adds a batch of tensors, arrays or lists to the state.

        Args:
            output: The outputs of the model.
            target: The targets.
        """
        raise NotImplementedError(f"{type(self).__name__}.update")

    def sums(self, output: Tensor, target: Tensor) -> dict[str, Any] | None:
        """Returns what a batch adds to the state: detached tensors on its device, or numbers. None if the batch needs `measure`.

        Args:
            output: The outputs of the model.
            target: The targets.
        """
        return None

    def take(self, sums: dict[str, Sequence[Any]]) -> None:
        """Adds the sums of several batches, now numbers and arrays, to the state.

        Args:
            sums: The sums of the batches by name.
        """
        for key, amounts in sums.items():
            total = self._state[key]
            for amount in amounts:  # one by one, so that rounding does not depend on how many are added at once
                total = total + amount
            self._state[key] = total

    @property
    def state(self) -> dict[str, Any]:
        """The accumulated state. Accessing it reads pending batches from the device."""
        if self._waiting:
            self._settle()
        return self._state

    @state.setter
    def state(self, state: dict[str, Any]) -> None:
        self._state = state

    def _settle(self) -> None:
        """Processes pending batches, grouped by kind: one transfer per tensor of a batch, not one per batch."""
        waiting, self._waiting, self._bytes = self._waiting, [], 0
        for _, group in itertools.groupby(waiting, key=_kind):
            batches = list(group)
            if isinstance(batches[0], dict):
                self.take({name: numbers([sums[name] for sums in batches]) for name in batches[0]})
                continue
            output, target = (array(cat(list(column))) for column in zip(*batches))
            lengths = [len(output)] if self.exact else [len(batch[0]) for batch in batches]
            for start, end in itertools.pairwise(itertools.accumulate(lengths, initial=0)):
                self.measure(output[start:end], target[start:end])

    def compute(self) -> Any:
        """Returns the value over all batches so far."""
        raise NotImplementedError(f"{type(self).__name__}.compute")

    def table(self) -> dict[str, Any] | None:
        """Returns a result that is not a number, for `Run.log_table`, or None. Metrics with a table are not plotted as curves."""
        return None

    def __call__(self, output: Any, target: Any) -> Any:
        """Returns the value of this batch alone, and adds the batch to the state."""
        alone = self.fresh()
        alone.update(output, target)
        self.merge(alone)
        return alone.compute()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r})"

    def reset(self) -> None:
        """Resets the state."""
        self._waiting = []
        self._bytes = 0
        self._state = self.initial()

    def fresh(self) -> Any:
        """Returns a copy with the same options and an empty state."""
        other = copy.copy(self)
        other.reset()
        return other

    def merge(self, other: Metric) -> None:
        """Merges the state of another metric of the same type, which saw another part of the data.

        Args:
            other: The other metric.

        Raises:
            TypeError: The metrics have different types.
        """
        if type(other) is not type(self):
            raise TypeError(f"[merge] expected a {type(self).__name__}: got a {type(other).__name__}")
        state = self.state
        for key, mine in state.items():
            state[key] = _joined(mine, other.state[key])

    def state_dict(self) -> dict[str, Any]:
        """Returns the state as tensors and numbers that `pyburn.save` can write."""
        return {key: _saved(value) for key, value in self.state.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores a state from `state_dict`.

        Args:
            state: A state from `state_dict`.

        Raises:
            KeyError: The names of the state do not match.
        """
        expected = self.initial()
        if set(state) != set(expected):
            raise KeyError(f"[load_state_dict] the state of {self!r} has keys {sorted(expected)}: got {sorted(state)}")
        self.reset()
        self.state = {key: _loaded(value) for key, value in state.items()}


def _kind(batch: Any) -> Any:
    """Key by which batches are grouped for concatenation."""
    if isinstance(batch, dict):
        return tuple(batch)
    return [(part.dtype, tuple(part.shape)[1:], part.device) for part in batch]


def numbers(amounts: list[Any]) -> Sequence[Any]:
    """Returns one value per batch: numbers, or rows of an array."""
    if not isinstance(amounts[0], Tensor):
        return amounts
    values = array(stack(amounts))
    return values.tolist() if values.ndim == 1 else list(values)


def _joined(mine: Any, theirs: Any) -> Any:
    if isinstance(mine, list):
        return mine + theirs
    if isinstance(mine, np.ndarray) and mine.shape != theirs.shape:  # classes that only one of them has seen
        shape = tuple(max(a, b) for a, b in zip(mine.shape, theirs.shape))
        return grown(mine, shape) + grown(theirs, shape)
    return mine + theirs


def grown(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Pads each dimension with zeros at the end."""
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


def class_axis(shape: Sequence[int], target: Sequence[int]) -> int | None:
    """Returns the class dimension of scores: the one without which the shapes of scores and targets agree, preferably dimension 1 as in
    PyTorch's cross_entropy. None if the shapes are equal, so that the scores are class indices.

    Raises:
        ValueError: The shapes do not match.
    """
    shape, target = tuple(shape), tuple(target)
    if shape == target:
        return None
    if len(shape) > 1 and shape[:1] + shape[2:] == target:
        return 1
    if len(shape) > 1 and shape[:-1] == target:
        return -1
    if len(shape) == 1 and not target:
        return 0
    raise ValueError(f"[metrics] scores need the axes of the targets and one of classes: got {shape} and {target}")


@functools.lru_cache
def class_axis_on_device(shape: Sequence[int], target: Sequence[int], dtype: Any) -> int | None:
    """Like `class_axis`, for sums on a device. Also None if the values must be inspected: non-integer or empty targets."""
    return class_axis(shape, target) if dtype in _INTEGERS and 0 not in target else None


def kept_targets(target: Tensor, ignore_index: int | None) -> tuple[Tensor, Tensor | None]:
    """Returns targets with 0 in place of ignored ones, and the mask of the others; None without ignore_index."""
    if ignore_index is None:
        return target, None
    kept = target != ignore_index
    return where(kept, target, 0), kept


def kept_sum(values: Tensor, kept: Tensor | None) -> Tensor:
    """Sums the values of targets that are not ignored, in the widest dtype of the device."""
    dtype = widest_float(values.device) if values.is_floating_point() else None
    return (values if kept is None else where(kept, values, 0)).sum(dtype=dtype)


@functools.cache
def widest_float(device: Any) -> Any:
    """Returns float64, or float32 on devices without it."""
    try:
        zeros((), dtype=float64, device=device)
    except DTypeError:
        return float32
    return float64


def check_targets(metric: Metric, sums: dict[str, Sequence[Any]]) -> None:
    """Removes the range of the targets from the sums and checks it.

    Raises:
        ValueError: Targets are not valid class indices.
    """
    lowest = min(sums.pop("lowest"))
    if lowest < 0:
        raise ValueError(f"[{type(metric).__name__}] numbers of classes start at 0 (ignore_index leaves some out): got {lowest} in targets")
    for highest, classes in zip(sums.pop("highest", ()), sums.pop("classes", ())):
        if highest >= classes:
            raise ValueError(f"[{type(metric).__name__}] there are {classes} classes: got target {highest}")


def as_rows(output: Any, target: Any, ignore_index: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Returns scores as (n, classes) or class indices as (n,), and targets as (n,), without ignored samples."""
    scores, truth = array(output), array(target)
    axis = class_axis(scores.shape, truth.shape)
    scores = scores.reshape(-1) if axis is None else np.moveaxis(scores, axis, -1).reshape(-1, scores.shape[axis])
    truth = truth.reshape(-1)
    if ignore_index is not None:
        kept = truth != ignore_index
        scores, truth = scores[kept], truth[kept]
    return scores, truth


def as_classes(values: np.ndarray, what: str) -> np.ndarray:
    """Returns values as int64 class indices.

    Raises:
        ValueError: Values are not integers, or negative.
    """
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
    """Returns probabilities of independent labels as float64, from probabilities or logits."""
    values = output.astype(np.float64)
    if logits:
        with np.errstate(over="ignore"):
            values = 1 / (1 + np.exp(-values))
    return values


class Ratio(Metric):
    """Base class of metrics that are a sum divided by another one: the two entries of `initial`."""

    def initial(self) -> dict[str, Any]:
        return {"total": 0.0, "count": 0}

    def compute(self) -> float:
        total, count = (self.state[key] for key in self.initial())
        return total / count if count else math.nan


def per_class(values: np.ndarray, labels: Sequence[str] | None = None) -> dict[str, Any]:
    """Returns the table of a number per class, for `Metric.table`."""
    return {"type": "per_class", "labels": label_names(labels, len(values)), "values": values}


def label_names(labels: Sequence[str] | None, count: int) -> list[str]:
    """Returns the class names, completed by numbers."""
    return [str(labels[i]) if labels is not None and i < len(labels) else str(i) for i in range(count)]


def check_choice(metric: Metric, name: str, value: Any, choices: Sequence[Any]) -> None:
    """Raises a ValueError for an option that is not one of the choices."""
    if value not in choices:
        raise ValueError(f"[{type(metric).__name__}] {name} must be one of {', '.join(map(repr, choices))}: got {value!r}")
