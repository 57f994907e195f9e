"""Activation layers with options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyburn
from pyburn import Tensor
from pyburn.nn import functional

from .declared import DeclaredLayer

_MASKED = -1e9  # added to masked logits


class _ActivationLayer(DeclaredLayer):
    supports_masking = True


class ReLU(_ActivationLayer):
    """Applies the rectified linear unit element-wise: max(x, 0), with an optional maximum, threshold and slope below the threshold.

    Args:
        max_value: The maximum output; None for no limit.
        negative_slope: The slope below the threshold.
        threshold: The input below which the slope applies.

    Raises:
        ValueError: An argument is negative.

    >>> p_vision.ReLU(max_value=2.0)(pyburn.tensor([-1.0, 1.0, 3.0]))
    tensor([0., 1., 2.])
    """

    max_value: float | None = None
    negative_slope: float = 0.0
    threshold: float = 0.0

    def prepare(self) -> None:
        if (self.max_value is not None and self.max_value < 0) or self.negative_slope < 0 or self.threshold < 0:
            raise ValueError("[ReLU] max_value, negative_slope and threshold must not be negative")

    def forward(self, inputs: Tensor) -> Tensor:
        if not self.threshold:
            result = functional.leaky_relu(inputs, self.negative_slope) if self.negative_slope else pyburn.relu(inputs)
        else:
            result = pyburn.where(inputs >= self.threshold, inputs, self.negative_slope * (inputs - self.threshold))
        return result if self.max_value is None else result.clamp(max=self.max_value)


class LeakyReLU(_ActivationLayer):
    """Applies the leaky rectified linear unit element-wise: x for x >= 0, else negative_slope * x.

    Args:
        negative_slope: The slope for negative inputs.

    >>> p_vision.LeakyReLU(negative_slope=0.5)(pyburn.tensor([-1.0, 1.0]))
    tensor([-0.5000,  1.0000])
    """

    negative_slope: float = 0.3

    def forward(self, inputs: Tensor) -> Tensor:
        return functional.leaky_relu(inputs, self.negative_slope)


class PReLU(_ActivationLayer):
    """Applies x for x >= 0, else alpha * x with a learned slope alpha per element.

    Args:
        shared_axes: The dimensions along which elements share their slope, such as [1, 2] for one slope per channel of images.

    >>> p_vision.PReLU(alpha_initializer=p_vision.Constant(0.25))(pyburn.tensor([[-4.0, 4.0]]))
    tensor([[-1.,  4.]], grad_fn=<SubBackward0>)
    """

    alpha_initializer: Any = "zeros"
    alpha_regularizer: Any = None
    shared_axes: int | Sequence[int] | None = None

    def build(self, input_shape: Any) -> None:
        shared = [self.shared_axes] if isinstance(self.shared_axes, int) else list(self.shared_axes or ())
        shape = [1 if axis in shared or axis - len(input_shape) in shared else extent for axis, extent in enumerate(input_shape)][1:]
        self.alpha = self.weight_of("alpha", shape)

    def forward(self, inputs: Tensor) -> Tensor:
        return pyburn.relu(inputs) - self.alpha * pyburn.relu(-inputs)


class ELU(_ActivationLayer):
    """Applies the exponential linear unit element-wise: x for x >= 0, else alpha * (exp(x) - 1).

    Args:
        alpha: The negative of the limit at minus infinity.

    >>> p_vision.ELU()(pyburn.tensor([-1.0, 1.0]))
    tensor([-0.6321,  1.0000])
    """

    alpha: float = 1.0

    def forward(self, inputs: Tensor) -> Tensor:
        return functional.elu(inputs, self.alpha)


class Softmax(_ActivationLayer):
    """Applies softmax along one or several axes. Elements excluded by a `mask` of the input's shape get probability 0.

    Args:
        axis: The axis, or the axes, along which the outputs add up to 1.

    >>> p_vision.Softmax()(pyburn.tensor([1.0, 1.0]), mask=pyburn.tensor([True, False]))
    tensor([1., 0.])
    """

    axis: int | Sequence[int] = -1

    def forward(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        if mask is None or mask.ndim != inputs.ndim:  # a mask of time steps does not apply to elements
            return self._shares(inputs)
        counts = mask > 0.5 if mask.is_floating_point() else mask.bool()
        return pyburn.where(counts, self._shares(pyburn.where(counts, inputs, _MASKED)), 0.0)

    def _shares(self, x: Tensor) -> Tensor:
        if isinstance(self.axis, int):
            return functional.softmax(x, self.axis)
        return (x - x.logsumexp(tuple(self.axis), keepdim=True)).exp()
