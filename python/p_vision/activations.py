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
    """Returns x unchanged.

    Args:
        x: The tensor.

    Returns:
        The tensor.

    >>> p_vision.activations.linear(pyburn.tensor([-1.0, 0.0, 2.0]))
    tensor([-1.,  0.,  2.])
    """
    return x


def relu(x: Tensor, negative_slope: float = 0.0, max_value: float | None = None, threshold: float = 0.0) -> Tensor:
    """The rectified linear unit: max(x, 0), with an optional slope, maximum and threshold.

    Args:
        x: The tensor.
        negative_slope: The slope below the threshold.
        max_value: The maximum; None for no limit.
        threshold: The input below which the slope applies.

    Returns:
        The tensor.

    >>> p_vision.activations.relu(pyburn.tensor([-1.0, 0.0, 2.0]))
    tensor([0., 0., 2.])
    """
    if not negative_slope and not threshold:
        return pyburn.relu(x) if max_value is None else x.clamp(0.0, max_value)
    kept = x if max_value is None else x.clamp(max=max_value)
    return pyburn.where(x >= threshold, kept, negative_slope * (x - threshold))


def leaky_relu(x: Tensor, negative_slope: float = 0.2) -> Tensor:
    """The leaky rectified linear unit: x for x >= 0, else negative_slope * x.

    Args:
        x: The tensor.
        negative_slope: The slope for negative inputs.

    Returns:
        The tensor.

    >>> p_vision.activations.leaky_relu(pyburn.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.2000,  0.0000,  2.0000])
    """
    return functional.leaky_relu(x, negative_slope)


def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """The exponential linear unit: x for x >= 0, else alpha * (exp(x) - 1).

    Args:
        x: The tensor.
        alpha: The scale of the negative part.

    Returns:
        The tensor.

    >>> p_vision.activations.elu(pyburn.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.6321,  0.0000,  2.0000])
    """
    return functional.elu(x, alpha)


def celu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """The continuous exponential linear unit: max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0).

    Args:
        x: The tensor.
        alpha: The scale of the negative part.

    Returns:
        The tensor.

    >>> p_vision.activations.celu(pyburn.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.6321,  0.0000,  2.0000])
    """
    return functional.celu(x, alpha)


def gelu(x: Tensor, approximate: bool = False) -> Tensor:
    """The Gaussian error linear unit: x times the normal distribution function of x.

    Args:
        x: The tensor.
        approximate: Whether to use the approximation by tanh.

    Returns:
        The tensor.

    >>> p_vision.activations.gelu(pyburn.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.1587,  0.0000,  1.9545])
    """
    return functional.gelu(x, approximate="tanh" if approximate else "none")


def glu(x: Tensor, axis: int = -1) -> Tensor:
    """The gated linear unit: the first half times the sigmoid of the second half.

    Args:
        x: The tensor.
        axis: The axis.

    Returns:
        The tensor.

    >>> p_vision.activations.glu(pyburn.tensor([1.0, 0.0]))
    tensor([0.5000])
    """
    return functional.glu(x, axis)


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """Softmax: exponentials divided by their sum.

    Args:
        x: The tensor.
        axis: The axis.

    Returns:
        The tensor.

    >>> p_vision.activations.softmax(pyburn.tensor([-1.0, 0.0, 2.0]))
    tensor([0.0420, 0.1142, 0.8438])
    """
    return functional.softmax(x, axis)


def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """The logarithm of softmax.

    Args:
        x: The tensor.
        axis: The axis.

    Returns:
        The tensor.

    >>> p_vision.activations.log_softmax(pyburn.tensor([-1.0, 0.0, 2.0]))
    tensor([-3.1698, -2.1698, -0.1698])
    """
    return functional.log_softmax(x, axis)


def hard_shrink(x: Tensor, threshold: float = 0.5) -> Tensor:
    """x where |x| > threshold, else 0.

    Args:
        x: The tensor.
        threshold: The threshold.

    Returns:
        The tensor.

    >>> p_vision.activations.hard_shrink(pyburn.tensor([-1.0, 0.0, 2.0]))
    tensor([-1.,  0.,  2.])
    """
    return functional.hardshrink(x, threshold)


def soft_shrink(x: Tensor, threshold: float = 0.5) -> Tensor:
    """Moves x towards 0 by the threshold; 0 where |x| <= threshold.

    Args:
        x: The tensor.
        threshold: The threshold.

    Returns:
        The tensor.

    >>> p_vision.activations.soft_shrink(pyburn.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.5000,  0.0000,  1.5000])
    """
    return functional.softshrink(x, threshold)


def threshold(x: Tensor, threshold: float, default_value: float) -> Tensor:
    """x where x > threshold, else the default value.

    Args:
        x: The tensor.
        threshold: The threshold.
        default_value: The value elsewhere.

    Returns:
        The tensor.

    >>> p_vision.activations.threshold(pyburn.tensor([-1.0, 0.0, 2.0]), 1.0, 0.0)
    tensor([0., 0., 2.])
    """
    return functional.threshold(x, threshold, default_value)


def squareplus(x: Tensor, b: float = 4.0) -> Tensor:
    """(x + sqrt(x² + b)) / 2, a smooth rectified linear unit.

    Args:
        x: The tensor.
        b: The smoothness.

    Returns:
        The tensor.

    >>> p_vision.activations.squareplus(pyburn.tensor([-1.0, 0.0, 2.0]))
    tensor([0.6180, 1.0000, 2.4142])
    """
    return (x + (x.square() + b).sqrt()) / 2


def sparse_plus(x: Tensor) -> Tensor:
    """0 for x <= -1, (x + 1)² / 4 for -1 < x < 1, else x.

    Args:
        x: The tensor.

    Returns:
        The tensor.

    >>> p_vision.activations.sparse_plus(pyburn.tensor([-1.0, 0.0, 2.0]))
    tensor([0.0000, 0.2500, 2.0000])
    """
    return pyburn.where(x <= -1, 0.0, pyburn.where(x < 1, (x + 1).square() / 4, x))


def sparse_sigmoid(x: Tensor) -> Tensor:
    """(x + 1) / 2, clamped to the range from 0 to 1.

    Args:
        x: The tensor.

    Returns:
        The tensor.

    >>> p_vision.activations.sparse_sigmoid(pyburn.tensor([-1.0, 0.0, 2.0]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    return ((x + 1) / 2).clamp(0.0, 1.0)


def sparsemax(x: Tensor, axis: int = -1) -> Tensor:
    """Sparsemax: projects onto the probability simplex, so that small inputs get probability 0 (Martins and Astudillo 2016).

    Args:
        x: The tensor.
        axis: The axis.

    Returns:
        The tensor.

    >>> p_vision.activations.sparsemax(pyburn.tensor([-1.0, 0.0, 2.0]))
    tensor([0., 0., 1.])
    """
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
    """Returns the name of an activation that is given as a name or a layer, else None.

    Args:
        identifier: The activation.
    """
    return identifier if isinstance(identifier, str) else type(identifier).__name__.lower() if isinstance(identifier, Configured) else None


deserialize = get.deserialize
__all__ = [*_TABLE, "deserialize", "get", "serialize"]


for _name, _function in _TABLE.items():  # the functions in the table accept symbols; a layer calls its activation on tensors only
    globals()[_name] = drawing(_function, f"activations.{_name}", _name)
    globals()[_name].saved_as = _name
