"""Shared by convolutions and pooling: data format, and padding as in Keras."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyburn import Tensor
from pyburn.nn import functional


def channels_first(x: Tensor, data_format: str | None) -> Tensor:
    """Returns a view of x with the channels in dimension 1."""
    return x if data_format == "channels_first" else x.movedim(-1, 1)


def as_given(x: Tensor, data_format: str | None) -> Tensor:
    """Inverse of `channels_first`."""
    return x if data_format == "channels_first" else x.movedim(1, -1)


def channels_of(input_shape: Any, data_format: str | None) -> Any:
    return input_shape[1 if data_format == "channels_first" else -1]


def same_padding(sizes: Sequence[int], window: Sequence[int], strides: Sequence[int], dilation: Sequence[int]) -> list[tuple[int, int]]:
    """Returns the "same" padding, with which the output size is ceil(size / stride); an odd element goes to the end."""
    borders = []
    for size, width, stride, step in zip(sizes, window, strides, dilation):
        total = max((-(-size // stride) - 1) * stride + (width - 1) * step + 1 - size, 0)
        borders.append((total // 2, total - total // 2))
    return borders


def bordered(x: Tensor, borders: Sequence[tuple[int, int]], value: float = 0.0) -> Tensor:
    """Pads the spatial dimensions of x (N, C, ...)."""
    if not any(a or b for a, b in borders):
        return x
    return functional.pad(x, [n for pair in reversed(borders) for n in pair], value=value)


def split_borders(borders: Sequence[tuple[int, int]]) -> tuple[list[int], list[tuple[int, int]]]:
    """Splits padding into a symmetric part, which a convolution can apply itself, and the rest."""
    symmetric = [min(pair) for pair in borders]
    return symmetric, [(a - s, b - s) for (a, b), s in zip(borders, symmetric)]
