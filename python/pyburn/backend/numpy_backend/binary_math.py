"""Divisions with a remainder, angles and lengths, logarithms of sums: functions of two operands."""

from __future__ import annotations

import numpy as np

from ... import _core
from .arrays import binary


def division(op: str, function):
    """A kernel that refuses integers over 0."""

    def checked(x, y):
        if np.issubdtype(np.result_type(x, y), np.integer) and np.any(np.equal(y, 0)):
            raise _core.ArgumentError(f"[{op}] integer division by zero: got a divisor of 0")
        return function(x, y)

    return binary(op, checked)


def floor_divide(x, y):
    if np.issubdtype(np.result_type(x, y), np.integer):
        return np.floor_divide(x, y)
    return np.where(np.equal(y, 0), np.true_divide(x, y), np.floor_divide(x, y))


def xlogy(x, y):
    return np.where(np.isnan(y), y, np.where(np.equal(x, 0), 0, x * np.log(y)))


class BinaryMathKernels:
    floor_divide = division("floor_divide", floor_divide)
    remainder = division("remainder", np.remainder)
    fmod = division("fmod", np.fmod)
    atan2 = binary("atan2", np.arctan2)
    hypot = binary("hypot", np.hypot)
    xlogy = binary("xlogy", xlogy)
    logaddexp = binary("logaddexp", np.logaddexp)
    logaddexp2 = binary("logaddexp2", np.logaddexp2)
    gcd = binary("gcd", np.gcd)
    lcm = binary("lcm", np.lcm)
    copysign = binary("copysign", np.copysign)
    fmax = binary("fmax", np.fmax)
    fmin = binary("fmin", np.fmin)
    nextafter = binary("nextafter", np.nextafter)
    heaviside = binary("heaviside", lambda x, v: np.where(np.equal(x, 0), v, np.where(np.greater(x, 0), 1, 0)))
