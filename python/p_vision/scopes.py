"""What Keras's programs say around their models: which version this is, where to compute, what things are called."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pyburn

from .devices import resolve


def version() -> str:
    """The version of the package."""
    return pyburn.__version__


def device(device_name: Any) -> Any:
    """`with device("cpu:0"):` makes weights and tensors there: by name, enumeration member or device."""
    return resolve(device_name)


@contextlib.contextmanager
def name_scope(name: str, **options: Any) -> Iterator[str]:
    """No effect: the weights of a layer are called after the layer."""
    yield name


__all__ = ["device", "name_scope", "version"]
