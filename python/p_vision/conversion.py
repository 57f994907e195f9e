"""Conversion of the dtypes, arrays and shapes that layers are given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyburn
from pyburn import DType, Tensor
from pyburn._nested import mapped

from .symbolic.symbol import Symbol, is_text


def dtype_of(dtype: DType | str | None) -> DType | None:
    """Returns the dtype of a name.

    Raises:
        TypeError: There is no dtype of this name.
    """
    if dtype is None or isinstance(dtype, DType):
        return dtype
    found = getattr(pyburn, dtype, None) if isinstance(dtype, str) else None
    if not isinstance(found, DType):
        raise TypeError(f"there is no dtype {dtype!r}")
    return found


def to_tensor(value: Any) -> Tensor:
    """Converts an array or nested lists to a tensor, and float64 to float32; returns a tensor unchanged."""
    if isinstance(value, Tensor):
        return value
    tensor = pyburn.as_tensor(value)
    return tensor.float() if tensor.dtype == pyburn.float64 else tensor


def as_input(value: Any) -> Any:
    """Converts an array to a tensor, and float64 to float32."""
    return value if not hasattr(value, "__array__") or is_text(value) else to_tensor(value)


def is_shape(value: Any) -> bool:
    """Returns whether a value is a single shape rather than a list of shapes."""
    return isinstance(value, (list, tuple)) and all(extent is None or isinstance(extent, int) for extent in value)


def mapped_shapes(inputs: Any) -> Any:
    """Returns the shapes of tensors (batch dimension as None) or symbols, in the same nested structure."""
    if isinstance(inputs, Mapping) or (isinstance(inputs, (list, tuple)) and not is_shape(inputs)):
        return mapped(mapped_shapes, inputs)
    if isinstance(inputs, Symbol):
        return inputs.shape
    return (None, *inputs.shape[1:]) if isinstance(inputs, Tensor) else None
