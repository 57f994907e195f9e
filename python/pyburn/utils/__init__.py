"""Helpers under the names that PyTorch users know."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import checkpoint as checkpoint
    from . import data as data


def __getattr__(name: str) -> object:
    """Loaded when asked for."""
    if name not in ("checkpoint", "data"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return importlib.import_module(f".{name}", __name__)
