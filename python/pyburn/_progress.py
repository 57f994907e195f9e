"""Bars for work that may take long, drawn on terminals alone, and only when the work has taken a while."""

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
_PATIENCE = 1.0  # seconds: what is done by then needs no bar
_REDRAW_SECONDS = 0.1


def duration(seconds: float) -> str:
    """A time to read: 4s, 1:15, 1:06:40."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def bar_text(share: float, width: int) -> str:
    """A bar in eighths of a cell."""
    eighths = int(max(0.0, min(1.0, share)) * width * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_BLOCKS[rest] if rest else "")).ljust(width)


class Output:
    """A stream for text about some work, which must not end because of it: a closed pipe, a full disk behind it, or a missing stream (as
    sys.stderr is without a console) loses the text and nothing else."""

    def __init__(self, file: TextIO | None) -> None:
        self.file = file

    def write(self, text: str) -> int:
        """Writes what can be written."""
        with contextlib.suppress(OSError, ValueError):  # ValueError: the file is closed
            if self.file is not None:
                self.file.write(text)
        return len(text)

    def flush(self) -> None:
        """Hands what was written to the system."""
        with contextlib.suppress(OSError, ValueError):
            if self.file is not None:
                self.file.flush()

    def isatty(self) -> bool:
        """Whether somebody sees it on a terminal."""
        try:
            return self.file is not None and self.file.isatty()
        except (OSError, ValueError):
            return False


class WorkBar:
    """A line on stderr that says how far some work is, and is wiped off at the end. PYBURN_DISPLAY "quiet" or "lines" hides it."""

    def __init__(self, doing: str, total: int | None = None, file: TextIO | None = None) -> None:
        self.doing, self.total, self.done = doing, total, 0
        self.file = Output(file if file is not None else sys.stderr)
        hidden = os.environ.get("PYBURN_DISPLAY") in ("quiet", "lines") or os.environ.get("TERM", "dumb") == "dumb"
        self._visible = self.file.isatty() and not hidden
        self._started, self._drawn, self._shown = time.monotonic(), 0.0, False

    def step(self, count: int = 1) -> None:
        """Notes that so many more parts are done."""
        self.done += count
        if not self._visible:
            return
        now = time.monotonic()
        if now - self._started >= _PATIENCE and now - self._drawn >= _REDRAW_SECONDS:
            self._drawn, self._shown = now, True
            self.file.write(f"\r\x1b[2K{self.line(now - self._started)[: shutil.get_terminal_size().columns - 1]}")
            self.file.flush()

    def line(self, seconds: float) -> str:
        """What is shown after so many seconds."""
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
    """The same items, with a bar while somebody works on them."""
    if total is None:
        try:
            total = len(items)  # type: ignore[arg-type]
        except TypeError:  # a stream, which does not know
            total = None
    with WorkBar(doing, total) as bar:
        for item in items:
            yield item
            bar.step()
