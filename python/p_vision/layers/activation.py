"""Activation layers with options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyburn
from pyburn import Tensor
from pyburn.nn import functional

from ..layer import Layer

_MASKED = -1e9  # added to masked logits


class ReLU(Layer):
    """Applies the rectified linear unit: max(x, 0), with an optional maximum, threshold and slope below the threshold.

    Args:
        max_value: The maximum output; None for no limit.
        negative_slope: The slope below the threshold.
        threshold: The input below which the slope applies.
    """

    supports_masking = True

    def __init__(self, max_value: float | None = None, negative_slope: float = 0.0, threshold: float = 0.0, **options: Any) -> None:
        super().__init__(**options)
        if (max_value is not None and max_value < 0) or negative_slope < 0 or threshold < 0:
            raise ValueError("[ReLU] max_value, negative_slope and threshold must not be negative")
        self.max_value, self.negative_slope, self.threshold = max_value, negative_slope, threshold

    def forward(self, inputs: Tensor) -> Tensor:
        if not self.threshold:
            result = functional.leaky_relu(inputs, self.negative_slope) if self.negative_slope else pyburn.relu(inputs)
        else:
            result = pyburn.where(inputs >= self.threshold, inputs, self.negative_slope * (inputs - self.threshold))
        return result if self.max_value is None else result.clamp(max=self.max_value)


class LeakyReLU(Layer):
    """Applies x for x >= 0, else negative_slope * x."""

    supports_masking = True

    def __init__(self, negative_slope: float = 0.3, **options: Any) -> None:
        super().__init__(**options)
        self.negative_slope = negative_slope

    def forward(self, inputs: Tensor) -> Tensor:
        return functional.leaky_relu(inputs, self.negative_slope)


class PReLU(Layer):
    """Applies x for x >= 0, else alpha * x with a learned alpha per element; dimensions in `shared_axes` share it."""

    supports_masking = True

    def __init__(
        self,
        alpha_initializer: Any = "zeros",
        alpha_regularizer: Any = None,
        shared_axes: int | Sequence[int] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.alpha_initializer, self.alpha_regularizer, self.shared_axes = alpha_initializer, alpha_regularizer, shared_axes

    def build(self, input_shape: Any) -> None:
        shared = [self.shared_axes] if isinstance(self.shared_axes, int) else list(self.shared_axes or ())
        shape = [1 if axis in shared or axis - len(input_shape) in shared else extent for axis, extent in enumerate(input_shape)][1:]
        self.alpha = self.add_weight(shape, self.alpha_initializer, regularizer=self.alpha_regularizer)

    def forward(self, inputs: Tensor) -> Tensor:
        return pyburn.relu(inputs) - self.alpha * pyburn.relu(-inputs)


class ELU(Layer):
    """Applies x for x >= 0, else alpha * (exp(x) - 1)."""

    supports_masking = True

    def __init__(self, alpha: float = 1.0, **options: Any) -> None:
        super().__init__(**options)
        self.alpha = alpha

    def forward(self, inputs: Tensor) -> Tensor:
        return functional.elu(inputs, self.alpha)


class Softmax(Layer):
    """Applies softmax along one or several axes. Elements excluded by a `mask` of the input's shape get probability 0."""

    supports_masking = True

    def __init__(self, axis: int | Sequence[int] = -1, **options: Any) -> None:
        super().__init__(**options)
        self.axis = axis

    def forward(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        if mask is None or mask.ndim != inputs.ndim:  # a mask of time steps does not apply to elements
            return self._shares(inputs)
        counts = mask > 0.5 if mask.is_floating_point() else mask.bool()
        return pyburn.where(counts, self._shares(pyburn.where(counts, inputs, _MASKED)), 0.0)

    def _shares(self, x: Tensor) -> Tensor:
        if isinstance(self.axis, int):
            return functional.softmax(x, self.axis)
        return (x - x.logsumexp(tuple(self.axis), keepdim=True)).exp()
