"""Iterators over batches of arrays, datasets, loaders and generators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyburn
from pyburn import Tensor
from pyburn._nested import leaves, mapped

from .symbolic.symbol import is_text

Batch = tuple[Any, Any, Any]  # inputs, targets, sample weights; the last two can be None


class Batches:
    """An iterable of batches, one pass per epoch. `steps` is the number of batches, or None if unknown."""

    def __init__(self, steps: int | None = None) -> None:
        self.steps = steps

    def __iter__(self) -> Iterator[Batch]:
        raise NotImplementedError


class ArrayBatches(Batches):
    """Batches of arrays or tensors whose first dimension is the sample dimension."""

    def __init__(self, x: Any, y: Any, weight: Any, batch_size: int, shuffle: bool) -> None:
        self.data = mapped(_array, (x, y, weight))
        counts = {len(array) for array in leaves(self.data)}
        if len(counts) > 1:
            given = zip(("x", "y", "sample_weight"), self.data)
            sizes = ", ".join(f"{name} has {len(leaf)}" for name, part in given for leaf in leaves(part))
            raise ValueError(f"[fit] inputs, targets and weights must have the same number of samples: {sizes}")
        self.count = counts.pop() if counts else 0
        self.batch_size, self.shuffle = batch_size, shuffle
        super().__init__(-(-self.count // batch_size))

    def __iter__(self) -> Iterator[Batch]:
        order = pyburn.randperm(self.count) if self.shuffle else None
        for start in range(0, self.count, self.batch_size):
            end = min(start + self.batch_size, self.count)
            chosen = slice(start, end) if order is None else order[start:end]
            yield mapped(lambda array: _rows(array, chosen), self.data)  # noqa: B023  (called at once)

    def split(self, share: float) -> tuple[ArrayBatches, ArrayBatches]:
        """Splits off the last fraction of the samples.

        Returns:
            The batches of the first samples and those of the last samples.

        Raises:
            ValueError: One of the parts would be empty.
        """
        at = int(self.count * (1 - share))
        if not 0 < at < self.count:
            raise ValueError(f"validation_split={share} of {self.count} examples leaves nothing for one of the two parts")
        parts = [mapped(lambda array: array[piece], self.data) for piece in (slice(0, at), slice(at, None))]  # noqa: B023
        (x, y, weight), (x_last, y_last, weight_last) = parts
        train = ArrayBatches(x, y, weight, self.batch_size, self.shuffle)
        return train, ArrayBatches(x_last, y_last, weight_last, self.batch_size, shuffle=False)


class PyDataset:
    """Base class of data loaded batch by batch: subclasses define `__getitem__` (batch i) and `__len__` (the number of batches).

    Args:
        workers: Accepted for compatibility, like the other options: `pyburn.data.DataLoader` supports workers.
        use_multiprocessing: Has no effect.
        max_queue_size: Has no effect.

    >>> class Squares(p_vision.PyDataset):
    ...     def __len__(self):
    ...         return 3
    ...     def __getitem__(self, index):
    ...         x = pyburn.rand(8, 1)
    ...         return x, x**2
    >>> model = p_vision.Sequential([p_vision.Input((1,)), p_vision.Dense(1)])
    >>> model.compile("sgd", "mse")
    >>> model.fit(Squares(), verbose=0).epoch
    [0]
    """

    def __init__(self, workers: int = 1, use_multiprocessing: bool = False, max_queue_size: int = 10) -> None:
        self.workers, self.use_multiprocessing, self.max_queue_size = workers, use_multiprocessing, max_queue_size

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} does not say how many batches it has: define __len__")

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not say what its batches are: define __getitem__")

    def on_epoch_begin(self) -> None:
        """Called before the first batch of an epoch."""

    def on_epoch_end(self) -> None:
        """Called after the last batch of an epoch."""


class PyDatasetBatches(Batches):
    """The batches of a PyDataset, optionally shuffled."""

    def __init__(self, dataset: PyDataset, shuffle: bool) -> None:
        self.dataset, self.shuffle = dataset, shuffle
        super().__init__(len(dataset))

    def __iter__(self) -> Iterator[Batch]:
        self.dataset.on_epoch_begin()
        count = len(self.dataset)
        for index in pyburn.randperm(count).tolist() if self.shuffle else range(count):
            yield as_batch(self.dataset[index])
        self.dataset.on_epoch_end()


class IterableBatches(Batches):
    """Batches of a loader, a generator or another iterable of (x, y) or (x, y, weight)."""

    def __init__(self, source: Iterable[Any]) -> None:
        self.source = source
        self.iterator = source if isinstance(source, Iterator) else None
        super().__init__(len(source) if hasattr(source, "__len__") else None)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Batch]:
        for item in self.iterator if self.iterator is not None else self.source:
            yield as_batch(item)


def batches(x: Any, y: Any = None, weight: Any = None, batch_size: int | None = None, shuffle: bool = False) -> Batches:
    """Returns the Batches for the data arguments of `fit`.

    Raises:
        ValueError: batch_size is not a positive integer, or the arguments are inconsistent.
    """
    if batch_size is not None and (isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1):
        raise ValueError(f"batch_size must be a positive integer: got {batch_size!r}")
    if isinstance(x, Batches):
        return x
    if isinstance(x, PyDataset):
        return PyDatasetBatches(x, shuffle)
    if x is None:
        raise ValueError("there is no data: give x, as arrays, a dataset or an iterable of batches")
    x, y, weight = _numbers_as_array(x), _numbers_as_array(y), _numbers_as_array(weight)
    if _is_pair_of_arrays(x) and y is None:  # data=(x, y)
        x, y, weight = as_batch(x) if weight is None else (*as_batch(x)[:2], weight)
    if all(_is_array(leaf) for leaf in leaves(x)) and not _is_loader(x):
        return ArrayBatches(x, y, weight, batch_size or 32, shuffle)
    if y is not None:
        raise ValueError(f"y is for arrays: a dataset or an iterable of batches gives the targets itself (got x of {type(x).__name__})")
    if not _is_loader(x) and hasattr(x, "__getitem__") and hasattr(x, "__len__"):
        from pyburn.data import DataLoader

        return IterableBatches(DataLoader(x, batch_size or 32, shuffle))
    if not isinstance(x, Iterable):
        raise TypeError(f"data is arrays, a dataset or an iterable of batches: got {type(x).__name__}")
    return IterableBatches(x)


def with_validation(train: Batches, split: float, data: Any, batch_size: int | None) -> tuple[Batches, Batches | None]:
    """Returns the batches for training and validation: the validation data, or else the last fraction of the samples.

    Raises:
        ValueError: A fraction is given for data other than arrays.
    """
    if data is not None:
        x, y, weight = as_batch(data) if isinstance(data, (tuple, list)) else (data, None, None)
        return train, batches(x, y, weight, batch_size)
    if not split:
        return train, None
    if not isinstance(train, ArrayBatches):
        raise ValueError("validation_split is for arrays: give validation_data")
    return train.split(split)


def _numbers_as_array(value: Any) -> Any:
    """Converts nested lists of numbers or strings to an array."""
    if not isinstance(value, list) or not value:
        return value
    kinds = {type(leaf) for leaf in leaves(value)}
    if kinds == {str}:
        import numpy

        return numpy.asarray(value)
    return pyburn.tensor(value) if kinds <= {int, float, bool} else value


def _is_array(value: Any) -> bool:
    return isinstance(value, Tensor) or hasattr(value, "__array__")


def _is_pair_of_arrays(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) in (2, 3) and all(_is_array(leaf) for leaf in leaves(value))


def _is_loader(value: Any) -> bool:
    """Returns whether value is a data loader or a list of batches."""
    if hasattr(value, "dataset") and hasattr(value, "batch_size"):
        return True
    return isinstance(value, list) and bool(value) and all(_is_pair_of_arrays(item) or isinstance(item, dict) for item in value)


def as_batch(item: Any) -> Batch:
    """Splits (x,), (x, y), (x, y, weight) or x into inputs, targets and weights."""
    if isinstance(item, (tuple, list)) and 1 <= len(item) <= 3:
        x, y, weight = [*item, None, None][:3]
        return x, y, weight
    return item, None, None


def _array(value: Any) -> Any:
    value = _plain(value)
    if isinstance(value, Tensor) or hasattr(value, "__getitem__"):
        return value
    return pyburn.as_tensor(value)


def _plain(value: Any) -> Any:
    """Converts pandas objects to arrays, since their [] selects labels, and object arrays to strings or float32."""
    if hasattr(value, "iloc"):
        value = value.to_numpy()
    if getattr(getattr(value, "dtype", None), "kind", "") == "O":
        return value.astype(str if all(isinstance(item, str) for item in value.flat) else "float32")
    return value


def _rows(array: Any, chosen: Any) -> Any:
    if isinstance(array, Tensor) and isinstance(chosen, Tensor):
        return array[chosen.to(array.device)]
    return array[chosen.numpy() if isinstance(chosen, Tensor) else chosen]


def on_device(value: Any, device: Any, dtypes: Any = None) -> Any:
    """Moves arrays to a device as tensors; float64 becomes float32, and inputs are cast to the model's dtypes."""
    wanted = iter(leaves(dtypes)) if dtypes is not None else None

    def convert(leaf: Any) -> Any:
        leaf = _plain(leaf)
        if is_text(leaf):
            next(wanted, None) if wanted is not None else None
            return leaf
        tensor = leaf if isinstance(leaf, Tensor) else pyburn.as_tensor(leaf)
        dtype = next(wanted, None) if wanted is not None else None
        if dtype is None and tensor.dtype == pyburn.float64:
            dtype = pyburn.float32
        return tensor.to(device=device) if dtype is None else tensor.to(device=device, dtype=dtype)

    return mapped(convert, value)


def class_weights(y: Tensor, table: dict[int, float]) -> Tensor:
    """Returns the weight of each sample by its class."""
    classes = y.argmax(-1) if y.ndim > 1 and y.shape[-1] > 1 else y.reshape(-1)
    result = pyburn.ones(classes.shape[0], device=y.device)
    for label, weight in table.items():
        result = pyburn.where(classes == label, float(weight), result)
    return result
