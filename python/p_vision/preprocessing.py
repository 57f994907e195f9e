"""Keras's `preprocessing`: helpers of `utils`, in Keras's submodules."""

from __future__ import annotations

from typing import Any

from . import utils
from . import utils as image
from . import utils as sequence
from . import utils as text

_DATASETS = ("image_dataset_from_directory", "text_dataset_from_directory", "timeseries_dataset_from_array")


def __getattr__(name: str) -> Any:
    if name in _DATASETS:
        return getattr(utils, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["image", "sequence", "text", *_DATASETS]
