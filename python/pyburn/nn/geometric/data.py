"""Data: a graph. Batch: several graphs as one graph with disconnected components."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ... import _core
from ..._core import Tensor
from ...tensor.creation import tensor


class Data:
    """A graph with node features, edges and any other attributes.

    Args:
        x: The node features, (nodes, features).
        edge_index: The edges, (2, edges).
        edge_attr: The edge features.
        y: The targets.
        pos: The node positions.
        **kwargs: Other attributes.

    >>> import pyburn
    >>> graph = pyburn.nn.geometric.Data(x=pyburn.ones(3, 2), edge_index=pyburn.tensor([[0, 1], [1, 2]]))
    >>> graph
    Data(x=[3, 2], edge_index=[2, 2])
    """

    def __init__(
        self,
        x: Tensor | None = None,
        edge_index: Tensor | None = None,
        edge_attr: Tensor | None = None,
        y: Any = None,
        pos: Tensor | None = None,
        **kwargs: Any,
    ) -> None:
        self._store: dict[str, Any] = {}
        for name, value in {"x": x, "edge_index": edge_index, "edge_attr": edge_attr, "y": y, "pos": pos, **kwargs}.items():
            if value is not None:
                self._store[name] = value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._store:
            return self._store[name]
        if name in ("x", "edge_index", "edge_attr", "y", "pos", "batch", "ptr"):
            return None
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_") or isinstance(getattr(type(self), name, None), property):
            object.__setattr__(self, name, value)
        else:
            self._store[name] = value

    def __getitem__(self, name: str) -> Any:
        return self._store[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._store[name] = value

    def __contains__(self, name: str) -> bool:
        return name in self._store

    def keys(self) -> list[str]:
        """Returns the names of the attributes."""
        return list(self._store)

    def to_dict(self) -> dict[str, Any]:
        """Returns the attributes by name."""
        return dict(self._store)

    @property
    def num_nodes(self) -> int | None:
        """The number of nodes, if known."""
        if "num_nodes" in self._store:
            return self._store["num_nodes"]
        for name in ("x", "pos", "batch"):
            if isinstance(self._store.get(name), Tensor):
                return self._store[name].size(0)
        if self.edge_index is None:
            return None
        return int(self.edge_index.max()) + 1 if self.edge_index.numel() else 0

    @num_nodes.setter
    def num_nodes(self, value: int) -> None:
        self._store["num_nodes"] = value

    @property
    def num_edges(self) -> int:
        """The number of edges."""
        return 0 if self.edge_index is None else self.edge_index.size(1)

    @property
    def num_node_features(self) -> int:
        """The number of features per node."""
        return 0 if self.x is None else 1 if self.x.dim() == 1 else self.x.size(-1)

    num_features = num_node_features

    def to(self, *args: Any, **kwargs: Any) -> Data:
        """Moves or casts all tensors in place: to(device), to(dtype). Returns self.

        Args:
            *args: Arguments of Tensor.to.
            **kwargs: Options of Tensor.to.
        """
        self._store = {k: v.to(*args, **kwargs) if isinstance(v, Tensor) else v for k, v in self._store.items()}
        return self

    def __inc__(self, key: str, value: Any) -> Any:
        """Returns the increment of an attribute for the next graph in a batch: the number of nodes for indices, else 0."""
        return self.num_nodes if "index" in key or key == "face" else 0

    def __cat_dim__(self, key: str, value: Any) -> int:
        """Returns the dimension along which a batch concatenates an attribute."""
        return -1 if "index" in key or key == "face" else 0

    def __repr__(self) -> str:
        parts = [f"{k}={list(v.shape) if isinstance(v, Tensor) else v}" for k, v in self._store.items()]
        return f"{type(self).__name__}({', '.join(parts)})"


class Batch(Data):
    """Several graphs as one graph. `batch` holds the graph index of each node, `ptr` the first node of each graph.

    >>> import pyburn
    >>> graph = pyburn.nn.geometric.Data(x=pyburn.ones(2, 1), edge_index=pyburn.tensor([[0], [1]]))
    >>> both = pyburn.nn.geometric.Batch.from_data_list([graph, graph])
    >>> both.edge_index.tolist(), both.batch.tolist()
    ([[0, 2], [1, 3]], [0, 0, 1, 1])
    """

    _graphs: list[Data]

    @classmethod
    def from_data_list(cls, data_list: Sequence[Data]) -> Batch:
        """Creates a batch from graphs.

        Args:
            data_list: The graphs.

        Returns:
            The batch: nodes and edges are concatenated, `batch` has the graph of each node.

        Raises:
            ValueError: There is no graph, or an attribute of the first graph is missing in another.
        """
        if not data_list:
            raise ValueError("expected at least one graph")
        made = cls()
        made._graphs = list(data_list)
        counts = [graph.num_nodes or 0 for graph in data_list]
        for key in data_list[0].to_dict():
            if key == "num_nodes":
                continue
            made[key] = _joined(data_list, key)
        starts = [0]
        for count in counts:
            starts.append(starts[-1] + count)
        made.batch = tensor([i for i, count in enumerate(counts) for _ in range(count)], dtype=_core.int64)
        made.ptr = tensor(starts, dtype=_core.int64)
        return made

    @property
    def num_graphs(self) -> int:
        """The number of graphs."""
        return self.ptr.numel() - 1

    batch_size = num_graphs

    def __len__(self) -> int:
        return self.num_graphs

    def __iter__(self) -> Iterator[Data]:
        return iter(self.to_data_list())

    def get_example(self, index: int) -> Data:
        """Returns one of the original graphs.

        Args:
            index: The index of the graph.
        """
        return self._graphs[index]

    def to_data_list(self) -> list[Data]:
        """Returns the original graphs."""
        return list(self._graphs)


def _joined(graphs: Sequence[Data], key: str) -> Any:
    values, step = [], 0
    for graph in graphs:
        if key not in graph:
            raise ValueError(f"expected every graph to have '{key}', as the first one does")
        value = graph[key]
        values.append(value + step if step and isinstance(value, Tensor) else value)
        step = step + graph.__inc__(key, value)
    first = values[0]
    if isinstance(first, Tensor):
        if first.dim() == 0:
            return _core.stack(values)
        return _core.cat(values, graphs[0].__cat_dim__(key, first))
    return tensor(values) if isinstance(first, (int, float)) else values
