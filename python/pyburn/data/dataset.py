"""Data sets with PyTorch's interface; those with Burn's interface are in derived.py."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .. import _core
from .._core import Tensor

if TYPE_CHECKING:
    from .._types import Generator

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class Dataset(Generic[T_co]):
    """Base class of data sets with samples that are accessed by key, usually an index.

    Subclasses implement `__getitem__`, and `__len__` for samplers. They may also implement `__getitems__(indices)`, which loads all samples
    of a batch at once.

    >>> class Squares(Dataset):
    ...     def __len__(self): return 4
    ...     def __getitem__(self, index): return index * index
    >>> [sample for sample in Squares() + Squares()]
    [0, 1, 4, 9, 0, 1, 4, 9]
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    if TYPE_CHECKING:  # by __getitem__, which type checkers do not know

        def __iter__(self) -> Iterator[T_co]: ...

    def __add__(self, other: Dataset[T_co]) -> ConcatDataset[T_co]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co]):
    """Base class of streams of samples. Subclasses implement `__iter__`.

    Every worker of a loader iterates over the whole stream; use `get_worker_info()` to let each worker yield its own part.

    >>> class Numbers(pyburn.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter([1, 2, 3])
    >>> list(Numbers())
    [1, 2, 3]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("An IterableDataset is a stream: iterate over it.")

    def __add__(self, other: Dataset[T_co]) -> ChainDataset[T_co]:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Data set whose samples are the rows of tensors.

    Args:
        *tensors: Tensors with the same size in dimension 0.

    Raises:
        AssertionError: The sizes differ.

    >>> TensorDataset(pyburn.ones(3, 2), pyburn.tensor([0, 1, 0]))[1]
    (tensor([1., 1.]), tensor(1))
    """

    def __init__(self, *tensors: Tensor) -> None:
        if any(tensor.size(0) != tensors[0].size(0) for tensor in tensors):
            raise AssertionError(f"Size mismatch between tensors: got {[tensor.size(0) for tensor in tensors]} rows")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def _batch(self, indices: Sequence[int]) -> list[Tensor] | None:
        """Returns the collated batch, with one index operation per tensor; None if a subclass overrides `__getitem__`."""
        if type(self).__getitem__ is not TensorDataset.__getitem__:
            return None
        places = _core._tensor(list(indices), _core.int64, None, False)
        return [tensor[places if tensor.device == places.device else places.to(tensor.device)] for tensor in self.tensors]

    def __len__(self) -> int:
        return self.tensors[0].size(0)


class StackDataset(Dataset[Any]):
    """Combines data sets of equal length: samples are tuples, or dicts if the data sets are given by keyword.

    Args:
        *args: Data sets; a sample is a tuple of their samples.
        **kwargs: Data sets by name; a sample is a dict of their samples.

    Raises:
        ValueError: The lengths differ, none is given, or both positional and keyword arguments are given.

    >>> StackDataset(image=[10, 11], label=[0, 1])[1]
    {'image': 11, 'label': 1}
    """

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError("Supported either tuple-style or dict-style datasets: got both positional and named ones")
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        parts = list(args or kwargs.values())
        self._length = len(parts[0])
        if any(len(part) != self._length for part in parts):
            raise ValueError(f"Size mismatch between datasets: got lengths {[len(part) for part in parts]}")
        self.datasets = args or kwargs

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: part[index] for name, part in self.datasets.items()}
        return tuple(part[index] for part in self.datasets)

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        if isinstance(self.datasets, dict):
            columns = {name: _items(part, indices) for name, part in self.datasets.items()}
            return [{name: column[i] for name, column in columns.items()} for i in range(len(indices))]
        return list(zip(*(_items(part, indices) for part in self.datasets)))

    def __len__(self) -> int:
        return self._length


def _items(dataset: Any, indices: list[Any]) -> list[Any]:
    """Returns several samples of a data set, with `__getitems__` if it has it."""
    together = getattr(dataset, "__getitems__", None)
    if together is None:
        return [dataset[index] for index in indices]
    items = together(indices)
    if len(items) != len(indices):
        raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(items)}")
    return items


class ConcatDataset(Dataset[T_co]):
    """Concatenates data sets.

    Args:
        datasets: Data sets with a length.

    Raises:
        AssertionError: There is no data set, or one is an IterableDataset.

    >>> ConcatDataset([[1, 2], [3]])[-1]
    3
    """

    datasets: list[Dataset[T_co]]
    cumulative_sizes: list[int]

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(part, IterableDataset) for part in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset: use ChainDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """Returns the cumulative lengths.

        Args:
            sequence: The data sets.
        """
        return list(itertools.accumulate(len(part) for part in sequence))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> T_co:
        if index < -len(self):
            raise ValueError("absolute value of index should not exceed dataset length")
        if index >= len(self):
            # IndexError ends iteration by index.
            raise IndexError(f"index {index} is out of range for {len(self)} samples")
        if index < 0:
            index += len(self)
        part = bisect.bisect_right(self.cumulative_sizes, index)
        start = self.cumulative_sizes[part - 1] if part else 0
        return self.datasets[part][index - start]


class ChainDataset(IterableDataset[T_co]):
    """Chains streams one after another.

    Args:
        datasets: The data sets.

    >>> class Numbers(pyburn.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter([1, 2])
    >>> list(Numbers() + Numbers())
    [1, 2, 1, 2]
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        super().__init__()
        self.datasets = datasets

    def __iter__(self) -> Iterator[T_co]:
        for part in self.datasets:
            if not isinstance(part, IterableDataset):
                raise AssertionError(f"ChainDataset only supports IterableDataset: got {type(part).__name__}")
            yield from part

    def __len__(self) -> int:
        return sum(len(part) for part in self.datasets)  # type: ignore[misc, arg-type]


class Subset(Dataset[T_co]):
    """The samples of a data set at the given indices.

    Args:
        dataset: The data set.
        indices: The indices of the selected samples.

    >>> Subset("abcdef", [5, 0])[0]
    'f'
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> T_co:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def _batch(self, indices: Sequence[int]) -> Any:
        whole = getattr(self.dataset, "_batch", None)
        if whole is None or type(self).__getitem__ is not Subset.__getitem__ or type(self).__getitems__ is not Subset.__getitems__:
            return None
        return whole([self.indices[i] for i in indices])

    def __getitems__(self, indices: list[int]) -> list[T_co]:
        if type(self).__getitem__ is not Subset.__getitem__:  # an overridden __getitem__ must apply to batches as well
            return [self[i] for i in indices]
        together = getattr(self.dataset, "__getitems__", None)
        if together is not None:
            return together([self.indices[i] for i in indices])
        return [self.dataset[self.indices[i]] for i in indices]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Any, lengths: Sequence[int | float], generator: Generator | None = None) -> list[Subset[Any]]:
    """Splits a data set randomly into subsets.

    Args:
        dataset: The data set.
        lengths: The lengths, or fractions that sum to 1; the remainder of fractions is distributed round-robin.
        generator: The random generator; None uses the default one.

    Returns:
        The subsets.

    Raises:
        ValueError: The lengths do not sum to the length of the data set, or a fraction is not in [0, 1].

    >>> [len(part) for part in random_split(range(10), [0.75, 0.25])]
    [8, 2]
    """
    sizes: list[int] = []
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for i, fraction in enumerate(lengths):
            if not 0 <= fraction <= 1:
                raise ValueError(f"Fraction at index {i} is not between 0 and 1")
            sizes.append(math.floor(len(dataset) * fraction))
        for i in range(len(dataset) - sum(sizes)):
            sizes[i % len(sizes)] += 1
        for i, size in enumerate(sizes):
            if size == 0:
                warnings.warn(f"Length of split at index {i} is 0. This might result in an empty dataset.", stacklevel=2)
    else:
        sizes = list(lengths)  # type: ignore[arg-type]
    if sum(sizes) != len(dataset):
        raise ValueError(f"Sum of input lengths does not equal the length of the input dataset! Got {sum(sizes)} and {len(dataset)}")
    order = _core.randperm(len(dataset), generator=generator).tolist()
    return [Subset(dataset, order[end - size : end]) for end, size in zip(itertools.accumulate(sizes), sizes)]
