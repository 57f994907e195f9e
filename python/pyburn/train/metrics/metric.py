"""Metric: a number over a stream of batches, exact whatever the sizes of the batches, and mergeable."""

from __future__ import annotations

import copy
import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._core import DeviceError, DTypeError, Tensor, bfloat16, cat, float32, float64, int8, int16, int32, int64, stack, uint8, where, zeros
from ...tensor import from_numpy

MOST_WAITING = 512  # batches
_MOST_BYTES = 2**24  # of copies
_INTEGERS = (int64, int32, uint8, int16, int8)


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

    A subclass defines `update`, or `measure` instead: then a batch of tensors waits on its device, and `measure` gets arrays of one or more
    batches when somebody looks at the state, so that training does not wait for the device. With `sums` as well, only what a batch adds to
    the state waits, not a copy of the batch.

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
    exact = True  # whether the state has the same bits however the data is cut into batches

    def __init__(self, name: str | None = None) -> None:
        if name is not None and not isinstance(name, str):
            raise TypeError(f"[{type(self).__name__}] the name of a metric is text: got {name!r}")
        self.name = name or type(self).__name__.lower()
        self.reset()

    def initial(self) -> dict[str, Any]:
        raise NotImplementedError(f"{type(self).__name__}.initial")

    def update(self, output: Any, target: Any) -> None:
        """Takes in a batch."""
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
        """Keeps a copy of a batch, since the caller may write into its tensors; large ones are measured at once."""
        size = output.nbytes + target.nbytes
        if size > _MOST_BYTES or not (output.dim() and target.dim()):
            self.measure(output, target)
            return
        self._waiting.append((output.detach().clone(), target.detach().clone()))
        self._bytes += size
        if self._bytes > _MOST_BYTES:
            self._settle()

    def measure(self, output: Any, target: Any) -> None:
        """Takes tensors, arrays or lists into the state."""
        raise NotImplementedError(f"{type(self).__name__}.update")

    def sums(self, output: Tensor, target: Tensor) -> dict[str, Any] | None:
        """What a batch adds to the state, as tensors on its device without a history, or as numbers; None if `measure` has to see the batch."""
        return None

    def take(self, sums: dict[str, Sequence[Any]]) -> None:
        """Adds the sums of some batches, which are numbers and arrays now, to the state."""
        for key, amounts in sums.items():
            total = self._state[key]
            for amount in amounts:  # in turn, so that the result does not depend on how many are taken at once
                total = total + amount
            self._state[key] = total

    @property
    def state(self) -> dict[str, Any]:
        """What it has seen. Batches that wait on a device are read first."""
        if self._waiting:
            self._settle()
        return self._state

    @state.setter
    def state(self, state: dict[str, Any]) -> None:
        self._state = state

    def _settle(self) -> None:
        """Reads batches of one kind together: one transfer per tensor of a batch, not one per batch."""
        waiting, self._waiting, self._bytes = self._waiting, [], 0
        for _, group in itertools.groupby(waiting, key=_kind):
            batches = list(group)
            if isinstance(batches[0], dict):
                self.take({name: _numbers([sums[name] for sums in batches]) for name in batches[0]})
                continue
            output, target = (array(cat(list(column))) for column in zip(*batches))
            lengths = [len(output)] if self.exact else [len(batch[0]) for batch in batches]
            for start, end in itertools.pairwise(itertools.accumulate(lengths, initial=0)):
                self.measure(output[start:end], target[start:end])

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
        self._waiting: list[Any] = []  # sums of a batch, or a copy of it
        self._bytes = 0
        self._state = self.initial()

    def fresh(self) -> Any:
        """A metric with the same options that has seen nothing."""
        other = copy.copy(self)
        other.reset()
        return other

    def merge(self, other: Metric) -> None:
        if type(other) is not type(self):
            raise TypeError(f"[merge] expected a {type(self).__name__}: got a {type(other).__name__}")
        state = self.state
        for key, mine in state.items():
            state[key] = _joined(mine, other.state[key])

    def state_dict(self) -> dict[str, Any]:
        """What it has seen, as tensors and numbers that `pyburn.save` writes."""
        return {key: _saved(value) for key, value in self.state.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        expected = self.initial()
        if set(state) != set(expected):
            raise KeyError(f"[load_state_dict] the state of {self!r} has keys {sorted(expected)}: got {sorted(state)}")
        self.reset()
        self.state = {key: _loaded(value) for key, value in state.items()}


def _kind(batch: Any) -> Any:
    """Batches of one kind can be joined."""
    if isinstance(batch, dict):
        return tuple(batch)
    return [(part.dtype, tuple(part.shape)[1:], part.device) for part in batch]


def _numbers(amounts: list[Any]) -> Sequence[Any]:
    """One amount per batch: numbers, or rows of an array."""
    if not isinstance(amounts[0], Tensor):
        return amounts
    values = array(stack(amounts))
    return values.tolist() if values.ndim == 1 else list(values)


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


def class_axis(shape: Sequence[int], target: Sequence[int]) -> int | None:
    """Where scores of this shape have their classes: the axis without which the shapes agree, as PyTorch's cross_entropy the second before
    the last. None if the shapes are equal, so that scores are classes already."""
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
    """The same for sums on a device. None also if values have to be looked at: targets that are not whole numbers, or none at all."""
    return class_axis(shape, target) if dtype in _INTEGERS and 0 not in target else None


def kept_targets(target: Tensor, ignore_index: int | None) -> tuple[Tensor, Tensor | None]:
    """Targets with 0 in place of those to be ignored, and where they count; None: everywhere."""
    if ignore_index is None:
        return target, None
    kept = target != ignore_index
    return where(kept, target, 0), kept


def kept_sum(values: Tensor, kept: Tensor | None) -> Tensor:
    """The sum of values over the targets that count, in the widest dtype of the device."""
    dtype = widest_float(values.device) if values.is_floating_point() else None
    return (values if kept is None else where(kept, values, 0)).sum(dtype=dtype)


@functools.cache
def widest_float(device: Any) -> Any:
    """float64, or float32 on devices without it."""
    try:
        zeros((), dtype=float64, device=device)
    except DTypeError:
        return float32
    return float64


def check_targets(sums: dict[str, Sequence[Any]]) -> None:
    """Takes the range of the targets out of the sums; ValueError if they are not numbers of classes."""
    lowest = min(sums.pop("lowest"))
    if lowest < 0:
        raise ValueError(f"[metrics] numbers of classes start at 0 (ignore_index leaves some out): got {lowest} in targets")
    for highest, classes in zip(sums.pop("highest", ()), sums.pop("classes", ())):
        if highest >= classes:
            raise ValueError(f"[metrics] there are {classes} classes: got target {highest}")


def as_rows(output: Any, target: Any, ignore_index: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Scores as (items, classes), or classes as (items,), and targets as (items,), without those to be ignored."""
    scores, truth = array(output), array(target)
    axis = class_axis(scores.shape, truth.shape)
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
