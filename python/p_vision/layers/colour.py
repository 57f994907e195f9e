"""Random color augmentation layers, and layers that blur or erase parts of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyburn
from pyburn import Tensor
from pyburn.nn import functional

from .arguments import contrast_of, extents, share_of, spread_of
from .image import RandomLayer, ValueLayer

_GREY = (0.2989, 0.587, 0.114)  # luma weights of red, green and blue


def _grey(x: Tensor) -> Tensor:
    """Converts to grayscale: (N, 1, height, width)."""
    if x.shape[1] != 3:
        return x.mean(1, keepdim=True)
    return (x * pyburn.tensor(_GREY, dtype=x.dtype, device=x.device).reshape(1, 3, 1, 1)).sum(1, keepdim=True)


def _column(values: Tensor) -> Tensor:
    return values.reshape(-1, 1, 1, 1)


class _ColourLayer(ValueLayer):
    """Base class of layers with a factor: the range that a number is drawn from for each image. A single number f is (0, f)."""

    def prepare(self) -> None:
        super().prepare()
        self._span = share_of(type(self).__name__, "factor", getattr(self, "factor", 0.0))

    def _chosen(self, x: Tensor) -> Tensor:
        """Draws which images are changed: the factor is a range of probabilities, drawn per image."""
        return _column(self._uniform(x, 0, 1) < self._uniform(x, *self._span))


class RandomGrayscale(_ColourLayer):
    """Converts a random fraction of the images to grayscale.

    Args:
        factor: The probability of converting an image.

    >>> out = p_vision.RandomGrayscale(1.0)(pyburn.rand(2, 4, 4, 3))
    >>> bool((out[..., 0] == out[..., 1]).all())
    True
    """

    factor: float = 0.5
    seed: int | None = None

    def changed(self, x: Tensor) -> Tensor:
        return pyburn.where(_column(self._uniform(x, 0, 1) < self.factor), _grey(x).expand(x.shape), x)


class RandomInvert(_ColourLayer):
    """Inverts the values of random images.

    Args:
        factor: The range that the probability of inverting an image is drawn from; a single number f is (0, f).

    >>> p_vision.RandomInvert((1.0, 1.0))(pyburn.zeros(1, 1, 1, 3)).flatten().tolist()
    [255.0, 255.0, 255.0]
    """

    factor: Any = 1.0
    value_range: Sequence[float] = (0, 255)
    seed: int | None = None

    def changed(self, x: Tensor) -> Tensor:
        return pyburn.where(self._chosen(x), self.value_range[1] - x, x)


class RandomSaturation(_ColourLayer):
    """Changes the saturation of images by a random amount. Hue and value (the maximum channel) are kept.

    Args:
        factor: The range of amounts: 0 gives grayscale, 0.5 the original, 1 full saturation; a single number f is (0, f).

    >>> p_vision.RandomSaturation((0.4, 0.6))(pyburn.rand(2, 4, 4, 3) * 255).shape
    pyburn.Size([2, 4, 4, 3])
    """

    factor: Any
    value_range: Sequence[float] = (0, 255)
    seed: int | None = None

    def changed(self, x: Tensor) -> Tensor:
        share = self._uniform(x, *self._span)
        x = x - self.value_range[0]
        largest = x.amax(1, keepdim=True)
        most = largest / (largest - x.amin(1, keepdim=True)).clamp(min=1e-12)  # the scale at which a channel reaches its minimum
        strength = pyburn.minimum(_column(share / (1 - share + 1e-7)), most)
        return self._within(largest - (largest - x) * strength + self.value_range[0])


class RandomColorDegeneration(_ColourLayer):
    """Blends images with their grayscale version by a random amount.

    Args:
        factor: The range of amounts, where 1 gives grayscale; a single number f is (0, f).

    >>> p_vision.RandomColorDegeneration(0.5)(pyburn.rand(2, 4, 4, 3)).shape
    pyburn.Size([2, 4, 4, 3])
    """

    factor: Any
    value_range: Sequence[float] = (0, 255)
    seed: int | None = None

    def changed(self, x: Tensor) -> Tensor:
        share = _column(self._uniform(x, *self._span))
        return x * (1 - share) + _grey(x) * share


class RandomHue(_ColourLayer):
    """Shifts the hue of images by random amounts; saturation and value are kept.

    Args:
        factor: The largest shift in half turns of the color circle, in either direction; or a range.

    >>> p_vision.RandomHue(0.2)(pyburn.rand(2, 4, 4, 3) * 255).shape
    pyburn.Size([2, 4, 4, 3])
    """

    factor: Any
    value_range: Sequence[float] = (0, 255)
    seed: int | None = None

    def changed(self, x: Tensor) -> Tensor:
        by = self._uniform(x, *self._span) * pyburn.where(self._uniform(x, 0, 1) < 0.5, 3.0, -3.0)  # in sixths of a turn
        low = self.value_range[0]
        red, green, blue = (x - low).unbind(1)
        largest, least = (x - low).amax(1), (x - low).amin(1)
        spread = (largest - least).clamp(min=1e-12)
        hue = pyburn.where(
            largest == red,
            (green - blue) / spread,
            pyburn.where(largest == green, (blue - red) / spread + 2, (red - green) / spread + 4),
        )
        hue = hue + by.reshape(-1, 1, 1)
        channels = []
        for sixth in (5.0, 3.0, 1.0):  # distance of each channel from the maximum
            at = (hue + sixth).remainder(6.0)
            channels.append(largest - (largest - least) * pyburn.minimum(at, 4 - at).clamp(0.0, 1.0))
        return self._within(pyburn.stack(channels, 1) + low)


class RandomSharpness(_ColourLayer):
    """Blurs or sharpens images by a random amount.

    Args:
        factor: The range of amounts: 0 is blurred, 0.5 the original, 1 sharpened; a single number f is (0, f).

    >>> p_vision.RandomSharpness((0.5, 1.0))(pyburn.rand(2, 8, 8, 3) * 255).shape
    pyburn.Size([2, 8, 8, 3])
    """

    factor: Any
    value_range: Sequence[float] = (0, 255)
    seed: int | None = None

    def changed(self, x: Tensor) -> Tensor:
        share = _column(self._uniform(x, *self._span) * 2)
        kernel = pyburn.tensor([[1.0, 1, 1], [1, 5, 1], [1, 1, 1]], dtype=x.dtype, device=x.device) / 13
        smooth = functional.conv2d(x, kernel.expand(x.shape[1], 1, 3, 3), groups=x.shape[1], padding=1)
        return self._within(smooth + (x - smooth) * share)


class RandomPosterization(_ColourLayer):
    """Reduces the number of bits of each value to a random number.

    Args:
        factor: The largest number of bits, from 1 to 8, or a range (fewest, most).

    Raises:
        ValueError: A number of bits is not from 1 to 8.

    >>> p_vision.RandomPosterization(4)(pyburn.rand(2, 4, 4, 3) * 255).shape
    pyburn.Size([2, 4, 4, 3])
    """

    factor: Any
    value_range: Sequence[float] = (0, 255)
    seed: int | None = None

    def prepare(self) -> None:
        super().prepare()
        low, high = (1, self.factor) if isinstance(self.factor, int) else tuple(self.factor)
        if not 1 <= low <= high <= 8:
            raise ValueError(f"[RandomPosterization] factor is a number of bits from 1 to 8, or two: got {self.factor!r}")
        self._bits = low, max(high - 1, low)

    def changed(self, x: Tensor) -> Tensor:
        low, high = self.value_range
        fewest, most = self._bits
        bits = (self._uniform(x, fewest, most + 1)).floor().clamp(max=most)
        step = _column(2 ** (8 - bits))
        values = ((x - low) / (high - low) * 255).clamp(0, 255).floor()
        return (values / step).floor() * step / 255 * (high - low) + low


class Solarization(_ColourLayer):
    """Adds a random value, then inverts the values at or above a random threshold.

    Args:
        addition_factor: The range of the value to add, as a fraction of value_range; a single number f is (0, f).
        threshold_factor: The range of the threshold, as a fraction of value_range; a single number f is (0, f).

    >>> p_vision.Solarization(threshold_factor=(0.5, 0.5))(pyburn.tensor([[[[10.0], [200.0]]]])).flatten().tolist()
    [10.0, 55.0]
    """

    addition_factor: Any = 0.0
    threshold_factor: Any = 0.0
    value_range: Sequence[float] = (0, 255)
    seed: int | None = None

    def prepare(self) -> None:
        super().prepare()
        self._span, self._threshold = (
            share_of("Solarization", name, getattr(self, name)) for name in ("addition_factor", "threshold_factor")
        )

    def changed(self, x: Tensor) -> Tensor:
        low, high = self.value_range
        lifted = (x + _column(self._uniform(x, *self._span)) * (high - low)).clamp(low, high)
        threshold = low + _column(self._uniform(x, *self._threshold)) * (high - low)
        return pyburn.where(lifted < threshold, lifted, high + low - lifted)


class AutoContrast(_ColourLayer):
    """Stretches the contrast of each channel to the full value range.

    >>> p_vision.AutoContrast(value_range=(0, 1))(pyburn.tensor([[[[0.25], [0.5], [0.75]]]])).flatten().tolist()
    [0.0, 0.5, 1.0]
    """

    value_range: Sequence[float] = (0, 255)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.always(inputs)

    def changed(self, x: Tensor) -> Tensor:
        low, high = self.value_range
        smallest, largest = x.amin([-2, -1], keepdim=True), x.amax([-2, -1], keepdim=True)
        flat = largest == smallest
        return pyburn.where(flat, x, (x - smallest) * ((high - low) / pyburn.where(flat, 1.0, largest - smallest)) + low)


class Equalization(_ColourLayer):
    """Equalizes the histogram of each channel of each image.

    Args:
        value_range: The range of the values.
        bins: The number of histogram bins.

    >>> p_vision.Equalization()(pyburn.rand(1, 8, 8, 3) * 255).shape
    pyburn.Size([1, 8, 8, 3])
    """

    value_range: Sequence[float] = (0, 255)
    bins: int = 256

    def changed(self, x: Tensor) -> Tensor:
        low, high = self.value_range
        values = (x - low) * (255 / (high - low))
        at = (values * ((self.bins - 1) / 255)).long().clamp(0, self.bins - 1).flatten(2)
        counts = pyburn.zeros(*at.shape[:2], self.bins, device=x.device).scatter_add(2, at, pyburn.ones(at.shape, device=x.device))
        below = counts.cumsum(2)
        first = pyburn.where(below > 0, below, at.shape[2]).amin(2, keepdim=True)
        table = ((below - first) * 255 / (below[..., -1:] - first).clamp(min=1)).round().clamp(0, 255)
        even = table.gather(2, at).reshape(x.shape).to(x.dtype) * ((high - low) / 255) + low
        return pyburn.where((counts > 0).sum(2)[..., None, None] > 1, even, x)


class RandomColorJitter(_ColourLayer):
    """Randomly changes brightness, contrast, saturation and hue; a factor of None skips that change.

    Args:
        brightness_factor: The factor of RandomBrightness.
        contrast_factor: The factor of RandomContrast.
        saturation_factor: The factor of RandomSaturation.
        hue_factor: The factor of RandomHue.

    >>> p_vision.RandomColorJitter(value_range=(0, 1), brightness_factor=0.2, hue_factor=0.1)(pyburn.rand(2, 8, 8, 3)).shape
    pyburn.Size([2, 8, 8, 3])
    """

    value_range: Sequence[float] = (0, 255)
    brightness_factor: Any = None
    contrast_factor: Any = None
    saturation_factor: Any = None
    hue_factor: Any = None
    seed: int | None = None

    def prepare(self) -> None:
        super().prepare()
        bright, contrast = self.brightness_factor, self.contrast_factor
        self._bright = None if bright is None else spread_of("RandomColorJitter", "brightness_factor", bright)
        self._contrast = None if contrast is None else contrast_of("RandomColorJitter", "contrast_factor", contrast)
        given = ((RandomSaturation, self.saturation_factor), (RandomHue, self.hue_factor))
        self._parts = [kind(factor, self.value_range, self.seed) for kind, factor in given if factor is not None]

    def changed(self, x: Tensor) -> Tensor:
        low, high = self.value_range
        if self._bright is not None:
            x = self._within(x + _column(self._uniform(x, *self._bright)) * (high - low))
        if self._contrast is not None:
            mean = x.mean([-2, -1], keepdim=True)
            x = self._within((x - mean) * _column(self._uniform(x, *self._contrast)) + mean)
        for part in self._parts:
            x = part.changed(x)
        return x


class RandomGaussianBlur(_ColourLayer):
    """Blurs random images with a Gaussian kernel. Images are zero-padded, as in Keras.

    Args:
        factor: The range that the probability of blurring an image is drawn from; a single number f is (0, f).
        kernel_size: The height and width of the kernel, one number or two.
        sigma: The range of the standard deviation of the kernel; a single number s is (0.1, s).

    >>> p_vision.RandomGaussianBlur(kernel_size=5, sigma=2.0)(pyburn.rand(2, 8, 8, 3)).shape
    pyburn.Size([2, 8, 8, 3])
    """

    checks = {"kernel_size": None}
    factor: Any = 1.0
    kernel_size: Any = 3
    sigma: Any = 1.0
    value_range: Sequence[float] = (0, 255)
    seed: int | None = None

    def prepare(self) -> None:
        super().prepare()
        self._sides = extents("RandomGaussianBlur", "kernel_size", self.kernel_size, 2)
        self._width = (0.1, float(self.sigma)) if isinstance(self.sigma, (int, float)) else tuple(self.sigma)

    def changed(self, x: Tensor) -> Tensor:
        sigma = self._uniform(x[:1], *self._width)
        blurred = x
        for axis, side in ((2, self._sides[0]), (3, self._sides[1])):
            at = pyburn.arange(side, dtype=x.dtype, device=x.device) - (side - 1) / 2
            bell = (-(at**2) / (2 * sigma**2)).exp()
            kernel = (bell / bell.sum()).reshape([1, 1, side, 1] if axis == 2 else [1, 1, 1, side]).expand(x.shape[1], 1, -1, -1)
            before, after = (side - 1) // 2, side // 2
            border = [0, 0, before, after] if axis == 2 else [before, after, 0, 0]
            blurred = functional.conv2d(functional.pad(blurred, border), kernel, groups=x.shape[1])
        return self._within(pyburn.where(self._chosen(x), blurred, x))


class RandomErasing(_ColourLayer):
    """Erases a random rectangle in random images.

    Args:
        factor: The range that the probability of erasing is drawn from; a single number f is (0, f).
        scale: The range of the area of the rectangle, as a fraction of the image.
        fill_value: The value of the rectangle; None fills it with noise.

    >>> p_vision.RandomErasing((1.0, 1.0), fill_value=0.0)(pyburn.ones(2, 8, 8, 3)).shape
    pyburn.Size([2, 8, 8, 3])
    """

    factor: Any = 1.0
    scale: Sequence[float] = (0.02, 0.33)
    fill_value: float | None = None
    value_range: Sequence[float] = (0, 255)
    seed: int | None = None

    def changed(self, x: Tensor) -> Tensor:
        inside = boxes(self, x, (self._uniform(x, *self.scale)).sqrt())
        low, high = self.value_range
        fill = pyburn.rand(x.shape, dtype=x.dtype, device=x.device) * (high - low) + low if self.fill_value is None else self.fill_value
        return pyburn.where(inside & self._chosen(x), fill, x)


def boxes(layer: RandomLayer, x: Tensor, share: Tensor) -> Tensor:
    """Returns a mask of a random box per image, (N, 1, height, width), whose sides are fractions of the image sides."""
    found = None
    for axis, extent in ((2, x.shape[2]), (3, x.shape[3])):
        middle, half = layer._uniform(x, 0, extent), share * extent / 2
        at = pyburn.arange(extent, dtype=x.dtype, device=x.device).reshape([1, 1, -1, 1] if axis == 2 else [1, 1, 1, -1])
        inside = (at >= _column(middle - half)) & (at < _column(middle + half))
        found = inside if found is None else found & inside
    assert found is not None
    return found
