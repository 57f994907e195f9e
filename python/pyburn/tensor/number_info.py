"""Numerical limits of dtypes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _core

if TYPE_CHECKING:
    from .._types import DType

# bits, exponent of the smallest normal number, fraction bits, decimal digits
_FLOATS = {"float64": (64, -1022, 52, 15), "float32": (32, -126, 23, 6), "float16": (16, -14, 10, 3), "bfloat16": (16, -126, 7, 2)}


class finfo:  # noqa: N801  (PyTorch's and numpy's name)
    """The numerical limits of a floating-point dtype; by default of the default dtype.

    Args:
        dtype: The dtype; by default the default dtype.

    Raises:
        TypeError: dtype is not floating point.

    >>> pyburn.finfo(pyburn.float32).eps
    1.1920928955078125e-07
    """

    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")

    def __init__(self, dtype: DType | None = None):
        wanted = _core.get_default_dtype() if dtype is None else dtype
        name = getattr(wanted, "name", None)
        if name not in _FLOATS:
            raise TypeError(f"[finfo] expected a floating dtype; iinfo is for integers: got {wanted}")
        self.bits, exponent, digits, decimals = _FLOATS[name]
        self.dtype: str = name
        self.eps = 2.0**-digits
        self.max = (2 - self.eps) * 2.0 ** (1 - exponent)
        self.min = -self.max
        self.smallest_normal = self.tiny = 2.0**exponent
        self.resolution = 10.0**-decimals

    def __repr__(self) -> str:
        numbers = ", ".join(f"{k}={getattr(self, k):.6g}" for k in ("resolution", "min", "max", "eps", "smallest_normal", "tiny"))
        return f"finfo({numbers}, dtype={self.dtype})"


class iinfo:  # noqa: N801
    """The limits of an integer dtype.

    Args:
        dtype: The dtype.

    Raises:
        TypeError: dtype is not an integer dtype.

    >>> pyburn.iinfo(pyburn.int8)
    iinfo(min=-128, max=127, dtype=int8)
    """

    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, dtype: DType):
        name = getattr(dtype, "name", "")
        if not isinstance(dtype, _core.DType) or "int" not in name:
            raise TypeError(f"[iinfo] expected an integer dtype; finfo is for floating ones: got {dtype}")
        self.dtype: str = name
        self.bits = 8 * dtype.itemsize
        self.min = -(2 ** (self.bits - 1)) if dtype.is_signed else 0
        self.max = 2 ** (self.bits - (1 if dtype.is_signed else 0)) - 1

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
