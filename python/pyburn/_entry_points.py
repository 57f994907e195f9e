"""Discovery of packages in an entry-point group."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Discovery:
    """Loads the packages of an entry-point group, once.

    An entry point names a function that registers what the package provides, or a module that does so on import. If one fails,
    failed(name, reason) is called and the others are not affected.
    """

    def __init__(self, group: str, failed: Callable[[str, str], None]) -> None:
        self.group, self.failed = group, failed
        self._lock = threading.RLock()  # reentrant: a package may trigger discovery itself
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
                except Exception as error:  # any error of another package
                    self.failed(point.name, f"{type(error).__name__}: {error}")
