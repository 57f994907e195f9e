"""Base classes of image layers: data format and random augmentation."""

from __future__ import annotations

import pyburn
from pyburn import Tensor

from .declared import DeclaredLayer, option
from .windows import as_given, channels_first


class ImageLayer(DeclaredLayer):
    """Base class of layers for images (N, height, width, channels), or (height, width, channels)."""

    data_format: str | None = option(default="channels_last", kw_only=True)

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

    def prepare(self) -> None:
        self.training = True
        seed = getattr(self, "seed", None)
        self._generator = None if seed is None else pyburn.Generator().manual_seed(seed)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.always(inputs) if self.training else inputs

    def always(self, inputs: Tensor) -> Tensor:
        """Transforms the images in every mode."""
        return ImageLayer.forward(self, inputs)

    def _uniform(self, x: Tensor, low: float, high: float) -> Tensor:
        """Draws one number per image."""
        return pyburn.rand(len(x), generator=self._generator, device=x.device).to(x.dtype) * (high - low) + low


class ValueLayer(RandomLayer):
    """Base class of layers whose images have values in a range."""

    def prepare(self) -> None:
        super().prepare()
        self.__dict__["value_range"] = tuple(getattr(self, "value_range", (0, 255)))

    def _within(self, x: Tensor) -> Tensor:
        return x.clamp(*self.value_range)
