"""Progress bars, drawn only on terminals and only for work that takes a while."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Sized
from typing import Generic, TextIO, TypeVar

T = TypeVar("T")

_BLOCKS = " ▏▎▍▌▋▊▉█"
_PATIENCE = 0.5  # seconds before a bar is drawn
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


def value_text(name: str, value: float) -> str:
    """Formats a name and a number briefly.

    >>> [pyburn.train.displays.value_text("loss", x) for x in (0.25, 0.00004, 123456.0)]
    ['loss 0.2500', 'loss 4.0e-05', 'loss 1.2346e+05']
    """
    if isinstance(value, int):
        return f"{name} {value}"
    return f"{name} {value:.1e}" if abs(value) < 1e-3 and value else f"{name} {value:.4f}" if abs(value) < 1000 else f"{name} {value:.5g}"


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


class Progress(Generic[T]):
    """Iterates over items with a progress line on a terminal, for loops of your own. It is cleared at the end.

    The environment variable PYBURN_DISPLAY with "quiet" or "lines" hides it.

    Args:
        items: The items.
        doing: What is being done, such as "epoch 1/5".
        total: The number of items; by default `len(items)`, if it has a length.
        file: A text stream; by default sys.stderr.

    >>> bar = pyburn.train.Progress([1, 2, 3], "summing")
    >>> for item in bar:
    ...     bar.show(item=item)
    """

    def __init__(self, items: Iterable[T], doing: str, total: int | None = None, file: TextIO | None = None) -> None:
        self.items, self.doing, self.done = items, doing, 0
        self.total = total if total is not None else len(items) if isinstance(items, Sized) else None
        self.values: dict[str, float] = {}
        self.file = Output(file if file is not None else sys.stderr)
        hidden = os.environ.get("PYBURN_DISPLAY") in ("quiet", "lines") or os.environ.get("TERM", "dumb") == "dumb"
        self._visible = self.file.isatty() and not hidden
        self._started, self._drawn = time.monotonic(), 0.0

    def show(self, **values: float) -> None:
        """Shows numbers behind the bar."""
        self.values.update(values)
        self._draw()

    def _draw(self) -> None:
        now = time.monotonic()
        if self._visible and now - self._started >= _PATIENCE and now - self._drawn >= _REDRAW_SECONDS:
            self._drawn = now
            self.file.write(f"\r\x1b[2K{self.line(now - self._started)[: shutil.get_terminal_size().columns - 1]}")
            self.file.flush()

    def line(self, seconds: float) -> str:
        """Returns the line shown after a number of seconds."""
        shown = "".join(f"  {value_text(name, value)}" for name, value in self.values.items())
        if not self.total:
            return f"{self.doing} {self.done}{shown}  {duration(seconds)}"
        share = min(1.0, self.done / self.total)
        left = f"  {duration(seconds * (1 - share) / share)} left" if share else ""
        return f"{self.doing} {bar_text(share, 30)} {self.done}/{self.total}{shown}{left}"

    def __iter__(self) -> Iterator[T]:
        self._started, self.done = time.monotonic(), 0
        try:
            for item in self.items:
                yield item
                self.done += 1
                self._draw()
        finally:
            self.close()

    def close(self) -> None:
        """Clears the line."""
        if self._drawn:
            self.file.write("\r\x1b[2K")
            self.file.flush()
