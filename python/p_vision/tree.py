"""Keras's `tree`: functions of nested lists, tuples and dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pyburn._nested import leaves


def is_nested(structure: Any) -> bool:
    """Returns whether a value is a list, a tuple or a dict.

    Args:
        structure: The value.

    >>> p_vision.tree.is_nested([1])
    True
    """
    return isinstance(structure, (Mapping, list, tuple))


def flatten(structure: Any) -> list[Any]:
    """Returns the leaves in order; dicts are sorted by key.

    Args:
        structure: Nested lists, tuples and dicts.

    >>> p_vision.tree.flatten({"b": [1, 2], "a": 3})
    [3, 1, 2]
    """
    return [leaf for _, leaf in flatten_with_path(structure)]


def flatten_with_path(structure: Any) -> list[tuple[tuple[Any, ...], Any]]:
    """Returns pairs (path, leaf), where the path consists of keys and indices.

    Args:
        structure: Nested lists, tuples and dicts.

    >>> p_vision.tree.flatten_with_path({"a": [1, 2]})
    [(('a', 0), 1), (('a', 1), 2)]
    """
    return list(_walk(structure, ()))


def _walk(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, Mapping):
        for key in sorted(value):
            yield from _walk(value[key], (*path, key))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _walk(item, (*path, index))
    else:
        yield path, value


def map_structure(func: Callable[..., Any], *structures: Any, none_is_leaf: bool = True) -> Any:
    """Applies a function to the corresponding leaves of all structures and keeps the containers.

    Args:
        func: The function of one leaf of each structure.
        *structures: Structures of the same form.
        none_is_leaf: Whether None is a leaf.

    Returns:
        The results in the containers of the first structure.

    Raises:
        ValueError: The structures differ.

    >>> p_vision.tree.map_structure(lambda a, b: a + b, {"x": 1}, {"x": 2})
    {'x': 3}
    """
    first = structures[0]
    if isinstance(first, Mapping):
        return {key: map_structure(func, *(s[key] for s in structures), none_is_leaf=none_is_leaf) for key in first}
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(map_structure(func, *parts, none_is_leaf=none_is_leaf) for parts in zip(*structures)))
    if isinstance(first, (list, tuple)):
        if any(len(other) != len(first) for other in structures[1:]):
            raise ValueError(f"[map_structure] the structures are not alike: {len(first)} and {[len(s) for s in structures[1:]]} items")
        return type(first)(map_structure(func, *parts, none_is_leaf=none_is_leaf) for parts in zip(*structures))
    return None if first is None and not none_is_leaf else func(*structures)


def pack_sequence_as(structure: Any, flat_sequence: Any) -> Any:
    """Packs a list of leaves into the containers of a structure.

    Args:
        structure: Nested lists, tuples and dicts.
        flat_sequence: The leaves, in the order of `flatten`.

    Returns:
        The structure with the new leaves.

    Raises:
        ValueError: The number of leaves differs.

    >>> p_vision.tree.pack_sequence_as({"b": 0, "a": [0, 0]}, [1, 2, 3])
    {'b': 3, 'a': [1, 2]}
    """
    rest = list(flat_sequence)
    if len(rest) != len(flatten(structure)):
        raise ValueError(f"[pack_sequence_as] expected {len(flatten(structure))} leaves: got {len(rest)}")
    order = {path: leaf for (path, _), leaf in zip(flatten_with_path(structure), rest)}

    def packed(value: Any, path: tuple[Any, ...]) -> Any:
        if isinstance(value, Mapping):
            return {key: packed(item, (*path, key)) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)([packed(item, (*path, index)) for index, item in enumerate(value)])
        return order[path]

    return packed(structure, ())


def assert_same_structure(a: Any, b: Any) -> None:
    """Raises ValueError unless both structures are the same.

    Args:
        a: A structure.
        b: Another one.

    >>> p_vision.tree.assert_same_structure([1, (2,)], [3, (4,)])
    """
    if [path for path, _ in flatten_with_path(a)] != [path for path, _ in flatten_with_path(b)]:
        raise ValueError(f"[assert_same_structure] the structures are not alike: {a!r} and {b!r}")


def lists_to_tuples(structure: Any) -> Any:
    """Converts lists to tuples.

    Args:
        structure: Nested lists, tuples and dicts.

    Returns:
        The structure with tuples.

    >>> p_vision.tree.lists_to_tuples([1, [2]])
    (1, (2,))
    """
    if isinstance(structure, Mapping):
        return {key: lists_to_tuples(item) for key, item in structure.items()}
    return tuple(lists_to_tuples(item) for item in structure) if isinstance(structure, (list, tuple)) else structure


def traverse(func: Callable[[Any], Any], structure: Any, top_down: bool = True) -> Any:
    """Calls a function with each part; a result other than None replaces the part.

    Args:
        func: The function of a part.
        structure: Nested lists, tuples and dicts.
        top_down: Whether a container is visited before its items.

    Returns:
        The structure with the replaced parts.

    >>> p_vision.tree.traverse(lambda x: x * 2 if isinstance(x, int) else None, [1, (2,)])
    [2, (4,)]
    """
    if top_down and (found := func(structure)) is not None:
        return found
    if isinstance(structure, Mapping):
        inner: Any = {key: traverse(func, item, top_down) for key, item in structure.items()}
    elif isinstance(structure, (list, tuple)):
        inner = type(structure)([traverse(func, item, top_down) for item in structure])
    else:
        inner = structure
    if top_down:
        return inner
    found = func(inner)
    return inner if found is None else found


__all__ = [
    "assert_same_structure",
    "flatten",
    "flatten_with_path",
    "is_nested",
    "leaves",
    "lists_to_tuples",
    "map_structure",
    "pack_sequence_as",
    "traverse",
]
