"""Files and sockets that a child made by fork must not keep open: the workers of a loader may outlive the process that started them."""

from __future__ import annotations

import os
import weakref
from typing import Any

_held: weakref.WeakSet[Any] = weakref.WeakSet()


def close_in_children(file: Any) -> None:
    """Closes the child's copy of an open file or socket right after every fork.

    A lock of flock and a listening socket live until the last copy of their descriptor is closed, so a copy in a child would keep them
    after the parent has died. Programs that are started with exec need no care: Python's descriptors are closed there.

    Args:
        file: An object with a `close` method that closes the descriptor and nothing else (an unbuffered file, a socket).
    """
    _held.add(file)


def _close_all() -> None:
    for file in list(_held):
        file.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_all)
