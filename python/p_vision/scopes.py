"""The version, device scopes and name scopes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pyburn

from .devices import resolve


def version() -> str:
    """Returns the version of the package.

    >>> p_vision.version() == pyburn.__version__
    True
    """
    return pyburn.__version__


def device(device_name: Any) -> Any:
    """Context manager that creates weights and tensors on a device.

    Args:
        device_name: The name, such as "cpu:0", an enum member, or a device.

    Returns:
        The context manager.

    >>> with p_vision.device("cpu"):
    ...     layer = p_vision.Dense(2)
    """
    return resolve(device_name)


@contextlib.contextmanager
def name_scope(name: str, **options: Any) -> Iterator[str]:
    """Has no effect: weights are named after their layer.

    Args:
        name: The name.
        **options: Accepted for compatibility.

    Returns:
        A context manager that gives the name.

    >>> with p_vision.name_scope("encoder") as name:
    ...     print(name)
    encoder
    """
    yield name


__all__ = ["device", "name_scope", "version"]
