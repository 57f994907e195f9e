"""VGG-19."""

from __future__ import annotations

from typing import Any

from ..model import Model
from .imagenet_utils import preprocess_input
from .vgg16 import vgg

__all__ = ["VGG19", "preprocess_input"]


def VGG19(include_top: bool = True, weights: Any = "imagenet", *, name: str = "vgg19", **options: Any) -> Model:
    """VGG-19: 16 convolutions in five blocks and three dense layers."""
    return vgg((2, 2, 4, 4, 4), name, include_top=include_top, weights=weights, **options)
