"""Rotation and affine transformations, for Pillow images and tensors (..., C, H, W)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import _core
from ..._core import Tensor
from ...tensor.creation import from_numpy
from .conversion import to_numbers
from .geometry import PILLOW_MODES, Fill, InterpolationMode, _as_floats, get_dimensions, interpolation_mode


def _inverse_matrix(center: Sequence[float], angle: float, translate: Sequence[float], scale: float, shear: Sequence[float]) -> list[float]:
    """Returns the inverse affine map (output to input pixels) as [m0, ..., m5]: (x, y) -> (m0 x + m1 y + m2, m3 x + m4 y + m5).

    The forward map shears and scales, rotates about the center, then translates.
    """
    turn, shear_x, shear_y = (math.radians(v) for v in (angle, *shear))
    a = math.cos(turn - shear_y) / math.cos(shear_y)
    b = -a * math.tan(shear_x) - math.sin(turn)
    c = math.sin(turn - shear_y) / math.cos(shear_y)
    d = -c * math.tan(shear_x) + math.cos(turn)
    matrix = [d / scale, -b / scale, 0.0, -c / scale, a / scale, 0.0]
    x, y = -center[0] - translate[0], -center[1] - translate[1]
    matrix[2] = matrix[0] * x + matrix[1] * y + center[0]
    matrix[5] = matrix[3] * x + matrix[4] * y + center[1]
    return matrix


def rotate(
    img: Any,
    angle: float,
    interpolation: InterpolationMode | int = InterpolationMode.NEAREST,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: Fill = None,
) -> Any:
    """Rotates an image.

    Args:
        img: The image.
        angle: The angle in degrees, counterclockwise.
        interpolation: The interpolation mode.
        expand: Whether to enlarge the output to hold the whole rotated image.
        center: The center (x, y); by default that of the image.
        fill: The fill value for pixels outside of the image.

    Returns:
        The image.

    >>> pyburn.data.transforms.functional.rotate(pyburn.arange(9.0).reshape(1, 3, 3), 90)
    tensor([[[2., 5., 8.],
             [1., 4., 7.],
             [0., 3., 6.]]])
    """
    mode = interpolation_mode(interpolation)
    _, height, width = get_dimensions(img)
    if not isinstance(img, Tensor):
        return img.rotate(angle, PILLOW_MODES[mode.value], expand, tuple(center) if center else None, fillcolor=fill_colour(img, fill))
    middle = [0.0, 0.0] if center is None else [center[0] - width * 0.5, center[1] - height * 0.5]
    matrix = _inverse_matrix(middle, -angle, (0, 0), 1.0, (0, 0))
    size = _bounding_size(matrix, height, width) if expand else (height, width)
    return _warped(img, matrix, mode, fill, size)


def affine(
    img: Any,
    angle: float,
    translate: Sequence[int],
    scale: float,
    shear: float | Sequence[float],
    interpolation: InterpolationMode | int = InterpolationMode.NEAREST,
    fill: Fill = None,
    center: Sequence[float] | None = None,
) -> Any:
    """Applies an affine transformation: rotation (degrees, clockwise), translation, scaling and shear.

    Args:
        img: The image.
        angle: The rotation angle in degrees, clockwise.
        translate: The translation (x, y) in pixels.
        scale: The scale factor.
        shear: The shear angle in degrees, or (x, y).
        interpolation: The interpolation mode.
        fill: The fill value for pixels outside of the image.
        center: The center (x, y); by default that of the image.

    Returns:
        The image.

    Raises:
        ValueError: scale is not positive, or translate does not have two numbers.

    >>> pyburn.data.transforms.functional.affine(pyburn.ones(1, 4, 4), 0, [1, 0], 1.0, 0.0).shape
    pyburn.Size([1, 4, 4])
    """
    mode = interpolation_mode(interpolation)
    if scale <= 0.0:
        raise ValueError(f"Argument scale should be positive: got {scale}")
    if len(translate) != 2:
        raise ValueError(f"Argument translate should be a sequence of length 2: got {translate}")
    slants = [shear, 0.0] if isinstance(shear, (int, float)) else list(shear) + [0.0] * (len(shear) == 1)
    _, height, width = get_dimensions(img)
    if not isinstance(img, Tensor):
        matrix = _inverse_matrix(center or [width * 0.5, height * 0.5], angle, translate, scale, slants)
        return img.transform((width, height), 0, matrix, PILLOW_MODES[mode.value], fillcolor=fill_colour(img, fill))
    middle = [0.0, 0.0] if center is None else [center[0] - width * 0.5, center[1] - height * 0.5]
    return _warped(img, _inverse_matrix(middle, angle, translate, scale, slants), mode, fill, (height, width))


def _bounding_size(matrix: list[float], height: int, width: int) -> tuple[int, int]:
    """Returns the size that holds the whole rotated image."""
    corners = np.array(
        [[-0.5 * width, -0.5 * height], [-0.5 * width, 0.5 * height], [0.5 * width, 0.5 * height], [0.5 * width, -0.5 * height]]
    )
    places = corners @ np.array([[matrix[0], matrix[3]], [matrix[1], matrix[4]]])
    places += [0.5 * width, 0.5 * height]
    # Truncated to four digits, so that rounding errors do not add a pixel.
    low, high = (np.trunc(v / 1e-4) * 1e-4 for v in (places.min(0), places.max(0)))
    size = np.ceil(high) - np.floor(low)
    return int(size[1]), int(size[0])


def _warped(img: Tensor, matrix: list[float], mode: InterpolationMode, fill: Fill, size: tuple[int, int]) -> Tensor:
    _, height, width = get_dimensions(img)
    rows, columns = size
    # Pixel centers relative to the image center; grid_sample expects coordinates in units of half the size.
    x = np.linspace(-columns * 0.5 + 0.5, columns * 0.5 - 0.5, columns, dtype=np.float32)
    y = np.linspace(-rows * 0.5 + 0.5, rows * 0.5 - 0.5, rows, dtype=np.float32)
    base = np.stack(np.broadcast_arrays(x[None, :], y[:, None], np.float32(1)), -1)
    theta = np.array(matrix, np.float32).reshape(2, 3).T / np.array([0.5 * width, 0.5 * height], np.float32)
    return sampled(img, (base.reshape(-1, 3) @ theta).reshape(1, rows, columns, 2), mode, fill)


def sampled(img: Tensor, places: np.ndarray[Any, Any], mode: InterpolationMode, fill: Fill) -> Tensor:
    """Samples an image at (x, y) coordinates (1, H, W, 2), where the image spans [-1, 1]; `fill` outside."""
    if mode.value not in ("nearest", "bilinear"):
        raise ValueError(f"This interpolation mode is unsupported with Tensor input: got {mode.value}")
    batch, back = _as_floats(img)
    grid = from_numpy(places).to(img.device, batch.dtype).expand(batch.size(0), *places.shape[1:])
    made = _core.grid_sample(batch, grid, mode=mode.value, padding_mode="zeros", align_corners=False)
    if fill is not None:
        inside = _core.grid_sample(_core.ones_like(batch[:, :1]), grid, mode=mode.value, padding_mode="zeros", align_corners=False)
        colour = to_numbers(fill, img).to(batch.dtype)
        # Nearest pixels are either inside or outside; interpolated ones are blended with the fill value.
        made = _core.where(inside < 0.5, colour, made) if mode.value == "nearest" else made * inside + (1.0 - inside) * colour
    return back(made)


def fill_colour(img: Any, fill: Fill) -> Any:
    """Returns the fill value for Pillow.

    Raises:
        ValueError: The number of values does not match the channels.
    """
    count = len(img.getbands())
    values: list[float] = list(fill) if isinstance(fill, Sequence) else [0 if fill is None else fill]
    if len(values) == 1:
        values = values * count
    if len(values) != count:
        raise ValueError(f"The number of elements in 'fill' does not match the number of channels of the image ({len(values)} != {count})")
    if img.mode != "F":
        values = [int(v) for v in values]
    return tuple(values) if count > 1 else values[0]
