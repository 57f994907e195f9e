"""The recording of a compiled step that runs on this thread, for objects that keep a part of their work on the host."""

from __future__ import annotations

import threading
from typing import Any, Protocol


class HostPart(Protocol):
    """A part of a step that the host repeats in each run: it counts, and computes numbers for the operations of the device."""

    def fits(self) -> bool:
        """Returns whether the objects are as they were recorded."""
        ...

    def operations(self) -> list[Any]:
        """Does the host's work of one run, and returns the operations with their numbers."""
        ...


class _OfThread(threading.local):
    recording: Any = None


_of_thread = _OfThread()


def current() -> Any:
    """Returns the recording of this thread, or None. It has `add(part: HostPart)` and `refuse(reason)`."""
    return _of_thread.recording


def set_current(recording: Any) -> None:
    """Sets the recording of this thread, or None."""
    _of_thread.recording = recording
