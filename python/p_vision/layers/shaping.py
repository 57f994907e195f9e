"""Layers that change shapes: flatten, reshape, permute, pad, crop, repeat, upsample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from pyburn import Tensor
from pyburn.nn import functional

from .arguments import Extent, one_of, pairs, positive
from .declared import DeclaredLayer
from .windows import as_given, bordered, channels_first


class Flatten(DeclaredLayer):
    """Flattens all dimensions except the batch dimension; with channels_first, the channels are moved last before.

    >>> p_vision.Flatten()(pyburn.rand(2, 3, 4)).shape
    pyburn.Size([2, 12])
    """

    data_format: str | None = "channels_last"

    def forward(self, inputs: Tensor) -> Tensor:
        x = inputs.movedim(1, -1) if self.data_format == "channels_first" and inputs.ndim > 2 else inputs
        return x.reshape(x.shape[0], math.prod(x.shape[1:]))


class Reshape(DeclaredLayer):
    """Reshapes each sample.

    Args:
        target_shape: The shape without the batch dimension; one dimension may be -1.

    >>> p_vision.Reshape((3, -1))(pyburn.rand(2, 12)).shape
    pyburn.Size([2, 3, 4])
    """

    target_shape: Sequence[int]

    def prepare(self) -> None:
        self.target_shape = tuple(self.target_shape)

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs.reshape(inputs.shape[0], *self.target_shape)


class Permute(DeclaredLayer):
    """Permutes the dimensions of each sample.

    Args:
        dims: The dimensions in their new order, counted from 1.

    Raises:
        ValueError: dims are not the numbers from 1 on.

    >>> p_vision.Permute((2, 1))(pyburn.rand(2, 3, 4)).shape
    pyburn.Size([2, 4, 3])
    """

    dims: Sequence[int]

    def prepare(self) -> None:
        self.dims = tuple(self.dims)
        if sorted(self.dims) != list(range(1, len(self.dims) + 1)):
            raise ValueError(f"[Permute] dims must be the numbers from 1 to {len(self.dims)} in some order: got {self.dims!r}")

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs.permute(0, *self.dims)


class RepeatVector(DeclaredLayer):
    """Repeats vectors: from (N, features) to (N, n, features).

    Args:
        n: The number of repetitions.

    >>> p_vision.RepeatVector(3)(pyburn.rand(2, 4)).shape
    pyburn.Size([2, 3, 4])
    """

    n: int

    def prepare(self) -> None:
        positive("RepeatVector", "n", self.n)

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs.unsqueeze(1).expand(-1, self.n, -1)


def _pairs(layer: Any, name: str, value: Any) -> tuple[tuple[int, int], ...]:
    return pairs(type(layer).__name__, name, value, layer.rank)


class _ZeroPadding(DeclaredLayer):
    """Base class of zero padding.

    Args:
        padding: The number of zeros at each end: one number, one for each spatial dimension, or a pair (before, after) for each.
    """

    rank: ClassVar[int]
    checks = {"padding": _pairs}
    padding: Any = 1
    data_format: str | None = "channels_last"

    def forward(self, inputs: Tensor) -> Tensor:
        return as_given(bordered(channels_first(inputs, self.data_format), self.padding), self.data_format)


class ZeroPadding1D(_ZeroPadding, rank=1):
    """Zero-pads the steps of (N, steps, channels).

    >>> p_vision.ZeroPadding1D((1, 2))(pyburn.ones(1, 2, 1)).flatten().tolist()
    [0.0, 1.0, 1.0, 0.0, 0.0]
    """


class ZeroPadding2D(_ZeroPadding, rank=2):
    """Zero-pads the height and width of (N, height, width, channels).

    >>> p_vision.ZeroPadding2D((1, 2))(pyburn.rand(1, 4, 4, 3)).shape
    pyburn.Size([1, 6, 8, 3])
    """


class ZeroPadding3D(_ZeroPadding, rank=3):
    """Zero-pads the spatial dimensions of (N, depth, height, width, channels).

    >>> p_vision.ZeroPadding3D(1)(pyburn.rand(1, 2, 3, 4, 5)).shape
    pyburn.Size([1, 4, 5, 6, 5])
    """


class _Cropping(DeclaredLayer):
    """Base class of cropping.

    Args:
        cropping: The number of elements to remove at each end: one number, one for each spatial dimension, or a pair for each.
    """

    rank: ClassVar[int]
    checks = {"cropping": _pairs}
    cropping: Any = 1
    data_format: str | None = "channels_last"

    def forward(self, inputs: Tensor) -> Tensor:
        x = channels_first(inputs, self.data_format)
        for axis, (start, end) in enumerate(self.cropping, 2):
            x = x.narrow(axis, start, x.shape[axis] - start - end)
        return as_given(x, self.data_format)


class Cropping1D(_Cropping, rank=1):
    """Crops steps at the start and the end of (N, steps, channels).

    >>> p_vision.Cropping1D((1, 2))(pyburn.arange(6.0).reshape(1, 6, 1)).flatten().tolist()
    [1.0, 2.0, 3.0]
    """


class Cropping2D(_Cropping, rank=2):
    """Crops the border of (N, height, width, channels); by default nothing, as in Keras.

    >>> p_vision.Cropping2D(((1, 0), (2, 2)))(pyburn.rand(1, 6, 8, 3)).shape
    pyburn.Size([1, 5, 4, 3])
    """

    cropping: Any = ((0, 0), (0, 0))


class Cropping3D(_Cropping, rank=3):
    """Crops the border of (N, depth, height, width, channels).

    >>> p_vision.Cropping3D(1)(pyburn.rand(1, 4, 5, 6, 2)).shape
    pyburn.Size([1, 2, 3, 4, 2])
    """


class _Repeating(DeclaredLayer):
    """Base class: upsampling by repetition."""

    rank: ClassVar[int]
    size: Extent = 2
    data_format: str | None = "channels_last"

    def forward(self, inputs: Tensor) -> Tensor:
        x = inputs
        for axis, times in enumerate(self.size, 2 if self.data_format == "channels_first" else 1):  # type: ignore[arg-type]
            x = x.repeat_interleave(times, axis) if times > 1 else x
        return x


class UpSampling1D(_Repeating, rank=1):
    """Repeats each step of (N, steps, channels).

    >>> p_vision.UpSampling1D(2)(pyburn.tensor([[[1.0], [2.0]]])).flatten().tolist()
    [1.0, 1.0, 2.0, 2.0]
    """


class UpSampling3D(_Repeating, rank=3):
    """Repeats each element along the spatial dimensions of (N, depth, height, width, channels).

    >>> p_vision.UpSampling3D(2)(pyburn.rand(1, 2, 3, 4, 1)).shape
    pyburn.Size([1, 4, 6, 8, 1])
    """


class UpSampling2D(_Repeating, rank=2):
    """Upsamples (N, height, width, channels).

    Args:
        interpolation: "nearest" (repetition), "bilinear" or "bicubic".

    Raises:
        ValueError: The interpolation is unknown.

    >>> p_vision.UpSampling2D(2, interpolation="bilinear")(pyburn.rand(1, 3, 4, 2)).shape
    pyburn.Size([1, 6, 8, 2])
    """

    interpolation: str = "nearest"

    def prepare(self) -> None:
        one_of("UpSampling2D", "interpolation", self.interpolation, ("nearest", "bilinear", "bicubic"))

    def forward(self, inputs: Tensor) -> Tensor:
        if self.interpolation == "nearest":
            return super().forward(inputs)
        x = channels_first(inputs, self.data_format)
        size = [extent * times for extent, times in zip(x.shape[2:], self.size)]  # type: ignore[arg-type]
        return as_given(functional.interpolate(x, size=size, mode=self.interpolation), self.data_format)
