"""Closes files and sockets in forked children, such as data loader workers, which may outlive their parent."""

from __future__ import annotations

import os
import weakref
from typing import Any

_held: weakref.WeakSet[Any] = weakref.WeakSet()


def close_in_children(file: Any) -> None:
    """Closes the child's copy of an open file or socket after each fork.

    A flock lock and a listening socket live until the last copy of their descriptor is closed, so a copy in a child would keep them
    after the parent has died. Programs started with exec are not affected: Python's descriptors are closed there.

    Args:
        file: An object with a `close` method that closes only the descriptor (an unbuffered file, a socket).
    """
    _held.add(file)


def _close_all() -> None:
    for file in list(_held):
        file.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_all)
