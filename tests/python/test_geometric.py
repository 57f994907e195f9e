"""nn.geometric beyond the goldens: batches of graphs, layers of the user's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyburn
from pyburn import nn
from pyburn.nn import geometric


def some_graph(nodes: int, edges: list[list[int]], **more: Any) -> geometric.Data:
    return geometric.Data(x=pyburn.randn(nodes, 3), edge_index=pyburn.tensor(edges), **more)


@pytest.mark.parametrize(
    "layer", [geometric.GCNConv(3, 2), geometric.SAGEConv(3, 2), geometric.GATConv(3, 2), geometric.GINConv(nn.Linear(3, 2))], ids=repr
)
def test_a_batch_is_each_graph_for_itself(layer: Any) -> None:
    graphs = [some_graph(3, [[0, 1, 2], [1, 2, 0]], y=1), some_graph(2, [[0], [1]], y=0), some_graph(4, [[0, 3, 1], [2, 1, 0]], y=2)]
    batch = geometric.Batch.from_data_list(graphs)
    assert (batch.num_graphs, batch.num_nodes, batch.num_edges) == (3, 9, 7)
    assert batch.ptr.tolist() == [0, 3, 5, 9]
    assert batch.y.tolist() == [1, 0, 2]
    found = geometric.global_mean_pool(layer(batch.x, batch.edge_index), batch.batch)
    for row, one in zip(found, graphs, strict=True):
        expected = layer(one.x, one.edge_index).mean(0)
        np.testing.assert_allclose(row.detach().numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6)
    assert batch.to_data_list() == graphs


def test_a_layer_of_ones_own() -> None:
    class EdgeConv(geometric.MessagePassing):
        def __init__(self) -> None:
            super().__init__(aggr="max")
            self.lin = nn.Linear(6, 2)

        def forward(self, x: Any, edge_index: Any) -> Any:
            return self.propagate(edge_index, x=x)

        def message(self, x_i: Any, x_j: Any) -> Any:  # type: ignore[override]
            return self.lin(pyburn.cat([x_i, x_j - x_i], 1))

        def update(self, inputs: Any, x: Any) -> Any:  # type: ignore[override]
            return inputs + x[:, :2]

    layer, x = EdgeConv(), pyburn.randn(3, 3)
    out = layer(x, pyburn.tensor([[0, 1], [2, 2]]))
    messages = [layer.lin(pyburn.cat([x[2], x[j] - x[2]])) for j in (0, 1)]
    expected = pyburn.maximum(*messages) + x[2, :2]
    np.testing.assert_allclose(out[2].detach().numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6)
    assert pyburn.equal(out[0], x[0, :2])


def test_state_names_are_geometrics() -> None:
    assert list(geometric.GCNConv(3, 2).state_dict()) == ["bias", "lin.weight"]
    assert list(geometric.SAGEConv(3, 2, project=True).state_dict()) == [
        "lin.weight",
        "lin.bias",
        "lin_l.weight",
        "lin_l.bias",
        "lin_r.weight",
    ]
    gat = geometric.GATConv(3, 2, heads=4, edge_dim=5)
    assert {k: tuple(v.shape) for k, v in gat.state_dict().items()} == {
        "att_src": (1, 4, 2),
        "att_dst": (1, 4, 2),
        "att_edge": (1, 4, 2),
        "bias": (8,),
        "lin.weight": (8, 3),
        "lin_edge.weight": (8, 5),
    }
    assert list(geometric.GINConv(nn.Linear(3, 2), train_eps=True).state_dict()) == ["eps", "nn.weight", "nn.bias"]


def test_graphs_without_edges_and_wrong_ones() -> None:
    x, none = pyburn.randn(3, 3), pyburn.zeros(2, 0, dtype=pyburn.int64)
    assert geometric.GCNConv(3, 2)(x, none).shape == (3, 2)
    assert geometric.SAGEConv(3, 2)(x, none).shape == (3, 2)
    assert geometric.GATConv(3, 2)(x, none).shape == (3, 2)
    with pytest.raises(ValueError, match="edge_index"):
        geometric.GCNConv(3, 2, normalize=False)(x, pyburn.tensor([0, 1]))
    with pytest.raises(ValueError, match="self-loops"):
        geometric.GCNConv(3, 2, normalize=False, add_self_loops=True)
    with pytest.raises(ValueError, match="flow"):
        geometric.MessagePassing(flow="up")
    with pytest.raises(TypeError, match="x_j"):
        geometric.MessagePassing().propagate(pyburn.tensor([[0], [1]]))
    with pytest.raises(IndexError):
        geometric.SAGEConv(3, 2)(x, pyburn.tensor([[0], [7]]))


def test_training_a_classifier_of_graphs() -> None:
    """Triangles against paths: the number of edges per node tells them apart."""
    pyburn.manual_seed(0)
    triangle, path = [[0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2]], [[0, 1, 1, 2], [1, 0, 2, 1]]
    graphs = [geometric.Data(x=pyburn.ones(3, 1), edge_index=pyburn.tensor(e), y=i) for i, e in enumerate((triangle, path))] * 4
    batch = geometric.Batch.from_data_list(graphs)
    conv, head = geometric.GINConv(nn.Linear(1, 8)), nn.Linear(8, 2)
    optimizer = pyburn.optim.Adam([*conv.parameters(), *head.parameters()], lr=0.05)
    for _ in range(60):
        optimizer.zero_grad()
        out = head(geometric.global_add_pool(conv(batch.x, batch.edge_index).relu(), batch.batch))
        loss = nn.functional.cross_entropy(out, batch.y)
        loss.backward()
        optimizer.step()
    assert out.argmax(1).tolist() == batch.y.tolist()
