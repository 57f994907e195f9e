"""Data sets derived from others, with Burn's names. All of them are lazy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from .. import _core
from .dataset import ConcatDataset, Dataset, Subset
from .randomness import draw_seed

if TYPE_CHECKING:
    from .._types import Generator

T = TypeVar("T")


class InMemDataset(Dataset[T]):
    """Data set of the items of an iterable, held in memory.

    Args:
        items: The samples.

    >>> InMemDataset(["a", "b"])[1]
    'b'
    """

    def __init__(self, items: Iterable[T]) -> None:
        self.items = list(items)

    def __getitem__(self, index: int) -> T:
        return self.items[index]

    def __len__(self) -> int:
        return len(self.items)


class MapperDataset(Dataset[Any]):
    """Applies a function to every sample, on access.

    Args:
        dataset: The data set.
        mapper: Called with each sample.

    >>> MapperDataset([1, 2, 3], lambda x: 10 * x)[2]
    30
    """

    def __init__(self, dataset: Any, mapper: Callable[[Any], Any]) -> None:
        self.dataset = dataset
        self.mapper = mapper

    def __getitem__(self, index: int) -> Any:
        return self.mapper(self.dataset[index])

    def __len__(self) -> int:
        return len(self.dataset)


class ComposedDataset(ConcatDataset[Any]):
    """Concatenates data sets: Burn's name of ConcatDataset.

    >>> len(pyburn.data.ComposedDataset([[1, 2], [3]]))
    3
    """


class SelectionDataset(Subset[Any]):
    """The samples at the given indices, which are checked on construction.

    Args:
        dataset: The data set.
        indices: The indices; None selects all.

    Raises:
        IndexError: An index is out of range.

    >>> len(SelectionDataset(range(10), [1, 1, 3]))
    3
    """

    def __init__(self, dataset: Any, indices: Sequence[int] | None = None) -> None:
        chosen = list(range(len(dataset)) if indices is None else indices)
        for index in chosen:
            if not 0 <= index < len(dataset):
                raise IndexError(f"index {index} is out of range for {len(dataset)} samples")
        super().__init__(dataset, chosen)

    def shuffle(self, generator: Generator | None = None) -> SelectionDataset:
        """Returns the same samples in random order.

        Args:
            generator: The random generator; None for the default one.
        """
        order = _core.randperm(len(self), generator=generator).tolist()
        return SelectionDataset(self.dataset, [self.indices[i] for i in order])

    def slice(self, start: int, end: int) -> SelectionDataset:
        """Returns the samples in [start, end).

        Args:
            start: The first sample.
            end: The sample after the last one.
        """
        return SelectionDataset(self.dataset, self.indices[start:end])

    def split(self, parts: int) -> list[SelectionDataset]:
        """Splits into contiguous parts of nearly equal size.

        Args:
            parts: The number of parts.

        Returns:
            The parts.
        """
        return [self.slice(start, end) for start, end in _bounds(len(self), parts)]


class ShuffledDataset(SelectionDataset):
    """All samples in a random order that is fixed on construction.

    Args:
        dataset: The data set.
        seed: The seed of the order.
        generator: The random generator, instead of a seed.

    Raises:
        ValueError: Both seed and generator are given.

    >>> sorted(ShuffledDataset([3, 1, 2]))
    [1, 2, 3]
    """

    def __init__(self, dataset: Any, seed: int | None = None, *, generator: Generator | None = None) -> None:
        super().__init__(dataset, _core.randperm(len(dataset), generator=_generator(seed, generator)).tolist())


class SamplerDataset(Dataset[Any]):
    """Draws `size` random samples from a data set.

    With replacement, every access draws a new sample, or the same one for the same index if a seed is given. Without replacement, every
    sample comes once before any is repeated, in a fixed order.

    Args:
        dataset: The data set.
        size: The number of samples, or a float as a fraction of the length of the data set.
        replacement: Whether to draw with replacement.
        seed: The seed.

    Raises:
        ValueError: The data set is empty, or size is negative.

    >>> len(SamplerDataset(range(10), 25)), len(SamplerDataset(range(10), 0.5))
    (25, 5)
    """

    def __init__(self, dataset: Any, size: int | float | None = None, *, replacement: bool = True, seed: int | None = None) -> None:
        if len(dataset) == 0:
            raise ValueError("expected a data set with at least one sample")
        self.dataset = dataset
        self.size = len(dataset) if size is None else round(size * len(dataset)) if isinstance(size, float) else size
        if self.size < 0:
            raise ValueError(f"expected a size of at least 0: got {size}")
        self.replacement = replacement
        self.seed = draw_seed() if seed is None and not replacement else seed
        self._passes: dict[int, list[int]] = {}

    def __getitem__(self, index: int) -> Any:
        count, index = len(self.dataset), range(self.size)[index]
        if self.replacement:
            return self.dataset[int(_core.randint(0, count, (), generator=self._stream(index)))]
        number, place = divmod(index, count)
        if number not in self._passes:
            self._passes[number] = _core.randperm(count, generator=self._stream(number * count)).tolist()
        return self.dataset[self._passes[number][place]]

    def _stream(self, place: int) -> Generator | None:
        """Returns a generator that depends on the index only; None stands for the default generator."""
        if self.seed is None:
            return None
        generator = _core.Generator()
        generator.set_state((self.seed, place))
        return generator

    def __len__(self) -> int:
        return self.size


class PartialDataset(Dataset[Any]):
    """The samples in [start_index, end_index), clipped to the data set.

    Args:
        dataset: The data set.
        start_index: The first sample.
        end_index: The sample after the last one.

    >>> list(PartialDataset("abcdef", 2, 4))
    ['c', 'd']
    """

    def __init__(self, dataset: Any, start_index: int, end_index: int) -> None:
        self.dataset = dataset
        self.start_index = max(start_index, 0)
        self.end_index = min(end_index, len(dataset))

    def __getitem__(self, index: int) -> Any:
        return self.dataset[range(self.start_index, self.start_index + len(self))[index]]

    def __len__(self) -> int:
        return max(self.end_index - self.start_index, 0)

    @staticmethod
    def split(dataset: Any, parts: int) -> list[PartialDataset]:
        """Splits a data set into contiguous parts of nearly equal size.

        Args:
            dataset: The data set.
            parts: The number of parts.

        Returns:
            The parts.
        """
        return [PartialDataset(dataset, start, end) for start, end in _bounds(len(dataset), parts)]

    @staticmethod
    def split_chunks(dataset: Any, size: int) -> list[PartialDataset]:
        """Splits a data set into contiguous parts of the given size; the last one may be smaller.

        Args:
            dataset: The data set.
            size: The number of samples per part.

        Returns:
            The parts.

        Raises:
            ValueError: A size is not positive.
        """
        if size < 1:
            raise ValueError(f"expected a size of at least 1: got {size}")
        return [PartialDataset(dataset, start, start + size) for start in range(0, len(dataset), size)]


class WindowsDataset(Dataset[list[Any]]):
    """Sliding windows of `size` consecutive samples, with the given stride `step`.

    Args:
        dataset: The data set.
        size: The number of samples per window.
        step: The distance between windows.

    Raises:
        ValueError: size or step is less than 1.

    >>> list(WindowsDataset([1, 2, 3, 4], 3))
    [[1, 2, 3], [2, 3, 4]]
    """

    def __init__(self, dataset: Any, size: int, step: int = 1) -> None:
        if size < 1 or step < 1:
            raise ValueError(f"expected a size and a step of at least 1: got size={size}, step={step}")
        self.dataset = dataset
        self.size = size
        self.step = step

    def __getitem__(self, index: int) -> list[Any]:
        start = range(len(self))[index] * self.step
        return [self.dataset[i] for i in range(start, start + self.size)]

    def __len__(self) -> int:
        return max((len(self.dataset) - self.size) // self.step + 1, 0)


def _bounds(count: int, parts: int) -> list[tuple[int, int]]:
    if parts < 1:
        raise ValueError(f"expected at least 1 part: got {parts}")
    return [(count * i // parts, count * (i + 1) // parts) for i in range(parts)]


def _generator(seed: int | None, generator: Generator | None) -> Generator | None:
    if seed is not None and generator is not None:
        raise ValueError("expected a seed or a generator: got both")
    return generator if seed is None else _core.Generator().manual_seed(seed)
