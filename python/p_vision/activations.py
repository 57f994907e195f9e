"""Activations by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyburn
from pyburn import Tensor
from pyburn.nn import functional

from .configured import Configured, Named

Activation = Callable[[Tensor], Tensor]


def linear(x: Tensor) -> Tensor:
    """x as it is."""
    return x


_TABLE: dict[str, Activation] = {
    "linear": linear,
    "relu": pyburn.relu,
    "relu6": functional.relu6,
    "leaky_relu": lambda x: functional.leaky_relu(x, 0.2),
    "elu": functional.elu,
    "selu": functional.selu,
    "celu": functional.celu,
    "gelu": functional.gelu,
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
    "hard_shrink": functional.hardshrink,
    "soft_shrink": functional.softshrink,
    "tanh_shrink": functional.tanhshrink,
    "exponential": pyburn.exp,
    "softmax": lambda x: functional.softmax(x, -1),
    "log_softmax": lambda x: functional.log_softmax(x, -1),
}
_named = Named("activation", _TABLE)


def get(identifier: Any) -> Activation:
    """The function that a name, a function, a layer or None (which is linear) means."""
    if identifier is None:
        return linear
    if isinstance(identifier, str):
        return _named(identifier)
    if callable(identifier):
        return identifier
    raise TypeError(f"an activation is a name, a function or None: got {identifier!r}")


def name_of(identifier: Any) -> str | None:
    """The name of an activation that was given by one, or by a layer of the same name."""
    return identifier if isinstance(identifier, str) else type(identifier).__name__.lower() if isinstance(identifier, Configured) else None
