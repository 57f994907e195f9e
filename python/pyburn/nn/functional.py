"""Layers, activations and losses as functions, with PyTorch's names."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .. import _core
from .._on_demand import stub_places as _stub_places
from . import legacy as _legacy

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._core import Tensor


def _with_inplace(name: str, arguments: int) -> Callable[..., Tensor]:
    """Returns the function of that name with an additional argument `inplace`, as in PyTorch."""
    plain, in_place = getattr(_core, name), getattr(_core.Tensor, name + "_")

    def function(input: Tensor, *given: Any, inplace: bool = False, **named: Any) -> Tensor:
        if len(given) > arguments:
            *given, inplace = given  # type: ignore[assignment]
        return (in_place if inplace else plain)(input, *given, **named)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = plain.__doc__
    return function


# The number of arguments of each after the input and before `inplace`.
_IN_PLACE = {"hardsigmoid": 0, "hardswish": 0, "mish": 0, "relu": 0, "relu6": 0, "selu": 0, "silu": 0}
_IN_PLACE |= {"celu": 1, "elu": 1, "leaky_relu": 1, "hardtanh": 2, "threshold": 2, "rrelu": 3}
_METHODS = ("celu_", "elu_", "hardtanh_", "leaky_relu_", "relu_", "rrelu_", "selu_", "threshold_")
_ALIASES = {"fold": "col2im", "unfold": "im2col", "native_channel_shuffle": "channel_shuffle"}
_ALIASES |= {f"adaptive_max_pool{axes}d_with_indices": f"adaptive_max_pool{axes}d" for axes in (1, 2, 3)}


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """Computes the Gaussian negative log-likelihood loss.

    Args:
        input: The predicted mean.
        target: The target.
        var: The predicted variance, a tensor or a number.
        full: Whether to include the constant term.
        eps: The lower bound of the variance.
        reduction: "mean", "sum" or "none".

    Returns:
        A 0-d tensor, or one loss per element with reduction="none".

    >>> pyburn.nn.functional.gaussian_nll_loss(pyburn.zeros(1), pyburn.ones(1), 0.5)
    """
    if not isinstance(var, _core.Tensor):
        var = _core.full_like(input, var)
    return _core.gaussian_nll_loss(input, target, var, full, eps, reduction)


_places = _stub_places(__file__)
__all__ = sorted({*_places, *_ALIASES, *_IN_PLACE, *_METHODS, "gaussian_nll_loss"})
globals().update({name: getattr(importlib.import_module(f".{place}", __package__), name) for name, place in _places.items()})
globals().update({alias: getattr(_core, name) for alias, name in _ALIASES.items()})
globals().update({name: _with_inplace(name, arguments) for name, arguments in _IN_PLACE.items()})
globals().update({name: getattr(_core.Tensor, name) for name in _METHODS})
globals().update({name: _legacy.with_legacy_arguments(getattr(_core, name), arguments) for name, arguments in _legacy.LOSSES.items()})
globals().update({name: _legacy.with_implicit_axis(getattr(_core, name)) for name in ("softmax", "log_softmax", "softmin")})
