"""Data: readers of files, named sets, tokenisers."""

from __future__ import annotations

from typing import Any

from .dataset import Dataset

__all__ = ["Dataset", "download", "files", "sets", "text"]


def __getattr__(name: str) -> Any:
    """Readers and sets are loaded when they are asked for."""
    import importlib

    if name in ("download", "files", "sets", "text"):
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
