"""Ctrl-C as a request: the step is finished, then training stops. A second one stops at once."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

_NAMES = {"SIGINT": "Ctrl-C", "SIGTERM": "a request to terminate"}


class StopRequest:
    """While it is entered, the first Ctrl-C (or SIGTERM) only sets `reason`; the second one raises KeyboardInterrupt where it strikes.

    In threads other than the main one, where Python allows no handlers, it does nothing but hold `reason`.

    >>> with pyburn.train.StopRequest() as stop:
    ...     for step in range(1000):
    ...         if stop.reason or step == 3:
    ...             break
    >>> step
    3
    """

    def __init__(self) -> None:
        self.reason = ""
        self.signal = 0  # its number, if it was one
        self._previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> StopRequest:
        if threading.current_thread() is threading.main_thread():
            for name in _NAMES:
                if hasattr(signal, name):
                    number = getattr(signal, name)
                    self._previous[number] = signal.signal(number, self._received)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        self._previous.clear()

    def _received(self, number: int, frame: FrameType | None) -> None:
        if self.reason:
            raise KeyboardInterrupt
        self.reason, self.signal = _NAMES.get(signal.Signals(number).name, "a signal"), number

    def request(self, reason: str) -> None:
        """Asks to stop after the step, as Ctrl-C does."""
        self.reason = self.reason or reason
