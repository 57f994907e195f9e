"""Graph convolutions: GCNConv, SAGEConv, GATConv, GINConv."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import _core
from ..._core import Tensor
from ..._core._nn import Linear
from ...autograd import no_grad
from .. import functional
from ..parameter import Parameter
from .edges import add_self_loops, gcn_norm, remove_self_loops, softmax
from .message_passing import MessagePassing


def _glorot(*tensors: Tensor | None) -> None:
    with no_grad():
        for t in tensors:
            if t is not None:
                bound = (6 / (t.size(-2) + t.size(-1))) ** 0.5
                t.uniform_(-bound, bound)


class GCNConv(MessagePassing):
    """Graph convolution (Kipf and Welling): the degree-normalized sum over each node and its neighbors, times a weight matrix.

    Args:
        in_channels: The number of input features.
        out_channels: The number of output features.
        improved: Whether self-loops have weight 2 instead of 1.
        cached: Whether to reuse the normalization of the first call, for a fixed graph.
        add_self_loops: Whether to add self-loops; by default the value of normalize.
        normalize: Whether to apply the symmetric degree normalization.
        bias: Whether to add a bias.
        **kwargs: Arguments of MessagePassing.

    Raises:
        ValueError: add_self_loops is True and normalize is False.

    >>> import pyburn
    >>> edges = pyburn.tensor([[0, 1], [1, 0]])
    >>> pyburn.nn.geometric.GCNConv(3, 2)(pyburn.ones(2, 3), edges).shape
    pyburn.Size([2, 2])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        improved: bool = False,
        cached: bool = False,
        add_self_loops: bool | None = None,
        normalize: bool = True,
        bias: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**{"aggr": "add", **kwargs})
        add_self_loops = normalize if add_self_loops is None else add_self_loops
        if add_self_loops and not normalize:
            raise ValueError(
                f"'{type(self).__name__}' does not support adding self-loops to the graph when no on-the-fly normalization is applied"
            )
        self.in_channels, self.out_channels = in_channels, out_channels
        self.improved, self.cached, self.add_self_loops, self.normalize = improved, cached, add_self_loops, normalize
        self._cached: tuple[Tensor, Tensor] | None = None
        self.register_parameter("bias", Parameter(_core.zeros(out_channels)) if bias else None)
        self.lin = Linear(in_channels, out_channels, bias=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reinitializes the parameters."""
        _glorot(self.lin.weight)
        if self.bias is not None:
            with no_grad():
                self.bias.zero_()
        self._cached = None

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        if self.normalize:
            if self._cached is None:
                edge_index, edge_weight = gcn_norm(
                    edge_index, edge_weight, x.size(self.node_dim), self.improved, self.add_self_loops, self.flow, x.dtype
                )
                if self.cached:
                    self._cached = (edge_index, edge_weight)
            else:
                edge_index, edge_weight = self._cached
        out = self.propagate(edge_index, x=self.lin(x), edge_weight=edge_weight)
        return out if self.bias is None else out + self.bias

    def message(self, x_j: Tensor, edge_weight: Tensor | None) -> Tensor:  # type: ignore[override]
        return x_j if edge_weight is None else edge_weight.view(-1, 1) * x_j

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels})"


class SAGEConv(MessagePassing):
    """GraphSAGE convolution: a linear function of the aggregated neighbors plus one of the node itself.

    Args:
        in_channels: The number of input features, or (sources, targets).
        out_channels: The number of output features.
        aggr: The aggregation: "mean", "max" or "sum".
        normalize: Whether to normalize the outputs to L2 norm 1.
        root_weight: Whether to add the transformed features of the node itself.
        project: Whether to apply a linear layer with activation to the inputs first.
        bias: Whether to add a bias.
        **kwargs: Arguments of MessagePassing.

    >>> import pyburn
    >>> edges = pyburn.tensor([[0, 1], [1, 0]])
    >>> pyburn.nn.geometric.SAGEConv(3, 2)(pyburn.ones(2, 3), edges).shape
    pyburn.Size([2, 2])
    """

    def __init__(
        self,
        in_channels: int | tuple[int, int],
        out_channels: int,
        aggr: str = "mean",
        normalize: bool = False,
        root_weight: bool = True,
        project: bool = False,
        bias: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(aggr, **kwargs)
        self.in_channels, self.out_channels = in_channels, out_channels
        self.normalize, self.root_weight, self.project = normalize, root_weight, project
        left, right = in_channels if isinstance(in_channels, tuple) else (in_channels, in_channels)
        if project:
            self.lin = Linear(left, left, bias=True)
        self.lin_l = Linear(left, out_channels, bias=bias)
        if root_weight:
            self.lin_r = Linear(right, out_channels, bias=False)

    def reset_parameters(self) -> None:
        """Reinitializes the parameters."""
        for child in self.children():
            child.reset_parameters()

    def forward(self, x: Any, edge_index: Tensor, size: Any = None) -> Tensor:
        x = (x, x) if isinstance(x, Tensor) else x
        if self.project:
            x = (functional.relu(self.lin(x[0])), x[1])
        out = self.lin_l(self.propagate(edge_index, size=size, x=x))
        if self.root_weight and x[1] is not None:
            out = out + self.lin_r(x[1])
        return functional.normalize(out, p=2.0, dim=-1) if self.normalize else out

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, aggr={self.aggr})"


class GATConv(MessagePassing):
    """Graph attention: the attention-weighted mean over each node and its neighbors, with several heads.

    Args:
        in_channels: The number of input features, or (sources, targets).
        out_channels: The number of output features per head.
        heads: The number of attention heads.
        concat: Whether to concatenate the heads instead of averaging them.
        negative_slope: The slope of the leaky ReLU of the attention scores.
        dropout: The dropout probability of the attention weights.
        add_self_loops: Whether to add self-loops.
        edge_dim: The number of edge features.
        fill_value: The edge features of self-loops: a value, or a reduction of the features of incoming edges.
        bias: Whether to add a bias.
        residual: Whether to add a linear residual connection.
        **kwargs: Arguments of MessagePassing.

    >>> import pyburn
    >>> edges = pyburn.tensor([[0, 1], [1, 0]])
    >>> pyburn.nn.geometric.GATConv(3, 2, heads=4)(pyburn.ones(2, 3), edges).shape
    pyburn.Size([2, 8])
    """

    def __init__(
        self,
        in_channels: int | tuple[int, int],
        out_channels: int,
        heads: int = 1,
        concat: bool = True,
        negative_slope: float = 0.2,
        dropout: float = 0.0,
        add_self_loops: bool = True,
        edge_dim: int | None = None,
        fill_value: Any = "mean",
        bias: bool = True,
        residual: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**{"aggr": "add", "node_dim": 0, **kwargs})
        self.in_channels, self.out_channels, self.heads, self.concat = in_channels, out_channels, heads, concat
        self.negative_slope, self.dropout, self.add_self_loops = negative_slope, dropout, add_self_loops
        self.edge_dim, self.fill_value, self.residual = edge_dim, fill_value, residual
        width, total = heads * out_channels, out_channels * (heads if concat else 1)
        for name, there in (("att_src", True), ("att_dst", True), ("att_edge", edge_dim is not None)):
            self.register_parameter(name, Parameter(_core.empty(1, heads, out_channels)) if there else None)
        self.register_parameter("bias", Parameter(_core.zeros(total)) if bias else None)
        if isinstance(in_channels, tuple):
            self.lin_src, self.lin_dst = (Linear(n, width, bias=False) for n in in_channels)
        else:
            self.lin = Linear(in_channels, width, bias=False)
        if edge_dim is not None:
            self.lin_edge = Linear(edge_dim, width, bias=False)
        if residual:
            self.res = Linear(in_channels[1] if isinstance(in_channels, tuple) else in_channels, total, bias=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reinitializes the parameters."""
        _glorot(*(child.weight for child in self.children()), self.att_src, self.att_dst, self.att_edge)
        if self.bias is not None:
            with no_grad():
                self.bias.zero_()

    def forward(
        self, x: Any, edge_index: Tensor, edge_attr: Tensor | None = None, size: Any = None, return_attention_weights: bool | None = None
    ) -> Any:
        given = x
        x = self._projected(x)
        alpha = tuple(None if side is None else (side * a).sum(-1) for side, a in zip(x, (self.att_src, self.att_dst), strict=True))
        if self.add_self_loops:
            count = min(side.size(0) for side in x if side is not None) if size is None else min(size)
            edge_index, edge_attr = remove_self_loops(edge_index, edge_attr)
            edge_index, edge_attr = add_self_loops(edge_index, edge_attr, self.fill_value, count)
        weights = self.edge_updater(edge_index, size=size, alpha=alpha, edge_attr=edge_attr)
        out = self.propagate(edge_index, size=size, x=x, alpha=weights)
        out = out.flatten(1) if self.concat else out.mean(1)
        if self.residual:
            out = out + self.res(given[1] if isinstance(given, tuple) else given)
        out = out if self.bias is None else out + self.bias
        return (out, (edge_index, weights)) if return_attention_weights else out

    def _projected(self, x: Any) -> tuple[Tensor, Tensor | None]:
        """Projects the node features of (sources, targets) to (nodes, heads, channels)."""
        shape = (-1, self.heads, self.out_channels)
        if isinstance(x, Tensor):
            if isinstance(self.in_channels, tuple):
                return self.lin_src(x).view(*shape), self.lin_dst(x).view(*shape)
            both = self.lin(x).view(*shape)
            return both, both
        source, target = (self.lin_src, self.lin_dst) if isinstance(self.in_channels, tuple) else (self.lin, self.lin)
        return source(x[0]).view(*shape), None if x[1] is None else target(x[1]).view(*shape)

    def edge_update(  # type: ignore[override]
        self, alpha_j: Tensor, alpha_i: Tensor | None, edge_attr: Tensor | None, index: Tensor, ptr: Tensor | None, dim_size: int | None
    ) -> Tensor:
        alpha = alpha_j if alpha_i is None else alpha_j + alpha_i
        if index.numel() == 0:
            return alpha
        if edge_attr is not None and self.edge_dim is not None:
            edges = self.lin_edge(edge_attr.view(edge_attr.size(0), -1)).view(-1, self.heads, self.out_channels)
            alpha = alpha + (edges * self.att_edge).sum(-1)
        alpha = functional.leaky_relu(alpha, self.negative_slope)
        return functional.dropout(softmax(alpha, index, ptr, dim_size), p=self.dropout, training=self.training)

    def message(self, x_j: Tensor, alpha: Tensor) -> Tensor:  # type: ignore[override]
        return alpha.unsqueeze(-1) * x_j

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, heads={self.heads})"


class GINConv(MessagePassing):
    """Graph isomorphism convolution: nn((1 + eps) * x + sum of the neighbors).

    Args:
        nn: The module that is applied to the sum.
        eps: The initial value of eps.
        train_eps: Whether eps is trainable.
        **kwargs: Arguments of MessagePassing.

    >>> import pyburn
    >>> edges = pyburn.tensor([[0, 1], [1, 0]])
    >>> pyburn.nn.geometric.GINConv(pyburn.nn.Linear(3, 2))(pyburn.ones(2, 3), edges).shape
    pyburn.Size([2, 2])
    """

    def __init__(self, nn: Callable[[Tensor], Tensor], eps: float = 0.0, train_eps: bool = False, **kwargs: Any) -> None:
        super().__init__(**{"aggr": "add", **kwargs})
        self.nn, self.initial_eps = nn, eps
        if train_eps:
            self.eps = Parameter(_core.full((1,), float(eps)))
        else:
            self.register_buffer("eps", _core.full((1,), float(eps)))

    def reset_parameters(self) -> None:
        """Reinitializes the parameters."""
        for child in self.modules():
            if child is not self and hasattr(child, "reset_parameters"):
                child.reset_parameters()
        with no_grad():
            self.eps.fill_(self.initial_eps)

    def forward(self, x: Any, edge_index: Tensor, size: Any = None) -> Tensor:
        x = (x, x) if isinstance(x, Tensor) else x
        out = self.propagate(edge_index, size=size, x=x)
        if x[1] is not None:
            out = out + (1 + self.eps) * x[1]
        return self.nn(out)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(nn={self.nn})"
