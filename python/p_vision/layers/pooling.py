"""Pooling layers: windowed, global and adaptive."""

from __future__ import annotations

import math
from typing import Any

import pyburn
from pyburn import Tensor
from pyburn.nn import functional

from ..layer import Layer
from .windows import Extent, as_given, bordered, channels_first, checked_format, checked_padding, extents, same_padding

_MAXIMA: dict[int, Any] = {1: functional.max_pool1d, 2: functional.max_pool2d, 3: functional.max_pool3d}
_MEANS: dict[int, Any] = {1: functional.avg_pool1d, 2: functional.avg_pool2d, 3: functional.avg_pool3d}


class _Pooling(Layer):
    rank: int

    def __init__(
        self,
        pool_size: Extent = 2,
        strides: Extent | None = None,
        padding: str = "valid",
        data_format: str | None = "channels_last",
        **options: Any,
    ) -> None:
        super().__init__(**options)
        name = type(self).__name__
        self.pool_size = extents(name, "pool_size", pool_size, self.rank)
        self.strides = self.pool_size if strides is None else extents(name, "strides", strides, self.rank)
        self.padding, self.data_format = checked_padding(name, padding), checked_format(name, data_format)

    def forward(self, inputs: Tensor) -> Tensor:
        x = channels_first(inputs, self.data_format)
        borders = [(0, 0)] * self.rank
        if self.padding == "same":
            borders = same_padding(x.shape[2:], self.pool_size, self.strides, [1] * self.rank)
        return as_given(self.pool(x, borders), self.data_format)

    def pool(self, x: Tensor, borders: list[tuple[int, int]]) -> Tensor:
        raise NotImplementedError


class _MaxPooling(_Pooling):
    def pool(self, x: Tensor, borders: list[tuple[int, int]]) -> Tensor:
        return _MAXIMA[self.rank](bordered(x, borders, -math.inf), self.pool_size, self.strides)


class _AveragePooling(_Pooling):
    def pool(self, x: Tensor, borders: list[tuple[int, int]]) -> Tensor:
        means = _MEANS[self.rank](bordered(x, borders), self.pool_size, self.strides)
        if not any(n for pair in borders for n in pair):
            return means
        inside = bordered(pyburn.ones(1, 1, *x.shape[2:], dtype=x.dtype, device=x.device), borders)
        return means / _MEANS[self.rank](inside, self.pool_size, self.strides)  # the padding does not count


class MaxPooling1D(_MaxPooling, rank=1):
    """Max pooling over (N, steps, channels)."""


class MaxPooling2D(_MaxPooling, rank=2):
    """Max pooling over (N, height, width, channels)."""


class MaxPooling3D(_MaxPooling, rank=3):
    """Max pooling over (N, depth, height, width, channels)."""


class AveragePooling1D(_AveragePooling, rank=1):
    """Average pooling over (N, steps, channels)."""


class AveragePooling2D(_AveragePooling, rank=2):
    """Average pooling over (N, height, width, channels)."""


class AveragePooling3D(_AveragePooling, rank=3):
    """Average pooling over (N, depth, height, width, channels)."""


class _GlobalPooling(Layer):
    def __init__(self, data_format: str | None = "channels_last", keepdims: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self.data_format, self.keepdims = checked_format(type(self).__name__, data_format), keepdims

    def _axes(self, inputs: Tensor) -> list[int]:
        return list(range(2, inputs.ndim) if self.data_format == "channels_first" else range(1, inputs.ndim - 1))


class _GlobalMaxPooling(_GlobalPooling):
    def forward(self, inputs: Tensor) -> Tensor:
        return inputs.amax(self._axes(inputs), self.keepdims)


class _GlobalAveragePooling(_GlobalPooling):
    def forward(self, inputs: Tensor) -> Tensor:
        return inputs.mean(self._axes(inputs), self.keepdims)


class GlobalMaxPooling1D(_GlobalMaxPooling):
    """Global max pooling over (N, steps, channels)."""


class GlobalMaxPooling2D(_GlobalMaxPooling):
    """Global max pooling over (N, height, width, channels)."""


class GlobalMaxPooling3D(_GlobalMaxPooling):
    """Global max pooling over (N, depth, height, width, channels)."""


class GlobalAveragePooling1D(_GlobalAveragePooling):
    """Global average pooling over (N, steps, channels), over the unmasked steps."""

    def forward(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        if mask is None:
            return super().forward(inputs)
        counts = mask.unsqueeze(1 if self.data_format == "channels_first" else -1).to(inputs.dtype)
        axes = self._axes(inputs)
        return (inputs * counts).sum(axes, self.keepdims) / counts.sum(axes, self.keepdims)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return None


class GlobalAveragePooling2D(_GlobalAveragePooling):
    """Global average pooling over (N, height, width, channels)."""


class GlobalAveragePooling3D(_GlobalAveragePooling):
    """Global average pooling over (N, depth, height, width, channels)."""


_ADAPTIVE_MAXIMA: dict[int, Any] = {
    1: functional.adaptive_max_pool1d,
    2: functional.adaptive_max_pool2d,
    3: functional.adaptive_max_pool3d,
}
_ADAPTIVE_MEANS: dict[int, Any] = {
    1: functional.adaptive_avg_pool1d,
    2: functional.adaptive_avg_pool2d,
    3: functional.adaptive_avg_pool3d,
}


class _AdaptivePooling(Layer):
    """Adaptive pooling: the windows are chosen to give the requested output size."""

    rank: int
    functions: dict[int, Any]

    def __init__(self, output_size: Extent, data_format: str | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.output_size = extents(type(self).__name__, "output_size", output_size, self.rank)
        self.data_format = checked_format(type(self).__name__, data_format)

    def forward(self, inputs: Tensor) -> Tensor:
        pooled = self.functions[self.rank](channels_first(inputs, self.data_format), self.output_size)
        return as_given(pooled, self.data_format)


class AdaptiveMaxPooling1D(_AdaptivePooling, rank=1, functions=_ADAPTIVE_MAXIMA): ...


class AdaptiveMaxPooling2D(_AdaptivePooling, rank=2, functions=_ADAPTIVE_MAXIMA): ...


class AdaptiveMaxPooling3D(_AdaptivePooling, rank=3, functions=_ADAPTIVE_MAXIMA): ...


class AdaptiveAveragePooling1D(_AdaptivePooling, rank=1, functions=_ADAPTIVE_MEANS): ...


class AdaptiveAveragePooling2D(_AdaptivePooling, rank=2, functions=_ADAPTIVE_MEANS): ...


class AdaptiveAveragePooling3D(_AdaptivePooling, rank=3, functions=_ADAPTIVE_MEANS): ...
