"""U-Net of pyburn.imaging, built as the other models are."""

from __future__ import annotations

from typing import Any

from pyburn.imaging import UNet

from .building import Weights, build

__all__ = ["UNet", "unet"]


def unet(*, weights: Weights | None = None, n_channels: int = 3, n_classes: int = 2, **options: Any) -> UNet:
    """U-Net: 31.0 million parameters, 17.3 with `bilinear=True`.

    Args:
        weights: A state dict, or the path of a .safetensors or PyTorch file; None for random weights.
        n_channels: The channels of the images.
        n_classes: The number of classes of a pixel.
        **options: The other options of pyburn.imaging.UNet.

    Returns:
        The model: from images (N, n_channels, height, width) to scores (N, n_classes, height, width).

    >>> with pyburn.device("null"):  # computes shapes only
    ...     p_vision.models.unet(n_classes=3)(pyburn.empty(1, 3, 64, 64)).shape
    pyburn.Size([1, 3, 64, 64])
    """
    return build(UNet, weights, n_channels, n_classes, **options)
