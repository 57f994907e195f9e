"""Layers that merge several inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyburn
from pyburn import Tensor

from ..conversion import is_shape
from ..layer import Layer
from ..symbolic.masks import spread


class _Merge(Layer):
    """Base class: merges a list of tensors with broadcasting."""

    def build(self, input_shape: Any) -> None:
        if is_shape(input_shape) or len(input_shape) < self.least:
            raise ValueError(f"[{type(self).__name__}] expected a list of {self.least} or more inputs: got {input_shape!r}")

    least = 1

    def forward(self, inputs: Sequence[Tensor]) -> Tensor:
        result = inputs[0]
        for other in inputs[1:]:
            result = self.merge(*_aligned(result, other))
        return result

    def merge(self, left: Tensor, right: Tensor) -> Tensor:
        raise NotImplementedError

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Combines the masks with a logical or, if all inputs have one."""
        if mask is None or any(part is None for part in mask):
            return None
        found = mask[0]
        for part in mask[1:]:
            found = found | part
        return found


def _aligned(left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    """Inserts dimensions of size 1 after the batch dimension of the tensor of lower rank."""
    more, less = (left, right) if left.ndim >= right.ndim else (right, left)
    if less.ndim and more.ndim != less.ndim:
        less = less.reshape(less.shape[0], *[1] * (more.ndim - less.ndim), *less.shape[1:])
    return (more, less) if left.ndim >= right.ndim else (less, more)


class Add(_Merge):
    """Adds the inputs element-wise."""

    def merge(self, left: Tensor, right: Tensor) -> Tensor:
        return left + right


class Subtract(_Merge):
    """Subtracts the second input from the first."""

    least = 2

    def build(self, input_shape: Any) -> None:
        super().build(input_shape)
        if len(input_shape) != 2:
            raise ValueError(f"[Subtract] expected two inputs: got {len(input_shape)}")

    def merge(self, left: Tensor, right: Tensor) -> Tensor:
        return left - right


class Multiply(_Merge):
    """Multiplies the inputs element-wise."""

    def merge(self, left: Tensor, right: Tensor) -> Tensor:
        return left * right


class Average(_Merge):
    """Averages the inputs element-wise."""

    def forward(self, inputs: Sequence[Tensor]) -> Tensor:
        return super().forward(inputs) / len(inputs)

    def merge(self, left: Tensor, right: Tensor) -> Tensor:
        return left + right


class Maximum(_Merge):
    """Element-wise maximum of the inputs."""

    def merge(self, left: Tensor, right: Tensor) -> Tensor:
        return pyburn.maximum(left, right)


class Minimum(_Merge):
    """Element-wise minimum of the inputs."""

    def merge(self, left: Tensor, right: Tensor) -> Tensor:
        return pyburn.minimum(left, right)


class Concatenate(_Merge):
    """Concatenates the inputs along an axis."""

    def __init__(self, axis: int = -1, **options: Any) -> None:
        super().__init__(**options)
        self.axis = axis

    def forward(self, inputs: Sequence[Tensor]) -> Tensor:
        return pyburn.cat(list(inputs), self.axis)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        if mask is None:
            return None
        everything = pyburn.ones(1, dtype=pyburn.bool)
        masks = [spread(everything.to(x.device) if part is None else part, x).bool().expand(x.shape) for x, part in zip(inputs, mask)]
        return pyburn.cat(masks, self.axis).any(-1)


class Dot(_Merge):
    """Dot product of two inputs along an axis of each; with `normalize` the cosine similarity."""

    least = 2

    def __init__(self, axes: int | Sequence[int], normalize: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self.axes, self.normalize = axes if isinstance(axes, int) else tuple(axes), normalize

    def forward(self, inputs: Sequence[Tensor]) -> Tensor:
        left, right = inputs
        first, second = (self.axes, self.axes) if isinstance(self.axes, int) else self.axes
        left, right = left.movedim(first, -1), right.movedim(second, -1)
        if self.normalize:
            left, right = (x / x.norm(dim=-1, keepdim=True).clamp(min=1e-12) for x in (left, right))
        batch, rows, columns = left.shape[0], left.shape[1:-1], right.shape[1:-1]
        product = left.reshape(batch, -1, left.shape[-1]) @ right.reshape(batch, -1, right.shape[-1]).mT
        return product.reshape(batch, *rows, *columns) if rows or columns else product.reshape(batch, 1)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return None
