"""Functions of edges: self-loops, degrees, and reductions over those that end in the same node."""

from __future__ import annotations

from typing import Any

from ... import _core
from ..._core import Tensor
from ...tensor.unique import unique

_REDUCTIONS = {"sum": "sum", "add": "sum", "mean": "mean", "max": "amax", "min": "amin", "mul": "prod", "prod": "prod"}


def node_count(edge_index: Tensor, num_nodes: int | None = None) -> int:
    """num_nodes, or one more than the largest node that an edge names."""
    if num_nodes is not None:
        return num_nodes
    return int(edge_index.max()) + 1 if edge_index.numel() else 0


def _along(index: Tensor, like: Tensor, dim: int) -> Tensor:
    """A vector of numbers as one of the shape of `like`, the same in all other axes."""
    shape = [1] * like.dim()
    shape[dim] = index.numel()
    return index.view(shape).expand_as(like)


def scatter(src: Tensor, index: Tensor, dim: int = 0, dim_size: int | None = None, reduce: str = "sum") -> Tensor:
    """The reduction ('sum', 'mean', 'max', 'min', 'mul') of the elements of src that have the same number in index; 0 where there are none.

    >>> import pyburn
    >>> pyburn.nn.graph.scatter(pyburn.tensor([1.0, 2.0, 3.0]), pyburn.tensor([0, 0, 1]))
    tensor([3., 3.])
    """
    if index.dim() != 1:
        raise ValueError(f"The `index` argument must be one-dimensional (got {index.dim()} dimensions)")
    if reduce not in _REDUCTIONS:
        raise ValueError(f"Encountered invalid `reduce` argument '{reduce}'")
    dim = dim % src.dim()
    shape = list(src.shape)
    shape[dim] = node_count(index, dim_size)
    zeros = src.new_zeros(shape)
    index = _along(index, src, dim)
    if reduce in ("sum", "add"):
        return zeros.scatter_add(dim, index, src)
    return zeros.scatter_reduce(dim, index, src, _REDUCTIONS[reduce], include_self=False)


def softmax(src: Tensor, index: Tensor, ptr: Tensor | None = None, num_nodes: int | None = None, dim: int = 0) -> Tensor:
    """The softmax over the elements of src that have the same number in index, or lie between the same two of ptr.

    >>> import pyburn
    >>> pyburn.nn.graph.softmax(pyburn.tensor([1.0, 1.0, 5.0]), pyburn.tensor([0, 0, 1]))
    tensor([0.5000, 0.5000, 1.0000])
    """
    if ptr is not None:
        index = _core.repeat_interleave(_core.arange(ptr.numel() - 1), ptr[1:] - ptr[:-1])
    dim = dim % src.dim()
    count = node_count(index, num_nodes)
    largest = scatter(src.detach(), index, dim, count, "max").index_select(dim, index)
    out = (src - largest).exp()
    return out / (scatter(out, index, dim, count, "sum") + 1e-16).index_select(dim, index)


def degree(index: Tensor, num_nodes: int | None = None, dtype: Any = None) -> Tensor:
    """How often each number occurs in index.

    >>> import pyburn
    >>> pyburn.nn.graph.degree(pyburn.tensor([0, 2, 2]))
    tensor([1., 0., 2.])
    """
    ones = _core.ones(index.numel(), dtype=dtype, device=index.device)
    return scatter(ones, index, 0, node_count(index, num_nodes))


def contains_self_loops(edge_index: Tensor) -> bool:
    """Whether an edge ends where it begins.

    >>> import pyburn
    >>> pyburn.nn.graph.contains_self_loops(pyburn.tensor([[0, 1], [1, 1]]))
    True
    """
    return bool((edge_index[0] == edge_index[1]).any())


def remove_self_loops(edge_index: Tensor, edge_attr: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
    """The edges that do not end where they begin.

    >>> import pyburn
    >>> pyburn.nn.graph.remove_self_loops(pyburn.tensor([[0, 1], [1, 1]]))[0].tolist()
    [[0], [1]]
    """
    kept = edge_index[0] != edge_index[1]
    return edge_index[:, kept], None if edge_attr is None else edge_attr[kept]


def _loop_attr(edge_index: Tensor, edge_attr: Tensor, fill_value: Any, count: int) -> Tensor:
    """Attributes of one loop per node: a number, a tensor, or a reduction of the edges that end there."""
    if isinstance(fill_value, str):
        return scatter(edge_attr, edge_index[1], 0, count, fill_value)
    shape = [count, *edge_attr.shape[1:]]
    if isinstance(fill_value, Tensor):
        return fill_value.to(edge_attr.dtype).expand(shape)
    return edge_attr.new_full(shape, 1.0 if fill_value is None else fill_value)


def add_self_loops(
    edge_index: Tensor, edge_attr: Tensor | None = None, fill_value: Any = None, num_nodes: int | None = None
) -> tuple[Tensor, Tensor | None]:
    """The edges, and one more from each node to itself, of attribute fill_value: a number, a tensor or the name of a reduction.

    >>> import pyburn
    >>> pyburn.nn.graph.add_self_loops(pyburn.tensor([[0], [1]]))[0].tolist()
    [[0, 0, 1], [1, 0, 1]]
    """
    count = node_count(edge_index, num_nodes)
    if edge_attr is not None:
        edge_attr = _core.cat([edge_attr, _loop_attr(edge_index, edge_attr, fill_value, count)])
    loops = _core.arange(count, dtype=edge_index.dtype, device=edge_index.device)
    return _core.cat([edge_index, _core.stack([loops, loops])], 1), edge_attr


def add_remaining_self_loops(
    edge_index: Tensor, edge_attr: Tensor | None = None, fill_value: Any = None, num_nodes: int | None = None
) -> tuple[Tensor, Tensor | None]:
    """The edges with one from each node to itself, after all others; those that are there already keep their attribute.

    >>> import pyburn
    >>> pyburn.nn.graph.add_remaining_self_loops(pyburn.tensor([[0, 1], [0, 0]]))[0].tolist()
    [[1, 0, 1], [0, 0, 1]]
    """
    count = node_count(edge_index, num_nodes)
    kept = edge_index[0] != edge_index[1]
    if edge_attr is not None:
        loop_attr = _loop_attr(edge_index, edge_attr, fill_value, count)
        there = ~kept
        nodes = edge_index[0][there]
        rows = _along(nodes, edge_attr[there], 0)
        edge_attr = _core.cat([edge_attr[kept], loop_attr.scatter(0, rows, edge_attr[there])])
    loops = _core.arange(count, dtype=edge_index.dtype, device=edge_index.device)
    return _core.cat([edge_index[:, kept], _core.stack([loops, loops])], 1), edge_attr


def to_undirected(edge_index: Tensor, num_nodes: int | None = None) -> Tensor:
    """Each edge in both directions, once, sorted.

    >>> import pyburn
    >>> pyburn.nn.graph.to_undirected(pyburn.tensor([[0, 1], [1, 2]])).tolist()
    [[0, 1, 1, 2], [1, 0, 2, 1]]
    """
    count = max(node_count(edge_index, num_nodes), 1)
    both = _core.cat([edge_index, edge_index.flip(0)], 1)
    numbers = unique(both[0] * count + both[1])
    return _core.stack([numbers // count, numbers % count])
