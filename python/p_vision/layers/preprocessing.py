"""Preprocessing layers: normalization, resizing and random image augmentation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pyburn
from pyburn import Tensor
from pyburn.nn import functional

from ..batches import batches
from ..configured import arguments
from ..conversion import as_input
from ..layer import Layer
from .dense import positive
from .image import ImageLayer, RandomLayer, contrast_range, factor_range


class Normalization(Layer):
    """Computes (inputs - mean) / sqrt(variance) along an axis; mean and variance are given, or computed by `adapt`."""

    supports_masking = True

    def __init__(
        self, axis: int | Sequence[int] | None = -1, mean: Any = None, variance: Any = None, invert: bool = False, **options: Any
    ) -> None:
        super().__init__(**options)
        if (mean is None) != (variance is None):
            raise ValueError("[Normalization] give both mean and variance, or none and call adapt")
        self.axis, self.mean, self.variance, self.invert = axis, mean, variance, invert

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
        """Computes the mean and the variance of an array or of batches."""
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
    """Resizes images. To keep the aspect ratio, crop_to_aspect_ratio crops the center, and pad_to_aspect_ratio pads with `fill_value`."""

    def __init__(
        self,
        height: int,
        width: int,
        interpolation: str = "bilinear",
        crop_to_aspect_ratio: bool = False,
        pad_to_aspect_ratio: bool = False,
        fill_mode: str = "constant",
        fill_value: float = 0.0,
        antialias: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        if crop_to_aspect_ratio and pad_to_aspect_ratio:
            raise ValueError("[Resizing] pictures are either cropped to the aspect ratio or padded to it")
        if fill_mode != "constant":
            raise ValueError(f"[Resizing] fill_mode is 'constant': got {fill_mode!r}")
        if interpolation not in ("nearest", "bilinear", "bicubic", "area"):
            raise ValueError(f"[Resizing] interpolation is 'nearest', 'bilinear', 'bicubic' or 'area': got {interpolation!r}")
        self.height, self.width = positive("Resizing", "height", height), positive("Resizing", "width", width)
        self.interpolation, self.crop_to_aspect_ratio, self.antialias = interpolation, crop_to_aspect_ratio, antialias
        self.pad_to_aspect_ratio, self.fill_mode, self.fill_value = pad_to_aspect_ratio, fill_mode, fill_value

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
    """Crops the center of images; smaller images are resized first."""

    def __init__(self, height: int, width: int, **options: Any) -> None:
        super().__init__(**options)
        self.height, self.width = positive("CenterCrop", "height", height), positive("CenterCrop", "width", width)

    def changed(self, x: Tensor) -> Tensor:
        if x.shape[-2] >= self.height and x.shape[-1] >= self.width:
            return _middle(x, self.height, self.width)
        return Resizing(self.height, self.width, crop_to_aspect_ratio=True).changed(x)


class RandomFlip(RandomLayer):
    """Flips images at random: "horizontal", "vertical" or "horizontal_and_vertical"."""

    def __init__(self, mode: str = "horizontal_and_vertical", seed: int | None = None, **options: Any) -> None:
        super().__init__(seed, **options)
        if mode not in ("horizontal", "vertical", "horizontal_and_vertical"):
            raise ValueError(f"[RandomFlip] mode is 'horizontal', 'vertical' or 'horizontal_and_vertical': got {mode!r}")
        self.mode = mode

    def changed(self, x: Tensor) -> Tensor:
        for word, axis in (("horizontal", -1), ("vertical", -2)):
            if word in self.mode:
                chosen = self._uniform(x, 0, 1) < 0.5
                x = pyburn.where(chosen.reshape(-1, 1, 1, 1), x.flip(axis), x)
        return x


class RandomCrop(RandomLayer):
    """Crops a random part of each image in training, else the center; smaller images are resized first."""

    def __init__(self, height: int, width: int, seed: int | None = None, **options: Any) -> None:
        super().__init__(seed, **options)
        self.height, self.width = positive("RandomCrop", "height", height), positive("RandomCrop", "width", width)

    def forward(self, inputs: Tensor) -> Tensor:
        return ImageLayer.forward(self, inputs)

    def changed(self, x: Tensor) -> Tensor:
        down, right = x.shape[-2] - self.height, x.shape[-1] - self.width
        if not self.training or down < 0 or right < 0:
            return CenterCrop(self.height, self.width).changed(x)
        top = (self._uniform(x, 0, 1) * (down + 1)).long().clamp(max=down)
        left = (self._uniform(x, 0, 1) * (right + 1)).long().clamp(max=right)
        rows = top.reshape(-1, 1, 1, 1) + pyburn.arange(self.height, device=x.device).reshape(1, 1, -1, 1)
        columns = left.reshape(-1, 1, 1, 1) + pyburn.arange(self.width, device=x.device).reshape(1, 1, 1, -1)
        n, channels = (pyburn.arange(count, device=x.device) for count in x.shape[:2])
        return x[n.reshape(-1, 1, 1, 1), channels.reshape(1, -1, 1, 1), rows, columns]


_FILLS = {"constant": "zeros", "nearest": "border", "reflect": "reflection"}


class _RandomMove(RandomLayer):
    """Base class of random affine transforms; pixels from outside the image are filled according to `fill_mode`."""

    def __init__(
        self,
        fill_mode: str = "reflect",
        interpolation: str = "bilinear",
        seed: int | None = None,
        fill_value: float = 0.0,
        **options: Any,
    ) -> None:
        super().__init__(seed, **options)
        if fill_mode not in _FILLS or interpolation not in ("nearest", "bilinear"):
            raise ValueError(
                f"[{type(self).__name__}] fill_mode is {', '.join(map(repr, _FILLS))} and interpolation 'nearest' or 'bilinear': "
                f"got {fill_mode!r} and {interpolation!r}"
            )
        self.fill_mode, self.interpolation, self.fill_value = fill_mode, interpolation, fill_value

    @classmethod
    def config_arguments(cls) -> dict[str, Any]:
        return {**arguments(cls), **arguments(_RandomMove)}

    def _moved(self, x: Tensor, matrix: Sequence[Any]) -> Tensor:
        """Applies an affine transform.

        Args:
            x: The images.
            matrix: The six numbers of the 2 x 3 matrix that maps output to input coordinates, which range from -1 to 1.
        """
        ones = pyburn.ones(len(x), dtype=x.dtype, device=x.device)
        theta = pyburn.stack([ones * entry for entry in matrix], 1).reshape(-1, 2, 3)
        grid = functional.affine_grid(theta, list(x.shape), align_corners=False)
        shifted = x - self.fill_value if self.fill_mode == "constant" and self.fill_value else x
        moved = functional.grid_sample(shifted, grid, mode=self.interpolation, padding_mode=_FILLS[self.fill_mode], align_corners=False)
        return moved if shifted is x else moved + self.fill_value


class RandomRotation(_RandomMove):
    """Rotates images by up to `factor` full turns, or by an angle from a range; positive is counterclockwise."""

    def __init__(
        self,
        factor: Any,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.factor = factor
        self._turns = factor_range("RandomRotation", "factor", factor)

    def changed(self, x: Tensor) -> Tensor:
        angle = self._uniform(x, *self._turns) * (2 * math.pi)
        cos, sin, ratio = angle.cos(), angle.sin(), x.shape[-2] / x.shape[-1]
        return self._moved(x, (cos, -sin * ratio, 0.0, sin / ratio, cos, 0.0))


class RandomTranslation(_RandomMove):
    """Translates images by up to a fraction of their height and width; positive is down and right."""

    def __init__(
        self,
        height_factor: Any,
        width_factor: Any,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.height_factor, self.width_factor = height_factor, width_factor
        self._down = factor_range("RandomTranslation", "height_factor", height_factor)
        self._right = factor_range("RandomTranslation", "width_factor", width_factor)

    def changed(self, x: Tensor) -> Tensor:
        return self._moved(x, (1.0, 0.0, -2 * self._uniform(x, *self._right), 0.0, 1.0, -2 * self._uniform(x, *self._down)))


class RandomZoom(_RandomMove):
    """Zooms out (positive factors) or in (negative factors); without width_factor the aspect ratio is kept."""

    def __init__(
        self,
        height_factor: Any,
        width_factor: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.height_factor, self.width_factor = height_factor, width_factor
        self._high = factor_range("RandomZoom", "height_factor", height_factor)
        self._wide = None if width_factor is None else factor_range("RandomZoom", "width_factor", width_factor)

    def changed(self, x: Tensor) -> Tensor:
        high = 1 + self._uniform(x, *self._high)
        wide = high if self._wide is None else 1 + self._uniform(x, *self._wide)
        return self._moved(x, (wide, 0.0, 0.0, 0.0, high, 0.0))


class RandomContrast(RandomLayer):
    """Scales the deviation of each channel from its mean by a factor between 1 - factor and 1 + factor, or 1 - a and 1 + b for factor=(a,
    b). The values are clipped to value_range.
    """

    def __init__(self, factor: Any, value_range: Sequence[float] = (0, 255), seed: int | None = None, **options: Any) -> None:
        super().__init__(seed, **options)
        self.factor, self.value_range = factor, tuple(value_range)
        self._spread = contrast_range("RandomContrast", factor)

    def changed(self, x: Tensor) -> Tensor:
        mean = x.mean([-2, -1], keepdim=True)
        return ((x - mean) * self._uniform(x, *self._spread).reshape(-1, 1, 1, 1) + mean).clamp(*self.value_range)


class RandomBrightness(RandomLayer):
    """Adds up to a fraction of value_range; the values are clipped to it."""

    def __init__(self, factor: Any, value_range: Sequence[float] = (0, 255), seed: int | None = None, **options: Any) -> None:
        super().__init__(seed, **options)
        self.factor, self.value_range = factor, tuple(value_range)
        self._shift = factor_range("RandomBrightness", "factor", factor)

    def changed(self, x: Tensor) -> Tensor:
        low, high = self.value_range
        return (x + (self._uniform(x, *self._shift) * (high - low)).reshape(-1, 1, 1, 1)).clamp(low, high)


class RandomShear(_RandomMove):
    """Shears images in either direction: rows shift by up to `x_factor` times their index, columns by up to `y_factor` times theirs."""

    def __init__(self, x_factor: Any = 0.0, y_factor: Any = 0.0, **options: Any) -> None:
        super().__init__(**options)
        self.x_factor, self.y_factor = x_factor, y_factor
        self._along_x, self._along_y = factor_range("RandomShear", "x_factor", x_factor), factor_range("RandomShear", "y_factor", y_factor)

    def changed(self, x: Tensor) -> Tensor:
        height, width = x.shape[-2:]
        side = pyburn.where(self._uniform(x, 0, 1) < 0.5, 1.0, -1.0)
        right, down = self._uniform(x, *self._along_x) * side, self._uniform(x, *self._along_y) * side
        right_shift, down_shift = right * ((height - 1) / width), down * ((width - 1) / height)
        return self._moved(x, (1.0, right * (height / width), right_shift, down * (width / height), 1.0, down_shift))
