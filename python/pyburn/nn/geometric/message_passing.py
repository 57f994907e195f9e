"""MessagePassing: base class of layers defined by a message, an aggregation and an update function."""

from __future__ import annotations

import inspect
from typing import Any

from ..._core import Tensor
from ..._core._nn import Module
from .edges import scatter

_OWN = {"index", "ptr", "dim_size", "edge_index", "edge_index_i", "edge_index_j", "size", "size_i", "size_j"}


def _arguments(method: Any, skip: int) -> list[inspect.Parameter]:
    return list(inspect.signature(method).parameters.values())[skip:]


class MessagePassing(Module):
    """Base class of graph layers. `propagate` calls `message` for all edges, `aggregate` per node, then `update`.

    An argument `x_j` of these methods holds the rows of `x` at the source nodes of the messages, `x_i` those at the target nodes.

    Args:
        aggr: The aggregation, see `scatter`; None if `aggregate` is overridden.
        flow: "source_to_target" or "target_to_source".
        node_dim: The node dimension.

    Raises:
        ValueError: flow is unknown.

    >>> import pyburn
    >>> layer = pyburn.nn.geometric.MessagePassing(aggr="sum")
    >>> edges = pyburn.tensor([[0, 1], [1, 1]])
    >>> layer.propagate(edges, x=pyburn.tensor([[1.0], [2.0]])).tolist()
    [[0.0], [3.0]]
    """

    def __init__(self, aggr: str | None = "sum", *, flow: str = "source_to_target", node_dim: int = -2) -> None:
        super().__init__()
        if flow not in ("source_to_target", "target_to_source"):
            raise ValueError(f"Expected flow to be either 'source_to_target' or 'target_to_source' (got '{flow}')")
        self.aggr, self.flow, self.node_dim = aggr, flow, node_dim

    def message(self, x_j: Tensor) -> Tensor:
        """Returns the message of each edge; by default the features of the source node.

        Args:
            x_j: The features of the source of each edge.
        """
        return x_j

    def aggregate(self, inputs: Tensor, index: Tensor, ptr: Tensor | None = None, dim_size: int | None = None) -> Tensor:
        """Aggregates the messages per target node.

        Args:
            inputs: The messages.
            index: The target of each edge.
            ptr: The boundaries of the edges per target, if they are sorted.
            dim_size: The number of targets.

        Returns:
            A row per target.
        """
        if self.aggr is None:
            raise NotImplementedError("a layer with aggr=None defines aggregate()")
        return scatter(inputs, index, self.node_dim, dim_size, self.aggr)

    def update(self, inputs: Tensor) -> Tensor:
        """Returns the new node features; by default the aggregated messages.

        Args:
            inputs: The aggregated messages.
        """
        return inputs

    def edge_updater(self, edge_index: Tensor, size: Any = None, **kwargs: Any) -> Tensor:
        """Calls `edge_update` for all edges, with arguments like those of `message`.

        Args:
            edge_index: The edges (2, E): sources and targets.
            size: (sources, targets) if these are different sets of nodes.
            **kwargs: The values used by the arguments of edge_update.

        Returns:
            A value per edge.
        """
        values = self._collect(self.edge_update, 0, edge_index, self._sizes(size), kwargs)
        return self.edge_update(**values)

    def edge_update(self) -> Tensor:
        """Computes a value per edge, for layers that need one before the messages.

        Returns:
            A value per edge.
        """
        raise NotImplementedError("a layer that calls edge_updater() defines edge_update()")

    def propagate(self, edge_index: Tensor, size: Any = None, **kwargs: Any) -> Tensor:
        """Passes messages along edges.

        Args:
            edge_index: The edges, (2, edges).
            size: (sources, targets) if these are different sets of nodes.
            **kwargs: The values used by the arguments of the methods.

        Returns:
            The new node features.

        Raises:
            ValueError: edge_index is not of shape (2, edges).
        """
        if edge_index.dim() != 2 or edge_index.size(0) != 2:
            raise ValueError(f"Expected 'edge_index' to have size '2' in the first dimension (got {list(edge_index.shape)})")
        sizes = self._sizes(size)
        messages = self.message(**self._collect(self.message, 0, edge_index, sizes, kwargs))
        out = self.aggregate(messages, **self._collect(self.aggregate, 1, edge_index, sizes, kwargs))
        return self.update(out, **self._collect(self.update, 1, edge_index, sizes, kwargs))

    @staticmethod
    def _sizes(size: Any) -> list[int | None]:
        return [None, None] if size is None else list(size)

    def _collect(self, method: Any, skip: int, edge_index: Tensor, sizes: list[int | None], given: dict[str, Any]) -> dict[str, Any]:
        """Returns the arguments of `method`, selected by name."""
        target, source = (1, 0) if self.flow == "source_to_target" else (0, 1)
        ends = {"_i": target, "_j": source}
        for name, value in given.items():  # infers the number of nodes from node values
            for side, part in enumerate(value if isinstance(value, tuple) else (value, value)):
                if isinstance(part, Tensor) and sizes[side] is None and self._of_nodes(name):
                    sizes[side] = part.size(self.node_dim)
        count = sizes[target] if sizes[target] is not None else sizes[source]
        if count is None:
            count = int(edge_index[target].max()) + 1 if edge_index.numel() else 0
        own: dict[str, Any] = {
            "index": edge_index[target],
            "ptr": None,
            "dim_size": count,
            "edge_index": edge_index,
            "edge_index_i": edge_index[target],
            "edge_index_j": edge_index[source],
            "size": sizes,
            "size_i": count,
            "size_j": sizes[source],
        }
        values: dict[str, Any] = {}
        for parameter in _arguments(method, skip):
            name = parameter.name
            end = ends.get(name[-2:])
            if name in own:
                values[name] = own[name]
            elif end is not None and name[:-2] in given:
                value = given[name[:-2]]
                value = value[end] if isinstance(value, tuple) else value
                values[name] = value.index_select(self.node_dim, edge_index[end]) if isinstance(value, Tensor) else value
            elif name in given:
                values[name] = given[name]
            elif parameter.default is inspect.Parameter.empty and parameter.kind is not inspect.Parameter.VAR_KEYWORD:
                raise TypeError(f"Required parameter '{name}' is empty")
        return values

    def _of_nodes(self, name: str) -> bool:
        """Returns whether a value is per node: some method has an argument of that name with _i or _j."""
        methods = (self.message, self.aggregate, self.update, self.edge_update)
        asked = {p.name for method in methods for p in _arguments(method, 0)} - _OWN
        return f"{name}_i" in asked or f"{name}_j" in asked
