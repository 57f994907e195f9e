"""The outermost call of a layer, at which added losses are reset."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _Calls(threading.local):
    depth = 0


_calls = _Calls()


@contextmanager
def outermost_call(layer: Any) -> Iterator[None]:
    """Resets the losses added in earlier calls when an outermost call begins."""
    if not _calls.depth:
        for part in layer.modules():
            if hasattr(part, "_added_losses"):
                part._added_losses = []
    _calls.depth += 1
    try:
        yield
    finally:
        _calls.depth -= 1
