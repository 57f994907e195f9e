"""Pooling layers: windowed, global and adaptive."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import pyburn
from pyburn import Tensor
from pyburn.nn import functional

from .arguments import Extent
from .declared import DeclaredLayer
from .windows import as_given, bordered, channels_first, same_padding


def _by_rank(name: str) -> dict[int, Any]:
    """Returns the functions of pyburn for 1, 2 and 3 spatial dimensions."""
    return {rank: getattr(functional, f"{name}_pool{rank}d") for rank in (1, 2, 3)}


class _Pooling(DeclaredLayer):
    """Base class of pooling with windows.

    Args:
        strides: The step of the window: one number, or one for each spatial dimension; None for pool_size.
    """

    rank: ClassVar[int]
    pool_size: Extent = 2
    strides: Extent = None
    padding: str = "valid"
    data_format: str | None = "channels_last"

    def prepare(self) -> None:
        self.strides = self.pool_size if self.strides is None else self.strides

    def forward(self, inputs: Tensor) -> Tensor:
        x = channels_first(inputs, self.data_format)
        borders = [(0, 0)] * self.rank
        if self.padding == "same":
            borders = same_padding(x.shape[2:], self.pool_size, self.strides, [1] * self.rank)
        return as_given(self.pool(x, borders), self.data_format)

    def pool(self, x: Tensor, borders: list[tuple[int, int]]) -> Tensor:
        raise NotImplementedError


class _MaxPooling(_Pooling):
    functions = _by_rank("max")

    def pool(self, x: Tensor, borders: list[tuple[int, int]]) -> Tensor:
        return self.functions[self.rank](bordered(x, borders, -math.inf), self.pool_size, self.strides)


class _AveragePooling(_Pooling):
    functions = _by_rank("avg")

    def pool(self, x: Tensor, borders: list[tuple[int, int]]) -> Tensor:
        means = self.functions[self.rank](bordered(x, borders), self.pool_size, self.strides)
        if not any(n for pair in borders for n in pair):
            return means
        inside = bordered(pyburn.ones(1, 1, *x.shape[2:], dtype=x.dtype, device=x.device), borders)
        return means / self.functions[self.rank](inside, self.pool_size, self.strides)  # the padding does not count


class MaxPooling1D(_MaxPooling, rank=1):
    """Max pooling over (N, steps, channels).

    >>> p_vision.MaxPooling1D(2)(pyburn.tensor([[[1.0], [3.0], [2.0], [0.0]]])).flatten().tolist()
    [3.0, 2.0]
    """


class MaxPooling2D(_MaxPooling, rank=2):
    """Max pooling over (N, height, width, channels).

    >>> p_vision.MaxPooling2D(3, strides=2, padding="same")(pyburn.rand(1, 9, 9, 4)).shape
    pyburn.Size([1, 5, 5, 4])
    """


class MaxPooling3D(_MaxPooling, rank=3):
    """Max pooling over (N, depth, height, width, channels).

    >>> p_vision.MaxPooling3D(2)(pyburn.rand(1, 4, 6, 8, 2)).shape
    pyburn.Size([1, 2, 3, 4, 2])
    """


class AveragePooling1D(_AveragePooling, rank=1):
    """Average pooling over (N, steps, channels).

    >>> p_vision.AveragePooling1D(2)(pyburn.tensor([[[1.0], [3.0], [2.0], [0.0]]])).flatten().tolist()
    [2.0, 1.0]
    """


class AveragePooling2D(_AveragePooling, rank=2):
    """Average pooling over (N, height, width, channels).

    >>> p_vision.AveragePooling2D(2)(pyburn.rand(1, 6, 8, 4)).shape
    pyburn.Size([1, 3, 4, 4])
    """


class AveragePooling3D(_AveragePooling, rank=3):
    """Average pooling over (N, depth, height, width, channels).

    >>> p_vision.AveragePooling3D(2)(pyburn.rand(1, 4, 6, 8, 2)).shape
    pyburn.Size([1, 2, 3, 4, 2])
    """


class _GlobalPooling(DeclaredLayer):
    """Base class of pooling over all spatial dimensions.

    Args:
        keepdims: Whether to keep the spatial dimensions with size 1.
    """

    data_format: str | None = "channels_last"
    keepdims: bool = False

    def _axes(self, inputs: Tensor) -> list[int]:
        return list(range(2, inputs.ndim) if self.data_format == "channels_first" else range(1, inputs.ndim - 1))


class _GlobalMaxPooling(_GlobalPooling):
    def forward(self, inputs: Tensor) -> Tensor:
        return inputs.amax(self._axes(inputs), self.keepdims)


class _GlobalAveragePooling(_GlobalPooling):
    def forward(self, inputs: Tensor) -> Tensor:
        return inputs.mean(self._axes(inputs), self.keepdims)


class GlobalMaxPooling1D(_GlobalMaxPooling):
    """Global max pooling: from (N, steps, channels) to (N, channels).

    >>> p_vision.GlobalMaxPooling1D()(pyburn.rand(2, 5, 3)).shape
    pyburn.Size([2, 3])
    """


class GlobalMaxPooling2D(_GlobalMaxPooling):
    """Global max pooling: from (N, height, width, channels) to (N, channels).

    >>> p_vision.GlobalMaxPooling2D(keepdims=True)(pyburn.rand(2, 5, 6, 3)).shape
    pyburn.Size([2, 1, 1, 3])
    """


class GlobalMaxPooling3D(_GlobalMaxPooling):
    """Global max pooling: from (N, depth, height, width, channels) to (N, channels).

    >>> p_vision.GlobalMaxPooling3D()(pyburn.rand(2, 4, 5, 6, 3)).shape
    pyburn.Size([2, 3])
    """


class GlobalAveragePooling1D(_GlobalAveragePooling):
    """Global average pooling over the unmasked steps: from (N, steps, channels) to (N, channels).

    >>> p_vision.GlobalAveragePooling1D()(pyburn.tensor([[[1.0], [3.0]]]))
    tensor([[2.]])
    """

    def forward(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        if mask is None:
            return super().forward(inputs)
        counts = mask.unsqueeze(1 if self.data_format == "channels_first" else -1).to(inputs.dtype)
        axes = self._axes(inputs)
        return (inputs * counts).sum(axes, self.keepdims) / counts.sum(axes, self.keepdims)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return None


class GlobalAveragePooling2D(_GlobalAveragePooling):
    """Global average pooling: from (N, height, width, channels) to (N, channels).

    >>> p_vision.GlobalAveragePooling2D()(pyburn.rand(2, 5, 6, 3)).shape
    pyburn.Size([2, 3])
    """


class GlobalAveragePooling3D(_GlobalAveragePooling):
    """Global average pooling: from (N, depth, height, width, channels) to (N, channels).

    >>> p_vision.GlobalAveragePooling3D()(pyburn.rand(2, 4, 5, 6, 3)).shape
    pyburn.Size([2, 3])
    """


class _AdaptivePooling(DeclaredLayer):
    """Adaptive pooling: the windows are chosen to give the requested output size."""

    rank: ClassVar[int]
    functions: ClassVar[dict[int, Any]]
    output_size: Extent
    data_format: str | None = "channels_last"

    def forward(self, inputs: Tensor) -> Tensor:
        pooled = self.functions[self.rank](channels_first(inputs, self.data_format), self.output_size)
        return as_given(pooled, self.data_format)


class _AdaptiveMaxPooling(_AdaptivePooling, functions=_by_rank("adaptive_max")): ...


class _AdaptiveAveragePooling(_AdaptivePooling, functions=_by_rank("adaptive_avg")): ...


class AdaptiveMaxPooling1D(_AdaptiveMaxPooling, rank=1):
    """Max pooling of (N, steps, channels) with windows that give `output_size` steps.

    >>> p_vision.AdaptiveMaxPooling1D(4)(pyburn.rand(2, 10, 3)).shape
    pyburn.Size([2, 4, 3])
    """


class AdaptiveMaxPooling2D(_AdaptiveMaxPooling, rank=2):
    """Max pooling of (N, height, width, channels) with windows that give `output_size`.

    >>> p_vision.AdaptiveMaxPooling2D(4)(pyburn.rand(2, 10, 9, 3)).shape
    pyburn.Size([2, 4, 4, 3])
    """


class AdaptiveMaxPooling3D(_AdaptiveMaxPooling, rank=3):
    """Max pooling of (N, depth, height, width, channels) with windows that give `output_size`.

    >>> p_vision.AdaptiveMaxPooling3D(2)(pyburn.rand(1, 5, 6, 7, 3)).shape
    pyburn.Size([1, 2, 2, 2, 3])
    """


class AdaptiveAveragePooling1D(_AdaptiveAveragePooling, rank=1):
    """Average pooling of (N, steps, channels) with windows that give `output_size` steps.

    >>> p_vision.AdaptiveAveragePooling1D(4)(pyburn.rand(2, 10, 3)).shape
    pyburn.Size([2, 4, 3])
    """


class AdaptiveAveragePooling2D(_AdaptiveAveragePooling, rank=2):
    """Average pooling of (N, height, width, channels) with windows that give `output_size`.

    >>> p_vision.AdaptiveAveragePooling2D((4, 2))(pyburn.rand(2, 10, 9, 3)).shape
    pyburn.Size([2, 4, 2, 3])
    """


class AdaptiveAveragePooling3D(_AdaptiveAveragePooling, rank=3):
    """Average pooling of (N, depth, height, width, channels) with windows that give `output_size`.

    >>> p_vision.AdaptiveAveragePooling3D(2)(pyburn.rand(1, 5, 6, 7, 3)).shape
    pyburn.Size([1, 2, 2, 2, 3])
    """
