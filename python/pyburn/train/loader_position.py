"""Going on in the middle of an epoch: by the loader's own state, or by leaving out what was seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .random_state import random_state, set_random_state


class EpochData:
    """The batches of one epoch, from any iterable. `state_dict` says how to come back to where it is.

    A loader with `state_dict` and `load_state_dict` keeps its own place. Any other is started from the random state that it had at the
    start of the epoch, and the batches that were seen are drawn and left out.
    """

    def __init__(self, data: Iterable[Any], epoch: int, resume: dict[str, Any] | None = None) -> None:
        self.data, self.taken = data, 0
        self._has_state = callable(getattr(data, "state_dict", None)) and callable(getattr(data, "load_state_dict", None))
        for part in (data, getattr(data, "sampler", None)):
            set_epoch = getattr(part, "set_epoch", None)
            if callable(set_epoch):
                set_epoch(epoch - 1)
        if resume is None:
            self._start = random_state()
            self._batches = iter(data)
            return
        self._start, self.taken = resume["start"], int(resume["taken"])
        set_random_state(self._start)
        if resume["loader"] is not None and self._has_state:
            data.load_state_dict(resume["loader"])  # type: ignore[attr-defined]
            self._batches = iter(data)
        else:
            self._batches = iter(data)
            for index in range(self.taken):
                if next(self._batches, None) is None:
                    raise ValueError(f"[resume] the data has only {index} batches, but {self.taken} were seen: is it another data set?")
        set_random_state(resume["now"])

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        batch = next(self._batches)
        self.taken += 1
        return batch

    def close(self) -> None:
        """Ends workers of an epoch that is left early."""
        close = getattr(self._batches, "close", None)
        if callable(close):
            close()

    def state_dict(self) -> dict[str, Any]:
        loader = self.data.state_dict() if self._has_state else None  # type: ignore[attr-defined]
        return {"start": self._start, "now": random_state(), "taken": self.taken, "loader": loader}


def length_of(data: Any) -> int | None:
    """How many batches there are, where that is known."""
    try:
        return len(data)
    except TypeError:
        return None
