"""Random transforms that leave every pixel in its place: colours, noise, compression."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..._core import Tensor
from ..randomness import python_random
from . import functional as F
from .plain import Transform
from .randomly import ColorJitter, WithProbability, chance


class RandomInvert(WithProbability):
    """The colours inverted, with a probability."""

    def _changed(self, img: Any) -> Any:
        return F.invert(img)


class RandomEqualize(WithProbability):
    """The histogram equalised, with a probability."""

    def _changed(self, img: Any) -> Any:
        return F.equalize(img)


class RandomAutocontrast(WithProbability):
    """The darkest pixel black and the lightest white, with a probability."""

    def _changed(self, img: Any) -> Any:
        return F.autocontrast(img)


class RandomPosterize(WithProbability):
    """Fewer bits per channel, with a probability."""

    def __init__(self, bits: int, p: float = 0.5) -> None:
        super().__init__(p)
        self.bits = bits

    def _changed(self, img: Any) -> Any:
        return F.posterize(img, self.bits)


class RandomSolarize(WithProbability):
    """Everything above a threshold inverted, with a probability."""

    def __init__(self, threshold: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.threshold = threshold

    def _changed(self, img: Any) -> Any:
        return F.solarize(img, self.threshold)


class RandomAdjustSharpness(WithProbability):
    """Another sharpness (0 is blurred, 1 the image, 2 twice as sharp), with a probability."""

    def __init__(self, sharpness_factor: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.sharpness_factor = sharpness_factor

    def _changed(self, img: Any) -> Any:
        return F.adjust_sharpness(img, self.sharpness_factor)


class RandomChannelPermutation(Transform):
    """The channels in another order."""

    def __call__(self, img: Any) -> Any:
        order = list(range(F.get_image_num_channels(img)))
        python_random().shuffle(order)
        return F.permute_channels(img, order)


class RandomPhotometricDistort(Transform):
    """Brightness, contrast, saturation, hue and the order of the channels changed, each with a probability (as in Liu et al. 2016)."""

    def __init__(
        self,
        brightness: tuple[float, float] = (0.875, 1.125),
        contrast: tuple[float, float] = (0.5, 1.5),
        saturation: tuple[float, float] = (0.5, 1.5),
        hue: tuple[float, float] = (-0.05, 0.05),
        p: float = 0.5,
    ) -> None:
        self.brightness, self.contrast, self.saturation, self.hue, self.p = brightness, contrast, saturation, hue, p

    def __call__(self, img: Any) -> Any:
        early = chance(0.5)
        contrast = ColorJitter(contrast=self.contrast)
        colours = [ColorJitter(saturation=self.saturation), ColorJitter(hue=self.hue)]
        middle = [contrast, *colours] if early else [*colours, contrast]
        steps: list[Callable[[Any], Any]] = [ColorJitter(brightness=self.brightness), *middle, RandomChannelPermutation()]
        for step in steps:
            if chance(self.p):
                img = step(img)
        return img


class GaussianNoise(Transform):
    """Noise added to a tensor: of floats from 0 to 1, or of bytes, where sigma counts in the same units."""

    def __init__(self, mean: float = 0.0, sigma: float = 0.1, clip: bool = True) -> None:
        if sigma < 0:
            raise ValueError(f"sigma shouldn't be negative. Got {sigma}")
        self.mean, self.sigma, self.clip = mean, sigma, clip

    def __call__(self, img: Tensor) -> Tensor:
        return F.gaussian_noise(img, self.mean, self.sigma, self.clip)


class JPEG(Transform):
    """What JPEG leaves of a picture, at a random quality from 1 to 100."""

    def __init__(self, quality: int | Sequence[int]) -> None:
        self.quality = (quality, quality) if isinstance(quality, int) else tuple(quality)
        if len(self.quality) != 2 or not 1 <= self.quality[0] <= self.quality[1] <= 100:
            raise ValueError(f"quality must be an integer from 1 to 100, or a sequence of lowest and highest: got {quality}")

    def __call__(self, img: Any) -> Any:
        return F.jpeg(img, python_random().randint(self.quality[0], self.quality[1]))
