"""Activation functions, available by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyburn
from pyburn import Tensor
from pyburn.nn import functional

from .configured import Configured, Registry, serialize
from .symbolic.operation import drawing

Activation = Callable[[Tensor], Tensor]


def linear(x: Tensor) -> Tensor:
    """Returns x unchanged."""
    return x


def relu(x: Tensor, negative_slope: float = 0.0, max_value: float | None = None, threshold: float = 0.0) -> Tensor:
    if not negative_slope and not threshold:
        return pyburn.relu(x) if max_value is None else x.clamp(0.0, max_value)
    kept = x if max_value is None else x.clamp(max=max_value)
    return pyburn.where(x >= threshold, kept, negative_slope * (x - threshold))


def leaky_relu(x: Tensor, negative_slope: float = 0.2) -> Tensor:
    return functional.leaky_relu(x, negative_slope)


def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    return functional.elu(x, alpha)


def celu(x: Tensor, alpha: float = 1.0) -> Tensor:
    return functional.celu(x, alpha)


def gelu(x: Tensor, approximate: bool = False) -> Tensor:
    return functional.gelu(x, approximate="tanh" if approximate else "none")


def glu(x: Tensor, axis: int = -1) -> Tensor:
    return functional.glu(x, axis)


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    return functional.softmax(x, axis)


def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    return functional.log_softmax(x, axis)


def hard_shrink(x: Tensor, threshold: float = 0.5) -> Tensor:
    return functional.hardshrink(x, threshold)


def soft_shrink(x: Tensor, threshold: float = 0.5) -> Tensor:
    return functional.softshrink(x, threshold)


def threshold(x: Tensor, threshold: float, default_value: float) -> Tensor:
    return functional.threshold(x, threshold, default_value)


def squareplus(x: Tensor, b: float = 4.0) -> Tensor:
    return (x + (x.square() + b).sqrt()) / 2


def sparse_plus(x: Tensor) -> Tensor:
    return pyburn.where(x <= -1, 0.0, pyburn.where(x < 1, (x + 1).square() / 4, x))


def sparse_sigmoid(x: Tensor) -> Tensor:
    return ((x + 1) / 2).clamp(0.0, 1.0)


def sparsemax(x: Tensor, axis: int = -1) -> Tensor:
    """Sparsemax: projects onto the probability simplex, so that small inputs get probability 0."""
    ordered = x.sort(axis, descending=True)[0]
    shape = [-1 if at == axis % x.ndim else 1 for at in range(x.ndim)]
    count = pyburn.arange(1, x.shape[axis] + 1, dtype=x.dtype, device=x.device).reshape(shape)
    sums = ordered.cumsum(axis)
    inside = 1 + count * ordered > sums
    size = inside.to(x.dtype).sum(axis, keepdim=True)
    total = pyburn.where(inside, ordered, 0.0).sum(axis, keepdim=True)
    return (x - (total - 1) / size).clamp(min=0.0)


_TABLE: dict[str, Callable[..., Tensor]] = {
    "linear": linear,
    "relu": relu,
    "relu6": functional.relu6,
    "leaky_relu": leaky_relu,
    "elu": elu,
    "selu": functional.selu,
    "celu": celu,
    "gelu": gelu,
    "glu": glu,
    "silu": functional.silu,
    "swish": functional.silu,
    "mish": functional.mish,
    "softplus": functional.softplus,
    "softsign": functional.softsign,
    "tanh": pyburn.tanh,
    "sigmoid": pyburn.sigmoid,
    "log_sigmoid": functional.logsigmoid,
    "hard_sigmoid": functional.hardsigmoid,
    "hard_silu": functional.hardswish,
    "hard_swish": functional.hardswish,
    "hard_tanh": functional.hardtanh,
    "hard_shrink": hard_shrink,
    "soft_shrink": soft_shrink,
    "tanh_shrink": functional.tanhshrink,
    "exponential": pyburn.exp,
    "softmax": softmax,
    "log_softmax": log_softmax,
    "sparsemax": sparsemax,
    "sparse_plus": sparse_plus,
    "sparse_sigmoid": sparse_sigmoid,
    "squareplus": squareplus,
    "threshold": threshold,
}
get = Registry("activation", (), _TABLE, default=linear)


def name_of(identifier: Any) -> str | None:
    """Returns the name of an activation that is given as a name or a layer, else None."""
    return identifier if isinstance(identifier, str) else type(identifier).__name__.lower() if isinstance(identifier, Configured) else None


deserialize = get.deserialize
__all__ = [*_TABLE, "deserialize", "get", "serialize"]


for _name, _function in _TABLE.items():  # the functions in the table accept symbols; a layer calls its activation on tensors only
    globals()[_name] = drawing(_function, f"activations.{_name}", _name)
    globals()[_name].saved_as = _name
