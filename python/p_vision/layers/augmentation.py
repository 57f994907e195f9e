"""Random image augmentation layers that move pixels, and random contrast and brightness."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pyburn
from pyburn import Tensor
from pyburn.nn import functional

from .arguments import contrast_of, one_of, spread_of
from .declared import option
from .image import ImageLayer, RandomLayer, ValueLayer
from .preprocessing import CenterCrop


class RandomFlip(RandomLayer):
    """Flips images at random, each with probability 0.5.

    Args:
        mode: "horizontal", "vertical" or "horizontal_and_vertical".

    Raises:
        ValueError: The mode is unknown.

    >>> images = pyburn.rand(4, 8, 8, 3)
    >>> layer = p_vision.RandomFlip("horizontal", seed=1)
    >>> bool((layer(images, training=False) == images).all()), layer(images).shape
    (True, pyburn.Size([4, 8, 8, 3]))
    """

    mode: str = "horizontal_and_vertical"
    seed: int | None = None

    def prepare(self) -> None:
        super().prepare()
        one_of("RandomFlip", "mode", self.mode, ("horizontal", "vertical", "horizontal_and_vertical"))

    def changed(self, x: Tensor) -> Tensor:
        for word, axis in (("horizontal", -1), ("vertical", -2)):
            if word in self.mode:
                chosen = self._uniform(x, 0, 1) < 0.5
                x = pyburn.where(chosen.reshape(-1, 1, 1, 1), x.flip(axis), x)
        return x


class RandomCrop(RandomLayer):
    """Crops a random part of each image in training, else the center; smaller images are resized first.

    >>> p_vision.RandomCrop(4, 6)(pyburn.rand(2, 8, 8, 3)).shape
    pyburn.Size([2, 4, 6, 3])
    """

    height: int
    width: int
    seed: int | None = None

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

    fill_mode: str = option(default="reflect", kw_only=True)
    interpolation: str = option(default="bilinear", kw_only=True)
    seed: int | None = option(default=None, kw_only=True)
    fill_value: float = option(default=0.0, kw_only=True)

    def prepare(self) -> None:
        super().prepare()
        one_of(type(self).__name__, "fill_mode", self.fill_mode, tuple(_FILLS))
        one_of(type(self).__name__, "interpolation", self.interpolation, ("nearest", "bilinear"))

    def _spread(self, name: str) -> tuple[float, float]:
        """Returns the range of a factor."""
        return spread_of(type(self).__name__, name, getattr(self, name))

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
    """Rotates images by random angles.

    Args:
        factor: The largest rotation as a fraction of a full turn, or a range (lowest, highest); positive is counterclockwise.

    Raises:
        ValueError: An argument has an unknown value.

    >>> p_vision.RandomRotation(0.1, fill_mode="nearest")(pyburn.rand(2, 8, 8, 3)).shape
    pyburn.Size([2, 8, 8, 3])
    """

    factor: Any

    def prepare(self) -> None:
        super().prepare()
        self._turns = self._spread("factor")

    def changed(self, x: Tensor) -> Tensor:
        angle = self._uniform(x, *self._turns) * (2 * math.pi)
        cos, sin, ratio = angle.cos(), angle.sin(), x.shape[-2] / x.shape[-1]
        return self._moved(x, (cos, -sin * ratio, 0.0, sin / ratio, cos, 0.0))


class RandomTranslation(_RandomMove):
    """Translates images by random distances.

    Args:
        height_factor: The largest shift as a fraction of the height, or a range; positive is down.
        width_factor: The largest shift as a fraction of the width, or a range; positive is right.

    Raises:
        ValueError: An argument has an unknown value.

    >>> p_vision.RandomTranslation(0.2, 0.2)(pyburn.rand(2, 8, 8, 3)).shape
    pyburn.Size([2, 8, 8, 3])
    """

    height_factor: Any
    width_factor: Any

    def prepare(self) -> None:
        super().prepare()
        self._down, self._right = self._spread("height_factor"), self._spread("width_factor")

    def changed(self, x: Tensor) -> Tensor:
        return self._moved(x, (1.0, 0.0, -2 * self._uniform(x, *self._right), 0.0, 1.0, -2 * self._uniform(x, *self._down)))


class RandomZoom(_RandomMove):
    """Zooms images by random factors.

    Args:
        height_factor: The largest zoom of the height, or a range; positive zooms out, negative in.
        width_factor: The same for the width; None keeps the aspect ratio.

    Raises:
        ValueError: An argument has an unknown value.

    >>> p_vision.RandomZoom((-0.2, 0.0))(pyburn.rand(2, 8, 8, 3)).shape
    pyburn.Size([2, 8, 8, 3])
    """

    height_factor: Any
    width_factor: Any = None

    def prepare(self) -> None:
        super().prepare()
        self._high = self._spread("height_factor")
        self._wide = None if self.width_factor is None else self._spread("width_factor")

    def changed(self, x: Tensor) -> Tensor:
        high = 1 + self._uniform(x, *self._high)
        wide = high if self._wide is None else 1 + self._uniform(x, *self._wide)
        return self._moved(x, (wide, 0.0, 0.0, 0.0, high, 0.0))


class RandomContrast(ValueLayer):
    """Scales the deviation of each channel from its mean by a random factor, and clips the values to value_range.

    Args:
        factor: f for factors from 1 - f to 1 + f, or (a, b) for factors from 1 - a to 1 + b.

    Raises:
        ValueError: The factor is not between 0 and 1.

    >>> p_vision.RandomContrast(0.2, value_range=(0, 1))(pyburn.rand(2, 8, 8, 3)).shape
    pyburn.Size([2, 8, 8, 3])
    """

    factor: Any
    value_range: Sequence[float] = (0, 255)
    seed: int | None = None

    def prepare(self) -> None:
        super().prepare()
        self._spread = contrast_of("RandomContrast", "factor", self.factor)

    def changed(self, x: Tensor) -> Tensor:
        mean = x.mean([-2, -1], keepdim=True)
        return ((x - mean) * self._uniform(x, *self._spread).reshape(-1, 1, 1, 1) + mean).clamp(*self.value_range)


class RandomBrightness(ValueLayer):
    """Adds a random value to images, and clips the values to value_range.

    Args:
        factor: The largest value as a fraction of value_range, or a range (lowest, highest).

    >>> p_vision.RandomBrightness(0.2)(pyburn.rand(2, 8, 8, 3) * 255).shape
    pyburn.Size([2, 8, 8, 3])
    """

    factor: Any
    value_range: Sequence[float] = (0, 255)
    seed: int | None = None

    def prepare(self) -> None:
        super().prepare()
        self._shift = spread_of("RandomBrightness", "factor", self.factor)

    def changed(self, x: Tensor) -> Tensor:
        low, high = self.value_range
        return (x + (self._uniform(x, *self._shift) * (high - low)).reshape(-1, 1, 1, 1)).clamp(low, high)


class RandomShear(_RandomMove):
    """Shears images in a random direction.

    Args:
        x_factor: Rows shift by up to this factor times their index; or a range.
        y_factor: Columns shift by up to this factor times their index; or a range.

    Raises:
        ValueError: An argument has an unknown value.

    >>> p_vision.RandomShear(0.2, 0.1)(pyburn.rand(2, 8, 8, 3)).shape
    pyburn.Size([2, 8, 8, 3])
    """

    x_factor: Any = 0.0
    y_factor: Any = 0.0

    def prepare(self) -> None:
        super().prepare()
        self._along_x, self._along_y = self._spread("x_factor"), self._spread("y_factor")

    def changed(self, x: Tensor) -> Tensor:
        height, width = x.shape[-2:]
        side = pyburn.where(self._uniform(x, 0, 1) < 0.5, 1.0, -1.0)
        right, down = self._uniform(x, *self._along_x) * side, self._uniform(x, *self._along_y) * side
        right_shift, down_shift = right * ((height - 1) / width), down * ((width - 1) / height)
        return self._moved(x, (1.0, right * (height / width), right_shift, down * (width / height), 1.0, down_shift))
