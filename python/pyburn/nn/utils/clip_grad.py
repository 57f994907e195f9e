"""Gradient clipping."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from ..._core import Tensor, _nn


def get_total_norm(
    tensors: Tensor | Iterable[Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """Computes the norm of all tensors, as if they were concatenated.

    Args:
        tensors: The tensors.
        norm_type: The order of the norm.
        error_if_nonfinite: Whether to raise an error if the norm is not finite.
        foreach: Accepted for compatibility with PyTorch; has no effect.

    Returns:
        The norm, a 0-d tensor.

    >>> pyburn.nn.utils.get_total_norm([pyburn.tensor([3.0]), pyburn.tensor([4.0])])
    tensor(5.)
    """
    return _nn._total_norm(_listed(tensors), float(norm_type), error_if_nonfinite)


def clip_grads_with_norm_(parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None) -> None:
    """Scales the gradients of parameters in place by max_norm / total_norm, if total_norm exceeds max_norm.

    Args:
        parameters: The parameters.
        max_norm: The maximum norm.
        total_norm: The norm of the gradients, from `get_total_norm`.
        foreach: Accepted for compatibility with PyTorch; has no effect.

    >>> w = pyburn.nn.Parameter(pyburn.zeros(2))
    >>> w.grad = pyburn.tensor([3.0, 4.0])
    >>> pyburn.nn.utils.clip_grads_with_norm_(w, 1.0, pyburn.tensor(5.0))
    >>> w.grad
    tensor([0.6000, 0.8000])
    """
    _nn._clip_with_norm(_listed(parameters), float(max_norm), total_norm)


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Clips the total norm of the gradients of all parameters, in place.

    Args:
        parameters: The parameters.
        max_norm: The maximum norm.
        norm_type: The order of the norm.
        error_if_nonfinite: Whether to raise an error if the norm is not finite.
        foreach: Accepted for compatibility with PyTorch; has no effect.

    Returns:
        The norm before clipping.

    >>> w = pyburn.nn.Parameter(pyburn.zeros(2))
    >>> w.grad = pyburn.tensor([3.0, 4.0])
    >>> pyburn.nn.utils.clip_grad_norm_(w, 1.0)
    tensor(5.)
    >>> w.grad
    tensor([0.6000, 0.8000])
    """
    parameters = _listed(parameters)
    if not parameters:
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=2)
    return _nn._clip_norm(parameters, float(max_norm), float(norm_type), error_if_nonfinite)


def clip_grad_norm(*args: Any, **kwargs: Any) -> Tensor:
    """Deprecated alias of clip_grad_norm_.

    Args:
        *args: The arguments of clip_grad_norm_.
        **kwargs: Its options.

    Returns:
        The norm before clipping.

    >>> w = pyburn.nn.Parameter(pyburn.zeros(2))
    >>> w.grad = pyburn.tensor([3.0, 4.0])
    >>> pyburn.nn.utils.clip_grad_norm([w], 1.0)
    tensor(5.)
    """
    warnings.warn("`clip_grad_norm` is now deprecated in favor of `clip_grad_norm_`.", FutureWarning, stacklevel=2)
    return clip_grad_norm_(*args, **kwargs)


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Clamps each element of the gradients to [-clip_value, clip_value], in place.

    Args:
        parameters: The parameters.
        clip_value: The maximum of the absolute value.
        foreach: Accepted for compatibility; has no effect.

    >>> w = pyburn.nn.Parameter(pyburn.zeros(2))
    >>> w.grad = pyburn.tensor([3.0, -0.25])
    >>> pyburn.nn.utils.clip_grad_value_(w, 1.0)
    >>> w.grad
    tensor([ 1.0000, -0.2500])
    """
    _nn._clip_value(_listed(parameters), float(clip_value))


def _listed(tensors: Tensor | Iterable[Tensor]) -> list[Tensor]:
    if hasattr(tensors, "parameters"):
        raise TypeError(f"expected a tensor or an iterable of tensors, got {type(tensors).__name__}: pass model.parameters()")
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)
