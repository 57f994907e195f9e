"""Cross-entropy fused with the linear layer that computes the logits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .._core import Tensor, _nn
from ._layers import Linear, Module

if TYPE_CHECKING:
    from .cross_entropy_options import LinearCrossEntropyOptions


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: LinearCrossEntropyOptions | None = None,
) -> Tensor:
    """Computes the cross-entropy of the logits linear(input, linear_weight).

    A weight of shape (C, d1, ..., in_features) gives logits of shape (N, C, d1, ...).

    Args:
        input: The input of the linear layer.
        linear_weight: The weight of the linear layer.
        target: The targets, as for cross_entropy.
        linear_bias: The bias of the linear layer.
        weight: The weight of each class.
        reduction: "mean", "sum" or "none".
        ignore_index: The target value to ignore.
        label_smoothing: The amount of label smoothing, in [0, 1].
        options: Accepted for compatibility with PyTorch; has no effect.

    >>> pyburn.nn.functional.linear_cross_entropy(pyburn.ones(2, 3), pyburn.zeros(4, 3), pyburn.tensor([0, 3]))
    tensor(1.3863)
    """
    return _nn._linear_cross_entropy(input, linear_weight, target, linear_bias, weight, reduction, ignore_index, label_smoothing)


class LinearCrossEntropyLoss(Module):
    """A linear layer and the cross-entropy of its logits for num_classes classes, at each of the positions of shape out_features.

    Other arguments as for linear_cross_entropy.

    Raises:
        RuntimeError: weight has the wrong shape, or label_smoothing is not in [0, 1].

    >>> loss = pyburn.nn.LinearCrossEntropyLoss(3, 4)
    >>> loss(pyburn.ones(2, 3), pyburn.tensor([0, 3])).shape
    pyburn.Size([])
    """

    __module__ = "pyburn.nn"

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__()
        self.register_buffer("weight", weight)
        self.num_classes, self.out_features = num_classes, out_features
        self.reduction, self.ignore_index, self.label_smoothing, self.options = reduction, ignore_index, label_smoothing, options
        self.linear = Linear(in_features, math.prod(out_features, start=num_classes), bias=bias, device=device, dtype=dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        shape = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return linear_cross_entropy(
            input,
            self.linear.weight.reshape((*shape, self.linear.in_features)),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        shown = {
            "in_features": self.linear.in_features,
            "num_classes": self.num_classes,
            "out_features": self.out_features,
            "bias": self.linear.bias is not None,
            "reduction": self.reduction,
            "ignore_index": self.ignore_index,
            "label_smoothing": self.label_smoothing,
            "options": self.options,
        }
        return ", ".join(f"{name}={value}" for name, value in shown.items())
