"""Resuming within an epoch: from the state of the data loader, or by skipping the batches already seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .random_states import random_state, set_random_state


class EpochData:
    """Iterates over the batches of one epoch and can save and restore its position.

    A loader with `state_dict` and `load_state_dict` keeps its own position. Any other iterable is restarted with the random state from the
    start of the epoch, and the batches already seen are drawn and skipped.
    """

    def __init__(self, data: Iterable[Any], epoch: int, resume: dict[str, Any] | None = None) -> None:
        self.data, self.taken, self.finished = data, 0, False
        for part in (data, getattr(data, "sampler", None)):
            set_epoch = getattr(part, "set_epoch", None)
            if callable(set_epoch):
                set_epoch(epoch - 1)
        if resume is None:
            self._start = random_state()
            self._batches = iter(data)
            return
        self._start, self.taken = resume["start"], int(resume["taken"])
        if not load_loader_state(data, resume["loader"]):
            set_random_state(self._start)
        if resume["finished"]:  # interrupted during validation, after the last batch
            self._batches = iter(())
        elif has_state(data) and resume["loader"] is not None:
            self._batches = iter(data)
        else:
            self._batches = iter(data)
            for index in range(self.taken):
                if next(self._batches, None) is None:
                    raise ValueError(f"[resume] the data has only {index} batches, but {self.taken} were seen: is it another data set?")
        set_random_state(resume["now"])

    def __iter__(self) -> Iterator[Any]:
        for batch in self._batches:
            self.taken += 1
            yield batch
        # A loader whose state was saved at the end of an epoch first yields the (empty) rest of that epoch.
        if not self.taken and has_state(self.data):
            self._batches = iter(self.data)
            for batch in self._batches:
                self.taken += 1
                yield batch
        self.finished = True

    def close(self) -> None:
        """Stops the worker processes of an epoch that is left early."""
        close = getattr(self._batches, "close", None)
        if callable(close):
            close()

    def rewind(self, taken: int) -> bool:
        """Makes `state_dict` report that only the first `taken` batches were seen.

        Returns:
            False for loaders that keep their own position: they only know the current one.
        """
        if has_state(self.data):
            return False
        self.taken, self.finished = taken, False
        return True

    def state_dict(self) -> dict[str, Any]:
        """Returns the position in the epoch and the random state."""
        return {
            "start": self._start,
            "now": random_state(),
            "taken": self.taken,
            "finished": self.finished,
            "loader": loader_state(self.data),
        }


def has_state(data: Any) -> bool:
    """Returns whether a loader can save and restore its position."""
    return callable(getattr(data, "state_dict", None)) and callable(getattr(data, "load_state_dict", None))


def loader_state(data: Any) -> Any:
    """Returns the state of a loader, or None if it has none."""
    return data.state_dict() if has_state(data) else None


def load_loader_state(data: Any, state: Any) -> bool:
    """Restores the state of a loader. Returns False if there is no state or the loader cannot restore it."""
    if state is None or not has_state(data):
        return False
    data.load_state_dict(state)
    return True


def length_of(data: Any) -> int | None:
    """Returns the number of batches, or None if it is unknown."""
    try:
        return len(data)
    except TypeError:
        return None
