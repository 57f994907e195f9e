"""torch.utils._pytree: pyburn._trees, paths in trees, and the private names that libraries use."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .. import _trees as trees
from .._trees import (  # noqa: F401
    SUPPORTED_NODES,
    IsLeaf,
    LeafSpec,
    NodeDef,
    PyTree,
    TreeSpec,
    is_namedtuple_instance,
    tree_flatten,
    tree_is_leaf,
    tree_leaves,
    tree_map,
    tree_unflatten,
)

KeyPath = tuple[Any, ...]
_is_leaf, _get_node_type = tree_is_leaf, trees.node_type
_list_flatten, _list_unflatten = SUPPORTED_NODES[list].flatten_fn, SUPPORTED_NODES[list].unflatten_fn
_dict_flatten, _dict_unflatten = SUPPORTED_NODES[dict].flatten_fn, SUPPORTED_NODES[dict].unflatten_fn
_namedtuple_flatten, _namedtuple_unflatten = SUPPORTED_NODES[namedtuple].flatten_fn, SUPPORTED_NODES[namedtuple].unflatten_fn


@dataclass(frozen=True)
class SequenceKey:
    """The key of an item of a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        return sequence[self.idx]


@dataclass(frozen=True)
class MappingKey:
    """The key of an item of a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        return mapping[self.key]


@dataclass(frozen=True)
class GetAttrKey:
    """The key of an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        return getattr(obj, self.name)


def keystr(kp: KeyPath) -> str:
    """Formats a path, such as ['layers'][0].weight."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """Returns the object at a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


def _list_flatten_with_keys(d: Any) -> tuple[list[tuple[SequenceKey, Any]], Any]:
    return [(SequenceKey(i), value) for i, value in enumerate(d)], None


def _dict_flatten_with_keys(d: Any) -> tuple[list[tuple[MappingKey, Any]], Any]:
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


def _namedtuple_flatten_with_keys(d: Any) -> tuple[list[tuple[GetAttrKey, Any]], Any]:
    return [(GetAttrKey(name), value) for name, value in zip(d._fields, d, strict=True)], type(d)


# How containers name their children.
_with_keys: dict[Any, Callable[[Any], Any]] = {
    **dict.fromkeys((tuple, list, deque), _list_flatten_with_keys),
    **dict.fromkeys((dict, OrderedDict, defaultdict), _dict_flatten_with_keys),
    namedtuple: _namedtuple_flatten_with_keys,
}


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[..., Any],
    unflatten_fn: Callable[..., Any],
    *,
    flatten_with_keys_fn: Callable[..., Any] | None = None,
    **serialization: Any,  # pyburn saves no tree specs, so names for files are not used
) -> None:
    """Registers a class as a container."""
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn)
    if flatten_with_keys_fn is not None:
        _with_keys[cls] = flatten_with_keys_fn


_register_pytree_node = register_pytree_node


def _deregister_pytree_node(cls: type) -> None:
    del SUPPORTED_NODES[cls]
    _with_keys.pop(cls, None)


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[Any]:
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    return tree_flatten(tree, is_leaf)[1]


def tree_map_(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """Calls a function for each leaf and returns the tree."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def map_only(wanted: Any) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Returns a decorator: the function applies to leaves of a type (or types, or a predicate), others are unchanged."""
    holds = wanted if callable(wanted) and not isinstance(wanted, type) else lambda leaf: isinstance(leaf, wanted)
    return lambda func: lambda leaf: func(leaf) if holds(leaf) else leaf


def tree_map_only(type_or_types_or_pred: Any, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """Like tree_map, for leaves of a type (or types, or a predicate); others are unchanged."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    return any(map(pred, tree_leaves(tree, is_leaf)))


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    return tree_leaves((args, kwargs))


def tree_leaves_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """Returns pairs (path, leaf) in order."""
    return list(_with_path((), tree, is_leaf))


def _with_path(path: KeyPath, tree: PyTree, is_leaf: IsLeaf) -> Iterator[tuple[KeyPath, Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    kind = _get_node_type(tree)
    if kind not in _with_keys:
        raise ValueError(f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass one to register_pytree_node.")
    for key, child in _with_keys[kind](tree)[0]:
        yield from _with_path((*path, key), child, is_leaf)


def tree_flatten_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """Like tree_map, for a function that takes the path of a leaf before the leaf."""
    leaves, spec = tree_flatten_with_path(tree, is_leaf)
    others = [tree_leaves(rest, is_leaf) for rest in rests]
    return tree_unflatten([func(*leaf, *more) for leaf, *more in zip(leaves, *others, strict=True)], spec)
