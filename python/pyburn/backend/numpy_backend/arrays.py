"""What kernels share."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import _core
from ..interface import kernel

LEFT, RIGHT, BOTH = 1, 2, 3  # which operand of a binary operation is the number `value`


def operands(tensors: tuple[Any, ...], scalar: int, value: Any) -> tuple[Any, Any]:
    """Both operands of a binary operation, one of which may be a number."""
    if scalar == LEFT:
        return value, tensors[0]
    if scalar == RIGHT:
        return tensors[0], value
    return tensors[0], tensors[1]


def at(*parts: Any) -> Any:
    """An index of several parts: x[at(..., *slices)]."""
    return parts


def wide(x: np.ndarray) -> np.ndarray:
    """Sums of float16 are formed in float32."""
    return x.astype(np.float32) if x.dtype == np.float16 else x


def checked(index: np.ndarray, extent: int, op: str) -> np.ndarray:
    """The index as a vector; an error where it points outside."""
    for i in index.reshape(-1):
        if not 0 <= i < extent:
            raise _core.IndexOutOfRange(f"[{op}] index out of range in self: got {i} for extent {extent}")
    return index.reshape(-1)


def unary(op: str, function: Any) -> Any:
    """The kernel of an operation that is one function of one array."""

    @kernel(op)
    def run(self: Any, x: Any) -> Any:
        return function(x)

    return run


def binary(op: str, function: Any) -> Any:
    """The kernel of an operation that is one function of two operands."""

    @kernel(op)
    def run(self: Any, *tensors: Any, scalar: int, value: Any) -> Any:
        return function(*operands(tensors, scalar, value))

    return run


def elementwise(function: Any) -> Any:
    """A function of Python numbers for arrays."""
    return np.vectorize(function, otypes=[np.float64])
