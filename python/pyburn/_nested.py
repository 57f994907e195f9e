"""Nested lists, tuples and dicts, such as the inputs and outputs of models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ._core import Tensor


def leaves(value: Any) -> Iterator[Any]:
    """Iterates over the leaves of nested containers, in order, except None."""
    if isinstance(value, (Mapping, list, tuple)):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from leaves(item)
    elif value is not None:
        yield value


def tensors(value: Any) -> list[Tensor]:
    """Returns the leaves that are tensors."""
    return [leaf for leaf in leaves(value) if isinstance(leaf, Tensor)]


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """Applies a function to each leaf and keeps the containers."""
    if isinstance(value, Mapping):
        return {key: mapped(function, item) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(mapped(function, item) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(mapped(function, item) for item in value)
    return None if value is None else function(value)


def single(items: list[Any]) -> Any:
    """Returns the only item of a list, or the list."""
    return items[0] if len(items) == 1 else items
