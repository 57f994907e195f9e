"""Layers, activations and losses as functions, under PyTorch's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import (
    batch_norm,
    conv2d,
    cross_entropy,
    gelu,
    glu,
    hardshrink,
    linear,
    log_softmax,
    logsigmoid,
    mse_loss,
    nll_loss,
    one_hot,
    prelu,
    sigmoid,
    softmax,
    softplus,
    softshrink,
    softsign,
    tanh,
    tanhshrink,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._core import Tensor


def _with_inplace(name: str, arguments: int = 0) -> Callable[..., Tensor]:
    """The function of that name with `inplace` after its other arguments, as PyTorch has it."""
    plain, in_place = getattr(_core, name), getattr(_core.Tensor, name + "_")

    def function(input: Tensor, *given: Any, inplace: bool = False, **named: Any) -> Tensor:
        if len(given) > arguments:
            *given, inplace = given  # type: ignore[assignment]
        return (in_place if inplace else plain)(input, *given, **named)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = plain.__doc__
    return function


relu = _with_inplace("relu")
relu6 = _with_inplace("relu6")
silu = _with_inplace("silu")
mish = _with_inplace("mish")
selu = _with_inplace("selu")
hardswish = _with_inplace("hardswish")
hardsigmoid = _with_inplace("hardsigmoid")
leaky_relu = _with_inplace("leaky_relu", 1)
elu = _with_inplace("elu", 1)
celu = _with_inplace("celu", 1)
hardtanh = _with_inplace("hardtanh", 2)
threshold = _with_inplace("threshold", 2)
relu_ = _core.Tensor.relu_
leaky_relu_ = _core.Tensor.leaky_relu_
elu_ = _core.Tensor.elu_
selu_ = _core.Tensor.selu_
celu_ = _core.Tensor.celu_
hardtanh_ = _core.Tensor.hardtanh_
threshold_ = _core.Tensor.threshold_

__all__ = [
    "batch_norm",
    "celu",
    "celu_",
    "conv2d",
    "cross_entropy",
    "elu",
    "elu_",
    "gelu",
    "glu",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "leaky_relu",
    "leaky_relu_",
    "linear",
    "log_softmax",
    "logsigmoid",
    "mish",
    "mse_loss",
    "nll_loss",
    "one_hot",
    "prelu",
    "relu",
    "relu_",
    "relu6",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "threshold_",
]
