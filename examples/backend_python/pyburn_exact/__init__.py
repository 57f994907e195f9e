"""A backend that computes with fractions: sums, products and quotients without rounding.

Its elements are Python objects, so it keeps its own kind of buffer: a numpy array of fractions.Fraction.
"""

from fractions import Fraction

import numpy as np

from pyburn import DType, UnsupportedOp, backend, float32, float64


def fraction(x) -> Fraction:
    try:
        return Fraction(x)
    except (ValueError, OverflowError) as error:
        raise UnsupportedOp(f"[exact] fractions are never NaN or infinite: got {x}") from error


fractions_of = np.frompyfunc(fraction, 1, 1)


class Exact(backend.Backend):
    """Exact arithmetic on fractions."""

    name = "exact"
    capabilities = backend.Capabilities(dtypes=[float32, float64])

    # --- how elements are kept ---

    def allocate(self, dtype: DType, elements: int) -> np.ndarray:
        return np.full(elements, Fraction(0), object)

    def as_strided(self, buffer, dtype, shape, strides, offset) -> np.ndarray:
        step = buffer.itemsize
        return np.lib.stride_tricks.as_strided(buffer[offset:], shape, [s * step for s in strides])

    def upload(self, data: memoryview, dtype: DType) -> np.ndarray:
        return np.asarray(fractions_of(np.frombuffer(data, dtype.name).astype(object)))

    def download(self, array: np.ndarray, dtype: DType) -> np.ndarray:
        return np.ascontiguousarray(array.astype(dtype.name))

    # --- what it can do; everything else is made of it, or refused with the name of the operation ---

    @backend.kernel
    def cast(self, x, *, dtype):
        return x

    @backend.kernel
    def full(self, *, size, value, dtype):
        return np.full(size, fraction(value), object)

    @backend.kernel
    def neg(self, x):
        return -x

    @backend.kernel
    def add(self, *tensors, scalar, value, alpha):
        a, b = operands(tensors, scalar, value)
        return a + fraction(alpha) * b

    @backend.kernel
    def sub(self, *tensors, scalar, value, alpha):
        a, b = operands(tensors, scalar, value)
        return a - fraction(alpha) * b

    @backend.kernel
    def mul(self, *tensors, scalar, value):
        a, b = operands(tensors, scalar, value)
        return a * b

    @backend.kernel
    def div(self, *tensors, scalar, value):
        a, b = operands(tensors, scalar, value)
        if not np.asarray(b).all():
            raise UnsupportedOp("[exact] fractions are never infinite: got a division by 0")
        return a / b

    @backend.kernel
    def sum(self, x, *, dim, keepdim, result):
        return np.add.reduce(x, axis=dim, keepdims=keepdim, initial=Fraction(0))

    @backend.kernel
    def bmm(self, x, y):
        return x @ y


def operands(tensors, scalar, value):
    """Both operands of a binary operation; scalar is 1 where the left one is a number, 2 where the right one is."""
    if scalar == 1:
        return fraction(value), tensors[0]
    return tensors[0], (fraction(value) if scalar == 2 else tensors[1])


def announce() -> None:
    """The entry point: pyburn calls it when a name is asked for that it does not know."""
    backend.register("exact", Exact)
