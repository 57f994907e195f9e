"""Binary operations, one of whose operands can be a number, and functions of three tensors."""

from __future__ import annotations

import numpy as np

from ... import _core
from ..interface import kernel
from .arrays import BOTH, binary_kernels, kernels, named, operands


def power(x, e):
    if np.issubdtype(np.result_type(x, e), np.floating):
        return np.power(x, e)
    sign = np.where(np.equal(np.mod(e, 2), 0), 1, -1)
    inverse = np.where(np.equal(x, 1), 1, np.where(np.equal(x, -1), sign, 0))  # x to a negative power, rounded toward 0
    return np.where(np.less(e, 0), inverse, np.power(x, np.maximum(e, 0)))


def division(op: str, function):
    """Wraps a division: raises ArgumentError for integer division by zero."""

    def divide(x, y):
        if np.issubdtype(np.result_type(x, y), np.integer) and np.any(np.equal(y, 0)):
            raise _core.ArgumentError(f"[{op}] integer division by zero: got a divisor of 0")
        return function(x, y)

    return divide


def floor_divide(x, y):
    floor = np.floor_divide(x, y)
    return floor if np.issubdtype(floor.dtype, np.integer) else np.where(np.equal(y, 0), np.true_divide(x, y), floor)


def bits(function):
    """Wraps an integer function: numbers wrap around to the dtype of the elements."""

    def of_one_width(x, y):
        dtype = np.result_type(*(v for v in (x, y) if isinstance(v, np.ndarray)))
        return function(*(v if isinstance(v, np.ndarray) else np.asarray(v).astype(dtype) for v in (x, y)))

    return of_one_width


def shift(function, beyond):
    """Wraps a bit shift: a negative shift, or one by at least the bit width, returns beyond(x)."""

    def shifted(x, places):
        inside = (places >= 0) & (places < np.result_type(x, places).itemsize * 8)
        return np.where(inside, function(x, np.where(inside, places, 0)), beyond(x))

    return bits(shifted)


SAME_NAMES = named("maximum minimum fmax fmin hypot logaddexp logaddexp2 gcd lcm copysign nextafter logical_and logical_or logical_xor")
BINARY = {
    "mul": np.multiply,
    "div": np.true_divide,
    "floor_divide": division("floor_divide", floor_divide),
    "remainder": division("remainder", np.remainder),
    "fmod": division("fmod", np.fmod),
    "pow": power,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "atan2": np.arctan2,
    "xlogy": lambda x, y: np.where(np.isnan(y), y, np.where(np.equal(x, 0), 0, x * np.log(y))),
    "heaviside": lambda x, v: np.where(np.equal(x, 0), v, np.where(np.greater(x, 0), 1, 0)),
    "bitwise_and": bits(np.bitwise_and),
    "bitwise_or": bits(np.bitwise_or),
    "bitwise_xor": bits(np.bitwise_xor),
    "bitwise_left_shift": shift(np.left_shift, np.zeros_like),
    "bitwise_right_shift": shift(np.right_shift, lambda x: np.where(x < 0, -1, 0).astype(x.dtype)),
}
OF_THREE = {
    "lerp": lambda start, end, *weights, weight: start + (weights[0] if weights else weight) * (end - start),
    "addcmul": lambda x, y, z, value: x + value * y * z,
    "addcdiv": lambda x, y, z, value: x + value * y / z,
}


class BinaryKernels:
    locals().update(binary_kernels(SAME_NAMES | BINARY))
    locals().update(kernels(OF_THREE))

    @kernel
    def add(self, *tensors, scalar, value, alpha):
        a, b = operands(tensors, scalar, value)
        return a + alpha * b

    @kernel
    def sub(self, *tensors, scalar, value, alpha):
        a, b = operands(tensors, scalar, value)
        return a - alpha * b

    @kernel
    def where(self, condition, *branches, scalar, value, other):
        return np.where(condition, *((value, other) if scalar == BOTH else operands(branches, scalar, value)))
