"""Color and filter operations, for Pillow images and tensors (..., C, H, W)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import _core
from ..._core import Tensor
from ...tensor.creation import from_numpy
from ..image_files import pillow
from .conversion import expect_image, to_pil_image
from .geometry import get_dimensions


def _bound(img: Tensor) -> float:
    return 1.0 if img.is_floating_point() else 2 ** (8 * img.itemsize - bool(img.is_signed())) - 1


def _blend(first: Tensor, second: Tensor, ratio: float) -> Tensor:
    return (first * ratio + second * (1.0 - ratio)).clamp(0, _bound(first)).to(first.dtype)


def _enhanced(img: Any, what: str, factor: float) -> Any:
    from PIL import ImageEnhance

    return getattr(ImageEnhance, what)(img).enhance(factor)


def _by_pillow(what: str, img: Any, *args: Any) -> Any:
    from PIL import ImageOps

    return getattr(ImageOps, what)(img, *args)


def _checked(img: Any, factor: float, name: str) -> None:
    expect_image(img)
    if factor < 0:
        raise ValueError(f"{name} ({factor}) is not non-negative.")
    if isinstance(img, Tensor) and get_dimensions(img)[0] not in (1, 3):
        raise TypeError(f"Input image tensor permitted channel values are 1 or 3, but found {get_dimensions(img)[0]}")


def adjust_brightness(img: Any, brightness_factor: float) -> Any:
    """Adjusts the brightness: a factor of 0 gives black, 1 the original, 2 twice the brightness.

    Args:
        img: The image.
        brightness_factor: The factor.

    Returns:
        The image.

    >>> pyburn.data.transforms.functional.adjust_brightness(pyburn.full((1, 1, 2), 0.25), 2)
    tensor([[[0.5000, 0.5000]]])
    """
    _checked(img, brightness_factor, "brightness_factor")
    if not isinstance(img, Tensor):
        return _enhanced(img, "Brightness", brightness_factor)
    return _blend(img, _core.zeros_like(img), brightness_factor)


def adjust_contrast(img: Any, contrast_factor: float) -> Any:
    """Adjusts the contrast: a factor of 0 gives gray, 1 the original, 2 twice the contrast.

    Args:
        img: The image.
        contrast_factor: The factor.

    Returns:
        The image.

    >>> pyburn.data.transforms.functional.adjust_contrast(pyburn.tensor([[[0.25, 0.75]]]), 0.5)
    tensor([[[0.3750, 0.6250]]])
    """
    _checked(img, contrast_factor, "contrast_factor")
    if not isinstance(img, Tensor):
        return _enhanced(img, "Contrast", contrast_factor)
    dtype = img.dtype if img.is_floating_point() else _core.float32
    grey = img if get_dimensions(img)[0] == 1 else _grey(img)
    return _blend(img, grey.to(dtype).mean(dim=(-3, -2, -1), keepdim=True), contrast_factor)


def adjust_saturation(img: Any, saturation_factor: float) -> Any:
    """Adjusts the saturation: a factor of 0 gives a grayscale image, 1 the original, 2 twice the saturation.

    Args:
        img: The image.
        saturation_factor: The factor.

    Returns:
        The image.

    >>> pyburn.data.transforms.functional.adjust_saturation(pyburn.ones(3, 1, 1), 0.5).shape
    pyburn.Size([3, 1, 1])
    """
    _checked(img, saturation_factor, "saturation_factor")
    if not isinstance(img, Tensor):
        return _enhanced(img, "Color", saturation_factor)
    return img if get_dimensions(img)[0] == 1 else _blend(img, _grey(img), saturation_factor)


def adjust_hue(img: Any, hue_factor: float) -> Any:
    """Rotates the hue by a factor in [-0.5, 0.5] of the full circle.

    Args:
        img: The image.
        hue_factor: The rotation.

    Returns:
        The image.

    Raises:
        ValueError: The factor is out of range.

    >>> pyburn.data.transforms.functional.adjust_hue(pyburn.tensor([[[1.0]], [[0.0]], [[0.0]]]), 0.5).flatten()
    tensor([0., 1., 1.])
    """
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")
    expect_image(img)
    if not isinstance(img, Tensor):
        if img.mode in {"L", "1", "I", "F"}:
            return img
        hue, saturation, value = img.convert("HSV").split()
        moved = (np.asarray(hue).astype(np.int64) + int(hue_factor * 255)).astype(np.uint8)  # wraps around at 256
        return pillow().merge("HSV", (to_pil_image(moved), saturation, value)).convert(img.mode)
    if get_dimensions(img)[0] == 1:
        return img
    dtype = img.dtype
    colours = img if img.is_floating_point() else img.to(_core.float32) / _bound(img)
    hue, saturation, value = _to_hsv(colours)
    made = _to_rgb((hue + hue_factor) % 1.0, saturation, value)
    return made if dtype.is_floating_point else (made * (_bound(img) + 1.0 - 1e-3)).to(dtype)


def _to_hsv(img: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    red, green, blue = img.unbind(-3)
    high, low = img.amax(-3), img.amin(-3)
    grey, spread = high == low, high - low
    ones = _core.ones_like(high)
    saturation = spread / _core.where(grey, ones, high)
    divisor = _core.where(grey, ones, spread)
    from_red, from_green, from_blue = ((high - channel) / divisor for channel in (red, green, blue))
    is_red, is_green = (high == red).to(img.dtype), ((high == green) & (high != red)).to(img.dtype)
    is_blue = ((high != green) & (high != red)).to(img.dtype)
    hue = is_red * (from_blue - from_green) + is_green * (2.0 + from_red - from_blue) + is_blue * (4.0 + from_green - from_red)
    return _core.fmod(hue / 6.0 + 1.0, 1.0), saturation, high


def _to_rgb(hue: Tensor, saturation: Tensor, value: Tensor) -> Tensor:
    sector = (hue * 6.0).floor()
    rest = hue * 6.0 - sector
    p = (value * (1.0 - saturation)).clamp(0.0, 1.0)
    q = (value * (1.0 - saturation * rest)).clamp(0.0, 1.0)
    t = (value * (1.0 - saturation * (1.0 - rest))).clamp(0.0, 1.0)
    number = sector.to(_core.int32) % 6
    channels = []
    for choice in ((value, q, p, p, t, value), (t, value, value, q, p, p), (p, p, t, value, value, q)):
        made = choice[5]
        for i in range(5):
            made = _core.where(number == i, choice[i], made)
        channels.append(made)
    return _core.stack(channels, -3)


def adjust_gamma(img: Any, gamma: float, gain: float = 1) -> Any:
    """Applies gamma correction: gain * x ** gamma for values in [0, 1]. gamma > 1 darkens shadows, gamma < 1 lightens them.

    Args:
        img: The image.
        gamma: The exponent.
        gain: The factor.

    Returns:
        The image.

    Raises:
        ValueError: gamma is negative.

    >>> pyburn.data.transforms.functional.adjust_gamma(pyburn.tensor([[[0.5, 1.0]]]), 2)
    tensor([[[0.2500, 1.0000]]])
    """
    expect_image(img)
    if gamma < 0:
        raise ValueError(f"Gamma should be a non-negative real number: got {gamma}")
    if isinstance(img, Tensor):
        values = img if img.is_floating_point() else img.to(_core.float32) / _bound(img)
        made = (gain * values**gamma).clamp(0, 1)
        return made if img.is_floating_point() else (made * (_bound(img) + 1.0 - 1e-3)).to(img.dtype)
    table = [int((255 + 1 - 1e-3) * gain * pow(v / 255.0, gamma)) for v in range(256)]
    mode = img.mode
    made = img.convert("RGB").point([min(v, 255) for v in table] * 3)
    return made.convert(mode)


def _grey(img: Tensor) -> Tensor:
    red, green, blue = img.unbind(-3)
    return (red * 0.2989 + green * 0.587 + blue * 0.114).to(img.dtype).unsqueeze(-3)


def rgb_to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """Converts an image to grayscale, with 1 or 3 equal channels.

    Args:
        img: The image.
        num_output_channels: 1 or 3.

    Returns:
        The image.

    Raises:
        ValueError: num_output_channels is not 1 or 3.

    >>> pyburn.data.transforms.functional.rgb_to_grayscale(pyburn.ones(3, 4, 4)).shape
    pyburn.Size([1, 4, 4])
    """
    expect_image(img)
    if num_output_channels not in (1, 3):
        raise ValueError(f"num_output_channels should be either 1 or 3: got {num_output_channels}")
    if isinstance(img, Tensor):
        grey = img[..., :1, :, :] if get_dimensions(img)[0] == 1 else _grey(img)
        return grey if num_output_channels == 1 else grey.expand(*grey.shape[:-3], 3, *grey.shape[-2:]).clone()
    grey = img.convert("L")
    return grey if num_output_channels == 1 else pillow().merge("RGB", (grey, grey, grey))


to_grayscale = rgb_to_grayscale


def invert(img: Any) -> Any:
    """Inverts the colors.

    Args:
        img: The image.

    Returns:
        The image.

    >>> pyburn.data.transforms.functional.invert(pyburn.tensor([[[0.25, 1.0]]]))
    tensor([[[0.7500, 0.0000]]])
    """
    expect_image(img)
    if isinstance(img, Tensor):
        return _bound(img) - img
    return _by_pillow("invert", img)


def posterize(img: Any, bits: int) -> Any:
    """Reduces each value to its highest `bits` bits.

    Args:
        img: A uint8 image.
        bits: The number of bits to keep.

    Returns:
        The image.

    Raises:
        TypeError: A tensor is not uint8.

    >>> pyburn.data.transforms.functional.posterize(pyburn.tensor([[[255, 3]]], dtype=pyburn.uint8), 2)
    tensor([[[192,   0]]], dtype=pyburn.uint8)
    """
    expect_image(img)
    if isinstance(img, Tensor):
        if img.dtype != _core.uint8:
            raise TypeError(f"Only uint8 image tensors are supported, but found {img.dtype}")
        return img & -int(2 ** (8 - bits)) % 256
    return _by_pillow("posterize", img, bits)


def solarize(img: Any, threshold: float) -> Any:
    """Inverts all values at or above the threshold.

    Args:
        img: The image.
        threshold: The threshold.

    Returns:
        The image.

    Raises:
        TypeError: The threshold exceeds the maximum value of the tensor's dtype.

    >>> pyburn.data.transforms.functional.solarize(pyburn.tensor([[[0.25, 0.75]]]), 0.5)
    tensor([[[0.2500, 0.2500]]])
    """
    expect_image(img)
    if isinstance(img, Tensor):
        if threshold > _bound(img):
            raise TypeError("Threshold should be less than bound of img.")
        return _core.where(img >= threshold, invert(img), img)
    return _by_pillow("solarize", img, threshold)


def autocontrast(img: Any) -> Any:
    """Stretches the range of each channel from black to white.

    Args:
        img: The image.

    Returns:
        The image.

    >>> pyburn.data.transforms.functional.autocontrast(pyburn.tensor([[[0.25, 0.5, 0.75]]]))
    tensor([[[0.0000, 0.5000, 1.0000]]])
    """
    expect_image(img)
    if not isinstance(img, Tensor):
        return _by_pillow("autocontrast", img)
    bound, dtype = _bound(img), img.dtype if img.is_floating_point() else _core.float32
    low, high = img.amin(dim=(-2, -1), keepdim=True).to(dtype), img.amax(dim=(-2, -1), keepdim=True).to(dtype)
    flat = low == high
    scale = bound / _core.where(flat, _core.ones_like(high), high - low)
    low, scale = _core.where(flat, _core.zeros_like(low), low), _core.where(flat, _core.ones_like(scale), scale)
    return ((img - low) * scale).clamp(0, bound).to(img.dtype)


def equalize(img: Any) -> Any:
    """Equalizes the histogram of each channel.

    Args:
        img: A uint8 image.

    Returns:
        The image.

    Raises:
        TypeError: A tensor is not uint8.

    >>> pyburn.data.transforms.functional.equalize(pyburn.tensor([[[0, 10, 20, 30]]], dtype=pyburn.uint8)).shape
    pyburn.Size([1, 1, 4])
    """
    expect_image(img)
    if isinstance(img, Tensor):
        if img.dtype != _core.uint8:
            raise TypeError(f"Only uint8 image tensors are supported, but found {img.dtype}")
        pixels = img.cpu().numpy()
        made = np.empty_like(pixels)
        for index in np.ndindex(pixels.shape[:-2]):
            made[index] = _equalized(pixels[index])
        return from_numpy(made).to(img.device)
    return _by_pillow("equalize", img)


def _equalized(channel: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    counts = np.bincount(channel.ravel(), minlength=256)
    step = (counts.sum() - counts[counts > 0][-1]) // 255 if counts.any() else 0
    if step == 0:
        return channel
    table = np.concatenate([[0], (np.cumsum(counts) + step // 2)[:-1] // step]).clip(0, 255)
    return table.astype(np.uint8)[channel]
