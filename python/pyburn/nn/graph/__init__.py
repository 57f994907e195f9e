"""Graph neural network layers, with the names of PyTorch Geometric."""

from .convolution import GATConv, GCNConv, GINConv, SAGEConv
from .data import Batch, Data
from .edges import (
    add_remaining_self_loops,
    add_self_loops,
    contains_self_loops,
    degree,
    gcn_norm,
    remove_self_loops,
    scatter,
    softmax,
    to_undirected,
)
from .message_passing import MessagePassing
from .pooling import global_add_pool, global_max_pool, global_mean_pool

__all__ = [
    "Batch",
    "Data",
    "GATConv",
    "GCNConv",
    "GINConv",
    "MessagePassing",
    "SAGEConv",
    "add_remaining_self_loops",
    "add_self_loops",
    "contains_self_loops",
    "degree",
    "gcn_norm",
    "global_add_pool",
    "global_max_pool",
    "global_mean_pool",
    "remove_self_loops",
    "scatter",
    "softmax",
    "to_undirected",
]
