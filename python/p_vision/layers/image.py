"""Base classes of image layers: data format and random augmentation."""

from __future__ import annotations

from typing import Any

import pyburn
from pyburn import Tensor

from ..layer import Layer
from .windows import as_given, channels_first, checked_format


class ImageLayer(Layer):
    """Base class of layers for images (N, height, width, channels), or (height, width, channels)."""

    def __init__(self, data_format: str | None = "channels_last", **options: Any) -> None:
        super().__init__(**options)
        self.data_format = checked_format(type(self).__name__, data_format)

    def forward(self, inputs: Tensor) -> Tensor:
        if inputs.ndim == 3:
            return self.forward(inputs.unsqueeze(0))[0]
        x = inputs if inputs.is_floating_point() else inputs.float()
        return as_given(self.changed(channels_first(x, self.data_format)), self.data_format)

    def changed(self, x: Tensor) -> Tensor:
        """Returns the transformed images; x is (N, channels, height, width)."""
        raise NotImplementedError


class RandomLayer(ImageLayer):
    """Base class of random augmentations, with random parameters per image. The images are unchanged with training=False.

    A direct call without `training` augments, as in Keras, since data pipelines call the layers this way.
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
        """Transforms the images in every mode."""
        return ImageLayer.forward(self, inputs)

    def _uniform(self, x: Tensor, low: float, high: float) -> Tensor:
        """Draws one number per image."""
        return pyburn.rand(len(x), generator=self._generator, device=x.device).to(x.dtype) * (high - low) + low


def factor_range(layer: str, name: str, factor: Any) -> tuple[float, float]:
    """Returns the range (low, high) of a factor; a single number f is (-f, f).

    Raises:
        ValueError: The lower limit is above the upper limit.
    """
    low, high = (-abs(factor), abs(factor)) if isinstance(factor, (int, float)) else tuple(factor)
    if low > high:
        raise ValueError(f"[{layer}] {name} is a number or (lowest, highest): got {factor!r}")
    return float(low), float(high)


def contrast_range(layer: str, factor: Any) -> tuple[float, float]:
    """Returns the range of a contrast factor: f is (1 - f, 1 + f), and (a, b) is (1 - a, 1 + b).

    Raises:
        ValueError: A factor is not between 0 and 1.
    """
    below, above = (factor, factor) if isinstance(factor, (int, float)) else tuple(factor)
    if not (0 <= below <= 1 and 0 <= above <= 1):
        raise ValueError(f"[{layer}] the factor of contrast is a number from 0 to 1, or two: got {factor!r}")
    return 1.0 - below, 1.0 + above
