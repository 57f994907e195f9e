"""AdaptiveLogSoftmaxWithLoss: a softmax over very many classes that computes rare ones only where they occur."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .. import _core
from ._layers import Linear, Module, ModuleList, Sequential


class AdaptiveSoftmaxOutput(NamedTuple):
    """The log-probability of each target, and the mean of their negatives."""

    output: Any
    loss: Any


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities of classes sorted by how often they occur: the first ones directly, the others in clusters that end at cutoffs.

    >>> layer = pyburn.nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[5, 10])
    >>> layer(pyburn.randn(3, 8), pyburn.tensor([0, 7, 19])).output.shape
    Size([3])
    """

    __module__ = "pyburn.nn"

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if cutoffs != sorted(set(cutoffs)) or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1 or any(int(c) != c for c in cutoffs):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is between "
                "1 and n_classes-1"
            )
        self.in_features, self.n_classes, self.div_value, self.head_bias = in_features, n_classes, div_value, head_bias
        self.cutoffs = [*cutoffs, n_classes]
        self.shortlist_size = cutoffs[0]
        self.n_clusters = len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        where = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **where)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(zip(self.cutoffs, self.cutoffs[1:])):
            narrow = int(in_features // div_value ** (i + 1))
            self.tail.append(Sequential(Linear(in_features, narrow, bias=False, **where), Linear(narrow, high - low, bias=False, **where)))

    def reset_parameters(self) -> None:
        """Starts over with fresh values."""
        for module in self.modules():
            if isinstance(module, Linear):
                module.reset_parameters()

    def forward(self, input_: Any, target_: Any) -> AdaptiveSoftmaxOutput:
        """The log-probability of each target, and the mean of their negatives."""
        if target_.ndim not in (0, 1):
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if input_.ndim != target_.ndim + 1:
            raise RuntimeError(f"{target_.ndim}D target tensor expects {target_.ndim + 1}D input tensors: got {tuple(input_.shape)}")
        if target_.ndim and input_.shape[0] != target_.shape[0]:
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        single = target_.ndim == 0
        x, target = (input_.unsqueeze(0), target_.unsqueeze(0)) if single else (input_, target_)
        if target.numel() and (int(target.min()) < 0 or int(target.max()) >= self.n_classes):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{int(target.min())}, {int(target.max())}] "
                "were found."
            )
        in_head = target.clone()  # a class of the shortlist, or the place of a cluster
        in_tail = _core.zeros_like(x[:, 0])
        for i, (cluster, low, high) in enumerate(zip(self.tail, self.cutoffs, self.cutoffs[1:])):
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if rows.numel():
                in_head = in_head.index_fill(0, rows, self.shortlist_size + i)
                scores = _core.log_softmax(cluster(x.index_select(0, rows)), 1)
                in_tail = in_tail.index_add(0, rows, scores.gather(1, (target[rows] - low).unsqueeze(1)).squeeze(1))
        output = in_tail + _core.log_softmax(self.head(x), 1).gather(1, in_head.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return AdaptiveSoftmaxOutput(output.squeeze(0) if single else output, loss)

    def log_prob(self, input: Any) -> Any:
        """The log-probabilities of all classes: (N, n_classes)."""
        head = _core.log_softmax(self.head(input), 1)
        parts = [head[:, : self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            parts.append(_core.log_softmax(cluster(input), 1) + head[:, self.shortlist_size + i : self.shortlist_size + i + 1])
        return _core.cat(parts, 1)

    def predict(self, input: Any) -> Any:
        """The most likely class of each example."""
        return self.log_prob(input).argmax(1)
