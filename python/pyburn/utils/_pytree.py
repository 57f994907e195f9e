"""torch.utils._pytree: flattens nested tuples, lists and dicts to leaves, and back."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

PyTree = Any
Context = Any
KeyPath = tuple[Any, ...]
IsLeaf = Callable[[Any], bool] | None


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


class NodeDef(NamedTuple):
    """A type of container: how it is flattened and unflattened, and the keys of its children."""

    type: Any
    flatten_fn: Callable[[Any], tuple[Iterable[Any], Context]]
    unflatten_fn: Callable[[Iterable[Any], Context], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Context]] | None = None


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


def _list_flatten(d: Iterable[Any]) -> tuple[list[Any], Context]:
    return list(d), None


def _list_flatten_with_keys(d: Iterable[Any]) -> tuple[list[tuple[SequenceKey, Any]], Context]:
    return [(SequenceKey(index), item) for index, item in enumerate(d)], None


def _dict_flatten(d: dict[Any, Any]) -> tuple[list[Any], Context]:
    return list(d.values()), list(d)


def _dict_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[tuple[MappingKey, Any]], Context]:
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


def _dict_unflatten(values: Iterable[Any], context: Context) -> dict[Any, Any]:
    return dict(zip(context, values, strict=True))


def _namedtuple_flatten(d: Any) -> tuple[list[Any], Context]:
    return list(d), type(d)


def _namedtuple_unflatten(values: Iterable[Any], context: Context) -> Any:
    return context(*values)


def _namedtuple_with_keys(d: Any) -> tuple[list[tuple[GetAttrKey, Any]], Context]:
    return [(GetAttrKey(name), value) for name, value in zip(d._fields, d, strict=True)], type(d)


def _defaultdict_flatten(d: defaultdict[Any, Any]) -> tuple[list[Any], Context]:
    return list(d.values()), (d.default_factory, list(d))


# Dicts keep their order. All classes made by namedtuple share the type `namedtuple`.
SUPPORTED_NODES: dict[Any, NodeDef] = {
    tuple: NodeDef(tuple, _list_flatten, lambda items, _: tuple(items), _list_flatten_with_keys),
    list: NodeDef(list, _list_flatten, lambda items, _: list(items), _list_flatten_with_keys),
    dict: NodeDef(dict, _dict_flatten, _dict_unflatten, _dict_flatten_with_keys),
    OrderedDict: NodeDef(
        OrderedDict, _dict_flatten, lambda items, keys: OrderedDict(zip(keys, items, strict=True)), _dict_flatten_with_keys
    ),
    namedtuple: NodeDef(namedtuple, _namedtuple_flatten, _namedtuple_unflatten, _namedtuple_with_keys),
    deque: NodeDef(
        deque,
        lambda d: (list(d), d.maxlen),
        lambda items, length: deque(items, maxlen=length),
        lambda d: (_list_flatten_with_keys(d)[0], d.maxlen),
    ),
    defaultdict: NodeDef(
        defaultdict,
        _defaultdict_flatten,
        lambda items, context: defaultdict(context[0], zip(context[1], items, strict=True)),
        lambda d: (_dict_flatten_with_keys(d)[0], _defaultdict_flatten(d)[1]),
    ),
}


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[..., Any],
    unflatten_fn: Callable[..., Any],
    *,
    flatten_with_keys_fn: Callable[..., Any] | None = None,
    **options: Any,
) -> None:
    """Registers a class as a container.

    Args:
        cls: The class.
        flatten_fn: Called with the object; returns (children, context).
        unflatten_fn: Called with (children, context); returns the object.
        flatten_with_keys_fn: Like flatten_fn, with pairs (key, child).
        options: Accepted for compatibility.
    """
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)


_register_pytree_node = register_pytree_node


def _deregister_pytree_node(cls: type) -> None:
    del SUPPORTED_NODES[cls]


def is_namedtuple_instance(obj: Any) -> bool:
    return isinstance(obj, tuple) and hasattr(obj, "_fields")


def _get_node_type(tree: Any) -> Any:
    return namedtuple if type(tree) not in SUPPORTED_NODES and is_namedtuple_instance(tree) else type(tree)


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Returns whether an object is not a container, or is a leaf according to `is_leaf`."""
    return (is_leaf is not None and is_leaf(tree)) or _get_node_type(tree) not in SUPPORTED_NODES


_is_leaf = tree_is_leaf


def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """Returns the leaves of a tree in order, and its structure."""
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree: PyTree, leaves: list[Any], is_leaf: IsLeaf) -> TreeSpec:
    if tree_is_leaf(tree, is_leaf):
        leaves.append(tree)
        return LeafSpec()
    kind = _get_node_type(tree)
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


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[Any]:
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """Applies a function to each leaf, together with the corresponding leaves of the other trees."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [tree_flatten(rest, is_leaf)[0] for rest in rests]
    return tree_unflatten([func(*together) for together in zip(leaves, *others, strict=True)], spec)


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
    with_keys = SUPPORTED_NODES[_get_node_type(tree)].flatten_with_keys_fn
    if with_keys is None:
        raise ValueError(f"Did not find a flatten_with_keys_fn for type: {type(tree)}. Please pass one to register_pytree_node.")
    for key, child in with_keys(tree)[0]:
        yield from _with_path((*path, key), child, is_leaf)


def tree_flatten_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """Like tree_map, for a function that takes the path of a leaf before the leaf."""
    leaves, spec = tree_flatten_with_path(tree, is_leaf)
    others = [tree_leaves(rest, is_leaf) for rest in rests]
    return tree_unflatten([func(*leaf, *more) for leaf, *more in zip(leaves, *others, strict=True)], spec)
