"""U-Net of pyburn.imaging, built as the other models are."""

from __future__ import annotations

from typing import Any

from pyburn.imaging import UNet

from .building import Weights, build

__all__ = ["UNet", "unet"]


def unet(*, weights: Weights | None = None, n_channels: int = 3, n_classes: int = 2, **options: Any) -> UNet:
    """U-Net: 31.0 million parameters, 17.3 with `bilinear=True`."""
    return build(UNet, weights, n_channels, n_classes, **options)
