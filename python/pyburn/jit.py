"""The decorators of torch.jit, which have no effect: code is neither scripted nor traced."""

from __future__ import annotations

from typing import Any, Final, TypeVar

__all__ = ["Final", "annotate", "export", "ignore", "interface", "is_scripting", "is_tracing", "script", "script_if_tracing", "unused"]

T = TypeVar("T")


def script(obj: T, *args: Any, **options: Any) -> T:
    """Returns the object unchanged.

    Args:
        obj: A function, class or module.
        *args: Ignored.
        **options: Ignored.

    >>> pyburn.jit.script(abs)(-1)
    1
    """
    return obj


def ignore(drop: Any = False, **options: Any) -> Any:
    """A decorator without effect, with or without arguments.

    Args:
        drop: The function, or ignored.
        **options: Ignored.

    >>> @pyburn.jit.ignore
    ... def one():
    ...     return 1
    >>> one()
    1
    """
    return drop if callable(drop) else script


unused = export = interface = script_if_tracing = script


def annotate(the_type: Any, the_value: T) -> T:
    """Returns the value unchanged.

    Args:
        the_type: Ignored.
        the_value: The value.

    >>> pyburn.jit.annotate(int, 3)
    3
    """
    return the_value


def is_scripting() -> bool:
    """Returns False.

    >>> pyburn.jit.is_scripting()
    False
    """
    return False


def is_tracing() -> bool:
    """Returns False.

    >>> pyburn.jit.is_tracing()
    False
    """
    return False
