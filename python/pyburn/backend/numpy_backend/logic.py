"""Questions about elements, and operations on truth values and bits."""

from __future__ import annotations

import numpy as np

from .arrays import binary, unary


def left_shift(x, places):
    bits = np.result_type(x, places).itemsize * 8
    inside = np.logical_and(np.greater_equal(places, 0), np.less(places, bits))
    return np.where(inside, np.left_shift(x, np.where(inside, places, 0)), 0)


def right_shift(x, places):
    bits = np.result_type(x, places).itemsize * 8
    inside = np.logical_and(np.greater_equal(places, 0), np.less(places, bits))
    return np.where(inside, np.right_shift(x, np.where(inside, places, 0)), np.where(np.less(x, 0), -1, 0))


class LogicKernels:
    isinf = unary("isinf", np.isinf)
    isfinite = unary("isfinite", np.isfinite)
    signbit = unary("signbit", lambda x: np.signbit(x) if np.issubdtype(x.dtype, np.floating) else x < 0)
    logical_not = unary("logical_not", np.logical_not)
    logical_and = binary("logical_and", np.logical_and)
    logical_or = binary("logical_or", np.logical_or)
    logical_xor = binary("logical_xor", np.logical_xor)
    bitwise_and = binary("bitwise_and", np.bitwise_and)
    bitwise_or = binary("bitwise_or", np.bitwise_or)
    bitwise_xor = binary("bitwise_xor", np.bitwise_xor)
    bitwise_left_shift = binary("bitwise_left_shift", left_shift)
    bitwise_right_shift = binary("bitwise_right_shift", right_shift)
