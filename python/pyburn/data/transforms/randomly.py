"""Random transforms. They draw from pyburn's default generator: in a loader, from the stream of the sample (data/randomness.py)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ... import _core
from ..._core import Tensor
from ..randomness import python_random
from . import functional as F
from .geometry import Fill, InterpolationMode, interpolation_mode
from .plain import Transform, both

Range = tuple[float, float]


def chance(p: float) -> bool:
    """True with a probability."""
    return float(_core.rand(())) < p


class WithProbability(Transform):
    """A change that happens with a probability p."""

    def __init__(self, p: float = 0.5) -> None:
        self.p = p

    def __call__(self, img: Any) -> Any:
        return self._changed(img) if chance(self.p) else img

    def _changed(self, img: Any) -> Any:
        raise NotImplementedError


class RandomHorizontalFlip(Transform):
    """Left and right exchanged, with a probability."""

    def __init__(self, p: float = 0.5) -> None:
        self.p = p

    def __call__(self, img: Any) -> Any:
        return F.hflip(img) if chance(self.p) else img


class RandomVerticalFlip(Transform):
    """Top and bottom exchanged, with a probability."""

    def __init__(self, p: float = 0.5) -> None:
        self.p = p

    def __call__(self, img: Any) -> Any:
        return F.vflip(img) if chance(self.p) else img


class RandomCrop(Transform):
    """A rectangle of the image, of a given size, anywhere; with `padding` there is a border first, with `pad_if_needed` one where the
    image is smaller."""

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
        """Top, left, height and width of a random rectangle."""
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
    """A rectangle of random size and shape, anywhere in the image, brought to a given size: `scale` is its share of the area, `ratio` its
    width by its height."""

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
        """Top, left, height and width of a random rectangle; after ten that do not fit, the largest in the middle that does."""
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
    """A range given as its ends, or as one number for -number to number."""
    if isinstance(value, (int, float)):
        if value < 0:
            raise ValueError(f"If {name} is a single number, it must be positive: got {value}")
        return [-value, value]
    ends = list(value)
    if len(ends) < 2 or (lowest is not None and min(ends) < lowest):
        raise ValueError(f"{name} should be a sequence of two numbers: got {value}")
    return ends


class RandomRotation(Transform):
    """The image turned by an angle from a range of degrees."""

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
        """An angle of the range."""
        return python_random().uniform(degrees[0], degrees[1])

    def __call__(self, img: Any) -> Any:
        return F.rotate(img, self.get_params(self.degrees), self.interpolation, self.expand, self.center, self.fill)


class RandomAffine(Transform):
    """The image turned, moved (by shares of its size), scaled and sheared (in degrees) at random."""

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
        """Angle, shifts, scale and shears for an image of (width, height)."""
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


class ColorJitter(Transform):
    """Brightness, contrast, saturation and hue changed at random, in random order. A number b stands for factors from 1 - b to 1 + b; of
    the hue for shifts from -b to b."""

    def __init__(
        self,
        brightness: float | Sequence[float] = 0,
        contrast: float | Sequence[float] = 0,
        saturation: float | Sequence[float] = 0,
        hue: float | Sequence[float] = 0,
    ) -> None:
        self.brightness = self._factors(brightness, "brightness")
        self.contrast = self._factors(contrast, "contrast")
        self.saturation = self._factors(saturation, "saturation")
        self.hue = self._factors(hue, "hue", center=0.0, low=-0.5, high=0.5)

    @staticmethod
    def _factors(value: Any, name: str, center: float = 1.0, low: float = 0.0, high: float = math.inf) -> tuple[float, float] | None:
        if isinstance(value, (int, float)):
            if value < 0:
                raise ValueError(f"If {name} is a single number, it must be non negative: got {value}")
            ends = (center - value, center + value)
            ends = (max(ends[0], 0.0), ends[1]) if center else ends
        else:
            ends = (float(value[0]), float(value[1]))
        if not low <= ends[0] <= ends[1] <= high:
            raise ValueError(f"{name} values should be between {(low, high)}, but got {ends}.")
        return None if ends[0] == ends[1] == center else ends

    @staticmethod
    def get_params(
        brightness: Range | None, contrast: Range | None, saturation: Range | None, hue: Range | None
    ) -> tuple[list[int], float | None, float | None, float | None, float | None]:
        """The order of the four changes, and their factors."""
        draw = python_random()
        order = [0, 1, 2, 3]
        draw.shuffle(order)
        drawn = [None if ends is None else draw.uniform(*ends) for ends in (brightness, contrast, saturation, hue)]
        return order, drawn[0], drawn[1], drawn[2], drawn[3]

    def __call__(self, img: Any) -> Any:
        order, *factors = self.get_params(self.brightness, self.contrast, self.saturation, self.hue)
        changes = (F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue)
        for number in order:
            factor = factors[number]
            if factor is not None:
                img = changes[number](img, factor)
        return img


class RandomGrayscale(Transform):
    """Shades of grey in as many channels as before, with a probability."""

    def __init__(self, p: float = 0.1) -> None:
        self.p = p

    def __call__(self, img: Any) -> Any:
        return F.rgb_to_grayscale(img, 1 if F.get_image_num_channels(img) == 1 else 3) if chance(self.p) else img


class GaussianBlur(Transform):
    """The image blurred, by a sigma from a range."""

    def __init__(self, kernel_size: int | Sequence[int], sigma: float | Sequence[float] = (0.1, 2.0)) -> None:
        self.kernel_size = both(kernel_size)[::-1]
        self.sigma = (float(sigma), float(sigma)) if isinstance(sigma, (int, float)) else tuple(sigma)
        if not 0 < self.sigma[0] <= self.sigma[1]:
            raise ValueError(f"sigma values should be positive and of the form (min, max): got {sigma}")

    def __call__(self, img: Any) -> Any:
        return F.gaussian_blur(img, self.kernel_size[::-1], python_random().uniform(*self.sigma))


class RandomErasing(Transform):
    """A rectangle of a tensor (..., C, H, W) overwritten, with a probability: by a value, one per channel, or noise ("random"). Also
    known as cutout."""

    def __init__(
        self,
        p: float = 0.5,
        scale: Range = (0.02, 0.33),
        ratio: Range = (0.3, 3.3),
        value: float | Sequence[float] | str = 0,
        inplace: bool = False,
    ) -> None:
        if isinstance(value, str) and value != "random":
            raise ValueError(f"If value is str, it should be 'random': got {value!r}")
        if not (0 <= scale[0] <= scale[1] <= 1):
            raise ValueError(f"Scale should be between 0 and 1: got {scale}")
        if not 0 <= p <= 1:
            raise ValueError(f"Random erasing probability should be between 0 and 1: got {p}")
        self.p = p
        self.scale = scale
        self.ratio = ratio
        self.value = value
        self.inplace = inplace

    @staticmethod
    def get_params(img: Tensor, scale: Range, ratio: Range, value: list[float] | None = None) -> tuple[int, int, int, int, Tensor]:
        """Top, left, height, width and content of a random rectangle; the whole image as it is after ten that do not fit."""
        channels, height, width = F.get_dimensions(img)
        draw = python_random()
        for _ in range(10):
            area = height * width * draw.uniform(*scale)
            shape = math.exp(draw.uniform(math.log(ratio[0]), math.log(ratio[1])))
            rows, columns = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
            if 0 < rows < height and 0 < columns < width:
                if value is None:
                    content = _core.randn(channels, rows, columns, device=img.device)
                else:
                    content = _core._tensor(value, _core.float32, img.device, False).reshape(-1, 1, 1)
                return draw.randint(0, height - rows), draw.randint(0, width - columns), rows, columns, content
        return 0, 0, height, width, img

    def __call__(self, img: Tensor) -> Tensor:
        if not chance(self.p):
            return img
        channels = F.get_image_num_channels(img)
        value = None if isinstance(self.value, str) else [self.value] if isinstance(self.value, (int, float)) else list(self.value)
        if value is not None and len(value) not in (1, channels):
            raise ValueError(f"If value is a sequence, it should have either a single value or {channels} (number of input channels)")
        top, left, height, width, content = self.get_params(img, self.scale, self.ratio, value)
        return F.erase(img, top, left, height, width, content.to(img.dtype), self.inplace)


class RandomApply(Transform):
    """Several transforms in order, with a probability."""

    def __init__(self, transforms: Sequence[Callable[[Any], Any]], p: float = 0.5) -> None:
        self.transforms = transforms
        self.p = p

    def __call__(self, img: Any) -> Any:
        if chance(self.p):
            for transform in self.transforms:
                img = transform(img)
        return img


class RandomOrder(Transform):
    """Several transforms in random order."""

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        self.transforms = transforms

    def __call__(self, img: Any) -> Any:
        order = list(self.transforms)
        python_random().shuffle(order)
        for transform in order:
            img = transform(img)
        return img


class RandomChoice(Transform):
    """One of several transforms, as likely as the weights p say."""

    def __init__(self, transforms: Sequence[Callable[[Any], Any]], p: Sequence[float] | None = None) -> None:
        if p is not None and len(p) != len(transforms):
            raise ValueError(f"expected a weight per transform: got {len(p)} and {len(transforms)}")
        self.transforms = transforms
        self.p = p

    def __call__(self, img: Any) -> Any:
        return python_random().choices(list(self.transforms), self.p)[0](img)
