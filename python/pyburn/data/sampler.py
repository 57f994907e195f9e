"""Samplers: the order in which a loader accesses samples."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .. import _core
from .._core import Tensor
from .randomness import draw_seed

if TYPE_CHECKING:
    from .._types import Generator

T_co = TypeVar("T_co", covariant=True)


class Sampler(Generic[T_co]):
    """Base class of samplers. Subclasses implement `__iter__`, which yields indices, and `__len__` if the length is known.

    Args:
        data_source: Ignored.

    >>> class Evens(pyburn.data.Sampler):
    ...     def __iter__(self):
    ...         return iter([0, 2, 4])
    >>> list(Evens())
    [0, 2, 4]
    """

    def __init__(self, data_source: object = None) -> None:
        pass

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError("Subclasses of Sampler should implement __iter__.")


class SequentialSampler(Sampler[int]):
    """Yields indices in order.

    Args:
        data_source: The data set.

    >>> list(pyburn.data.SequentialSampler(range(3)))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Yields indices in random order.

    Args:
        data_source: The data set.
        replacement: Whether to draw with replacement; otherwise each index comes once in `len(data_source)` draws.
        num_samples: The number of indices; by default the length of the data set.
        generator: The random generator; None uses the default one.

    Raises:
        TypeError: replacement is not a bool.
        ValueError: num_samples is not a positive int.

    >>> sorted(pyburn.data.RandomSampler(range(3)))
    [0, 1, 2]
    """

    def __init__(
        self, data_source: Sized, replacement: bool = False, num_samples: int | None = None, generator: Generator | None = None
    ) -> None:
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self) -> int:
        """The number of indices per epoch; by default the current length of the data set."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        count, wanted = len(self.data_source), self.num_samples
        generator = self.generator or _core.Generator().manual_seed(draw_seed())
        if self.replacement:
            for start in range(0, wanted, 1024):
                yield from _core.randint(0, count, (min(1024, wanted - start),), generator=generator).tolist()
        else:
            for start in range(0, wanted, count or 1):
                yield from _core.randperm(count, generator=generator).tolist()[: wanted - start]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Yields the given indices in random order.

    Args:
        indices: The indices to sample from.
        generator: The random generator; None for the default one.

    >>> sorted(pyburn.data.SubsetRandomSampler([4, 2]))
    [2, 4]
    """

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for i in _core.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Draws indices from 0 to len(weights) - 1 with probabilities proportional to the weights.

    Args:
        weights: The weight of each index.
        num_samples: The number of indices to draw.
        replacement: Whether to draw with replacement.
        generator: The random generator; None uses the default one.

    Raises:
        ValueError: An argument has an invalid value.

    >>> set(WeightedRandomSampler([0.0, 1.0, 1.0], 20)) <= {1, 2}
    True
    """

    def __init__(self, weights: Sequence[float], num_samples: int, replacement: bool = True, generator: Generator | None = None) -> None:
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = _as_tensor(weights, _core.float64)
        if self.weights.dim() != 1:
            raise ValueError(f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}")
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        yield from _core.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist()

    def __len__(self) -> int:
        return self.num_samples


class ClassBalancedSampler(WeightedRandomSampler):
    """Draws indices so that every class is equally frequent, however many samples it has.

    Args:
        labels: The label of each sample.
        num_samples: The number of indices to draw; by default the number of labels.
        replacement: Whether to draw with replacement.
        generator: The random generator; None uses the default one.

    >>> sampler = ClassBalancedSampler([0, 0, 0, 1])
    >>> sampler.weights.tolist()
    [0.3333333333333333, 0.3333333333333333, 0.3333333333333333, 1.0]
    """

    def __init__(
        self, labels: Sequence[Any] | Tensor, num_samples: int | None = None, replacement: bool = True, generator: Generator | None = None
    ) -> None:
        names = labels.tolist() if isinstance(labels, Tensor) else list(labels)
        counts: dict[Any, int] = {}
        for name in names:
            counts[name] = counts.get(name, 0) + 1
        super().__init__([1 / counts[name] for name in names], num_samples or len(names), replacement, generator)


class BatchSampler(Sampler[list[int]]):
    """Groups the indices of another sampler into batches.

    Args:
        sampler: The sampler or iterable of indices.
        batch_size: The batch size.
        drop_last: Whether to drop an incomplete last batch.

    Raises:
        ValueError: batch_size is not a positive int, or drop_last is not a bool.

    >>> list(BatchSampler(range(5), 2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        places = iter(self.sampler)
        while batch := list(itertools.islice(places, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


class DistributedSampler(Sampler[int]):
    """Yields the part of a data set for one of `num_replicas` processes. Call `set_epoch` to change the order every epoch.

    Args:
        dataset: The data set.
        num_replicas: The number of processes.
        rank: The index of this process.
        shuffle: Whether to shuffle.
        seed: The seed of the order, which must be the same in all processes.
        drop_last: Whether to drop samples, rather than repeat some, to make the parts equal.

    Raises:
        ValueError: num_replicas or rank is missing, or rank is out of range.

    >>> [list(DistributedSampler(range(5), 2, rank, shuffle=False)) for rank in (0, 1)]
    [[0, 2, 4], [1, 3, 0]]
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            raise ValueError("there is no process group to ask: give num_replicas and rank")
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        self.shuffle = shuffle
        self.seed = seed
        count = len(dataset)
        self.num_samples = count // num_replicas if drop_last else math.ceil(count / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        if self.shuffle:
            places = _core.randperm(count, generator=_core.Generator().manual_seed(self.seed + self.epoch)).tolist()
        else:
            places = list(range(count))
        if places:  # pads from the start to make the parts equal
            places = list(itertools.islice(itertools.cycle(places), self.total_size))
        return iter(places[self.rank :: self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch, which determines the order.

        Args:
            epoch: The epoch, which determines the order.
        """
        self.epoch = epoch

    def state_dict(self) -> dict[str, int]:
        """Returns the state that a loader saves."""
        return {"epoch": self.epoch}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Restores the epoch from a state.

        Args:
            state: A state from `state_dict`.
        """
        self.epoch = state["epoch"]


def _as_tensor(values: Any, dtype: Any) -> Tensor:
    return values.to(dtype) if isinstance(values, Tensor) else _core._tensor(values, dtype, None, False)
