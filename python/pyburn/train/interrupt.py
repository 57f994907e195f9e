"""Ctrl-C as a stop request: the current step is finished, then training stops. A second Ctrl-C stops immediately."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

_NAMES = {"SIGINT": "Ctrl-C", "SIGTERM": "a request to terminate"}


class StopRequest:
    """Context manager that turns the first Ctrl-C (or SIGTERM) into a stop request; the second one raises KeyboardInterrupt.

    Signal handlers can only be installed in the main thread; in other threads only `request` sets `reason`.

    Attributes:
        reason: Why to stop; empty while no stop is requested.
        signal: The signal number, or 0 if the request did not come from a signal.

    >>> with pyburn.train.StopRequest() as stop:
    ...     for step in range(1000):
    ...         if stop.reason or step == 3:
    ...             break
    >>> step
    3
    """

    def __init__(self) -> None:
        self.reason = ""
        self.signal = 0
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
        """Requests a stop after the current step, like Ctrl-C. The first reason is kept.

        Args:
            reason: The reason, which is shown to the user.
        """
        self.reason = self.reason or reason
