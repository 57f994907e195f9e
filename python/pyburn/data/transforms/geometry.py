"""Geometric operations: resize, crop, pad and flip, for Pillow images and tensors (..., C, H, W)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np

from ... import _core
from ..._core import Tensor
from ...tensor.creation import from_numpy
from ..image_files import pillow
from .conversion import expect_image

Fill = float | Sequence[float] | None


class InterpolationMode(Enum):
    """Interpolation modes.

    >>> pyburn.data.transforms.InterpolationMode.BILINEAR.value
    'bilinear'
    """

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


PILLOW_MODES = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4, "hamming": 5, "nearest-exact": 0}
_BY_NUMBER = {number: InterpolationMode(name) for name, number in PILLOW_MODES.items() if name != "nearest-exact"}


def interpolation_mode(mode: InterpolationMode | int) -> InterpolationMode:
    """Returns an interpolation mode, also from Pillow's integer constant.

    Raises:
        TypeError: The value is neither.
    """
    if isinstance(mode, InterpolationMode):
        return mode
    if isinstance(mode, int) and int(mode) in _BY_NUMBER:
        return _BY_NUMBER[int(mode)]
    raise TypeError(f"Argument interpolation should be an InterpolationMode or a corresponding Pillow integer constant: got {mode!r}")


def get_dimensions(img: Any) -> list[int]:
    """Returns [channels, height, width].

    Args:
        img: The image.

    >>> pyburn.data.transforms.functional.get_dimensions(pyburn.ones(3, 4, 5))
    [3, 4, 5]
    """
    expect_image(img)
    if isinstance(img, Tensor):
        return [1 if img.dim() == 2 else img.size(-3), img.size(-2), img.size(-1)]
    return [len(img.getbands()), img.height, img.width]


def get_image_size(img: Any) -> list[int]:
    """Returns [width, height].

    Args:
        img: The image.

    >>> pyburn.data.transforms.functional.get_image_size(pyburn.ones(3, 4, 5))
    [5, 4]
    """
    return get_dimensions(img)[:0:-1]


def get_image_num_channels(img: Any) -> int:
    """Returns the number of channels.

    Args:
        img: The image.

    >>> pyburn.data.transforms.functional.get_image_num_channels(pyburn.ones(3, 4, 5))
    3
    """
    return get_dimensions(img)[0]


def _resized(height: int, width: int, size: Sequence[int], max_size: int | None) -> tuple[int, int]:
    if len(size) == 2:
        return size[0], size[1]
    short, long = min(height, width), max(height, width)
    new_short, new_long = size[0], int(size[0] * long / short)
    if max_size is not None:
        if max_size <= size[0]:
            raise ValueError(f"max_size = {max_size} must be strictly greater than the requested size for the smaller edge size = {size}")
        if new_long > max_size:
            new_short, new_long = int(max_size * new_short / new_long), max_size
    return (new_long, new_short) if width <= height else (new_short, new_long)


def _pair(size: int | Sequence[int]) -> list[int]:
    sizes = [size] if isinstance(size, int) else list(size)
    if len(sizes) not in (1, 2):
        raise ValueError(f"Size must be an int or a 1 or 2 element tuple/list: got {size}")
    return sizes


def resize(
    img: Any,
    size: int | Sequence[int],
    interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Any:
    """Resizes an image.

    Args:
        img: The image.
        size: (height, width), or the length of the shorter side.
        interpolation: The interpolation mode.
        max_size: The maximum length of the longer side, if size is a single number.
        antialias: Whether to antialias when downsampling tensors.

    Returns:
        The image.

    Raises:
        ValueError: size or max_size is invalid, or the mode is not supported for tensors.

    >>> pyburn.data.transforms.functional.resize(pyburn.ones(3, 8, 8), [4, 6]).shape
    pyburn.Size([3, 4, 6])
    """
    mode = interpolation_mode(interpolation)
    sizes = _pair(size)
    if max_size is not None and len(sizes) != 1:
        raise ValueError("max_size should only be passed if size specifies the length of the smaller edge")
    _, height, width = get_dimensions(img)
    wanted = _resized(height, width, sizes, max_size)
    if wanted == (height, width):
        return img
    if not isinstance(img, Tensor):
        return img.resize(wanted[::-1], PILLOW_MODES[mode.value])
    if mode.value not in ("nearest", "nearest-exact", "bilinear", "bicubic"):
        raise ValueError(f"This interpolation mode is unsupported with Tensor input: got {mode.value}")
    smooth = mode.value in ("bilinear", "bicubic")
    batch, back = _as_floats(img)
    made = _core.interpolate(batch, wanted, mode=mode.value, align_corners=False if smooth else None, antialias=bool(antialias and smooth))
    if mode.value == "bicubic" and img.dtype == _core.uint8:
        made = made.clamp(0, 255)
    return back(made)


def _as_floats(img: Tensor) -> tuple[Tensor, Any]:
    """Returns an image as a float batch (N, C, H, W), and the function that restores its shape and dtype."""
    dtype, leading = img.dtype, img.shape[:-2]
    batch = img.reshape(1, 1, *img.shape) if img.dim() == 2 else img.reshape(-1, *img.shape[-3:])
    if dtype not in (_core.float32, _core.float64):
        batch = batch.to(_core.float32)

    def back(made: Tensor) -> Tensor:
        made = made.reshape(*leading, *made.shape[-2:])
        if made.dtype == dtype:
            return made
        return made.to(dtype) if dtype.is_floating_point else made.round().to(dtype)

    return batch, back


def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    """Crops a rectangle; parts outside of the image are 0.

    Args:
        img: The image.
        top: The first row.
        left: The first column.
        height: The number of rows.
        width: The number of columns.

    Returns:
        The image.

    >>> pyburn.data.transforms.functional.crop(pyburn.arange(9).reshape(1, 3, 3), 1, 1, 2, 2)
    tensor([[[4, 5],
             [7, 8]]])
    """
    if not isinstance(img, Tensor):
        expect_image(img)
        return img.crop((left, top, left + width, top + height))
    _, rows, columns = get_dimensions(img)
    inside = img[..., max(top, 0) : top + height, max(left, 0) : left + width]
    if top < 0 or left < 0 or top + height > rows or left + width > columns:
        border = [max(-left, 0), max(-top, 0), max(left + width - max(columns, left), 0), max(top + height - max(rows, top), 0)]
        return pad(inside, border)
    return inside


def center_crop(img: Any, output_size: int | Sequence[int]) -> Any:
    """Crops the center; a smaller image is first padded with 0.

    Args:
        img: The image.
        output_size: The size, as an int or (height, width).

    Returns:
        The image.

    >>> pyburn.data.transforms.functional.center_crop(pyburn.ones(3, 8, 8), 4).shape
    pyburn.Size([3, 4, 4])
    """
    sizes = _pair(output_size)
    wanted_h, wanted_w = (sizes[0], sizes[0]) if len(sizes) == 1 else sizes
    _, height, width = get_dimensions(img)
    if wanted_w > width or wanted_h > height:
        x, y = max(wanted_w - width, 0), max(wanted_h - height, 0)
        img = pad(img, [x // 2, y // 2, (x + 1) // 2, (y + 1) // 2])
        _, height, width = get_dimensions(img)
        if (wanted_h, wanted_w) == (height, width):
            return img
    return crop(img, round((height - wanted_h) / 2), round((width - wanted_w) / 2), wanted_h, wanted_w)


def resized_crop(
    img: Any,
    top: int,
    left: int,
    height: int,
    width: int,
    size: Sequence[int],
    interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
) -> Any:
    """Crops a rectangle and resizes it.

    Args:
        img: The image.
        top: The first row.
        left: The first column.
        height: The number of rows.
        width: The number of columns.
        size: The size of the result.
        interpolation: The interpolation mode.
        antialias: Whether to filter before downsampling.

    Returns:
        The image.

    >>> pyburn.data.transforms.functional.resized_crop(pyburn.ones(3, 8, 8), 0, 0, 4, 4, [2, 2]).shape
    pyburn.Size([3, 2, 2])
    """
    return resize(crop(img, top, left, height, width), size, interpolation, antialias=antialias)


def pad(img: Any, padding: int | Sequence[int], fill: Any = 0, padding_mode: str = "constant") -> Any:
    """Pads an image.

    Args:
        img: The image.
        padding: One number, (left and right, top and bottom) or (left, top, right, bottom).
        fill: The fill value for mode "constant".
        padding_mode: "constant", "edge", "reflect" or "symmetric".

    Returns:
        The image.

    Raises:
        ValueError: An argument is invalid.

    >>> pyburn.data.transforms.functional.pad(pyburn.ones(1, 2, 2), 1).shape
    pyburn.Size([1, 4, 4])
    """
    expect_image(img)
    border = [padding] if isinstance(padding, int) else list(padding)
    if len(border) not in (1, 2, 4):
        raise ValueError(f"Padding must be an int or a 1, 2, or 4 element tuple: got {padding}")
    left, top, right, bottom = border * (4 // len(border))
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError(f"Padding mode should be either constant, edge, reflect or symmetric: got {padding_mode!r}")
    if padding_mode != "constant":
        return _extended(img, (left, top, right, bottom), padding_mode)
    if isinstance(img, Tensor):
        if isinstance(fill, (list, tuple)) and len(fill) > 1:
            raise ValueError("fill of several numbers is for Pillow's images: a tensor takes one")
        value = fill[0] if isinstance(fill, (list, tuple)) else fill or 0
        if min(left, top, right, bottom) < 0:
            rows, columns = img.shape[-2:]
            img = img[..., max(-top, 0) : rows - max(-bottom, 0), max(-left, 0) : columns - max(-right, 0)]
            left, top, right, bottom = (max(n, 0) for n in (left, top, right, bottom))
        return _core.pad(img, (left, right, top, bottom), value=value) if img.dim() > 1 else img
    from PIL import ImageOps

    colour = tuple(fill) if isinstance(fill, (list, tuple)) else fill
    if isinstance(colour, (int, float)) and len(img.getbands()) > 1:
        colour = (colour,) * len(img.getbands())
    return ImageOps.expand(img, border=(left, top, right, bottom), fill=colour)


def _extended(img: Any, border: tuple[int, int, int, int], mode: Any) -> Any:
    left, top, right, bottom = border
    _, height, width = get_dimensions(img)
    rows = np.pad(np.arange(height), (top, bottom), mode)
    columns = np.pad(np.arange(width), (left, right), mode)
    if isinstance(img, Tensor):
        return img.index_select(-2, from_numpy(rows).to(img.device)).index_select(-1, from_numpy(columns).to(img.device))
    pixels = np.asarray(img)[rows][:, columns]
    made = pillow().fromarray(pixels) if img.mode != "P" else pillow().frombytes("P", (pixels.shape[1], pixels.shape[0]), pixels.tobytes())
    if img.mode == "P":
        made.putpalette(img.getpalette())
    return made


def hflip(img: Any) -> Any:
    """Flips horizontally.

    Args:
        img: The image.

    Returns:
        The image.

    >>> pyburn.data.transforms.functional.hflip(pyburn.arange(4).reshape(1, 2, 2))
    tensor([[[1, 0],
             [3, 2]]])
    """
    expect_image(img)
    return img.flip(-1) if isinstance(img, Tensor) else img.transpose(0)


def vflip(img: Any) -> Any:
    """Flips vertically.

    Args:
        img: The image.

    Returns:
        The image.

    >>> pyburn.data.transforms.functional.vflip(pyburn.arange(4).reshape(1, 2, 2))
    tensor([[[2, 3],
             [0, 1]]])
    """
    expect_image(img)
    return img.flip(-2) if isinstance(img, Tensor) else img.transpose(1)
