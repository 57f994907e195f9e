"""Random transforms. They draw from pyburn's default generator: in a loader, from the stream of the sample (see data/randomness.py)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..randomness import python_random
from . import functional as F
from .geometry import Fill, InterpolationMode, interpolation_mode
from .plain import Transform
from .plain_shapes import both
from .random_choice import Range, WithProbability


class RandomHorizontalFlip(WithProbability):
    """Flips an image horizontally with probability p.

    >>> pyburn.data.transforms.RandomHorizontalFlip(p=1.0)(pyburn.tensor([[[1, 2, 3]]]))
    tensor([[[3, 2, 1]]])
    """

    def _changed(self, img: Any) -> Any:
        return F.hflip(img)


class RandomVerticalFlip(WithProbability):
    """Flips an image vertically with probability p.

    >>> pyburn.data.transforms.RandomVerticalFlip(p=1.0)(pyburn.tensor([[[1], [2]]])).flatten()
    tensor([2, 1])
    """

    def _changed(self, img: Any) -> Any:
        return F.vflip(img)


class RandomCrop(Transform):
    """Crops a random rectangle of a given size.

    Args:
        size: (height, width) or one number for both.
        padding: The padding to add first, as for Pad.
        pad_if_needed: Whether to pad images that are smaller than the crop.
        fill: The fill value of the padding.
        padding_mode: The padding mode, as for Pad.

    >>> pyburn.data.transforms.RandomCrop(4)(pyburn.ones(3, 8, 12)).shape
    pyburn.Size([3, 4, 4])
    """

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: Any = 0,
        padding_mode: str = "constant",
    ) -> None:
        self.size = both(size)
        self.padding = padding
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self.padding_mode = padding_mode

    @staticmethod
    def get_params(img: Any, output_size: tuple[int, int]) -> tuple[int, int, int, int]:
        """Returns top, left, height and width of a random rectangle.

        Args:
            img: The image.
            output_size: (height, width) of the crop.

        Raises:
            ValueError: The crop is larger than the image.
        """
        _, height, width = F.get_dimensions(img)
        rows, columns = output_size
        if height < rows or width < columns:
            raise ValueError(f"Required crop size {(rows, columns)} is larger than input image size {(height, width)}")
        if (height, width) == (rows, columns):
            return 0, 0, height, width
        draw = python_random()
        return draw.randint(0, height - rows), draw.randint(0, width - columns), rows, columns

    def __call__(self, img: Any) -> Any:
        if self.padding is not None:
            img = F.pad(img, self.padding, self.fill, self.padding_mode)
        _, height, width = F.get_dimensions(img)
        if self.pad_if_needed and width < self.size[1]:
            img = F.pad(img, [self.size[1] - width, 0], self.fill, self.padding_mode)
        if self.pad_if_needed and height < self.size[0]:
            img = F.pad(img, [0, self.size[0] - height], self.fill, self.padding_mode)
        return F.crop(img, *self.get_params(img, self.size))


class RandomResizedCrop(Transform):
    """Crops a random rectangle of random area and aspect ratio and resizes it.

    Args:
        size: The output size, (height, width) or one number for both.
        scale: The range of the area, as a fraction of the image area.
        ratio: The range of the aspect ratio (width / height).
        interpolation: The interpolation mode.
        antialias: Whether to antialias when downsampling tensors.

    >>> pyburn.data.transforms.RandomResizedCrop(6)(pyburn.ones(3, 8, 12)).shape
    pyburn.Size([3, 6, 6])
    """

    def __init__(
        self,
        size: int | Sequence[int],
        scale: Range = (0.08, 1.0),
        ratio: Range = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        self.size = both(size)
        self.scale = scale
        self.ratio = ratio
        self.interpolation = interpolation_mode(interpolation)
        self.antialias = antialias

    @staticmethod
    def get_params(img: Any, scale: Range, ratio: Range) -> tuple[int, int, int, int]:
        """Returns top, left, height and width of a random rectangle; after ten failed tries, of the largest center crop within the ratio
        range.

        Args:
            img: The image.
            scale: The range of the area, as a fraction of the area of the image.
            ratio: The range of the aspect ratio.
        """
        _, height, width = F.get_dimensions(img)
        draw = python_random()
        for _ in range(10):
            area = height * width * draw.uniform(*scale)
            shape = math.exp(draw.uniform(math.log(ratio[0]), math.log(ratio[1])))
            columns, rows = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
            if 0 < columns <= width and 0 < rows <= height:
                return draw.randint(0, height - rows), draw.randint(0, width - columns), rows, columns
        columns, rows = width, height
        if width / height < min(ratio):
            rows = round(width / min(ratio))
        elif width / height > max(ratio):
            columns = round(height * max(ratio))
        return (height - rows) // 2, (width - columns) // 2, rows, columns

    def __call__(self, img: Any) -> Any:
        top, left, height, width = self.get_params(img, self.scale, self.ratio)
        return F.resized_crop(img, top, left, height, width, self.size, self.interpolation, self.antialias)


def _range(value: float | Sequence[float], name: str, lowest: float | None = None) -> list[float]:
    """Returns a range given by its ends, or by a number v for [-v, v]."""
    if isinstance(value, (int, float)):
        if value < 0:
            raise ValueError(f"If {name} is a single number, it must be positive: got {value}")
        return [-value, value]
    ends = list(value)
    if len(ends) < 2 or (lowest is not None and min(ends) < lowest):
        raise ValueError(f"{name} should be a sequence of two numbers: got {value}")
    return ends


class RandomRotation(Transform):
    """Rotates an image by a random angle.

    Args:
        degrees: The range of angles, or a number d for [-d, d].
        interpolation: The interpolation mode.
        expand: Whether to enlarge the output to hold the whole rotated image.
        center: The center (x, y); by default that of the image.
        fill: The fill value for pixels outside of the image.

    >>> pyburn.data.transforms.RandomRotation(30)(pyburn.ones(3, 8, 12)).shape
    pyburn.Size([3, 8, 12])
    """

    def __init__(
        self,
        degrees: float | Sequence[float],
        interpolation: InterpolationMode | int = InterpolationMode.NEAREST,
        expand: bool = False,
        center: Sequence[float] | None = None,
        fill: Fill = 0,
    ) -> None:
        self.degrees = _range(degrees, "degrees")
        self.interpolation = interpolation_mode(interpolation)
        self.expand = expand
        self.center = center
        self.fill = fill

    @staticmethod
    def get_params(degrees: Sequence[float]) -> float:
        """Returns a random angle from the range.

        Args:
            degrees: The range of the angle.
        """
        return python_random().uniform(degrees[0], degrees[1])

    def __call__(self, img: Any) -> Any:
        return F.rotate(img, self.get_params(self.degrees), self.interpolation, self.expand, self.center, self.fill)


class RandomAffine(Transform):
    """Applies a random affine transformation.

    Args:
        degrees: The range of the rotation angle, or a number d for [-d, d].
        translate: The maximum translation (x, y), as fractions of the image size.
        scale: The range of the scale factor.
        shear: The range of the shear angles in degrees.
        interpolation: The interpolation mode.
        fill: The fill value for pixels outside of the image.
        center: The center (x, y); by default that of the image.

    Raises:
        ValueError: translate, scale or a range is invalid.

    >>> pyburn.data.transforms.RandomAffine(30, translate=(0.1, 0.1), scale=(0.8, 1.2), shear=5)(pyburn.ones(3, 8, 12)).shape
    pyburn.Size([3, 8, 12])
    """

    def __init__(
        self,
        degrees: float | Sequence[float],
        translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        shear: float | Sequence[float] | None = None,
        interpolation: InterpolationMode | int = InterpolationMode.NEAREST,
        fill: Fill = 0,
        center: Sequence[float] | None = None,
    ) -> None:
        self.degrees = _range(degrees, "degrees")
        if translate is not None and (len(translate) != 2 or not all(0 <= t <= 1 for t in translate)):
            raise ValueError(f"translation values should be between 0 and 1: got {translate}")
        if scale is not None and (len(scale) != 2 or min(scale) <= 0):
            raise ValueError(f"scale values should be positive: got {scale}")
        self.translate = translate
        self.scale = scale
        self.shear = None if shear is None else _range(shear, "shear")
        self.interpolation = interpolation_mode(interpolation)
        self.fill = fill
        self.center = center

    @staticmethod
    def get_params(
        degrees: Sequence[float],
        translate: Sequence[float] | None,
        scale_ranges: Sequence[float] | None,
        shears: Sequence[float] | None,
        img_size: Sequence[int],
    ) -> tuple[float, tuple[int, int], float, tuple[float, float]]:
        """Returns random angle, translations, scale and shears for an image of (width, height).

        Args:
            degrees: The range of the angle.
            translate: The maximum shifts as fractions of (width, height), or None.
            scale_ranges: The range of the scale, or None.
            shears: The ranges of the shear angles, or None.
            img_size: (width, height).
        """
        draw = python_random()
        angle = draw.uniform(degrees[0], degrees[1])
        far = (0.0, 0.0) if translate is None else (translate[0] * img_size[0], translate[1] * img_size[1])
        moves = (round(draw.uniform(-far[0], far[0])), round(draw.uniform(-far[1], far[1])))
        scale = 1.0 if scale_ranges is None else draw.uniform(scale_ranges[0], scale_ranges[1])
        slants = (0.0, 0.0)
        if shears is not None:
            slants = (draw.uniform(shears[0], shears[1]), draw.uniform(shears[2], shears[3]) if len(shears) == 4 else 0.0)
        return angle, moves, scale, slants

    def __call__(self, img: Any) -> Any:
        _, height, width = F.get_dimensions(img)
        chosen = self.get_params(self.degrees, self.translate, self.scale, self.shear, (width, height))
        return F.affine(img, *chosen, interpolation=self.interpolation, fill=self.fill, center=self.center)
