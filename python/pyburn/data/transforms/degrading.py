"""Noise, JPEG compression and channel permutation."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import _core
from ..._core import Tensor
from ...tensor.creation import from_numpy
from ..image_files import pillow
from .conversion import pil_to_tensor, to_pil_image


def permute_channels(img: Any, permutation: Sequence[int]) -> Any:
    """Permutes the channels.

    Args:
        img: The image.
        permutation: The channels in their new order.

    Returns:
        The image.

    >>> pyburn.data.transforms.functional.permute_channels(pyburn.arange(3).reshape(3, 1, 1), [2, 0, 1]).flatten()
    tensor([2, 0, 1])
    """
    if isinstance(img, Tensor):
        return img.index_select(-3, from_numpy(np.array(permutation, np.int64)).to(img.device))
    bands = img.split()
    return pillow().merge(img.mode, [bands[place] for place in permutation])


def gaussian_noise(img: Tensor, mean: float = 0.0, sigma: float = 0.1, clip: bool = True) -> Tensor:
    """Adds Gaussian noise to a tensor; uint8 tensors are rounded and stay uint8.

    Args:
        img: The image.
        mean: The mean of the noise.
        sigma: Its standard deviation.
        clip: Whether to clip the result to the range of the dtype.

    Returns:
        The image.

    Raises:
        TypeError: The image is not a tensor.

    >>> pyburn.data.transforms.functional.gaussian_noise(pyburn.ones(3, 4, 4)).shape
    pyburn.Size([3, 4, 4])
    """
    if not isinstance(img, Tensor):
        raise TypeError(f"expected a tensor: got {type(img).__name__}; ToImage makes one of an image of Pillow")
    noise = _core.randn(*img.shape, device=img.device) * sigma + mean
    if img.is_floating_point():
        made = img + noise.to(img.dtype)
        return made.clamp(0, 1) if clip else made
    return (img.to(_core.float32) + noise * 255).round().clamp(0, 255).to(img.dtype)


def jpeg(img: Any, quality: int) -> Any:
    """Compresses and decompresses a uint8 image as JPEG with the given quality.

    Args:
        img: A uint8 image.
        quality: The quality, from 1 to 100.

    Returns:
        The image.
    """
    picture = to_pil_image(img) if isinstance(img, Tensor) else img
    file = io.BytesIO()
    picture.save(file, format="JPEG", quality=quality)
    made = pillow().open(file)
    made.load()
    return pil_to_tensor(made) if isinstance(img, Tensor) else made
