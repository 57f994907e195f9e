"""Filters and erasing: sharpness, blur and rectangles, for Pillow images and tensors (..., C, H, W)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import _core
from ..._core import Tensor
from ...tensor.creation import from_numpy, tensor
from .colour import _blend, _checked, _enhanced
from .conversion import expect_image, to_pil_image
from .geometry import get_dimensions


def adjust_sharpness(img: Any, sharpness_factor: float) -> Any:
    """Adjusts the sharpness: a factor of 0 gives a blurred image, 1 the original, 2 twice the sharpness.

    Args:
        img: The image.
        sharpness_factor: The factor.

    Returns:
        The image.

    >>> pyburn.data.transforms.functional.adjust_sharpness(pyburn.rand(3, 4, 4), 2).shape
    pyburn.Size([3, 4, 4])
    """
    _checked(img, sharpness_factor, "sharpness_factor")
    if not isinstance(img, Tensor):
        return _enhanced(img, "Sharpness", sharpness_factor)
    channels, height, width = get_dimensions(img)
    if height <= 2 or width <= 2:
        return img
    dtype = img.dtype if img.is_floating_point() else _core.float32
    kernel = tensor([[1.0, 1.0, 1.0], [1.0, 5.0, 1.0], [1.0, 1.0, 1.0]], dtype=dtype, device=img.device) / 13.0
    batch = img.reshape(-1, channels, height, width).to(dtype)
    smooth = _core.conv2d(batch, kernel.expand(channels, 1, 3, 3).contiguous(), groups=channels)
    if not img.is_floating_point():
        smooth = smooth.round().to(img.dtype).to(dtype)
    blurred = batch.clone()  # border pixels are unchanged
    blurred[..., 1:-1, 1:-1] = smooth
    return _blend(img, blurred.reshape(img.shape).to(img.dtype), sharpness_factor)


def gaussian_blur(img: Any, kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None = None) -> Any:
    """Applies a Gaussian blur.

    Args:
        img: The image.
        kernel_size: The odd kernel size, (width, height) or an int.
        sigma: The standard deviation, (x, y) or a float; None derives it from the kernel size.

    Returns:
        The image.

    Raises:
        ValueError: A kernel size is not odd and positive, or sigma is not positive.

    >>> pyburn.data.transforms.functional.gaussian_blur(pyburn.rand(3, 8, 8), 3).shape
    pyburn.Size([3, 8, 8])
    """
    expect_image(img)
    sizes = [kernel_size] * 2 if isinstance(kernel_size, int) else list(kernel_size)
    if any(size % 2 == 0 or size < 1 for size in sizes):
        raise ValueError(f"kernel_size should have odd and positive integers. Got {kernel_size}")
    if sigma is None:
        sigmas = [size * 0.15 + 0.35 for size in sizes]
    else:
        sigmas = [float(sigma)] * 2 if isinstance(sigma, (int, float)) else [float(s) for s in sigma]
    if any(s <= 0 for s in sigmas):
        raise ValueError(f"sigma should have positive values. Got {sigma}")
    if not isinstance(img, Tensor):
        from .conversion import pil_to_tensor

        return to_pil_image(gaussian_blur(pil_to_tensor(img), sizes, sigmas), mode=img.mode)
    channels, height, width = get_dimensions(img)
    dtype = img.dtype if img.is_floating_point() else _core.float32
    from .geometry import pad

    across, down = (_bell(size, s, img, dtype) for size, s in zip(sizes, sigmas))
    padded = pad(img.reshape(-1, channels, height, width).to(dtype), [sizes[0] // 2, sizes[1] // 2], padding_mode="reflect")
    kernel = _core.outer(down, across).expand(channels, 1, sizes[1], sizes[0]).contiguous()
    made = _core.conv2d(padded, kernel, groups=channels).reshape(img.shape)
    return made if img.is_floating_point() else made.round().to(img.dtype)


def _bell(size: int, sigma: float, like: Tensor, dtype: Any) -> Tensor:
    places = np.linspace(-(size - 1) * 0.5, (size - 1) * 0.5, size)
    weights = np.exp(-0.5 * (places / sigma) ** 2)
    return from_numpy(weights / weights.sum()).to(like.device, dtype)


def erase(img: Tensor, i: int, j: int, h: int, w: int, v: Any, inplace: bool = False) -> Tensor:
    """Returns the image with the rectangle at (i, j) of size (h, w) set to v."""
    if not isinstance(img, Tensor):
        raise TypeError(f"img should be Tensor: got {type(img)}")
    made = img if inplace else img.clone()
    made[..., i : i + h, j : j + w] = v
    return made
