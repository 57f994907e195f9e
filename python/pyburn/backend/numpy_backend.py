"""The reference backend: what each operation means, in numpy. Meant to be read and compared with, not to be fast."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from .interface import Backend, compute_dtype, kernel

LEFT, RIGHT = 1, 2  # which operand of a binary operation is the number `value`
UNIFORM, NORMAL, BERNOULLI, INTEGER = range(4)  # what random draws


def operands(tensors: tuple[Any, ...], scalar: int, value: Any) -> tuple[Any, Any]:
    """Both operands of a binary operation, one of which may be a number."""
    if scalar == LEFT:
        return value, tensors[0]
    if scalar == RIGHT:
        return tensors[0], value
    return tensors[0], tensors[1]


def wide(x: np.ndarray) -> np.ndarray:
    """Sums of float16 are formed in float32."""
    return x.astype(np.float32) if x.dtype == np.float16 else x


class NumpyBackend(Backend):
    """Every operation in a line or two of numpy."""

    name = "numpy"

    def run(self, op: str, inputs: list[Any], attributes: dict[str, Any], outputs: int) -> tuple[Any, ...]:
        with np.errstate(all="ignore"):  # infinities and NaN are results here, as on every backend
            return super().run(op, inputs, attributes, outputs)

    # --- one tensor, element by element ---

    @kernel
    def neg(self, x):
        return np.negative(x)

    @kernel
    def abs(self, x):
        return np.abs(x)

    @kernel
    def exp(self, x):
        return np.exp(x)

    @kernel
    def log(self, x):
        return np.log(x)

    @kernel
    def sqrt(self, x):
        return np.sqrt(x)

    @kernel
    def rsqrt(self, x):
        return 1 / np.sqrt(x)

    @kernel
    def sin(self, x):
        return np.sin(x)

    @kernel
    def cos(self, x):
        return np.cos(x)

    @kernel
    def tanh(self, x):
        return np.tanh(x)

    @kernel
    def sigmoid(self, x):
        return 1 / (1 + np.exp(-x))

    @kernel
    def relu(self, x):
        return np.maximum(x, 0)

    @kernel
    def cast(self, x, *, dtype):
        return x.astype(compute_dtype(dtype))

    @kernel
    def contiguous_copy(self, x):
        return x

    # --- two operands ---

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

    # --- made from numbers ---

    @kernel
    def full(self, *, size, value, dtype):
        return np.broadcast_to(np.asarray(value).astype(compute_dtype(dtype)), size)

    @kernel
    def arange(self, *, start, step, count, dtype):
        return (start + step * np.arange(count)).astype(compute_dtype(dtype))

    @kernel
    def random(self, *, size, draw, a, b, seed, offset, dtype):
        n = int(np.prod(size))
        words = philox(seed, offset, -(-n // (2 if draw == NORMAL else 4))).astype(np.float64)
        if draw == NORMAL:  # Box-Muller: two words a number
            u, angle = (words[:, ::2] + 1) * 2.0**-32, 2 * np.pi * words[:, 1::2] * 2.0**-32
            y = a + b * (np.sqrt(-2 * np.log(u)) * np.cos(angle))
        elif draw == INTEGER:
            y = a + np.floor(words * 2.0**-32 * (b - a))
        else:
            u = np.floor(words / 256) * 2.0**-24  # exact in float32
            y = u < a if draw == BERNOULLI else a + u * (b - a)
        y = y.reshape(-1)[:n].reshape(size).astype(np.float32 if dtype is _core.float32 else np.float64)
        if draw == UNIFORM and a < b:  # rounding may have reached the open end
            y = np.where(y >= b, np.nextafter(y.dtype.type(b), y.dtype.type(a)), y)
        return y

    # --- reductions ---

    @kernel
    def sum(self, x, *, dim, keepdim, result):
        return np.sum(wide(x), dim, keepdims=keepdim)

    @kernel
    def mean(self, x, *, dim, keepdim, result):
        n = np.prod([x.shape[d] for d in dim], dtype=np.float64)
        return np.sum(wide(x), dim, keepdims=keepdim) / n

    @kernel
    def amax(self, x, *, dim, keepdim, result):
        return np.max(x, dim, keepdims=keepdim)

    @kernel
    def amin(self, x, *, dim, keepdim, result):
        return np.min(x, dim, keepdims=keepdim)

    @kernel
    def argmax(self, x, *, dim, keepdim):
        return np.argmax(x, None if dim < 0 or x.ndim == 0 else dim, keepdims=keepdim)

    # --- through an index ---

    @kernel
    def nonzero(self, x):
        return np.argwhere(x)

    @kernel
    def index_select(self, x, index, *, dim):
        index = checked(index, x.shape[dim] if x.ndim else 1, "index_select")
        return np.take(x, index, dim) if x.ndim else x

    @kernel
    def index_add(self, x, index, source, *, dim):
        index = checked(index, x.shape[dim], "index_add")
        y = x.copy()
        np.add.at(np.moveaxis(y, dim, 0), index, np.moveaxis(source, dim, 0))
        return y

    # --- products ---

    @kernel
    def bmm(self, x, y):
        return np.matmul(wide(x), wide(y))

    @kernel
    def conv2d(self, x, weight, bias=None, *, stride, padding, dilation, groups):
        views = windows(wide(x), weight.shape[2:], stride, padding, dilation, groups)
        y = np.einsum("ngchwij,gocij->ngohw", views, grouped(wide(weight), groups, 0))
        y = y.reshape(x.shape[0], weight.shape[0], *views.shape[3:5])
        return y if bias is None else y + bias[:, None, None]

    @kernel
    def conv2d_input(self, dy, weight, *, shape, stride, padding, dilation, groups):
        dy, weight = grouped(wide(dy), groups, 1), grouped(wide(weight), groups, 0)
        (n, channels, height, width), (rows, columns) = shape, dy.shape[3:]
        dx = np.zeros((n, groups, channels // groups, height + 2 * padding[0], width + 2 * padding[1]), dy.dtype)
        for i in range(weight.shape[3]):
            for j in range(weight.shape[4]):
                top, left = i * dilation[0], j * dilation[1]
                seen = dx[..., top : top + rows * stride[0] : stride[0], left : left + columns * stride[1] : stride[1]]
                seen += np.einsum("ngohw,goc->ngchw", dy, weight[..., i, j])
        inside = dx[..., padding[0] : padding[0] + height, padding[1] : padding[1] + width]
        return inside.reshape(shape)

    @kernel
    def conv2d_weight(self, x, dy, *, shape, stride, padding, dilation, groups):
        views = windows(wide(x), shape[2:], stride, padding, dilation, groups)
        dy = grouped(wide(dy), groups, 1)
        return np.einsum("ngchwij,ngohw->gocij", views[..., : dy.shape[3], : dy.shape[4], :, :], dy).reshape(shape)


def checked(index: np.ndarray, extent: int, op: str) -> np.ndarray:
    """The index as a vector; an error where it points outside."""
    for i in index.reshape(-1):
        if not 0 <= i < extent:
            raise _core.IndexOutOfRange(f"[{op}] index out of range: got {i} for extent {extent}")
    return index.reshape(-1)


def grouped(x: np.ndarray, groups: int, axis: int) -> np.ndarray:
    """x with its channel axis split into (groups, channels per group)."""
    return x.reshape(*x.shape[:axis], groups, x.shape[axis] // groups, *x.shape[axis + 1 :])


def windows(x, kernel_size, stride, padding, dilation, groups) -> np.ndarray:
    """What the kernel sees at each place: (n, group, channel, row, column, kernel row, kernel column)."""
    x = np.pad(x, [(0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2])
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel_size)]
    views = np.lib.stride_tricks.sliding_window_view(x, reach, (2, 3))
    return grouped(views[:, :, :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]], groups, 1)


def philox(seed: int, offset: int, blocks: int) -> np.ndarray:
    """Philox 4x32-10: four random words for each counter from offset on."""
    low = 0xFFFFFFFF
    index = np.uint64(offset % 2**64) + np.arange(blocks, dtype=np.uint64)
    c = [index & low, index >> 32, np.zeros_like(index), np.zeros_like(index)]
    k0, k1 = seed & low, (seed >> 32) & low
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k0, b & low, (a >> 32) ^ c[3] ^ k1, a & low]
        k0, k1 = (k0 + 0x9E3779B9) & low, (k1 + 0xBB67AE85) & low
    return np.stack(c, 1)
