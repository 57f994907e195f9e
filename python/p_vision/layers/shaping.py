"""Layers that change shapes: flatten, reshape, permute, pad, crop, repeat, upsample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pyburn import Tensor
from pyburn.nn import functional

from ..layer import Layer
from .dense import positive
from .windows import Extent, as_given, bordered, channels_first, checked_format, extents


class Flatten(Layer):
    """Flattens all dimensions except the batch dimension; with channels_first, the channels are moved last before."""

    def __init__(self, data_format: str | None = "channels_last", **options: Any) -> None:
        super().__init__(**options)
        self.data_format = checked_format("Flatten", data_format)

    def forward(self, inputs: Tensor) -> Tensor:
        x = inputs.movedim(1, -1) if self.data_format == "channels_first" and inputs.ndim > 2 else inputs
        return x.reshape(x.shape[0], math.prod(x.shape[1:]))


class Reshape(Layer):
    """Reshapes each sample; one dimension may be -1."""

    def __init__(self, target_shape: Sequence[int], **options: Any) -> None:
        super().__init__(**options)
        self.target_shape = tuple(target_shape)

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs.reshape(inputs.shape[0], *self.target_shape)


class Permute(Layer):
    """Permutes the dimensions of each sample; dimensions count from 1."""

    def __init__(self, dims: Sequence[int], **options: Any) -> None:
        super().__init__(**options)
        self.dims = tuple(dims)
        if sorted(self.dims) != list(range(1, len(self.dims) + 1)):
            raise ValueError(f"[Permute] dims must be the numbers from 1 to {len(self.dims)} in some order: got {dims!r}")

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs.permute(0, *self.dims)


class RepeatVector(Layer):
    """Repeats (N, features) n times, to (N, n, features)."""

    def __init__(self, n: int, **options: Any) -> None:
        super().__init__(**options)
        self.n = positive("RepeatVector", "n", n)

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs.unsqueeze(1).expand(-1, self.n, -1)


def _pairs(layer: str, name: str, value: Any, rank: int) -> tuple[tuple[int, int], ...]:
    """Returns a pair (before, after) per dimension, from one number, one number per dimension, or one pair per dimension.

    Raises:
        ValueError: The value has none of these forms.
    """
    if isinstance(value, int):
        value = [value] * rank
    if rank == 1 and isinstance(value, Sequence) and len(value) == 2 and all(isinstance(v, int) for v in value):
        value = [value]
    pairs = [(item, item) if isinstance(item, int) else tuple(item) for item in value]
    if len(pairs) != rank or not all(len(pair) == 2 and all(isinstance(n, int) and 0 <= n < 2**31 for n in pair) for pair in pairs):
        raise ValueError(f"[{layer}] {name} must be an integer, or {rank} integers or pairs of integers: got {value!r}")
    return tuple(pairs)  # type: ignore[arg-type]


class _ZeroPadding(Layer):
    rank: int

    def __init__(self, padding: Any = 1, data_format: str | None = "channels_last", **options: Any) -> None:
        super().__init__(**options)
        name = type(self).__name__
        self.padding, self.data_format = _pairs(name, "padding", padding, self.rank), checked_format(name, data_format)

    def forward(self, inputs: Tensor) -> Tensor:
        return as_given(bordered(channels_first(inputs, self.data_format), self.padding), self.data_format)


class ZeroPadding1D(_ZeroPadding, rank=1):
    """Zero-pads the steps of (N, steps, channels)."""


class ZeroPadding2D(_ZeroPadding, rank=2):
    """Zero-pads the height and width of (N, height, width, channels)."""


class ZeroPadding3D(_ZeroPadding, rank=3):
    """Zero-pads the spatial dimensions of (N, depth, height, width, channels)."""


class _Cropping(Layer):
    rank: int

    def __init__(self, cropping: Any = 1, data_format: str | None = "channels_last", **options: Any) -> None:
        super().__init__(**options)
        name = type(self).__name__
        self.cropping, self.data_format = _pairs(name, "cropping", cropping, self.rank), checked_format(name, data_format)

    def forward(self, inputs: Tensor) -> Tensor:
        x = channels_first(inputs, self.data_format)
        for axis, (start, end) in enumerate(self.cropping, 2):
            x = x.narrow(axis, start, x.shape[axis] - start - end)
        return as_given(x, self.data_format)


class Cropping1D(_Cropping, rank=1):
    """Crops steps at the start and the end of (N, steps, channels)."""


class Cropping2D(_Cropping, rank=2):
    """Crops the border of (N, height, width, channels)."""


class Cropping3D(_Cropping, rank=3):
    """Crops the border of (N, depth, height, width, channels)."""


class _Repeating(Layer):
    """Base class: upsampling by repetition."""

    rank: int

    def __init__(self, size: Extent = 2, data_format: str | None = "channels_last", **options: Any) -> None:
        super().__init__(**options)
        name = type(self).__name__
        self.size, self.data_format = extents(name, "size", size, self.rank), checked_format(name, data_format)

    def forward(self, inputs: Tensor) -> Tensor:
        x = inputs
        for axis, times in enumerate(self.size, 2 if self.data_format == "channels_first" else 1):
            x = x.repeat_interleave(times, axis) if times > 1 else x
        return x


class UpSampling1D(_Repeating, rank=1):
    """Repeats each step of (N, steps, channels)."""

    def __init__(self, size: Extent = 2, **options: Any) -> None:
        super().__init__(size, **options)


class UpSampling3D(_Repeating, rank=3):
    """Repeats each element along the spatial dimensions of (N, depth, height, width, channels)."""


class UpSampling2D(_Repeating):
    """Upsamples (N, height, width, channels); `interpolation` is "nearest", "bilinear" or "bicubic"."""

    rank = 2

    def __init__(self, size: Extent = 2, data_format: str | None = "channels_last", interpolation: str = "nearest", **options: Any) -> None:
        super().__init__(size, data_format, **options)
        if interpolation not in ("nearest", "bilinear", "bicubic"):
            raise ValueError(f"[UpSampling2D] interpolation must be 'nearest', 'bilinear' or 'bicubic': got {interpolation!r}")
        self.interpolation = interpolation

    def forward(self, inputs: Tensor) -> Tensor:
        if self.interpolation == "nearest":
            return super().forward(inputs)
        x = channels_first(inputs, self.data_format)
        size = [extent * times for extent, times in zip(x.shape[2:], self.size)]
        return as_given(functional.interpolate(x, size=size, mode=self.interpolation), self.data_format)
