"""The transforms under the name of torchvision.transforms.v2: the same ones, which take one picture each.

Boxes, masks and key points beside the picture are not transformed with it.
"""

from __future__ import annotations

import importlib
from typing import Any

_transforms = importlib.import_module("..transforms", __package__)
__all__ = [name for name in _transforms.__all__ if name not in ("eeg", "v2")]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_transforms, name)


def __dir__() -> list[str]:
    return sorted(__all__)
