"""Layers on graphs, against PyTorch Geometric's."""

_GRAPH = "t(4, 3), tensor([[0, 1, 2, 2, 3, 3], [1, 0, 1, 3, 2, 3]])"
_LAYERS = [
    "GCNConv(3, 2)",
    "GCNConv(3, 2, improved=True, bias=False)",
    "GCNConv(3, 2, add_self_loops=False)",
    "GCNConv(3, 2, normalize=False)",
    "GCNConv(3, 2, cached=True, flow='target_to_source')",
    "SAGEConv(3, 2)",
    "SAGEConv(3, 2, 'max', normalize=True)",
    "SAGEConv(3, 2, aggr='sum', root_weight=False, bias=False)",
    "SAGEConv(3, 2, project=True)",
    "GATConv(3, 2)",
    "GATConv(3, 2, heads=3, concat=False, negative_slope=0.5)",
    "GATConv(3, 2, 2, add_self_loops=False, bias=False, residual=True)",
    "GINConv(nn.Linear(3, 2))",
    "GINConv(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), eps=0.5, train_eps=True)",
]
_WEIGHTED = [
    ("GCNConv(3, 2)", f"{_GRAPH}, positive(6)"),
    ("GCNConv(3, 2, normalize=False)", f"{_GRAPH}, positive(6)"),
    ("GATConv(3, 2, edge_dim=2, heads=2)", f"{_GRAPH}, t(6, 2)"),
    ("GATConv(3, 2, edge_dim=1, fill_value=0.5)", f"{_GRAPH}, t(6, 1)"),
    ("GATConv(3, 2)", f"{_GRAPH}, return_attention_weights=True"),
    ("GATConv((3, 2), 2)", "(t(4, 3), t(3, 2)), tensor([[0, 1, 3], [1, 2, 0]])"),
    ("SAGEConv((3, 2), 2)", "(t(4, 3), t(3, 2)), tensor([[0, 1, 3], [1, 2, 0]])"),
]
_FUNCTIONS = [
    ("graph.global_add_pool", "torch_geometric.nn.global_add_pool", "t(4, 3), tensor([0, 0, 1, 2])"),
    ("graph.global_mean_pool", "torch_geometric.nn.global_mean_pool", "t(4, 3), tensor([0, 0, 2, 2]), 4"),
    ("graph.global_max_pool", "torch_geometric.nn.global_max_pool", "t(4, 3), tensor([0, 0, 1, 2])"),
    ("graph.global_max_pool", "torch_geometric.nn.global_max_pool", "t(4, 3), None"),
    ("graph.softmax", "torch_geometric.utils.softmax", "t(4, 3), tensor([0, 0, 1, 2])"),
    ("graph.softmax", "torch_geometric.utils.softmax", "t(4), tensor([1, 0, 1, 1]), num_nodes=3"),
    ("graph.degree", "torch_geometric.utils.degree", "tensor([1, 0, 1, 3]), 5"),
    ("graph.scatter", "torch_geometric.utils.scatter", "t(4, 3), tensor([0, 0, 1, 2]), 0, 4, 'min'"),
    ("graph.add_self_loops", "torch_geometric.utils.add_self_loops", "tensor([[0, 1], [1, 1]]), t(2, 2), 'mean', 3"),
    (
        "graph.add_remaining_self_loops",
        "torch_geometric.utils.add_remaining_self_loops",
        "tensor([[0, 1, 2], [1, 1, 0]]), t(3), 2.0, 4",
    ),
    ("graph.to_undirected", "torch_geometric.utils.to_undirected", "tensor([[0, 1, 2], [1, 1, 0]])"),
]
_PEER = "__import__('torch_geometric').nn."

TABLE = "\n".join(
    [f"graph.{layer} ~ {_PEER}{layer} | {_GRAPH}" for layer in _LAYERS]
    + [f"graph.{layer} ~ {_PEER}{layer} | {inputs}" for layer, inputs in _WEIGHTED]
    + [f"{ours} ~ __import__('{theirs.split('.')[0]}').{theirs.split('.', 1)[1]} | {inputs}" for ours, theirs, inputs in _FUNCTIONS]
)
