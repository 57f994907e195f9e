"""DataLoader: iterates over a data set in batches, optionally with workers."""

from __future__ import annotations

import itertools
import multiprocessing
import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .. import _core
from .collate import default_collate, default_convert
from .dataset import Dataset, IterableDataset
from .fetching import Recipe
from .iteration import CrewIteration, DirectIteration, Epoch, Iteration, Places, warn_of_length
from .randomness import draw_seed
from .sampler import BatchSampler, RandomSampler, SequentialSampler
from .workers import Crew, ProcessCrew, ThreadCrew

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext

    from .._types import Generator

T_co = TypeVar("T_co", covariant=True)

_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
_VERSION = 1


class DataLoader(Generic[T_co]):
    """Iterates over a data set in batches. Arguments and attributes are those of PyTorch.

    Workers are threads by default; with `multiprocessing_context` they are processes. Batches, their order and the random numbers drawn for
    samples are the same for any number and kind of workers. `state_dict` saves the position within an epoch, and `load_state_dict` makes
    the next pass resume from there with the same batches.

    Args:
        dataset: The data set or stream.
        batch_size: The number of samples per batch; None disables batching.
        shuffle: Whether to shuffle every epoch.
        sampler: The indices of the samples, in order.
        batch_sampler: The indices of the samples of each batch.
        num_workers: The number of workers; 0 loads in the calling thread.
        collate_fn: Combines samples to a batch; by default `default_collate`.
        pin_memory: Accepted for compatibility; has no effect.
        drop_last: Whether to drop the last batch if it is incomplete.
        timeout: The number of seconds to wait for a batch from workers; 0 waits forever.
        worker_init_fn: Called in each worker with its id.
        multiprocessing_context: "fork", "spawn", "forkserver" or a context, for worker processes.
        generator: The random generator for shuffling and seeds.
        prefetch_factor: The number of batches that each worker loads ahead.
        persistent_workers: Whether to keep the workers between epochs.
        pin_memory_device: Accepted for compatibility; has no effect.
        in_order: Whether workers return batches in order.

    Raises:
        ValueError: Options are invalid or exclude each other.

    >>> loader = DataLoader([1.0, 2.0, 3.0], batch_size=2)
    >>> [batch.tolist() for batch in loader]
    [[1.0, 2.0], [3.0]]
    """

    dataset: Any
    batch_size: int | None
    num_workers: int
    drop_last: bool
    timeout: float
    sampler: Any
    batch_sampler: Any
    prefetch_factor: int | None
    _initialized = False

    def __init__(
        self,
        dataset: Dataset[T_co] | Sequence[T_co] | Iterable[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Sequence[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: str | BaseContext | None = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to load in the main thread.")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError("prefetch_factor option needs num_workers > 0; set it to None otherwise.")
        if prefetch_factor is not None and prefetch_factor < 1:
            raise ValueError("prefetch_factor option should be positive")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory  # no supported device needs it
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.generator = generator
        self.persistent_workers = persistent_workers
        self.in_order = in_order
        self._is_stream = isinstance(dataset, IterableDataset)
        self._choose_samplers(batch_size, shuffle, sampler, batch_sampler, drop_last)
        self.collate_fn = collate_fn or (default_collate if self._batched else default_convert)
        self._reported_length: int | None = None
        self._crew: Crew | None = None  # persistent workers; _crew_process is the process that owns them
        self._crew_process = 0
        self._epoch: Epoch | None = None
        self._resume: dict[str, Any] | None = None
        self._initialized = True

    def _choose_samplers(self, batch_size: int | None, shuffle: bool | None, sampler: Any, batch_sampler: Any, drop_last: bool) -> None:
        if self._is_stream:
            for name, value in {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}.items():
                if value is not None:
                    raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}")
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None and self._is_stream:
            sampler = itertools.repeat(None)
        elif sampler is None and batch_sampler is None:
            sampler = RandomSampler(self.dataset, generator=self.generator) if shuffle else SequentialSampler(self.dataset)
        elif sampler is None:
            sampler = getattr(batch_sampler, "sampler", None)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler

    @property
    def _batched(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return itertools.repeat(None) if self._is_stream else self.batch_sampler if self._batched else self.sampler

    @property
    def multiprocessing_context(self) -> BaseContext | None:
        """The context that creates the worker processes, or None for threads."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: str | BaseContext | None) -> None:
        if context is not None and self.num_workers == 0:
            raise ValueError("multiprocessing_context can only be used with multi-process loading (num_workers > 0)")
        if isinstance(context, str):
            if context not in multiprocessing.get_all_start_methods():
                raise ValueError(
                    f"multiprocessing_context option should specify a valid start method in {multiprocessing.get_all_start_methods()!r}, "
                    f"but got multiprocessing_context={context!r}"
                )
            context = multiprocessing.get_context(context)
        if context is not None and not hasattr(context, "Process"):
            raise TypeError(f"multiprocessing_context option should be a valid context object or a string: got {context!r}")
        self._context: BaseContext | None = context

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_crew": None, "_epoch": None}  # workers are not copied

    def __setattr__(self, name: str, value: object) -> None:
        if self._initialized and name in _FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    def __len__(self) -> int:
        if not self._is_stream:
            return len(self._index_sampler)
        length = len(self.dataset)
        if self.batch_size is not None:
            length = length // self.batch_size if self.drop_last else -(-length // self.batch_size)
        self._reported_length = length
        return length

    def _known_length(self) -> int | None:
        try:
            return None if self._is_stream else len(self._index_sampler)
        except TypeError:  # a sampler without a length
            return None

    def _check_length(self, given: int) -> None:
        if self._is_stream and self._reported_length is not None and given > self._reported_length:
            warn_of_length(given, self.dataset, self._reported_length)

    # --- epochs ---------------------------------------------------------------------------------------------------------

    def __iter__(self) -> Iteration:
        number = self._epoch.number + 1 if self._epoch is not None else 0
        state, self._resume = self._resume, None
        if state is None:
            default = _core._current_generator().get_state()
            generators = [generator.get_state() for generator in self._generators()]
            samplers = [sampler.state_dict() for sampler in self._stateful_samplers()]
            self._epoch = Epoch(number, draw_seed(self.generator), default, generators, samplers)
            return self._iteration(self._epoch, Places(self._epoch, self._index_sampler, self._batched, 0))
        return self._resumed(number, state)

    def _resumed(self, number: int, state: dict[str, Any]) -> Iteration:
        """Resumes a saved epoch: rewinds the random state to its start and advances the sampler; the shared default generator is left
        unchanged.
        """
        default = _core._current_generator()
        current = default.get_state()
        generators = [tuple(saved) for saved in state["generators"]]
        if len(generators) != len(self._generators()) or len(state["samplers"]) != len(self._stateful_samplers()):
            raise ValueError("the state was saved by a DataLoader with other samplers or generators")
        try:
            default.set_state(tuple(state["default_generator"]))
            for generator, saved in zip(self._generators(), generators):
                generator.set_state(saved)
            for sampler, saved in zip(self._stateful_samplers(), state["samplers"]):
                sampler.load_state_dict(saved)
            draw_seed(self.generator)
            given = state["batches"]
            self._epoch = Epoch(number, state["seed"], tuple(state["default_generator"]), generators, state["samplers"])
            places = Places(self._epoch, self._index_sampler, self._batched, 0 if self._is_stream else given)
        finally:
            default.set_state(current)
        iteration = self._iteration(self._epoch, places)
        if self._is_stream:
            iteration.skip(given)
        self._epoch.given = given
        return iteration

    def _iteration(self, epoch: Epoch, places: Places) -> Iteration:
        if not self.num_workers:
            return DirectIteration(self, epoch, places)
        if self._crew is not None and self._crew_process != os.getpid():
            self._crew = None  # belongs to the parent process of a fork
        crew = self._crew
        if crew is None:
            recipe = self._recipe(epoch.seed)
            crew = ThreadCrew(recipe) if self._context is None else ProcessCrew(recipe, self._context)
            if self.persistent_workers:
                self._crew, self._crew_process = crew, os.getpid()
        return CrewIteration(self, epoch, places, crew)

    def _recipe(self, seed: int) -> Recipe:
        return Recipe(
            dataset=self.dataset,
            collate_fn=self.collate_fn,
            batched=self._batched,
            is_stream=self._is_stream,
            batch_size=self.batch_size,
            drop_last=self.drop_last,
            worker_init_fn=self.worker_init_fn,
            num_workers=self.num_workers,
            seed=seed,
        )

    def _dismiss(self, crew: Crew) -> None:
        if self._crew is crew:
            self._crew = None
        crew.close()

    # --- stopping and going on --------------------------------------------------------------------------------------------

    def _samplers(self) -> list[Any]:
        nested = [self.sampler, self.batch_sampler, getattr(self.batch_sampler, "sampler", None)]
        return [sampler for i, sampler in enumerate(nested) if sampler is not None and not any(sampler is other for other in nested[:i])]

    def _generators(self) -> list[Any]:
        found: list[Any] = [self.generator] if self.generator is not None else []
        for sampler in self._samplers():
            generator = getattr(sampler, "generator", None)
            if isinstance(generator, _core.Generator) and not any(generator is other for other in found):
                found.append(generator)
        return found

    def _stateful_samplers(self) -> list[Any]:
        return [s for s in self._samplers() if hasattr(s, "state_dict") and hasattr(s, "load_state_dict")]

    def state_dict(self) -> dict[str, Any]:
        """Returns the position: the number of batches returned in the current epoch, and the random state at its start.

        Between epochs it holds the state of the loader's own generators. Without a generator of its own, `shuffle=True` draws the order of
        the next epoch from the default generator, which is shared: save that with `pyburn.get_rng_state`, as for dropout. The state
        consists of numbers and lists, so it can be written as JSON.
        """
        if self._resume is not None:
            return dict(self._resume)
        epoch = self._epoch if self._epoch is not None and not self._epoch.finished else None
        return {
            "version": _VERSION,
            "in_epoch": epoch is not None,
            "batches": 0 if epoch is None else epoch.given,
            "length": self._known_length(),
            "seed": None if epoch is None else epoch.seed,
            "default_generator": None if epoch is None else list(epoch.default_generator),
            "generators": [list(g) for g in epoch.generators] if epoch else [list(g.get_state()) for g in self._generators()],
            "samplers": list(epoch.samplers) if epoch else [sampler.state_dict() for sampler in self._stateful_samplers()],
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Makes the next `iter(loader)` resume where `state_dict` was called.

        It returns the remaining batches of that epoch, with the same samples, order and random numbers. Batches already returned are
        skipped without loading; those of an IterableDataset are loaded and discarded.

        Args:
            state_dict: A state from `state_dict`.

        Raises:
            ValueError: The state is from a loader with another length, version, or other samplers or generators.
        """
        missing = {"version", "in_epoch", "batches", "length", "seed", "default_generator", "generators", "samplers"} - set(state_dict)
        if missing or state_dict["version"] != _VERSION:
            raise ValueError(
                f"expected a state of a DataLoader of version {_VERSION}: {sorted(missing) or state_dict['version']} does not fit"
            )
        length = self._known_length()
        if state_dict["length"] != length:
            raise ValueError(f"the state was saved by a DataLoader of {state_dict['length']} batches: this one has {length}")
        if state_dict["in_epoch"]:
            self._resume = dict(state_dict)
            return
        if len(state_dict["generators"]) != len(self._generators()) or len(state_dict["samplers"]) != len(self._stateful_samplers()):
            raise ValueError("the state was saved by a DataLoader with other samplers or generators")
        self._resume = None
        if self._epoch is not None:
            self._epoch.finished = True
        for generator, saved in zip(self._generators(), state_dict["generators"]):
            generator.set_state(tuple(saved))
        for sampler, saved in zip(self._stateful_samplers(), state_dict["samplers"]):
            sampler.load_state_dict(saved)
