"""Layers that merge several inputs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, ClassVar

import pyburn
from pyburn import Tensor

from ..conversion import is_shape
from ..symbolic.masks import spread
from .declared import DeclaredLayer


class _Merge(DeclaredLayer):
    """Base class: merges a list of tensors with broadcasting, by `merge` of two of them."""

    least: ClassVar[int] = 1
    merge: ClassVar[Callable[[Tensor, Tensor], Tensor]]

    def build(self, input_shape: Any) -> None:
        if is_shape(input_shape) or len(input_shape) < self.least:
            raise ValueError(f"[{type(self).__name__}] expected a list of {self.least} or more inputs: got {input_shape!r}")

    def forward(self, inputs: Sequence[Tensor]) -> Tensor:
        return reduce(lambda left, right: type(self).merge(*_aligned(left, right)), inputs)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Combines the masks with a logical or, if all inputs have one."""
        return None if mask is None or any(part is None for part in mask) else reduce(operator.or_, mask)


def _aligned(left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    """Inserts dimensions of size 1 after the batch dimension of the tensor of lower rank."""
    more, less = (left, right) if left.ndim >= right.ndim else (right, left)
    if less.ndim and more.ndim != less.ndim:
        less = less.reshape(less.shape[0], *[1] * (more.ndim - less.ndim), *less.shape[1:])
    return (more, less) if left.ndim >= right.ndim else (less, more)


class Add(_Merge, merge=operator.add):
    """Adds the inputs element-wise: a list of tensors whose shapes broadcast.

    >>> p_vision.Add()([pyburn.tensor([1.0, 2.0]), pyburn.tensor([10.0, 20.0])])
    tensor([11., 22.])
    """


class Subtract(_Merge, merge=operator.sub, least=2):
    """Subtracts the second input from the first.

    Raises:
        ValueError: There are not two inputs.

    >>> p_vision.Subtract()([pyburn.tensor([1.0, 2.0]), pyburn.tensor([10.0, 20.0])])
    tensor([ -9., -18.])
    """

    def build(self, input_shape: Any) -> None:
        super().build(input_shape)
        if len(input_shape) != 2:
            raise ValueError(f"[Subtract] expected two inputs: got {len(input_shape)}")


class Multiply(_Merge, merge=operator.mul):
    """Multiplies the inputs element-wise.

    >>> p_vision.Multiply()([pyburn.tensor([1.0, 2.0]), pyburn.tensor([10.0, 20.0])])
    tensor([10., 40.])
    """


class Average(_Merge, merge=operator.add):
    """Averages the inputs element-wise.

    >>> p_vision.Average()([pyburn.tensor([1.0, 2.0]), pyburn.tensor([3.0, 6.0])])
    tensor([2., 4.])
    """

    def forward(self, inputs: Sequence[Tensor]) -> Tensor:
        return super().forward(inputs) / len(inputs)


class Maximum(_Merge, merge=pyburn.maximum):
    """Element-wise maximum of the inputs.

    >>> p_vision.Maximum()([pyburn.tensor([1.0, 5.0]), pyburn.tensor([3.0, 4.0])])
    tensor([3., 5.])
    """


class Minimum(_Merge, merge=pyburn.minimum):
    """Element-wise minimum of the inputs.

    >>> p_vision.Minimum()([pyburn.tensor([1.0, 5.0]), pyburn.tensor([3.0, 4.0])])
    tensor([1., 4.])
    """


class Concatenate(_Merge):
    """Concatenates the inputs along an axis.

    Args:
        axis: The axis; the inputs have the same sizes in all others.

    >>> p_vision.Concatenate()([pyburn.rand(2, 3), pyburn.rand(2, 4)]).shape
    pyburn.Size([2, 7])
    """

    axis: int = -1

    def forward(self, inputs: Sequence[Tensor]) -> Tensor:
        return pyburn.cat(list(inputs), self.axis)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        if mask is None:
            return None
        everything = pyburn.ones(1, dtype=pyburn.bool)
        masks = [spread(everything.to(x.device) if part is None else part, x).bool().expand(x.shape) for x, part in zip(inputs, mask)]
        return pyburn.cat(masks, self.axis).any(-1)


class Dot(_Merge, least=2):
    """Dot product of two inputs along an axis of each.

    Args:
        axes: The axis, or one axis for each input.
        normalize: Whether to normalize the vectors first, which gives their cosine similarity.

    >>> p_vision.Dot(axes=1)([pyburn.tensor([[1.0, 2.0]]), pyburn.tensor([[3.0, 4.0]])])
    tensor([[11.]])
    """

    axes: int | Sequence[int]
    normalize: bool = False

    def prepare(self) -> None:
        self.axes = self.axes if isinstance(self.axes, int) else tuple(self.axes)

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
