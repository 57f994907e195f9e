"""Preprocessing layers: normalization, resizing and cropping."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pyburn
from pyburn import Tensor
from pyburn.nn import functional

from ..batches import batches
from ..conversion import as_input
from .arguments import one_of
from .declared import DeclaredLayer
from .image import ImageLayer


class Normalization(DeclaredLayer):
    """Computes (inputs - mean) / sqrt(variance) along an axis; mean and variance are given, or computed by `adapt`.

    Args:
        axis: The axis, or the axes, that have separate means and variances; None for one mean of everything.
        mean: The mean; None if `adapt` computes it.
        variance: The variance; None if `adapt` computes it.
        invert: Whether to compute inputs * sqrt(variance) + mean instead.

    Raises:
        ValueError: Only one of mean and variance is given.

    >>> layer = p_vision.Normalization()
    >>> layer.adapt([[1.0], [2.0], [3.0]])
    >>> layer(pyburn.tensor([[2.0]]))
    tensor([[0.]])
    """

    supports_masking = True
    axis: int | Sequence[int] | None = -1
    mean: Any = None
    variance: Any = None
    invert: bool = False

    def prepare(self) -> None:
        if (self.mean is None) != (self.variance is None):
            raise ValueError("[Normalization] give both mean and variance, or none and call adapt")

    def _kept(self, rank: int) -> list[int]:
        """Returns the axes that have separate means."""
        given = [] if self.axis is None else [self.axis] if isinstance(self.axis, int) else list(self.axis)
        return sorted(axis % rank for axis in given)

    def build(self, input_shape: Any) -> None:
        kept = self._kept(len(input_shape))
        shape = [input_shape[axis] for axis in kept]
        self.running_mean = self.add_weight(shape, "zeros", trainable=False)
        self.running_variance = self.add_weight(shape, "ones", trainable=False)
        if self.mean is not None and self.running_mean.device.type != "meta":
            self._set(as_input(pyburn.as_tensor(self.mean)), as_input(pyburn.as_tensor(self.variance)))

    def _set(self, mean: Tensor, variance: Tensor) -> None:
        with pyburn.no_grad():
            for mine, value in ((self.running_mean, mean), (self.running_variance, variance)):
                mine.copy_(value.to(mine.dtype).reshape(value.shape if not value.ndim else mine.shape).expand(mine.shape))

    def adapt(self, data: Any, batch_size: int | None = None, steps: int | None = None) -> None:
        """Computes the mean and the variance of data.

        Args:
            data: An array, or batches of them.
            batch_size: The batch size.
            steps: The number of batches to read; None for all.

        Raises:
            ValueError: There is no data.
        """
        total: Any = None
        for done, (x, _, _) in enumerate(batches(data, batch_size=batch_size or 1024)):
            if steps is not None and done >= steps:
                break
            x = as_input(x if isinstance(x, Tensor) else pyburn.as_tensor(x))
            if not self.built:
                self.build_for((None, *x.shape[1:]))
            axes = [axis for axis in range(x.ndim) if axis not in self._kept(x.ndim)]
            x = x.double()
            part = (math.prod(x.shape[axis] for axis in axes), x.sum(axes), x.square().sum(axes))
            total = part if total is None else tuple(a + b for a, b in zip(total, part))
        if total is None:
            raise ValueError("[Normalization.adapt] there is no data: the source gave no batch")
        count, sums, squares = total
        self._set(sums / count, (squares / count - (sums / count).square()).clamp(min=0))

    def forward(self, inputs: Tensor) -> Tensor:
        kept = self._kept(inputs.ndim)
        shape = [inputs.shape[axis] if axis in kept else 1 for axis in range(inputs.ndim)]
        mean, deviation = self.running_mean.reshape(shape), self.running_variance.reshape(shape).sqrt().clamp(min=1e-7)
        return mean + inputs * deviation if self.invert else (inputs - mean) / deviation


class Resizing(ImageLayer):
    """Resizes images (N, height, width, channels).

    Args:
        interpolation: "nearest", "bilinear", "bicubic" or "area".
        crop_to_aspect_ratio: Whether to keep the aspect ratio by cropping the center.
        pad_to_aspect_ratio: Whether to keep the aspect ratio by padding with `fill_value`.
        fill_mode: Must be "constant".
        fill_value: The value of the padding.
        antialias: Whether to smooth images that are made smaller.

    Raises:
        ValueError: An argument has an unknown value, or both ways to keep the aspect ratio are chosen.

    >>> p_vision.Resizing(32, 24)(pyburn.rand(1, 50, 60, 3)).shape
    pyburn.Size([1, 32, 24, 3])
    """

    height: int
    width: int
    interpolation: str = "bilinear"
    crop_to_aspect_ratio: bool = False
    pad_to_aspect_ratio: bool = False
    fill_mode: str = "constant"
    fill_value: float = 0.0
    antialias: bool = False

    def prepare(self) -> None:
        if self.crop_to_aspect_ratio and self.pad_to_aspect_ratio:
            raise ValueError("[Resizing] pictures are either cropped to the aspect ratio or padded to it")
        if self.fill_mode != "constant":
            raise ValueError(f"[Resizing] fill_mode is 'constant': got {self.fill_mode!r}")
        one_of("Resizing", "interpolation", self.interpolation, ("nearest", "bilinear", "bicubic", "area"))

    def changed(self, x: Tensor) -> Tensor:
        height, width = x.shape[-2:]
        fitting = (width * self.height // self.width, height * self.width // self.height)  # the height for this width, and the reverse
        if self.crop_to_aspect_ratio:
            x = _middle(x, max(min(height, fitting[0]), 1), max(min(width, fitting[1]), 1))
        elif self.pad_to_aspect_ratio:
            down, right = max(fitting[0] - height, 0) // 2, max(fitting[1] - width, 0) // 2
            x = functional.pad(x, [right, right, down, down], value=self.fill_value)
        smooth = self.antialias and self.interpolation in ("bilinear", "bicubic")
        return functional.interpolate(x, size=[self.height, self.width], mode=self.interpolation, antialias=smooth)


def _middle(x: Tensor, height: int, width: int) -> Tensor:
    top, left = (x.shape[-2] - height) // 2, (x.shape[-1] - width) // 2
    return x[..., top : top + height, left : left + width]


class CenterCrop(ImageLayer):
    """Crops the center of images; smaller images are resized first.

    >>> p_vision.CenterCrop(4, 6)(pyburn.rand(1, 8, 8, 3)).shape
    pyburn.Size([1, 4, 6, 3])
    """

    height: int
    width: int

    def changed(self, x: Tensor) -> Tensor:
        if x.shape[-2] >= self.height and x.shape[-1] >= self.width:
            return _middle(x, self.height, self.width)
        return Resizing(self.height, self.width, crop_to_aspect_ratio=True).changed(x)
