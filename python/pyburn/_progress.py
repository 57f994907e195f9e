"""Progress bars, drawn only on terminals and only for work that takes a while."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TextIO, TypeVar

T = TypeVar("T")

_BLOCKS = " ▏▎▍▌▋▊▉█"
_PATIENCE = 1.0  # seconds before a bar is drawn
_REDRAW_SECONDS = 0.1


def duration(seconds: float) -> str:
    """Formats a duration: 4s, 1:15, 1:06:40."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def bar_text(share: float, width: int) -> str:
    """Returns a bar with a resolution of 1/8 cell."""
    eighths = int(max(0.0, min(1.0, share)) * width * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_BLOCKS[rest] if rest else "")).ljust(width)


class Output:
    """A stream whose errors are ignored: if it is closed, full or missing (such as sys.stderr without a console), only the text is
    lost.
    """

    def __init__(self, file: TextIO | None) -> None:
        self.file = file

    def write(self, text: str) -> int:
        """Writes the text if possible."""
        with contextlib.suppress(OSError, ValueError):  # ValueError: the file is closed
            if self.file is not None:
                self.file.write(text)
        return len(text)

    def flush(self) -> None:
        """Flushes the stream."""
        with contextlib.suppress(OSError, ValueError):
            if self.file is not None:
                self.file.flush()

    def isatty(self) -> bool:
        """Returns whether the stream is a terminal."""
        try:
            return self.file is not None and self.file.isatty()
        except (OSError, ValueError):
            return False


class WorkBar:
    """A progress line on stderr, which is cleared at the end. PYBURN_DISPLAY "quiet" or "lines" hides it."""

    def __init__(self, doing: str, total: int | None = None, file: TextIO | None = None) -> None:
        self.doing, self.total, self.done = doing, total, 0
        self.file = Output(file if file is not None else sys.stderr)
        hidden = os.environ.get("PYBURN_DISPLAY") in ("quiet", "lines") or os.environ.get("TERM", "dumb") == "dumb"
        self._visible = self.file.isatty() and not hidden
        self._started, self._drawn, self._shown = time.monotonic(), 0.0, False

    def step(self, count: int = 1) -> None:
        """Adds completed parts."""
        self.done += count
        if not self._visible:
            return
        now = time.monotonic()
        if now - self._started >= _PATIENCE and now - self._drawn >= _REDRAW_SECONDS:
            self._drawn, self._shown = now, True
            self.file.write(f"\r\x1b[2K{self.line(now - self._started)[: shutil.get_terminal_size().columns - 1]}")
            self.file.flush()

    def line(self, seconds: float) -> str:
        """Returns the line shown after a number of seconds."""
        if not self.total:
            return f"{self.doing} {self.done}  {duration(seconds)}"
        share = min(1.0, self.done / self.total)
        left = f"  {duration(seconds * (1 - share) / share)} left" if share else ""
        return f"{self.doing} {bar_text(share, 30)} {self.done}/{self.total}{left}"

    def close(self) -> None:
        if self._shown:
            self.file.write("\r\x1b[2K")
            self.file.flush()
            self._shown = False

    def __enter__(self) -> WorkBar:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def watched(items: Iterable[T], doing: str, total: int | None = None) -> Iterator[T]:
    """Iterates over items with a progress bar."""
    if total is None:
        try:
            total = len(items)  # type: ignore[arg-type]
        except TypeError:  # a stream without a length
            total = None
    with WorkBar(doing, total) as bar:
        for item in items:
            yield item
            bar.step()
