"""Loading of one batch, in any thread or process: fetches the samples and collates them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .collate import default_collate
from .randomness import SampleStream


class Exhausted:
    """Sent by a worker whose stream has ended."""


class Stopped(BaseException):
    """Raised between two samples when the batch is no longer needed."""


class WorkerInfo:
    """Describes the current worker: its id, num_workers, seed, and its own copy of the dataset. Attributes are read-only.

    Args:
        id: The number of the worker, from 0.
        num_workers: The number of workers.
        seed: The seed of the worker.
        dataset: The copy of the data set.

    >>> pyburn.data.WorkerInfo(0, 2, 7, [1])
    WorkerInfo(id=0, num_workers=2, seed=7, dataset=[1])
    """

    __slots__ = ("id", "num_workers", "seed", "dataset")

    def __init__(self, id: int, num_workers: int, seed: int, dataset: Any) -> None:
        for name, value in zip(self.__slots__, (id, num_workers, seed, dataset)):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise RuntimeError(f"Cannot assign attributes to {type(self).__name__} objects")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)}' for name in self.__slots__)})"

    id: int
    num_workers: int
    seed: int
    dataset: Any


_of_this_thread = threading.local()


def get_worker_info() -> WorkerInfo | None:
    """Returns the WorkerInfo of the current loader worker, or None outside of workers.

    >>> get_worker_info() is None
    True
    """
    return getattr(_of_this_thread, "info", None)


def set_worker_info(info: WorkerInfo | None) -> None:
    """Marks the current thread as a worker."""
    _of_this_thread.info = info


@dataclass
class Task:
    """A batch to load: `number` is its index in the epoch, `place` the number of samples before it."""

    epoch: int
    number: int
    seed: int
    place: int
    index: Any  # the sample indices; None for streams


@dataclass
class Recipe:
    """The loader options that workers need to make a batch."""

    dataset: Any
    collate_fn: Callable[[Any], Any]
    batched: bool
    is_stream: bool
    batch_size: int | None
    drop_last: bool
    worker_init_fn: Callable[[int], None] | None
    num_workers: int
    seed: int


class Fetcher:
    """Loads the batches of an epoch. For a stream it holds the iterator."""

    def __init__(self, recipe: Recipe, dataset: Any, worker: int = 0, stopped: Callable[[], bool] = lambda: False) -> None:
        self._recipe = recipe
        self._dataset = dataset
        self._worker = worker
        self._stopped = stopped
        # Data sets of tensors can return collated batches directly.
        self._whole = getattr(dataset, "_batch", None) if recipe.collate_fn is default_collate else None
        self._stream: Iterator[Any] | None = None
        self._ended = False
        self._count = 0

    def __call__(self, task: Task) -> Any:
        """Returns the batch, or Exhausted."""
        try:
            with SampleStream(task.seed) as numbers:
                return self._next_of_stream(numbers) if self._recipe.is_stream else self._at_places(numbers, task)
        except StopIteration as error:  # would silently end the loop over the loader
            raise RuntimeError("a data set or collate_fn raised StopIteration") from error

    def _at_places(self, numbers: SampleStream, task: Task) -> Any:
        dataset, samples = self._dataset, task.index
        if not self._recipe.batched:
            numbers.sample(task.place)
            samples = dataset[task.index]
        elif self._whole is not None and (batch := self._whole(task.index)) is not None:
            return batch
        elif getattr(dataset, "__getitems__", None):
            numbers.sample(task.place)
            samples = dataset.__getitems__(task.index)
        else:
            samples = []
            for place, index in enumerate(task.index, task.place):
                if self._stopped():
                    raise Stopped
                numbers.sample(place)
                samples.append(dataset[index])
        numbers.batch(task.place)
        return self._recipe.collate_fn(samples)

    def _next_of_stream(self, numbers: SampleStream) -> Any:
        recipe, step = self._recipe, max(self._recipe.num_workers, 1)
        if self._stream is None:
            numbers.sample(-1 - self._worker)  # outside the range of sample indices
            self._stream = iter(self._dataset)
        first = self._count * step + self._worker
        samples: list[Any] = []
        while not self._ended and len(samples) < (recipe.batch_size or 1):
            if self._stopped():
                raise Stopped
            numbers.sample(self._count * step + self._worker)
            try:
                samples.append(next(self._stream))
            except StopIteration:
                self._ended = True
            self._count += 1
        if not samples or (recipe.drop_last and recipe.batched and len(samples) < (recipe.batch_size or 1)):
            self._ended = True
            return Exhausted()
        numbers.batch(first)
        return recipe.collate_fn(samples if recipe.batched else samples[0])
