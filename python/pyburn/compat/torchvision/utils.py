"""torchvision.utils: tensors of images as one picture."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from ... import _core
from ..._core import Tensor
from ...tensor import from_numpy


def make_grid(
    tensor: Any,
    nrow: int = 8,
    padding: int = 2,
    normalize: bool = False,
    value_range: tuple[float, float] | None = None,
    scale_each: bool = False,
    pad_value: float = 0.0,
) -> Tensor:
    """Images (N, C, H, W), or a list of them, side by side: `nrow` in a row, with a border around each."""
    images = _core.stack(list(tensor)) if isinstance(tensor, (list, tuple)) else tensor
    while images.ndim < 4:
        images = images.unsqueeze(0 if images.ndim != 3 or images.shape[0] in (1, 3) else 1)
    if images.shape[1] == 1:
        images = images.expand(-1, 3, -1, -1)
    images = images.detach().to("cpu").float()
    if normalize:
        images = _core.stack([_scaled(image, value_range) for image in images]) if scale_each else _scaled(images, value_range)
    count = images.shape[0]
    if count == 1:
        return images[0]
    tiles = tiled(images.permute(0, 2, 3, 1).numpy(), min(nrow, count), padding=padding, fill=pad_value)
    return from_numpy(np.ascontiguousarray(tiles.transpose(2, 0, 1)))


def tiled(images: np.ndarray, columns: int, rows: int | None = None, *, padding: int = 2, fill: float = 0) -> np.ndarray:
    """Arranges images (N, H, W, C) in rows, with padding around each."""
    count, height, width, channels = images.shape
    rows = math.ceil(count / columns) if rows is None else rows
    high, wide = height + padding, width + padding
    grid = np.full((rows * high + padding, columns * wide + padding, channels), fill, images.dtype)
    for index, image in enumerate(images):
        top, left = index // columns * high + padding, index % columns * wide + padding
        grid[top : top + height, left : left + width] = image
    return grid


def _scaled(images: Tensor, value_range: tuple[float, float] | None) -> Tensor:
    low, high = value_range if value_range is not None else (float(images.min()), float(images.max()))
    return (images.clamp(low, high) - low) / max(high - low, 1e-5)


def save_image(tensor: Any, fp: str | os.PathLike[str], format: str | None = None, **options: Any) -> None:
    """Writes images to a file, as make_grid arranges them."""
    try:
        from PIL import Image
    except ImportError:
        raise ImportError("save_image needs Pillow: pip install Pillow") from None
    picture = (make_grid(tensor, **options) * 255 + 0.5).clamp(0, 255).permute(1, 2, 0).to(_core.uint8)
    Image.fromarray(picture.numpy()).save(fp, format=format)


def _log_api_usage_once(obj: Any) -> None:
    """Nothing is logged."""


def _make_ntuple(x: Any, n: int) -> tuple[Any, ...]:
    """One number per dimension, or one for all n."""
    return tuple(x) if isinstance(x, Iterable) else (x,) * n
