"""Edge functions: self-loops, degrees, and reductions over the edges of a node."""

from __future__ import annotations

from typing import Any

from ... import _core
from ..._core import Tensor

_edges = _core._nn.geometric


def node_count(edge_index: Tensor, num_nodes: int | None = None) -> int:
    """Returns num_nodes, or if None the largest node index plus one."""
    return _edges.node_count(edge_index, num_nodes)


def scatter(src: Tensor, index: Tensor, dim: int = 0, dim_size: int | None = None, reduce: str = "sum") -> Tensor:
    """Reduces the elements of src with the same index.

    Args:
        src: The values.
        index: The index of each element along dim.
        dim: The dimension.
        dim_size: The size of the result along dim; by default the largest index plus one.
        reduce: "sum", "mean", "max", "min" or "mul".

    Returns:
        The reduced values; 0 for indices without elements.

    >>> import pyburn
    >>> pyburn.nn.geometric.scatter(pyburn.tensor([1.0, 2.0, 3.0]), pyburn.tensor([0, 0, 1]))
    tensor([3., 3.])
    """
    return _edges.scatter(src, index, dim, dim_size, reduce)


def softmax(src: Tensor, index: Tensor, ptr: Tensor | None = None, num_nodes: int | None = None, dim: int = 0) -> Tensor:
    """Computes the softmax over groups of elements.

    Args:
        src: The values.
        index: The group of each element.
        ptr: The boundaries of the groups, instead of index.
        num_nodes: The number of groups.
        dim: The dimension.

    Returns:
        A tensor of the shape of src that sums to 1 in each group.

    >>> import pyburn
    >>> pyburn.nn.geometric.softmax(pyburn.tensor([1.0, 1.0, 5.0]), pyburn.tensor([0, 0, 1]))
    tensor([0.5000, 0.5000, 1.0000])
    """
    if ptr is not None:
        index = _core.repeat_interleave(_core.arange(ptr.numel() - 1), ptr[1:] - ptr[:-1])
    return _edges.softmax(src, index, num_nodes, dim)


def degree(index: Tensor, num_nodes: int | None = None, dtype: Any = None) -> Tensor:
    """Counts the occurrences of each index.

    Args:
        index: The indices.
        num_nodes: The number of nodes; by default the largest index + 1.
        dtype: The dtype of the result.

    Returns:
        A tensor (num_nodes,).

    >>> import pyburn
    >>> pyburn.nn.geometric.degree(pyburn.tensor([0, 2, 2]))
    tensor([1., 0., 2.])
    """
    return scatter(_core.ones(index.numel(), dtype=dtype, device=index.device), index, 0, num_nodes)


def contains_self_loops(edge_index: Tensor) -> bool:
    """Returns whether an edge connects a node to itself.

    Args:
        edge_index: The edges (2, E): sources and targets.

    >>> import pyburn
    >>> pyburn.nn.geometric.contains_self_loops(pyburn.tensor([[0, 1], [1, 1]]))
    True
    """
    return _edges.contains_self_loops(edge_index)


def remove_self_loops(edge_index: Tensor, edge_attr: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
    """Removes self-loops; returns the edges and their attributes.

    Args:
        edge_index: The edges (2, E): sources and targets.
        edge_attr: The attributes of the edges.

    >>> import pyburn
    >>> pyburn.nn.geometric.remove_self_loops(pyburn.tensor([[0, 1], [1, 1]]))[0].tolist()
    [[0], [1]]
    """
    return _edges.remove_self_loops(edge_index, edge_attr)


def add_self_loops(
    edge_index: Tensor, edge_attr: Tensor | None = None, fill_value: Any = None, num_nodes: int | None = None
) -> tuple[Tensor, Tensor | None]:
    """Adds a self-loop to each node.

    Args:
        edge_index: The edges, (2, edges).
        edge_attr: The edge attributes.
        fill_value: The attribute of the self-loops: a number, a tensor, or the name of a reduction of the attributes of incoming edges.
        num_nodes: The number of nodes.

    Returns:
        The edges and their attributes.

    >>> import pyburn
    >>> pyburn.nn.geometric.add_self_loops(pyburn.tensor([[0], [1]]))[0].tolist()
    [[0, 0, 1], [1, 0, 1]]
    """
    return _edges.add_self_loops(edge_index, edge_attr, fill_value, num_nodes)


def add_remaining_self_loops(
    edge_index: Tensor, edge_attr: Tensor | None = None, fill_value: Any = None, num_nodes: int | None = None
) -> tuple[Tensor, Tensor | None]:
    """Adds a self-loop to each node that has none, after all other edges; existing self-loops keep their attributes.

    Args:
        edge_index: The edges (2, E): sources and targets.
        edge_attr: The attributes of the edges.
        fill_value: The attribute of new self-loops: a number, a tensor or a reduction such as "mean". The default is 1.
        num_nodes: The number of nodes; by default the largest index + 1.

    Returns:
        The edges and their attributes.

    >>> import pyburn
    >>> pyburn.nn.geometric.add_remaining_self_loops(pyburn.tensor([[0, 1], [0, 0]]))[0].tolist()
    [[1, 0, 1], [0, 0, 1]]
    """
    return _edges.add_remaining_self_loops(edge_index, edge_attr, fill_value, num_nodes)


def gcn_norm(
    edge_index: Tensor,
    edge_weight: Tensor | None = None,
    num_nodes: int | None = None,
    improved: bool = False,
    add_self_loops: bool = True,
    flow: str = "source_to_target",
    dtype: Any = None,
) -> tuple[Tensor, Tensor]:
    """Applies the symmetric GCN normalization: adds self-loops and divides edge weights by the square roots of the degrees of both ends.

    Args:
        edge_index: The edges (2, E): sources and targets.
        edge_weight: The weights of the edges; 1 by default.
        num_nodes: The number of nodes; by default the largest index + 1.
        improved: Whether self-loops have weight 2.
        add_self_loops: Whether to add self-loops.
        flow: "source_to_target" or "target_to_source".
        dtype: The dtype of default weights.

    Returns:
        The edges and their weights.

    >>> import pyburn
    >>> pyburn.nn.geometric.gcn_norm(pyburn.tensor([[0, 1], [1, 0]]))[1]
    tensor([0.5000, 0.5000, 0.5000, 0.5000])
    """
    return _edges.gcn_norm(edge_index, edge_weight, num_nodes, improved, add_self_loops, flow == "target_to_source", dtype)


def to_undirected(edge_index: Tensor, num_nodes: int | None = None) -> Tensor:
    """Returns the edges in both directions, without duplicates, sorted.

    Args:
        edge_index: The edges (2, E): sources and targets.
        num_nodes: The number of nodes; by default the largest index + 1.

    >>> import pyburn
    >>> pyburn.nn.geometric.to_undirected(pyburn.tensor([[0, 1], [1, 2]])).tolist()
    [[0, 1, 1, 2], [1, 0, 2, 1]]
    """
    return _edges.to_undirected(edge_index, num_nodes)
