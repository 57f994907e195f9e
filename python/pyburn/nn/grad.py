"""Gradients of convolutions as functions: of the input from its size, and of the weight from its size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor
from ..autograd import enable_grad, grad

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]


def _example_shapes(axes: int) -> tuple[str, str, str]:
    """Of an input, a weight and a result of a convolution, as an example writes them."""
    return "1, 2" + ", 5" * axes, "3, 2" + ", 3" * axes, "1, 3" + ", 3" * axes


def _of_input(axes: int) -> Callable[..., Tensor]:
    convolve = getattr(_core, f"conv{axes}d")

    def gradient(
        input_size: Any, weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
    ) -> Tensor:
        with enable_grad():
            x = _core.zeros(*input_size, dtype=weight.dtype, device=weight.device).requires_grad_()
            return grad(convolve(x, weight, None, stride, padding, dilation, groups), x, grad_output)[0]  # type: ignore[return-value]

    shape, weight, result = _example_shapes(axes)
    return _described(gradient, f"conv{axes}d_input", "input", f"({shape}), pyburn.ones({weight}), pyburn.ones({result})")


def _of_weight(axes: int) -> Callable[..., Tensor]:
    convolve = getattr(_core, f"conv{axes}d")

    def gradient(
        input: Tensor, weight_size: Any, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
    ) -> Tensor:
        with enable_grad():
            w = _core.zeros(*weight_size, dtype=input.dtype, device=input.device).requires_grad_()
            return grad(convolve(input, w, None, stride, padding, dilation, groups), w, grad_output)[0]  # type: ignore[return-value]

    shape, weight, result = _example_shapes(axes)
    return _described(gradient, f"conv{axes}d_weight", "weight", f"pyburn.ones({shape}), ({weight}), pyburn.ones({result})")


def _described(function: Any, name: str, what: str, arguments: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The gradient of the {what} of {name.split('_')[0]}.\n\n>>> pyburn.nn.grad.{name}({arguments}).shape"
    return function


conv1d_input, conv2d_input, conv3d_input = (_of_input(axes) for axes in (1, 2, 3))
conv1d_weight, conv2d_weight, conv3d_weight = (_of_weight(axes) for axes in (1, 2, 3))
