"""Functions of `ops` that do not accept symbols: they take numbers, shapes and functions."""

from __future__ import annotations

from typing import Any

import pyburn
from pyburn import Tensor

from ..conversion import dtype_of, to_tensor


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Tensor:
    """Evenly spaced numbers from start up to, but not including, stop.

    Args:
        start: The first number; the limit if stop is None.
        stop: The limit.
        step: The distance.
        dtype: The dtype; None for the default.

    Returns:
        The result.

    >>> p_vision.ops.arange(3).tolist()
    [0, 1, 2]
    """
    first, last = (0, start) if stop is None else (start, stop)
    return pyburn.arange(first, last, step, dtype=dtype_of(dtype))


def linspace(start: float, stop: float, num: int = 50, endpoint: bool = True, dtype: Any = None) -> Tensor:
    """Evenly spaced numbers from start to stop.

    Args:
        start: The first number.
        stop: The last number.
        num: The number of numbers.
        endpoint: Whether stop is the last number.
        dtype: The dtype; None for the default.

    Returns:
        The result.

    >>> p_vision.ops.linspace(0, 1, 3).tolist()
    [0.0, 0.5, 1.0]
    """
    last = stop if endpoint or num < 1 else stop - (stop - start) / num
    return pyburn.linspace(start, last, num, dtype=dtype_of(dtype))


def eye(N: int, M: int | None = None, dtype: Any = None) -> Tensor:
    """The identity matrix.

    Args:
        N: The number of rows.
        M: The number of columns; by default N.
        dtype: The dtype; None for the default.

    Returns:
        The result.

    >>> p_vision.ops.eye(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return pyburn.eye(N, N if M is None else M, dtype=dtype_of(dtype))


def empty(shape: Any, dtype: Any = None) -> Tensor:
    """A tensor that is not initialized.

    Args:
        shape: The shape.
        dtype: The dtype; None for the default.

    Returns:
        The result.

    >>> p_vision.ops.empty((2, 3)).shape
    pyburn.Size([2, 3])
    """
    return pyburn.empty([shape] if isinstance(shape, int) else list(shape), dtype=dtype_of(dtype))


def identity(n: int, dtype: Any = None) -> Tensor:
    """The square identity matrix.

    Args:
        n: The number of rows.
        dtype: The dtype; None for the default.

    Returns:
        The result.

    >>> p_vision.ops.identity(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return pyburn.eye(n, dtype=dtype_of(dtype))


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Tensor:
    """Ones at and below a diagonal.

    Args:
        N: The number of rows.
        M: The number of columns; by default N.
        k: The diagonal.
        dtype: The dtype; None for the default.

    Returns:
        The result.

    >>> p_vision.ops.tri(2).tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    return pyburn.ones(N, N if M is None else M, dtype=dtype_of(dtype)).tril(k)


def logspace(start: float, stop: float, num: int = 50, endpoint: bool = True, base: float = 10, dtype: Any = None) -> Tensor:
    """Powers of the base with evenly spaced exponents.

    Args:
        start: The first exponent.
        stop: The last exponent.
        num: The number of numbers.
        endpoint: Accepted for compatibility.
        base: The base.
        dtype: The dtype; None for the default.

    Returns:
        The result.

    >>> p_vision.ops.logspace(0, 2, 3).tolist()
    [1.0, 10.0, 100.0]
    """
    return pyburn.logspace(start, stop, num, base=base, dtype=dtype_of(dtype))


def empty_like(x: Tensor, dtype: Any = None) -> Tensor:
    """A tensor with the shape of x that is not initialized.

    Args:
        x: The tensor.
        dtype: The dtype; None for the default.

    Returns:
        The result.

    >>> p_vision.ops.empty_like(pyburn.ones(2)).shape
    pyburn.Size([2])
    """
    return pyburn.empty_like(x, dtype=dtype_of(dtype))


def zeros(shape: Any, dtype: Any = None) -> Tensor:
    """Zeros.

    Args:
        shape: The shape.
        dtype: The dtype; None for the default.

    Returns:
        The result.

    >>> p_vision.ops.zeros((2,)).tolist()
    [0.0, 0.0]
    """
    return pyburn.zeros(shape, dtype=dtype_of(dtype))


def ones(shape: Any, dtype: Any = None) -> Tensor:
    """Ones.

    Args:
        shape: The shape.
        dtype: The dtype; None for the default.

    Returns:
        The result.

    >>> p_vision.ops.ones((2,)).tolist()
    [1.0, 1.0]
    """
    return pyburn.ones(shape, dtype=dtype_of(dtype))


def full(shape: Any, fill_value: float, dtype: Any = None) -> Tensor:
    """A constant.

    Args:
        shape: The shape.
        fill_value: The value.
        dtype: The dtype; None for the default.

    Returns:
        The result.

    >>> p_vision.ops.full((2,), 3.0).tolist()
    [3.0, 3.0]
    """
    return pyburn.full([shape] if isinstance(shape, int) else list(shape), float(fill_value), dtype=dtype_of(dtype))


def convert_to_tensor(x: Any, dtype: Any = None) -> Tensor:
    """Converts an array to a tensor; float64 becomes float32 unless a dtype is given.

    Args:
        x: The array, number or list.
        dtype: The dtype; None for the default.

    Returns:
        The result.

    >>> p_vision.ops.convert_to_tensor([1.0, 2.0])
    tensor([1., 2.])
    """
    tensor = to_tensor(x) if hasattr(x, "__array__") else pyburn.as_tensor(x)
    return tensor if dtype is None else tensor.to(dtype=dtype_of(dtype))


array = convert_to_tensor


def convert_to_numpy(x: Any) -> Any:
    """Converts a tensor, from any device, to a NumPy array.

    Args:
        x: The tensor.

    Returns:
        The result.

    >>> p_vision.ops.convert_to_numpy(pyburn.ones(2)).tolist()
    [1.0, 1.0]
    """
    return x.detach().to("cpu").numpy() if isinstance(x, Tensor) else pyburn.as_tensor(x).numpy()


def is_tensor(x: Any) -> bool:
    """Returns whether x is a tensor.

    Args:
        x: The value.

    Returns:
        The result.

    >>> p_vision.ops.is_tensor([1.0])
    False
    """
    return isinstance(x, Tensor)


def shape(x: Any) -> tuple[Any, ...]:
    """Returns the shape of a tensor or symbol.

    Args:
        x: The tensor or symbol.

    Returns:
        The result.

    >>> p_vision.ops.shape(pyburn.ones(2, 3))
    (2, 3)
    """
    return tuple(x.shape)


def ndim(x: Any) -> int:
    """Returns the number of dimensions.

    Args:
        x: The tensor or symbol.

    Returns:
        The result.

    >>> p_vision.ops.ndim(pyburn.ones(2, 3))
    2
    """
    return len(x.shape)


def size(x: Any) -> int:
    """Returns the number of elements.

    Args:
        x: The tensor.

    Returns:
        The result.

    >>> p_vision.ops.size(pyburn.ones(2, 3))
    6
    """
    return int(x.numel()) if isinstance(x, Tensor) else pyburn.as_tensor(x).numel()


def dtype(x: Any) -> str:
    """Returns the name of the dtype of a tensor.

    Args:
        x: The tensor.

    Returns:
        The result.

    >>> p_vision.ops.dtype(pyburn.ones(2))
    'float32'
    """
    return x.dtype.name


def view(x: Tensor, dtype: Any = None) -> Tensor:
    """Returns the bytes of a tensor as another dtype.

    Args:
        x: The tensor.
        dtype: The dtype.

    Returns:
        The result.

    >>> p_vision.ops.view(pyburn.ones(1), "int32").tolist()
    [1065353216]
    """
    return x if dtype is None else x.view(dtype_of(dtype) or x.dtype)
