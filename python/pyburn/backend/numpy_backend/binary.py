"""Two operands, one of which may be a number."""

from __future__ import annotations

import numpy as np

from ..interface import kernel
from .arrays import operands


class BinaryKernels:
    @kernel
    def add(self, *tensors, scalar, value, alpha):
        a, b = operands(tensors, scalar, value)
        return a + alpha * b

    @kernel
    def sub(self, *tensors, scalar, value, alpha):
        a, b = operands(tensors, scalar, value)
        return a - alpha * b

    @kernel
    def mul(self, *tensors, scalar, value):
        return np.multiply(*operands(tensors, scalar, value))

    @kernel
    def div(self, *tensors, scalar, value):
        return np.true_divide(*operands(tensors, scalar, value))

    @kernel
    def pow(self, *tensors, scalar, value):
        x, e = operands(tensors, scalar, value)
        if np.issubdtype(np.result_type(x, e), np.floating):
            return np.power(x, e)
        sign = np.where(np.equal(np.mod(e, 2), 0), 1, -1)
        inverse = np.where(np.equal(x, 1), 1, np.where(np.equal(x, -1), sign, 0))  # x to a negative power, towards 0
        return np.where(np.less(e, 0), inverse, np.power(x, np.maximum(e, 0)))

    @kernel
    def maximum(self, *tensors, scalar, value):
        return np.maximum(*operands(tensors, scalar, value))

    @kernel
    def minimum(self, *tensors, scalar, value):
        return np.minimum(*operands(tensors, scalar, value))

    @kernel
    def eq(self, *tensors, scalar, value):
        return np.equal(*operands(tensors, scalar, value))

    @kernel
    def ne(self, *tensors, scalar, value):
        return np.not_equal(*operands(tensors, scalar, value))

    @kernel
    def lt(self, *tensors, scalar, value):
        return np.less(*operands(tensors, scalar, value))

    @kernel
    def le(self, *tensors, scalar, value):
        return np.less_equal(*operands(tensors, scalar, value))

    @kernel
    def gt(self, *tensors, scalar, value):
        return np.greater(*operands(tensors, scalar, value))

    @kernel
    def ge(self, *tensors, scalar, value):
        return np.greater_equal(*operands(tensors, scalar, value))

    @kernel
    def where(self, condition, *branches, scalar, value):
        return np.where(condition, *operands(branches, scalar, value))
