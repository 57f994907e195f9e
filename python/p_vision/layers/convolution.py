"""Convolution layers in 1, 2 and 3 dimensions."""

from __future__ import annotations

from typing import Any

from pyburn import Tensor
from pyburn.nn import functional

from .. import activations
from ..layer import Layer
from .dense import positive
from .windows import (
    Extent,
    as_given,
    bordered,
    channels_first,
    channels_of,
    checked_format,
    checked_padding,
    extents,
    same_padding,
    split_borders,
)

_FUNCTIONS: dict[int, Any] = {1: functional.conv1d, 2: functional.conv2d, 3: functional.conv3d}


class ConvolutionLayer(Layer):
    """Base class of convolutions. `rank` is the number of spatial dimensions."""

    rank: int

    def _prepare(self, kernel_size: Extent, strides: Extent, padding: str, data_format: str | None, dilation_rate: Extent) -> None:
        """Checks the arguments and stores kernel size, strides and dilation as one number per dimension."""
        name = type(self).__name__
        self.kernel_size = extents(name, "kernel_size", kernel_size, self.rank)
        self.strides = extents(name, "strides", strides, self.rank)
        self.dilation_rate = extents(name, "dilation_rate", dilation_rate, self.rank)
        self.padding = checked_padding(name, padding, ("causal",) if self.rank == 1 else ())
        self.data_format = checked_format(name, data_format)

    def _prepare_output(self, activation: Any, use_bias: bool, bias_initializer: Any, bias_regularizer: Any) -> None:
        self.activation, self.use_bias = activation, use_bias
        self.bias_initializer, self.bias_regularizer = bias_initializer, bias_regularizer
        self._activate = activations.get(activation)

    def _channels(self, input_shape: Any) -> int:
        if len(input_shape) != self.rank + 2:
            raise ValueError(f"[{type(self).__name__}] expected inputs of {self.rank + 2} axes: got the shape {tuple(input_shape)}")
        return channels_of(input_shape, self.data_format)

    def _add_bias(self, count: int) -> None:
        self.bias = self.add_weight((count,), self.bias_initializer, regularizer=self.bias_regularizer) if self.use_bias else None

    def _convolve(self, x: Tensor, kernel: Tensor, bias: Tensor | None, groups: int) -> Tensor:
        """Convolves x (N, C, ...) with a kernel (..., inputs, outputs), using the padding of the layer."""
        borders = [(0, 0)] * self.rank
        if self.padding == "same":
            borders = same_padding(x.shape[2:], self.kernel_size, self.strides, self.dilation_rate)
        elif self.padding == "causal":
            borders = [((self.kernel_size[0] - 1) * self.dilation_rate[0], 0)]
        return convolution(self.rank, x, kernel, borders, bias, self.strides, self.dilation_rate, groups)


def convolution(
    rank: int, x: Tensor, kernel: Tensor, borders: Any, bias: Tensor | None = None, strides: Any = 1, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """Convolves x (N, C, ...) with a kernel (..., inputs, outputs).

    Args:
        rank: The number of spatial dimensions.
        x: The input.
        kernel: The kernel.
        borders: The zero padding: a pair (before, after) for each spatial dimension.
        bias: The bias.
        strides: The strides.
        dilation: The dilation.
        groups: The number of groups.
    """
    symmetric, rest = split_borders(borders)
    return _convolution(rank, bordered(x, rest), kernel, bias, strides, symmetric, dilation, groups)


def _convolution(
    rank: int, x: Tensor, kernel: Tensor, bias: Tensor | None, strides: Any, padding: Any, dilation: Any, groups: int
) -> Tensor:
    weight = kernel.permute(rank + 1, rank, *range(rank))  # (outputs, inputs, ...)
    return _FUNCTIONS[rank](x, weight, bias, strides, padding, dilation, groups)


class _Conv(ConvolutionLayer):
    def __init__(
        self,
        filters: int,
        kernel_size: Extent,
        strides: Extent = 1,
        padding: str = "valid",
        data_format: str | None = "channels_last",
        dilation_rate: Extent = 1,
        groups: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._prepare(kernel_size, strides, padding, data_format, dilation_rate)
        self._prepare_output(activation, use_bias, bias_initializer, bias_regularizer)
        self.filters, self.groups = positive(type(self).__name__, "filters", filters), positive(type(self).__name__, "groups", groups)
        self.kernel_initializer, self.kernel_regularizer = kernel_initializer, kernel_regularizer
        if filters % groups:
            raise ValueError(f"[{type(self).__name__}] filters must be a multiple of groups: got {filters} and {groups}")

    def build(self, input_shape: Any) -> None:
        channels = self._channels(input_shape)
        if channels is not None and channels % self.groups:
            raise ValueError(f"[{type(self).__name__}] the channels must be a multiple of groups: got {channels} and {self.groups}")
        shape = (*self.kernel_size, channels if channels is None else channels // self.groups, self.filters)
        self.kernel = self.add_weight(shape, self.kernel_initializer, regularizer=self.kernel_regularizer)
        self._add_bias(self.filters)

    def forward(self, inputs: Tensor) -> Tensor:
        result = self._convolve(channels_first(inputs, self.data_format), self.kernel, self.bias, self.groups)
        return self._activate(as_given(result, self.data_format))


class Conv1D(_Conv, rank=1):
    """1-d convolution over (N, steps, channels); padding can also be "causal"."""


class Conv2D(_Conv, rank=2):
    """2-d convolution over (N, height, width, channels)."""


class Conv3D(_Conv, rank=3):
    """3-d convolution over (N, depth, height, width, channels)."""


class _DepthwiseConv(ConvolutionLayer):
    def __init__(
        self,
        kernel_size: Extent,
        strides: Extent = 1,
        padding: str = "valid",
        depth_multiplier: int = 1,
        data_format: str | None = "channels_last",
        dilation_rate: Extent = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._prepare(kernel_size, strides, padding, data_format, dilation_rate)
        self._prepare_output(activation, use_bias, bias_initializer, bias_regularizer)
        self.depth_multiplier = positive(type(self).__name__, "depth_multiplier", depth_multiplier)
        self.depthwise_initializer, self.depthwise_regularizer = depthwise_initializer, depthwise_regularizer

    def build(self, input_shape: Any) -> None:
        channels = self._channels(input_shape)
        shape = (*self.kernel_size, channels, self.depth_multiplier)
        self.kernel = self.add_weight(shape, self.depthwise_initializer, regularizer=self.depthwise_regularizer)
        self._add_bias(channels * self.depth_multiplier)

    def forward(self, inputs: Tensor) -> Tensor:
        x = channels_first(inputs, self.data_format)
        result = self._convolve(x, by_channel(self.kernel), self.bias, x.shape[1])
        return self._activate(as_given(result, self.data_format))


class DepthwiseConv1D(_DepthwiseConv, rank=1):
    """Depthwise convolution over (N, steps, channels): each channel has its own kernels."""


class DepthwiseConv2D(_DepthwiseConv, rank=2):
    """Depthwise convolution over (N, height, width, channels): each channel has its own kernels."""


class _SeparableConv(ConvolutionLayer):
    def __init__(
        self,
        filters: int,
        kernel_size: Extent,
        strides: Extent = 1,
        padding: str = "valid",
        data_format: str | None = "channels_last",
        dilation_rate: Extent = 1,
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        pointwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._prepare(kernel_size, strides, padding, data_format, dilation_rate)
        self._prepare_output(activation, use_bias, bias_initializer, bias_regularizer)
        self.filters = positive(type(self).__name__, "filters", filters)
        self.depth_multiplier = positive(type(self).__name__, "depth_multiplier", depth_multiplier)
        self.depthwise_initializer, self.depthwise_regularizer = depthwise_initializer, depthwise_regularizer
        self.pointwise_initializer, self.pointwise_regularizer = pointwise_initializer, pointwise_regularizer

    def build(self, input_shape: Any) -> None:
        channels = self._channels(input_shape)
        shape = (*self.kernel_size, channels, self.depth_multiplier)
        self.depthwise_kernel = self.add_weight(shape, self.depthwise_initializer, regularizer=self.depthwise_regularizer)
        points = (*[1] * self.rank, channels * self.depth_multiplier, self.filters)
        self.pointwise_kernel = self.add_weight(points, self.pointwise_initializer, regularizer=self.pointwise_regularizer)
        self._add_bias(self.filters)

    def forward(self, inputs: Tensor) -> Tensor:
        x = channels_first(inputs, self.data_format)
        x = self._convolve(x, by_channel(self.depthwise_kernel), None, x.shape[1])
        one = [1] * self.rank
        result = _convolution(self.rank, x, self.pointwise_kernel, self.bias, one, [0] * self.rank, one, 1)
        return self._activate(as_given(result, self.data_format))


class SeparableConv1D(_SeparableConv, rank=1):
    """Depthwise separable convolution over (N, steps, channels): a depthwise, then a pointwise convolution."""


class SeparableConv2D(_SeparableConv, rank=2):
    """Depthwise separable convolution over (N, height, width, channels): a depthwise, then a pointwise convolution."""


def by_channel(kernel: Tensor) -> Tensor:
    """Reshapes a depthwise kernel (..., channels, multiplier) to that of a convolution with one group per channel."""
    return kernel.reshape(*kernel.shape[:-2], 1, kernel.shape[-2] * kernel.shape[-1])
