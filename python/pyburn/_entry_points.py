"""Packages that announce something in a group of entry points."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Discovery:
    """Loads, once, the packages of an entry-point group.

    An entry point names a function that registers what the package brings, or a module that does so when it is imported. One that fails
    leaves the others alone: failed(name, reason) is called.
    """

    def __init__(self, group: str, failed: Callable[[str, str], None]) -> None:
        self.group, self.failed = group, failed
        self._lock = threading.RLock()  # a package may ask for what others announce
        self._done = False

    def run(self) -> None:
        with self._lock:
            if self._done:
                return
            self._done = True
            from importlib.metadata import entry_points

            for point in entry_points(group=self.group):
                try:
                    announced = point.load()
                    if callable(announced):
                        announced()
                except Exception as error:  # whatever another package does wrong
                    self.failed(point.name, f"{type(error).__name__}: {error}")
