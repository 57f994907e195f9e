"""Gradients of convolutions as functions, for layers with a custom backward pass.

>>> pyburn.nn.grad.conv2d_input((1, 1, 5, 5), pyburn.ones(2, 1, 3, 3), pyburn.ones(1, 2, 3, 3)).shape
pyburn.Size([1, 1, 5, 5])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._core import Tensor, _nn

Sizes = int | Sequence[int]


def _gradient(axes: int, of: str, doc: str) -> Callable[..., Tensor]:
    def numbers(value: Sizes) -> list[int]:
        return [value] if isinstance(value, int) else list(value)

    def gradient(
        x: Tensor, y: Tensor, size: Sequence[int], stride: Sizes = 1, padding: Sizes = 0, dilation: Sizes = 1, groups: int = 1
    ) -> Tensor:
        if len(size) != axes + 2:
            raise RuntimeError(f"conv{axes}d_{of} takes a size of {axes + 2} numbers: got {tuple(size)}")
        return _nn._conv_gradient(of == "input", x, y, list(size), numbers(stride), numbers(padding), numbers(dilation), groups)

    def of_input(input_size: Sequence[int], weight: Tensor, grad_output: Tensor, *options: Any, **named: Any) -> Tensor:
        return gradient(grad_output, weight, input_size, *options, **named)

    def of_weight(input: Tensor, weight_size: Sequence[int], grad_output: Tensor, *options: Any, **named: Any) -> Tensor:
        return gradient(input, grad_output, weight_size, *options, **named)

    function: Callable[..., Tensor] = of_input if of == "input" else of_weight
    function.__name__ = function.__qualname__ = f"conv{axes}d_{of}"
    function.__doc__ = doc
    return function


conv1d_input = _gradient(1, "input", "The gradient of conv1d for its input.")
conv1d_weight = _gradient(1, "weight", "The gradient of conv1d for its weight.")
conv2d_input = _gradient(2, "input", "The gradient of conv2d for its input.")
conv2d_weight = _gradient(2, "weight", "The gradient of conv2d for its weight.")
conv3d_input = _gradient(3, "input", "The gradient of conv3d for its input.")
conv3d_weight = _gradient(3, "weight", "The gradient of conv3d for its weight.")

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]
