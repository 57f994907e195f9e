"""Functions of edges: self-loops, degrees, and reductions over those that end in the same node."""

from __future__ import annotations

from typing import Any

from ... import _core
from ..._core import Tensor

_graph = _core._nn.graph


def node_count(edge_index: Tensor, num_nodes: int | None = None) -> int:
    """num_nodes, or one more than the largest node that an edge names."""
    return _graph.node_count(edge_index, num_nodes)


def scatter(src: Tensor, index: Tensor, dim: int = 0, dim_size: int | None = None, reduce: str = "sum") -> Tensor:
    """The reduction ('sum', 'mean', 'max', 'min', 'mul') of the elements of src that have the same number in index; 0 where there are none.

    >>> import pyburn
    >>> pyburn.nn.graph.scatter(pyburn.tensor([1.0, 2.0, 3.0]), pyburn.tensor([0, 0, 1]))
    tensor([3., 3.])
    """
    return _graph.scatter(src, index, dim, dim_size, reduce)


def softmax(src: Tensor, index: Tensor, ptr: Tensor | None = None, num_nodes: int | None = None, dim: int = 0) -> Tensor:
    """The softmax over the elements of src that have the same number in index, or lie between the same two of ptr.

    >>> import pyburn
    >>> pyburn.nn.graph.softmax(pyburn.tensor([1.0, 1.0, 5.0]), pyburn.tensor([0, 0, 1]))
    tensor([0.5000, 0.5000, 1.0000])
    """
    if ptr is not None:
        index = _core.repeat_interleave(_core.arange(ptr.numel() - 1), ptr[1:] - ptr[:-1])
    return _graph.softmax(src, index, num_nodes, dim)


def degree(index: Tensor, num_nodes: int | None = None, dtype: Any = None) -> Tensor:
    """How often each number occurs in index.

    >>> import pyburn
    >>> pyburn.nn.graph.degree(pyburn.tensor([0, 2, 2]))
    tensor([1., 0., 2.])
    """
    return scatter(_core.ones(index.numel(), dtype=dtype, device=index.device), index, 0, num_nodes)


def contains_self_loops(edge_index: Tensor) -> bool:
    """Whether an edge ends where it begins.

    >>> import pyburn
    >>> pyburn.nn.graph.contains_self_loops(pyburn.tensor([[0, 1], [1, 1]]))
    True
    """
    return _graph.contains_self_loops(edge_index)


def remove_self_loops(edge_index: Tensor, edge_attr: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
    """The edges that do not end where they begin.

    >>> import pyburn
    >>> pyburn.nn.graph.remove_self_loops(pyburn.tensor([[0, 1], [1, 1]]))[0].tolist()
    [[0], [1]]
    """
    return _graph.remove_self_loops(edge_index, edge_attr)


def add_self_loops(
    edge_index: Tensor, edge_attr: Tensor | None = None, fill_value: Any = None, num_nodes: int | None = None
) -> tuple[Tensor, Tensor | None]:
    """The edges, and one more from each node to itself, of attribute fill_value: a number, a tensor or the name of a reduction.

    >>> import pyburn
    >>> pyburn.nn.graph.add_self_loops(pyburn.tensor([[0], [1]]))[0].tolist()
    [[0, 0, 1], [1, 0, 1]]
    """
    return _graph.add_self_loops(edge_index, edge_attr, fill_value, num_nodes)


def add_remaining_self_loops(
    edge_index: Tensor, edge_attr: Tensor | None = None, fill_value: Any = None, num_nodes: int | None = None
) -> tuple[Tensor, Tensor | None]:
    """The edges with one from each node to itself, after all others; those that are there already keep their attribute.

    >>> import pyburn
    >>> pyburn.nn.graph.add_remaining_self_loops(pyburn.tensor([[0, 1], [0, 0]]))[0].tolist()
    [[1, 0, 1], [0, 0, 1]]
    """
    return _graph.add_remaining_self_loops(edge_index, edge_attr, fill_value, num_nodes)


def gcn_norm(
    edge_index: Tensor,
    edge_weight: Tensor | None = None,
    num_nodes: int | None = None,
    improved: bool = False,
    add_self_loops: bool = True,
    flow: str = "source_to_target",
    dtype: Any = None,
) -> tuple[Tensor, Tensor]:
    """The edges with loops, and their weights divided by the roots of the degrees of both ends.

    >>> import pyburn
    >>> pyburn.nn.graph.gcn_norm(pyburn.tensor([[0, 1], [1, 0]]))[1]
    tensor([0.5000, 0.5000, 0.5000, 0.5000])
    """
    return _graph.gcn_norm(edge_index, edge_weight, num_nodes, improved, add_self_loops, flow == "target_to_source", dtype)


def to_undirected(edge_index: Tensor, num_nodes: int | None = None) -> Tensor:
    """Each edge in both directions, once, sorted.

    >>> import pyburn
    >>> pyburn.nn.graph.to_undirected(pyburn.tensor([[0, 1], [1, 2]])).tolist()
    [[0, 1, 1, 2], [1, 0, 2, 1]]
    """
    return _graph.to_undirected(edge_index, num_nodes)
