"""Random transforms that keep pixel positions: color, noise, compression."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..._core import Tensor
from ..randomness import python_random
from . import functional as F
from .plain import Transform
from .random_choice import WithProbability, chance
from .random_colour import ColorJitter


class RandomInvert(WithProbability):
    """Inverts the colors with probability p.

    >>> pyburn.data.transforms.RandomInvert(p=1.0)(pyburn.tensor([[[0.25]]]))
    tensor([[[0.7500]]])
    """

    def _changed(self, img: Any) -> Any:
        return F.invert(img)


class RandomEqualize(WithProbability):
    """Equalizes the histogram with probability p.

    >>> pyburn.data.transforms.RandomEqualize(p=1.0)(pyburn.arange(1024).reshape(1, 32, 32).div(8).to(pyburn.uint8)).amax()
    tensor(255, dtype=pyburn.uint8)
    """

    def _changed(self, img: Any) -> Any:
        return F.equalize(img)


class RandomAutocontrast(WithProbability):
    """Maximizes the contrast with probability p.

    >>> pyburn.data.transforms.RandomAutocontrast(p=1.0)(pyburn.tensor([[[0.25, 0.75]]]))
    tensor([[[0., 1.]]])
    """

    def _changed(self, img: Any) -> Any:
        return F.autocontrast(img)


class RandomPosterize(WithProbability):
    """Reduces the number of bits per channel with probability p.

    Args:
        bits: The number of bits that are kept, from 0 to 8.
        p: The probability.

    >>> pyburn.data.transforms.RandomPosterize(2, p=1.0)(pyburn.tensor([[[100, 200]]], dtype=pyburn.uint8))
    tensor([[[ 64, 192]]], dtype=pyburn.uint8)
    """

    def __init__(self, bits: int, p: float = 0.5) -> None:
        super().__init__(p)
        self.bits = bits

    def _changed(self, img: Any) -> Any:
        return F.posterize(img, self.bits)


class RandomSolarize(WithProbability):
    """Inverts all values at or above a threshold with probability p.

    Args:
        threshold: The threshold.
        p: The probability.

    >>> pyburn.data.transforms.RandomSolarize(0.5, p=1.0)(pyburn.tensor([[[0.25, 0.75]]]))
    tensor([[[0.2500, 0.2500]]])
    """

    def __init__(self, threshold: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.threshold = threshold

    def _changed(self, img: Any) -> Any:
        return F.solarize(img, self.threshold)


class RandomAdjustSharpness(WithProbability):
    """Adjusts the sharpness (0: blurred, 1: unchanged, 2: twice as sharp) with probability p.

    Args:
        sharpness_factor: The factor of the sharpness.
        p: The probability.

    >>> pyburn.data.transforms.RandomAdjustSharpness(2.0, p=1.0)(pyburn.ones(3, 8, 12)).shape
    pyburn.Size([3, 8, 12])
    """

    def __init__(self, sharpness_factor: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.sharpness_factor = sharpness_factor

    def _changed(self, img: Any) -> Any:
        return F.adjust_sharpness(img, self.sharpness_factor)


class RandomChannelPermutation(Transform):
    """Permutes the channels randomly.

    >>> pyburn.data.transforms.RandomChannelPermutation()(pyburn.tensor([1.0, 2.0, 3.0]).reshape(3, 1, 1)).sum()
    tensor(6.)
    """

    def __call__(self, img: Any) -> Any:
        order = list(range(F.get_image_num_channels(img)))
        python_random().shuffle(order)
        return F.permute_channels(img, order)


class RandomPhotometricDistort(Transform):
    """Changes brightness, contrast, saturation, hue and channel order, each with probability p (Liu et al. 2016).

    Args:
        brightness: The range of the brightness factor.
        contrast: The range of the contrast factor.
        saturation: The range of the saturation factor.
        hue: The range of the hue shift.
        p: The probability of each change.

    >>> pyburn.data.transforms.RandomPhotometricDistort()(pyburn.ones(3, 8, 12)).shape
    pyburn.Size([3, 8, 12])
    """

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
    """Adds Gaussian noise to a tensor. sigma is in units of the value range, for floats in [0, 1] and for uint8.

    Args:
        mean: The mean of the noise.
        sigma: The standard deviation of the noise.
        clip: Whether floats are clipped to [0, 1].

    Raises:
        ValueError: sigma is negative.

    >>> pyburn.data.transforms.GaussianNoise(sigma=0.05)(pyburn.ones(3, 8, 12)).shape
    pyburn.Size([3, 8, 12])
    """

    def __init__(self, mean: float = 0.0, sigma: float = 0.1, clip: bool = True) -> None:
        if sigma < 0:
            raise ValueError(f"sigma shouldn't be negative. Got {sigma}")
        self.mean, self.sigma, self.clip = mean, sigma, clip

    def __call__(self, img: Tensor) -> Tensor:
        return F.gaussian_noise(img, self.mean, self.sigma, self.clip)


class JPEG(Transform):
    """Compresses an image as JPEG with a random quality.

    Args:
        quality: The quality from 1 to 100, or (lowest, highest).

    Raises:
        ValueError: quality is out of range.

    >>> pyburn.data.transforms.JPEG(50)(pyburn.zeros(3, 8, 12, dtype=pyburn.uint8)).shape
    pyburn.Size([3, 8, 12])
    """

    def __init__(self, quality: int | Sequence[int]) -> None:
        self.quality = (quality, quality) if isinstance(quality, int) else tuple(quality)
        if len(self.quality) != 2 or not 1 <= self.quality[0] <= self.quality[1] <= 100:
            raise ValueError(f"quality must be an integer from 1 to 100, or a sequence of lowest and highest: got {quality}")

    def __call__(self, img: Any) -> Any:
        return F.jpeg(img, python_random().randint(self.quality[0], self.quality[1]))
