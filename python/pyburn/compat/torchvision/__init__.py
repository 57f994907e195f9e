"""The module `torchvision`: pyburn.data and p_vision.models under its names."""

from __future__ import annotations

import importlib
from typing import Any

from ..finder import VERSIONS

__version__ = f"{VERSIONS['torchvision']}+pyburn"
_PARTS = ("datasets", "io", "models", "ops", "transforms", "tv_tensors", "utils")
__all__ = list(_PARTS)


def set_image_backend(backend: str) -> None:
    """Accepts "PIL": images are read by Pillow."""
    if backend != "PIL":
        raise ValueError(f"Invalid backend '{backend}'. Options are 'PIL' in pyburn.compat")


def get_image_backend() -> str:
    return "PIL"


def disable_beta_transforms_warning() -> None:
    """No effect: there is no such warning."""


def _is_tracing() -> bool:
    """False: nothing is traced."""
    return False


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return importlib.import_module(f"torchvision.{name}")
    raise AttributeError(f"pyburn.compat does not provide torchvision.{name}")
