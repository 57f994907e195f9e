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
    beyond = np.where(np.less(x, 0), -1, 0).astype(np.asarray(x).dtype)
    return np.where(inside, np.right_shift(x, np.where(inside, places, 0)), beyond)


def bits(op: str, function):
    """A kernel of integers; a number is taken modulo the width of the elements."""

    def wrapped(x, y):
        dtype = np.result_type(*(v for v in (x, y) if isinstance(v, np.ndarray)))
        return function(*(v if isinstance(v, np.ndarray) else np.asarray(v).astype(dtype) for v in (x, y)))

    return binary(op, wrapped)


class LogicKernels:
    isinf = unary("isinf", np.isinf)
    isfinite = unary("isfinite", np.isfinite)
    signbit = unary("signbit", lambda x: np.signbit(x) if np.issubdtype(x.dtype, np.floating) else x < 0)
    logical_not = unary("logical_not", np.logical_not)
    logical_and = binary("logical_and", np.logical_and)
    logical_or = binary("logical_or", np.logical_or)
    logical_xor = binary("logical_xor", np.logical_xor)
    bitwise_and = bits("bitwise_and", np.bitwise_and)
    bitwise_or = bits("bitwise_or", np.bitwise_or)
    bitwise_xor = bits("bitwise_xor", np.bitwise_xor)
    bitwise_left_shift = bits("bitwise_left_shift", left_shift)
    bitwise_right_shift = bits("bitwise_right_shift", right_shift)
