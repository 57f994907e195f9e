"""Iteration over the batches of one epoch."""

from __future__ import annotations

import os
import queue
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .fetching import Exhausted, Fetcher, Task
from .workers import Crew, Failure

if TYPE_CHECKING:
    from .loader import DataLoader


@dataclass
class Epoch:
    """Start and progress of an epoch: what `DataLoader.state_dict` saves."""

    number: int
    seed: int
    default_generator: tuple[int, int]
    generators: list[tuple[int, int]]
    samplers: list[Any]
    given: int = 0
    finished: bool = False


class Places:
    """Numbers the batch indices from the sampler.

    The first is drawn immediately, so that samplers draw their random numbers at the start of the epoch, independent of the number of
    workers.
    """

    def __init__(self, epoch: Epoch, sampler: Any, batched: bool, skip: int) -> None:
        self._epoch = epoch
        self._indices: Iterator[Any] = iter(sampler)
        self._batched = batched
        self._number = self._place = 0
        for _ in range(skip):
            self._draw()
            self._count()
        self._draw()

    def _draw(self) -> None:
        self._index: Any = next(self._indices, _NOTHING)

    def _count(self) -> None:
        if self._index is not _NOTHING:
            self._number += 1
            self._place += len(self._index) if self._batched and self._index is not None else 1

    def next(self) -> Task | None:
        """Returns the next batch to load, or None."""
        if self._index is _NOTHING:
            return None
        task = Task(self._epoch.number, self._number, self._epoch.seed, self._place, self._index)
        self._count()
        self._draw()
        return task


_NOTHING = object()


class Iteration:
    """Base class of the iterators that `iter(loader)` returns."""

    def __init__(self, loader: DataLoader[Any], epoch: Epoch, places: Places) -> None:
        self._loader = loader
        self._epoch = epoch
        self._places = places

    def __iter__(self) -> Iteration:
        return self

    def __len__(self) -> int:
        return len(self._loader)

    def __next__(self) -> Any:
        if self._epoch.finished:
            raise StopIteration
        try:
            batch = self._take()
        except StopIteration:
            self._epoch.finished = True
            self._end()
            raise
        self._epoch.given += 1
        self._loader._check_length(self._epoch.given)
        return batch

    def skip(self, batches: int) -> None:
        """Loads and discards batches of a stream, the only way to reach a position in it."""
        for _ in range(batches):
            self._take()

    def _take(self) -> Any:
        raise NotImplementedError

    def _end(self) -> None:
        pass


class DirectIteration(Iteration):
    """Loads each batch on demand, without workers."""

    def __init__(self, loader: DataLoader[Any], epoch: Epoch, places: Places) -> None:
        super().__init__(loader, epoch, places)
        self._fetcher = Fetcher(loader._recipe(epoch.seed), loader.dataset)

    def _take(self) -> Any:
        task = self._places.next()
        if task is None:
            raise StopIteration
        batch = self._fetcher(task)
        if isinstance(batch, Exhausted):
            raise StopIteration
        return batch


class CrewIteration(Iteration):
    """Lets workers prefetch batches and returns them in order."""

    def __init__(self, loader: DataLoader[Any], epoch: Epoch, places: Places, crew: Crew) -> None:
        super().__init__(loader, epoch, places)
        self._crew = crew
        self._process = os.getpid()
        self._worker = 0
        self._ended = [False] * loader.num_workers
        self._worker_of: dict[int, int] = {}  # by the number of the batch
        self._ready: dict[int, Any] = {}  # results that arrived out of order
        self._stopped = False
        for _ in range(loader.num_workers * (loader.prefetch_factor or 1)):
            self._send()

    def _send(self, worker: int | None = None) -> None:
        """Sends the next batch to the given worker, or to the next one whose stream has not ended."""
        if all(self._ended):
            return
        task = self._places.next()
        if task is None:
            return
        if worker is None or self._ended[worker]:
            while self._ended[self._worker]:
                self._worker = (self._worker + 1) % len(self._ended)
            worker = self._worker
            self._worker = (worker + 1) % len(self._ended)
        self._worker_of[task.number] = worker
        try:
            self._crew.send(worker, task)
        except BaseException:  # a worker died
            self._stop()
            raise

    def _take(self) -> Any:
        if self._process != os.getpid():
            raise RuntimeError("this iterator of a DataLoader belongs to the parent process: make one in the child with iter(loader)")
        while self._worker_of:
            number, answer = self._answer()
            worker = self._worker_of.pop(number)
            if isinstance(answer, Exhausted):
                self._ended[worker] = True
                self._send()
                continue
            self._send(None if self._loader.in_order else worker)
            if isinstance(answer, Failure):
                answer.raised()
            return answer
        raise StopIteration

    def _answer(self) -> tuple[int, Any]:
        first = next(iter(self._worker_of))
        while True:
            if self._loader.in_order and first in self._ready:
                return first, self._ready.pop(first)
            number, answer = self._receive()
            if not self._loader.in_order:
                return number, answer
            self._ready[number] = answer

    def _receive(self) -> tuple[int, Any]:
        timeout = self._loader.timeout
        if self._stopped:
            raise RuntimeError("the workers of this iterator of a DataLoader have ended: make a new one with iter(loader)")
        if self._loader._crew is not None and self._loader._epoch is not self._epoch:
            raise RuntimeError("this iterator ended when its DataLoader was iterated again: persistent_workers serve one at a time")
        while True:
            try:
                epoch, number, answer = self._crew.receive(timeout or None)
            except queue.Empty:
                self._stop()
                raise RuntimeError(f"DataLoader timed out after {timeout} seconds") from None
            except BaseException:  # Ctrl-C, or a worker died
                self._stop()
                raise
            if epoch == self._epoch.number:  # ignores results of an earlier, unfinished epoch
                return number, answer

    def _end(self) -> None:
        if not self._loader.persistent_workers:
            self._stop()

    def _stop(self) -> None:
        self._stopped = True
        self._loader._dismiss(self._crew)


def warn_of_length(given: int, dataset: Any, length: int) -> None:
    """Warns that a stream yielded more batches than its reported length."""
    warnings.warn(
        f"Length of IterableDataset {dataset} was reported to be {length} (when accessing len(dataloader)), but {given} batches have been "
        "fetched. With several workers, each must give its own part of the stream: see get_worker_info.",
        stacklevel=3,
    )
