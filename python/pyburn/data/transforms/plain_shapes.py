"""Deterministic geometric transforms: resize, crop and pad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import functional as F
from .geometry import InterpolationMode
from .plain import Transform


class Resize(Transform):
    """Resizes an image.

    Args:
        size: (height, width), or the length of the shorter side.
        interpolation: The interpolation mode.
        max_size: The maximum length of the longer side, if size is a single number.
        antialias: Whether to antialias when downsampling tensors.

    >>> pyburn.data.transforms.Resize((4, 6))(pyburn.ones(3, 8, 8)).shape
    pyburn.Size([3, 4, 6])
    """

    def __init__(
        self,
        size: int | Sequence[int],
        interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
        max_size: int | None = None,
        antialias: bool | None = True,
    ) -> None:
        self.size = size
        self.interpolation = F.InterpolationMode(interpolation) if isinstance(interpolation, str) else interpolation
        self.max_size = max_size
        self.antialias = antialias

    def __call__(self, img: Any) -> Any:
        return F.resize(img, self.size, self.interpolation, self.max_size, self.antialias)


class CenterCrop(Transform):
    """Crops the center of an image; a smaller image is padded with 0.

    Args:
        size: The size, as an int or (height, width).

    >>> pyburn.data.transforms.CenterCrop(4)(pyburn.ones(3, 8, 8)).shape
    pyburn.Size([3, 4, 4])
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        self.size = both(size)

    def __call__(self, img: Any) -> Any:
        return F.center_crop(img, self.size)


class Pad(Transform):
    """Pads an image.

    Args:
        padding: One number, (left and right, top and bottom) or (left, top, right, bottom).
        fill: The fill value for mode "constant".
        padding_mode: "constant", "edge", "reflect" or "symmetric".

    Raises:
        ValueError: An argument is invalid.

    >>> pyburn.data.transforms.Pad(1)(pyburn.ones(1, 2, 2)).shape
    pyburn.Size([1, 4, 4])
    """

    def __init__(self, padding: int | Sequence[int], fill: Any = 0, padding_mode: str = "constant") -> None:
        if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
            raise ValueError(f"Padding mode should be either constant, edge, reflect or symmetric: got {padding_mode!r}")
        if not isinstance(padding, int) and len(padding) not in (1, 2, 4):
            raise ValueError(f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(padding)} element tuple")
        self.padding = padding
        self.fill = fill
        self.padding_mode = padding_mode

    def __call__(self, img: Any) -> Any:
        return F.pad(img, self.padding, self.fill, self.padding_mode)


class FiveCrop(Transform):
    """Returns the four corner crops and the center crop, as a tuple.

    Args:
        size: The size, as an int or (height, width).

    >>> len(pyburn.data.transforms.FiveCrop(4)(pyburn.ones(3, 8, 8)))
    5
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        self.size = both(size)

    def __call__(self, img: Any) -> tuple[Any, ...]:
        return F.five_crop(img, self.size)


class TenCrop(Transform):
    """Returns the five crops of an image and of its mirror image.

    Args:
        size: The size of the crops: (height, width), or one number.
        vertical_flip: Whether the crops of the vertically flipped image are returned instead of the horizontally flipped one.

    >>> len(pyburn.data.transforms.TenCrop(4)(pyburn.ones(3, 8, 8)))
    10
    """

    def __init__(self, size: int | Sequence[int], vertical_flip: bool = False) -> None:
        self.size = both(size)
        self.vertical_flip = vertical_flip

    def __call__(self, img: Any) -> tuple[Any, ...]:
        return F.ten_crop(img, self.size, self.vertical_flip)


def both(size: int | Sequence[int]) -> tuple[int, int]:
    """Returns a size, which may be a single number, as (height, width)."""
    sizes = [size] if isinstance(size, int) else list(size)
    if len(sizes) not in (1, 2):
        raise ValueError(f"Please provide only two dimensions (h, w) for size: got {size}")
    return sizes[0], sizes[-1]
