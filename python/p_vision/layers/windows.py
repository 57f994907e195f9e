"""Shared by convolutions and pooling: sizes per dimension, data format, and padding as in Keras."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyburn import Tensor
from pyburn.nn import functional

Extent = int | Sequence[int]


def extents(layer: str, name: str, value: Any, rank: int, least: int = 1) -> tuple[int, ...]:
    """Returns a tuple with one number per dimension, from one number or a sequence.

    Raises:
        ValueError: The numbers are not integers of at least `least`, or there are not `rank` of them.
    """
    values = (value,) * rank if isinstance(value, int) else tuple(value) if isinstance(value, Sequence) else ()
    if len(values) != rank or not all(isinstance(v, int) and not isinstance(v, bool) and least <= v < 2**31 for v in values):
        raise ValueError(f"[{layer}] {name} must be an integer of at least {least}, or {rank} of them: got {value!r}")
    return values


def checked_format(layer: str, data_format: str | None) -> str:
    """Returns the data format; None is channels_last.

    Raises:
        ValueError: The format is unknown.
    """
    if data_format not in (None, "channels_last", "channels_first"):
        raise ValueError(f"[{layer}] data_format must be 'channels_last' or 'channels_first': got {data_format!r}")
    return data_format or "channels_last"


def checked_padding(layer: str, padding: str, more: tuple[str, ...] = ()) -> str:
    choices = ("valid", "same", *more)
    if not isinstance(padding, str) or padding.lower() not in choices:
        raise ValueError(f"[{layer}] padding must be {' or '.join(map(repr, choices))}: got {padding!r}")
    return padding.lower()


def channels_first(x: Tensor, data_format: str) -> Tensor:
    """Returns a view of x with the channels in dimension 1."""
    return x if data_format == "channels_first" else x.movedim(-1, 1)


def as_given(x: Tensor, data_format: str) -> Tensor:
    """Inverse of `channels_first`."""
    return x if data_format == "channels_first" else x.movedim(1, -1)


def channels_of(input_shape: Any, data_format: str) -> Any:
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
