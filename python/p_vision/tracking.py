"""Tracking of layers in lists and dicts that are attributes of a custom layer or model, as in Keras."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

from pyburn.nn import Module


def tracked(owner: Module, name: str, value: Any) -> Any:
    """Returns a list, tuple or dict whose layers, including those added later, become children of the owner."""
    if type(value) is list:
        return TrackedList(owner, name, value)
    if type(value) is dict:
        return TrackedDict(owner, name, value)
    if type(value) is tuple:
        return tuple(part_of(owner, name, item) for item in value)
    return value


def part_of(owner: Module | None, name: str, value: Any) -> Any:
    """Registers a layer once, under a name derived from the attribute."""
    if owner is None:
        return value
    if not isinstance(value, Module):
        return tracked(owner, name, value)
    if not any(part is value for part in owner.children()):
        number = 0
        while hasattr(owner, f"{name}_{number}"):
            number += 1
        owner.add_module(f"{name}_{number}", value)
    return value


class TrackedList(list[Any]):
    """A list that registers its layers with its owner."""

    def __init__(self, owner: Module, name: str, items: Iterable[Any]) -> None:
        self._owner, self._name = weakref.ref(owner), name
        super().__init__(self._part(item) for item in items)

    def _part(self, item: Any) -> Any:
        return part_of(self._owner(), self._name, item)

    def append(self, item: Any) -> None:
        super().append(self._part(item))

    def insert(self, index: Any, item: Any) -> None:
        super().insert(index, self._part(item))

    def extend(self, items: Iterable[Any]) -> None:
        super().extend([self._part(item) for item in items])

    def __iadd__(self, items: Iterable[Any]) -> TrackedList:  # type: ignore[misc, override]
        self.extend(items)
        return self

    def __setitem__(self, index: Any, item: Any) -> None:
        super().__setitem__(index, [self._part(part) for part in item] if isinstance(index, slice) else self._part(item))

    def __reduce__(self) -> Any:  # a copy is a plain list: its layers already belong to the copied owner
        return list, (list(self),)


class TrackedDict(dict[Any, Any]):
    """A dict that registers its layers with its owner."""

    def __init__(self, owner: Module, name: str, items: dict[Any, Any]) -> None:
        self._owner, self._name = weakref.ref(owner), name
        super().__init__({key: self._part(item) for key, item in items.items()})

    def _part(self, item: Any) -> Any:
        return part_of(self._owner(), self._name, item)

    def __setitem__(self, key: Any, item: Any) -> None:
        super().__setitem__(key, self._part(item))

    def setdefault(self, key: Any, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, *items: Any, **named: Any) -> None:
        for key, item in dict(*items, **named).items():
            self[key] = item

    def __reduce__(self) -> Any:
        return dict, (dict(self),)
