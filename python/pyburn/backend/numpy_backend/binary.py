"""Two operands, one of which may be a number."""

from __future__ import annotations

import numpy as np

from ..interface import kernel
from .arrays import BOTH, binary, operands


def power(x, e):
    if np.issubdtype(np.result_type(x, e), np.floating):
        return np.power(x, e)
    sign = np.where(np.equal(np.mod(e, 2), 0), 1, -1)
    inverse = np.where(np.equal(x, 1), 1, np.where(np.equal(x, -1), sign, 0))  # x to a negative power, towards 0
    return np.where(np.less(e, 0), inverse, np.power(x, np.maximum(e, 0)))


class BinaryKernels:
    @kernel
    def add(self, *tensors, scalar, value, alpha):
        a, b = operands(tensors, scalar, value)
        return a + alpha * b

    @kernel
    def sub(self, *tensors, scalar, value, alpha):
        a, b = operands(tensors, scalar, value)
        return a - alpha * b

    mul = binary("mul", np.multiply)
    div = binary("div", np.true_divide)
    pow = binary("pow", power)
    maximum = binary("maximum", np.maximum)
    minimum = binary("minimum", np.minimum)
    eq = binary("eq", np.equal)
    ne = binary("ne", np.not_equal)
    lt = binary("lt", np.less)
    le = binary("le", np.less_equal)
    gt = binary("gt", np.greater)
    ge = binary("ge", np.greater_equal)

    @kernel
    def where(self, condition, *branches, scalar, value, other):
        return np.where(condition, *((value, other) if scalar == BOTH else operands(branches, scalar, value)))
