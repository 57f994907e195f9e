"""Decides whether worker threads load concurrently or take turns.

Threads hand over the GIL whenever one of them waits for a file or decodes. For large samples, that is what makes threads useful; for small
ones a handover (about 50 us) costs more than it gains, and two threads are slower than one. Which case applies is measured on the first
batches.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sized
from typing import Any

_SMALL = 1e-3  # seconds per sample above which the cost of GIL handovers does not matter


class Turns:
    """Measures some batches loaded concurrently, then, for small samples, some loaded in turns, and keeps the faster mode."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._turn = threading.Lock()
        self._in_turn = False
        self._decided = workers < 2
        self._seconds: list[float] = []  # per batch of the current trial
        self._side_by_side = 0.0  # seconds per batch of the concurrent trial

    def load(self, fetch: Callable[[Any], Any], task: Any) -> Any:
        """Calls fetch(task), if necessary after waiting for this thread's turn."""
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
        if len(self._seconds) <= self._workers:  # the first batches of a trial overlap with the previous mode
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
