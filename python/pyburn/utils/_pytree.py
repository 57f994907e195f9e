"""Under the names of torch.utils._pytree: nested tuples, lists and dicts as their leaves, and back."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

PyTree = Any
Context = Any


@dataclass(frozen=True)
class TreeSpec:
    """How leaves are nested: the kind of container (None for a leaf), what it needs besides its children, and these."""

    type: Any
    context: Any
    children_specs: tuple[TreeSpec, ...]

    @property
    def num_leaves(self) -> int:
        return 1 if self.type is None else sum(child.num_leaves for child in self.children_specs)

    def is_leaf(self) -> bool:
        return self.type is None

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        return tree_unflatten(leaves, self)


LeafSpec = TreeSpec(None, None, ())


def _is_namedtuple(tree: Any) -> bool:
    return isinstance(tree, tuple) and hasattr(tree, "_fields")


# What a kind of container consists of, and how it is made again; dicts keep their order.
_KINDS: dict[type, tuple[Callable[[Any], tuple[list[Any], Any]], Callable[[list[Any], Any], Any]]] = {
    tuple: (lambda tree: (list(tree), None), lambda items, _: tuple(items)),
    list: (lambda tree: (list(tree), None), lambda items, _: list(items)),
    dict: (lambda tree: (list(tree.values()), list(tree)), lambda items, keys: dict(zip(keys, items, strict=True))),
    OrderedDict: (lambda tree: (list(tree.values()), list(tree)), lambda items, keys: OrderedDict(zip(keys, items, strict=True))),
    deque: (lambda tree: (list(tree), tree.maxlen), lambda items, length: deque(items, maxlen=length)),
    defaultdict: (
        lambda tree: (list(tree.values()), (tree.default_factory, list(tree))),
        lambda items, context: defaultdict(context[0], zip(context[1], items, strict=True)),
    ),
}


def register_pytree_node(cls: type, flatten_fn: Callable[..., Any], unflatten_fn: Callable[..., Any], **options: Any) -> None:
    """Makes a class a container: `flatten_fn(object)` gives (children, context), `unflatten_fn(children, context)` the object."""
    _KINDS[cls] = (lambda tree: (list(flatten_fn(tree)[0]), flatten_fn(tree)[1]), lambda items, context: unflatten_fn(items, context))


_register_pytree_node = register_pytree_node


@dataclass(frozen=True)
class MappingKey:
    """The way to an item of a dict."""

    key: Any


def _dict_flatten(d: dict[Any, Any]) -> tuple[list[Any], Any]:
    return list(d.values()), list(d)


def _dict_unflatten(values: Iterable[Any], context: Any) -> dict[Any, Any]:
    return dict(zip(context, values, strict=True))


def _dict_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[tuple[MappingKey, Any]], Any]:
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


def tree_flatten(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree in order, and how they are nested."""
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree: PyTree, leaves: list[Any], is_leaf: Callable[[Any], bool] | None) -> TreeSpec:
    named = _is_namedtuple(tree)
    kind = type(tree)
    if (kind not in _KINDS and not named) or (is_leaf is not None and is_leaf(tree)):
        leaves.append(tree)
        return LeafSpec
    children, context = (list(tree), None) if named and kind not in _KINDS else _KINDS[kind][0](tree)
    return TreeSpec(kind, context, tuple(_flatten(child, leaves, is_leaf) for child in children))


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """The tree of these leaves."""
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(f"tree_unflatten: expected {treespec.num_leaves} leaves: got {len(leaves)}")
    return _unflatten(iter(leaves), treespec)


def _unflatten(leaves: Any, spec: TreeSpec) -> PyTree:
    if spec.type is None:
        return next(leaves)
    items = [_unflatten(leaves, child) for child in spec.children_specs]
    return _KINDS[spec.type][1](items, spec.context) if spec.type in _KINDS else spec.type(*items)


def tree_leaves(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> PyTree:
    """The tree with a function of every leaf, and of those at its place in the other trees."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [tree_flatten(rest, is_leaf)[0] for rest in rests]
    return tree_unflatten([func(*together) for together in zip(leaves, *others, strict=True)], spec)


def tree_map_(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> PyTree:
    """Calls a function for every leaf and gives the tree itself."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_only(type_or_types: Any, func: Callable[[Any], Any], tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> PyTree:
    """tree_map that leaves leaves of other types as they are."""
    return tree_map(lambda leaf: func(leaf) if isinstance(leaf, type_or_types) else leaf, tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    return any(map(pred, tree_leaves(tree, is_leaf)))
