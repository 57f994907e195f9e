"""A backend in Python: numpy arrays, the few operations that a linear model needs, and a count of what ran.

python examples/backend_python/counting.py
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

import pyburn
from pyburn import backend


class CountingBackend(backend.Backend):
    """Ten kernels. Every other operation is made of these, or refused with the reason.

    A kernel gets arrays, then the attributes of the operation by name. Shapes and dtypes have been checked, inputs promoted and broadcast;
    views never arrive. Attributes that a kernel does not look at are gathered in `_`.
    """

    name = "counting"

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def run(self, op: str, inputs: list[Any], attributes: dict[str, Any], outputs: int) -> tuple[Any, ...]:
        self.counts[op] += 1
        return super().run(op, inputs, attributes, outputs)

    @backend.kernel
    def add(self, *tensors, scalar, value, alpha):
        a, b = both(tensors, scalar, value)
        return a + alpha * b

    @backend.kernel
    def sub(self, *tensors, scalar, value, alpha):
        a, b = both(tensors, scalar, value)
        return a - alpha * b

    @backend.kernel
    def mul(self, *tensors, scalar, value):
        return np.multiply(*both(tensors, scalar, value))

    @backend.kernel
    def div(self, *tensors, scalar, value):
        return np.true_divide(*both(tensors, scalar, value))

    @backend.kernel
    def bmm(self, x, y):
        return x @ y

    @backend.kernel
    def sum(self, x, *, dim, keepdim, **_):
        return x.sum(dim, keepdims=keepdim)

    @backend.kernel
    def mean(self, x, *, dim, keepdim, **_):
        return x.mean(dim, keepdims=keepdim)

    @backend.kernel
    def full(self, *, size, value, dtype):
        return np.full(size, value, dtype.name)

    @backend.kernel
    def cast(self, x, *, dtype):
        return x.astype(dtype.name)

    @backend.kernel
    def contiguous_copy(self, x):
        return x


def both(tensors: tuple[Any, ...], scalar: int, value: Any) -> tuple[Any, Any]:
    """The operands of a binary operation: two tensors, or a number on the left (1) or on the right (2)."""
    return {0: tensors[:2], 1: (value, *tensors), 2: (*tensors, value)}[scalar]


def fit_line(device: pyburn.Device, steps: int = 200) -> tuple[float, float]:
    """Slope and offset of a line through points of y = 3 x - 1, found by gradient descent."""
    x = pyburn.tensor([[-1.0], [-0.5], [0.0], [0.5], [1.0]], device=device)
    y = x * 3 - 1
    slope = pyburn.zeros(1, 1, device=device, requires_grad=True)
    offset = pyburn.zeros(1, device=device, requires_grad=True)
    for _ in range(steps):
        difference = x @ slope + offset - y
        (difference * difference).mean().backward()
        with pyburn.no_grad():
            for parameter in (slope, offset):
                parameter -= 0.2 * parameter.grad
                parameter.grad = None
    return slope.item(), offset.item()


def main() -> None:
    counting = CountingBackend()
    backend.register("counting", lambda: counting)
    slope, offset = fit_line(pyburn.Device("counting"))  # prints as autodiff(counting)
    print(f"y = {slope:.3f} x + {offset:.3f}")
    for op, count in counting.counts.most_common():
        print(f"{count:6} {op}")


if __name__ == "__main__":
    main()
