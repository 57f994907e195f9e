"""Helpers shared by the kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ... import _core
from ..interface import kernel

LEFT, RIGHT, BOTH = 1, 2, 3  # which operand of a binary operation is the number `value`


def operands(tensors: tuple[Any, ...], scalar: int, value: Any) -> tuple[Any, ...]:
    """Returns both operands of a binary operation, one of which can be a number."""
    return {LEFT: (value, *tensors), RIGHT: (*tensors, value)}.get(scalar, tensors)


def kernels(table: Mapping[str, Any]) -> dict[str, Any]:
    """Creates a kernel per operation from functions of tensors and attributes."""

    def method(op: str, function: Callable[..., Any]) -> Any:
        return kernel(op)(lambda self, *tensors, **attributes: function(*tensors, **attributes))

    return {op: method(op, function) for op, function in table.items()}


def binary_kernels(table: Mapping[str, Any]) -> dict[str, Any]:
    """Creates a kernel per operation from functions of two operands."""

    def of_operands(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *tensors, scalar, value: function(*operands(tensors, scalar, value))

    return kernels({op: of_operands(function) for op, function in table.items()})


def named(ops: str) -> dict[str, Callable[..., Any]]:
    """Returns the numpy functions with these names."""
    return {op: getattr(np, op) for op in ops.split()}


def elementwise(function: Callable[..., Any]) -> Callable[..., Any]:
    """Vectorizes a function of Python numbers."""
    return np.vectorize(function, otypes=[np.float64])


def at(*parts: Any) -> Any:
    """Builds an index from several parts: x[at(..., *slices)]."""
    return parts


def wide(x: np.ndarray) -> np.ndarray:
    """Casts float16 to float32, in which sums are computed."""
    return x.astype(np.float32) if x.dtype == np.float16 else x


def picked(x: np.ndarray, index: np.ndarray, dim: int, keepdim: bool) -> tuple[np.ndarray, np.ndarray]:
    """Returns the elements at an index of size 1 along dim, and the index."""
    values = np.take_along_axis(x, index, dim)
    return (values, index) if keepdim else (values.squeeze(dim), index.squeeze(dim))


def check_range(index: np.ndarray, low: int, high: int, message: str) -> None:
    """Raises IndexOutOfRange if an index is outside of [low, high); it replaces {} in the message."""
    outside = index[(index < low) | (index >= high)]
    if outside.size:
        raise _core.IndexOutOfRange(message.format(outside[0]))
