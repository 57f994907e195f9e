"""Perspective and elastic transformations, and multiple crops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._core import Tensor
from .conversion import pil_to_tensor, to_pil_image
from .geometry import (
    PILLOW_MODES,
    Fill,
    InterpolationMode,
    center_crop,
    crop,
    get_dimensions,
    hflip,
    interpolation_mode,
    vflip,
)
from .rotation import fill_colour, sampled

Points = Sequence[Sequence[int]]


def _perspective_map(startpoints: Points, endpoints: Points) -> np.ndarray[Any, Any]:
    """Returns the eight coefficients of the perspective map from end points to start points."""
    rows = []
    for (x, y), (u, v) in zip(endpoints, startpoints, strict=True):
        rows.append([x, y, 1, 0, 0, 0, -u * x, -u * y])
        rows.append([0, 0, 0, x, y, 1, -v * x, -v * y])
    if len(rows) != 8:
        raise ValueError(f"expected four corners: got {len(startpoints)}")
    return np.linalg.lstsq(np.array(rows, np.float64), np.array(startpoints, np.float64).reshape(8), rcond=None)[0]


def perspective(
    img: Any,
    startpoints: Points,
    endpoints: Points,
    interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
    fill: Fill = None,
) -> Any:
    """Applies the perspective transformation that moves four corners (x, y) to four others.

    Raises:
        ValueError: There are not four corners.
    """
    mode = interpolation_mode(interpolation)
    numbers = _perspective_map(startpoints, endpoints).astype(np.float32)
    _, height, width = get_dimensions(img)
    if not isinstance(img, Tensor):
        return img.transform((width, height), 2, numbers.tolist(), PILLOW_MODES[mode.value], fillcolor=fill_colour(img, fill))
    x = np.linspace(0.5, width - 0.5, width, dtype=np.float32)
    y = np.linspace(0.5, height - 0.5, height, dtype=np.float32)
    base = np.stack(np.broadcast_arrays(x[None, :], y[:, None], np.float32(1)), -1).reshape(-1, 3)
    above = base @ (numbers[:6].reshape(2, 3).T / np.array([0.5 * width, 0.5 * height], np.float32))
    below = base @ np.array([numbers[6], numbers[7], 1.0], np.float32)[:, None]
    return sampled(img, (above / below - 1.0).reshape(1, height, width, 2), mode, fill)


def elastic_transform(
    img: Any,
    displacement: Any,
    interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
    fill: Fill = None,
) -> Any:
    """Samples each output pixel at a displacement (1, H, W, 2), in units of half the image size.

    Raises:
        ValueError: The displacement has the wrong shape.
    """
    mode = interpolation_mode(interpolation)
    _, height, width = get_dimensions(img)
    moves = displacement.cpu().numpy() if isinstance(displacement, Tensor) else np.asarray(displacement)
    if moves.shape != (1, height, width, 2):
        raise ValueError(f"Argument displacement shape should be {(1, height, width, 2)}, but given {moves.shape}")
    x = np.linspace((1 - width) / width, (width - 1) / width, width, dtype=np.float32)
    y = np.linspace((1 - height) / height, (height - 1) / height, height, dtype=np.float32)
    places = np.stack(np.broadcast_arrays(x[None, :], y[:, None]), -1)[None] + moves.astype(np.float32)
    if isinstance(img, Tensor):
        return sampled(img, places, mode, fill)
    return to_pil_image(sampled(pil_to_tensor(img), places, mode, fill), mode=img.mode)


def five_crop(img: Any, size: int | Sequence[int]) -> tuple[Any, Any, Any, Any, Any]:
    """Returns the four corner crops and the center crop: top left, top right, bottom left, bottom right, center.

    Raises:
        ValueError: The crop is larger than the image.
    """
    sizes = [size, size] if isinstance(size, int) else list(size) * (2 if len(size) == 1 else 1)
    if len(sizes) != 2:
        raise ValueError(f"Please provide only two dimensions (h, w) for size: got {size}")
    rows, columns = sizes
    _, height, width = get_dimensions(img)
    if columns > width or rows > height:
        raise ValueError(f"Requested crop size {(rows, columns)} is bigger than input size {(height, width)}")
    corners = [crop(img, top, left, rows, columns) for top in (0, height - rows) for left in (0, width - columns)]
    return (*corners, center_crop(img, [rows, columns]))  # type: ignore[return-value]


def ten_crop(img: Any, size: int | Sequence[int], vertical_flip: bool = False) -> tuple[Any, ...]:
    """Returns the five crops of an image and those of its mirror image."""
    return (*five_crop(img, size), *five_crop(vflip(img) if vertical_flip else hflip(img), size))
