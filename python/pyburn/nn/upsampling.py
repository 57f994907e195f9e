"""Older names of interpolate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._core import interpolate

if TYPE_CHECKING:
    from .._core import Tensor


def upsample(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None) -> Tensor:
    """Alias of interpolate.

    >>> pyburn.nn.functional.upsample(pyburn.ones(1, 1, 2, 2), scale_factor=2).shape
    pyburn.Size([1, 1, 4, 4])
    """
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Calls interpolate with mode='nearest'.

    >>> pyburn.nn.functional.upsample_nearest(pyburn.ones(1, 1, 2, 2), scale_factor=2).shape
    pyburn.Size([1, 1, 4, 4])
    """
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Calls interpolate with mode='bilinear' and align_corners=True.

    >>> pyburn.nn.functional.upsample_bilinear(pyburn.ones(1, 1, 2, 2), scale_factor=2).shape
    pyburn.Size([1, 1, 4, 4])
    """
    return interpolate(input, size, scale_factor, "bilinear", True)
