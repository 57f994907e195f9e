"""Whether threads load side by side or take turns.

Threads pass the interpreter's lock around whenever one of them waits for a file or decodes. For large samples that is what makes them
useful; for small ones handing the lock over (some 50 us) costs more than it gains, and two threads are slower than one. Which of the two
holds is not known beforehand, so it is measured on the first batches.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sized
from typing import Any

_SMALL = 1e-3  # seconds per sample: above, handing over a lock does not matter


class Turns:
    """Measures a few batches that workers load side by side, then, if samples are small, a few that they load in turn, and stays with
    what was quicker."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._turn = threading.Lock()
        self._in_turn = False
        self._decided = workers < 2
        self._seconds: list[float] = []  # per batch of this trial
        self._side_by_side = 0.0  # seconds from batch to batch in the first trial

    def load(self, fetch: Callable[[Any], Any], task: Any) -> Any:
        """fetch(task), when it is this thread's turn."""
        in_turn = self._in_turn
        if in_turn:
            with self._turn:
                start = time.perf_counter()
                batch = fetch(task)
        else:
            start = time.perf_counter()
            batch = fetch(task)
        if not self._decided and in_turn == self._in_turn:
            self._learn(time.perf_counter() - start, len(task.index) if isinstance(task.index, Sized) else 1)
        return batch

    def _learn(self, seconds: float, samples: int) -> None:
        self._seconds.append(seconds)
        if len(self._seconds) <= self._workers:  # the first batches of a trial also see what came before it
            return
        quickest = min(self._seconds[1:])
        if self._in_turn:
            self._in_turn = quickest < self._side_by_side
            self._decided = True
        elif quickest > _SMALL * samples:
            self._decided = True
        else:
            self._side_by_side = quickest / self._workers
            self._seconds = []
            self._in_turn = True
