"""The version, device scopes and name scopes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pyburn

from .devices import resolve


def version() -> str:
    """Returns the version of the package."""
    return pyburn.__version__


def device(device_name: Any) -> Any:
    """Context manager that creates weights and tensors on a device: `with device("cpu:0"):`."""
    return resolve(device_name)


@contextlib.contextmanager
def name_scope(name: str, **options: Any) -> Iterator[str]:
    """Has no effect: weights are named after their layer."""
    yield name


__all__ = ["device", "name_scope", "version"]
