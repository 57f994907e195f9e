"""What layers for pictures share: the order of the axes, and random numbers while training."""

from __future__ import annotations

from typing import Any

import pyburn
from pyburn import Tensor

from ..layer import Layer
from .windows import as_given, channels_first, checked_format


class ImageLayer(Layer):
    """Pictures (N, height, width, channels) or one without N."""

    def __init__(self, data_format: str | None = "channels_last", **options: Any) -> None:
        super().__init__(**options)
        self.data_format = checked_format(type(self).__name__, data_format)

    def forward(self, inputs: Tensor) -> Tensor:
        if inputs.ndim == 3:
            return self.forward(inputs.unsqueeze(0))[0]
        x = inputs if inputs.is_floating_point() else inputs.float()
        return as_given(self.changed(channels_first(x, self.data_format)), self.data_format)

    def changed(self, x: Tensor) -> Tensor:
        """The pictures (N, channels, height, width) after the layer."""
        raise NotImplementedError


class RandomLayer(ImageLayer):
    """Changes pictures at random, each of a batch in its own way; with training=False (as in evaluate and predict) it leaves them alone.

    Called by itself, it changes them, as Keras's layers do: pipelines of data call it so.
    """

    trains_by_itself = True

    def __init__(self, seed: int | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.training = True
        self.seed = seed
        self._generator = None if seed is None else pyburn.Generator().manual_seed(seed)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.always(inputs) if self.training else inputs

    def always(self, inputs: Tensor) -> Tensor:
        """The pictures after the layer, in training or not."""
        return ImageLayer.forward(self, inputs)

    def _uniform(self, x: Tensor, low: float, high: float) -> Tensor:
        """A number for each picture."""
        return pyburn.rand(len(x), generator=self._generator, device=x.device).to(x.dtype) * (high - low) + low


def factor_range(layer: str, name: str, factor: Any) -> tuple[float, float]:
    """A factor f stands for (-f, f)."""
    low, high = (-abs(factor), abs(factor)) if isinstance(factor, (int, float)) else tuple(factor)
    if low > high:
        raise ValueError(f"[{layer}] {name} is a number or (lowest, highest): got {factor!r}")
    return float(low), float(high)


def contrast_range(layer: str, factor: Any) -> tuple[float, float]:
    """A factor f stands for 1 - f to 1 + f, and (a, b) for 1 - a to 1 + b."""
    below, above = (factor, factor) if isinstance(factor, (int, float)) else tuple(factor)
    if not (0 <= below <= 1 and 0 <= above <= 1):
        raise ValueError(f"[{layer}] the factor of contrast is a number from 0 to 1, or two: got {factor!r}")
    return 1.0 - below, 1.0 + above
