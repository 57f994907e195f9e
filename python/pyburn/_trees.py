"""Trees: nested tuples, lists and dicts are flattened to leaves, and built again."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

PyTree = Any
Context = Any
IsLeaf = Callable[[Any], bool] | None


class NodeDef(NamedTuple):
    """A type of container: how it is flattened and unflattened."""

    type: Any
    flatten_fn: Callable[[Any], tuple[Iterable[Any], Context]]
    unflatten_fn: Callable[[Iterable[Any], Context], Any]


@dataclass(frozen=True)
class TreeSpec:
    """The structure of a tree: the type of container (None for a leaf), its context and its children."""

    type: Any
    context: Any
    children_specs: Any

    @property
    def num_leaves(self) -> int:
        return 1 if self.type is None else sum(child.num_leaves for child in self.children_specs)

    @property
    def num_nodes(self) -> int:
        return 1 + sum(child.num_nodes for child in self.children_specs)

    @property
    def num_children(self) -> int:
        return len(self.children_specs)

    def children(self) -> list[TreeSpec]:
        return list(self.children_specs)

    def child(self, index: int) -> TreeSpec:
        found: TreeSpec = self.children_specs[index]
        return found

    def is_leaf(self) -> bool:
        return self.type is None

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        return tree_unflatten(leaves, self)


class LeafSpec(TreeSpec):
    """The structure of a leaf."""

    def __init__(self) -> None:
        super().__init__(None, None, [])


def _keys_apart(tree: Any) -> tuple[list[Any], Context]:
    return list(tree.values()), list(tree)


# Dicts keep their order. All classes made by namedtuple share the type `namedtuple`.
SUPPORTED_NODES: dict[Any, NodeDef] = {
    kind: NodeDef(kind, flatten, unflatten)
    for kind, flatten, unflatten in (
        (tuple, lambda tree: (list(tree), None), lambda items, _: tuple(items)),
        (list, lambda tree: (list(tree), None), lambda items, _: list(items)),
        (dict, _keys_apart, lambda items, keys: dict(zip(keys, items, strict=True))),
        (OrderedDict, _keys_apart, lambda items, keys: OrderedDict(zip(keys, items, strict=True))),
        (namedtuple, lambda tree: (list(tree), type(tree)), lambda items, cls: cls(*items)),
        (deque, lambda tree: (list(tree), tree.maxlen), lambda items, length: deque(items, maxlen=length)),
        (
            defaultdict,
            lambda tree: (list(tree.values()), (tree.default_factory, list(tree))),
            lambda items, context: defaultdict(context[0], zip(context[1], items, strict=True)),
        ),
    )
}


def is_namedtuple_instance(obj: Any) -> bool:
    return isinstance(obj, tuple) and hasattr(obj, "_fields")


def node_type(tree: Any) -> Any:
    return namedtuple if type(tree) not in SUPPORTED_NODES and is_namedtuple_instance(tree) else type(tree)


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Returns whether an object is not a container, or is a leaf according to `is_leaf`."""
    return (is_leaf is not None and is_leaf(tree)) or node_type(tree) not in SUPPORTED_NODES


def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """Returns the leaves of a tree in order, and its structure."""
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree: PyTree, leaves: list[Any], is_leaf: IsLeaf) -> TreeSpec:
    if tree_is_leaf(tree, is_leaf):
        leaves.append(tree)
        return LeafSpec()
    kind = node_type(tree)
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten(child, leaves, is_leaf) for child in children])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """Builds a tree from its leaves and its structure.

    Raises:
        ValueError: The number of leaves does not match.
    """
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(f"tree_unflatten: expected {treespec.num_leaves} leaves: got {len(leaves)}")
    return _unflatten(iter(leaves), treespec)


def _unflatten(leaves: Iterator[Any], spec: TreeSpec) -> PyTree:
    if spec.type is None:
        return next(leaves)
    return SUPPORTED_NODES[spec.type].unflatten_fn([_unflatten(leaves, child) for child in spec.children_specs], spec.context)


def tree_leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    return tree_flatten(tree, is_leaf)[0]


def tree_map(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """Applies a function to each leaf, together with the corresponding leaves of the other trees."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [tree_flatten(rest, is_leaf)[0] for rest in rests]
    return tree_unflatten([func(*together) for together in zip(leaves, *others, strict=True)], spec)
