"""Conversion of values to JSON-compatible ones."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..._core import Tensor
from .scalar_files import json_number


def number(value: Any) -> float:
    """Converts a number, or an array or tensor with one element, to float."""
    return float(value.item() if hasattr(value, "item") else value)


def plain(value: Any) -> Any:
    """Converts configs, tensors, arrays, paths and containers to dicts, lists, numbers and strings; anything else to its str.

    Args:
        value: The value.

    Returns:
        A value that JSON can hold.

    >>> pyburn.train.run.plain({"size": pyburn.Size([2, 3]), "loss": float("nan"), 3: None})
    {'size': [2, 3], 'loss': 'NaN', '3': None}
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return json_number(value)
    if hasattr(value, "to_dict"):
        return plain(value.to_dict())
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if isinstance(value, (Tensor, np.ndarray)):
        return plain(value.tolist()) if getattr(value, "size", 0) is not None else []
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return str(value)
