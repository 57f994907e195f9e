"""Global pooling: one vector per graph from its nodes."""

from __future__ import annotations

from ..._core import Tensor
from .edges import scatter


def _pool(x: Tensor, batch: Tensor | None, size: int | None, reduce: str) -> Tensor:
    if batch is None:
        dim = -1 if x.dim() == 1 else -2
        if reduce == "max":
            return x.amax(dim, keepdim=x.dim() <= 2)
        return x.sum(dim, keepdim=x.dim() <= 2) if reduce == "sum" else x.mean(dim, keepdim=x.dim() <= 2)
    return scatter(x, batch, -1 if x.dim() == 1 else -2, size, reduce)


def global_add_pool(x: Tensor, batch: Tensor | None, size: int | None = None) -> Tensor:
    """Sums the node features of each graph; `batch` holds the graph index of each node.

    Args:
        x: The node features (nodes, C).
        batch: The graph index of each node; None for one graph.
        size: The number of graphs.

    Returns:
        The sums (graphs, C).

    >>> import pyburn
    >>> pyburn.nn.geometric.global_add_pool(pyburn.tensor([[1.0], [2.0], [3.0]]), pyburn.tensor([0, 0, 1])).tolist()
    [[3.0], [3.0]]
    """
    return _pool(x, batch, size, "sum")


def global_mean_pool(x: Tensor, batch: Tensor | None, size: int | None = None) -> Tensor:
    """Averages the node features of each graph.

    Args:
        x: The node features (nodes, C).
        batch: The graph index of each node; None for one graph.
        size: The number of graphs.

    Returns:
        The means (graphs, C).

    >>> import pyburn
    >>> pyburn.nn.geometric.global_mean_pool(pyburn.tensor([[1.0], [2.0], [3.0]]), pyburn.tensor([0, 0, 1])).tolist()
    [[1.5], [3.0]]
    """
    return _pool(x, batch, size, "mean")


def global_max_pool(x: Tensor, batch: Tensor | None, size: int | None = None) -> Tensor:
    """Computes the maximum of the node features of each graph.

    Args:
        x: The node features (nodes, C).
        batch: The graph index of each node; None for one graph.
        size: The number of graphs.

    Returns:
        The maxima (graphs, C).

    >>> import pyburn
    >>> pyburn.nn.geometric.global_max_pool(pyburn.tensor([[1.0], [2.0], [3.0]]), pyburn.tensor([0, 0, 1])).tolist()
    [[2.0], [3.0]]
    """
    return _pool(x, batch, size, "max")
