"""Random color jitter, grayscale, blur and erasing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ... import _core
from ..._core import Tensor
from ..randomness import python_random
from . import functional as F
from .plain import Transform
from .plain_shapes import both
from .random_choice import Range, WithProbability, chance


class ColorJitter(Transform):
    """Changes brightness, contrast, saturation and hue randomly, in random order.

    Args:
        brightness: The range of the factor, or a number b for [max(0, 1 - b), 1 + b].
        contrast: The range of the factor, or a number as for brightness.
        saturation: The range of the factor, or a number as for brightness.
        hue: The range of the shift, or a number h for [-h, h], within [-0.5, 0.5].

    Raises:
        ValueError: A range is invalid.

    >>> pyburn.data.transforms.ColorJitter(brightness=0.5, hue=0.1)(pyburn.ones(3, 8, 12)).shape
    pyburn.Size([3, 8, 12])
    """

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
        """Returns the order of the four operations, and their factors.

        Args:
            brightness: The range of the factor, or None.
            contrast: The range of the factor, or None.
            saturation: The range of the factor, or None.
            hue: The range of the shift, or None.
        """
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


class RandomGrayscale(WithProbability):
    """Converts an image to grayscale with probability p, keeping the number of channels.

    Args:
        p: The probability.

    >>> pyburn.data.transforms.RandomGrayscale(p=1.0)(pyburn.ones(3, 8, 12)).shape
    pyburn.Size([3, 8, 12])
    """

    def __init__(self, p: float = 0.1) -> None:
        super().__init__(p)

    def _changed(self, img: Any) -> Any:
        return F.rgb_to_grayscale(img, 1 if F.get_image_num_channels(img) == 1 else 3)


class GaussianBlur(Transform):
    """Applies a Gaussian blur with a random sigma.

    Args:
        kernel_size: The odd kernel size.
        sigma: The range of sigma, or a fixed value.

    Raises:
        ValueError: sigma is not positive.

    >>> pyburn.data.transforms.GaussianBlur(3)(pyburn.ones(3, 8, 12)).shape
    pyburn.Size([3, 8, 12])
    """

    def __init__(self, kernel_size: int | Sequence[int], sigma: float | Sequence[float] = (0.1, 2.0)) -> None:
        self.kernel_size = both(kernel_size)[::-1]
        self.sigma = (float(sigma), float(sigma)) if isinstance(sigma, (int, float)) else tuple(sigma)
        if not 0 < self.sigma[0] <= self.sigma[1]:
            raise ValueError(f"sigma values should be positive and of the form (min, max): got {sigma}")

    def __call__(self, img: Any) -> Any:
        return F.gaussian_blur(img, self.kernel_size[::-1], python_random().uniform(*self.sigma))


class RandomErasing(Transform):
    """Overwrites a random rectangle of a tensor (..., C, H, W) with probability p (random erasing, cutout).

    Args:
        p: The probability.
        scale: The range of the area, as a fraction of the image area.
        ratio: The range of the aspect ratio.
        value: The fill value, one per channel, or "random" for noise.
        inplace: Whether to modify the tensor in place.

    Raises:
        ValueError: An argument is invalid.

    >>> pyburn.data.transforms.RandomErasing(p=1.0, scale=(0.5, 0.5))(pyburn.ones(3, 8, 12)).shape
    pyburn.Size([3, 8, 12])
    """

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
        """Returns top, left, height, width and content of a random rectangle; after ten failed tries, the unchanged image.

        Args:
            img: The image.
            scale: The range of the area, as a fraction of the area of the image.
            ratio: The range of the aspect ratio.
            value: The value per channel; None for random values.
        """
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
