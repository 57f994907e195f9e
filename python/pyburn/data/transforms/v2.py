"""The transforms under the names of torchvision.transforms.v2, for one image at a time.

Bounding boxes, masks and key points that accompany an image are not transformed.
"""

from __future__ import annotations

import importlib
from typing import Any

_transforms = importlib.import_module("..transforms", __package__)
__all__ = [name for name in _transforms.__all__ if name != "v2"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_transforms, name)


def __dir__() -> list[str]:
    return sorted(__all__)
