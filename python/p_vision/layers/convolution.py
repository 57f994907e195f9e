"""Convolution layers in 1, 2 and 3 dimensions."""

from __future__ import annotations

from typing import Any, ClassVar

from pyburn import Tensor
from pyburn.nn import functional

from .arguments import Extent
from .declared import DeclaredLayer
from .windows import as_given, bordered, channels_first, channels_of, same_padding, split_borders

_FUNCTIONS: dict[int, Any] = {1: functional.conv1d, 2: functional.conv2d, 3: functional.conv3d}


class ConvolutionLayer(DeclaredLayer):
    """Base class of convolutions. `rank` is the number of spatial dimensions."""

    rank: ClassVar[int]
    causal: ClassVar[bool] = False  # whether padding can be "causal"

    def _channels(self, input_shape: Any) -> Any:
        if len(input_shape) != self.rank + 2:
            raise ValueError(f"[{type(self).__name__}] expected inputs of {self.rank + 2} axes: got the shape {tuple(input_shape)}")
        return channels_of(input_shape, self.data_format)

    def _add_bias(self, count: int) -> None:
        self.bias = self.weight_of("bias", (count,)) if self.use_bias else None

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
    weight = kernel.permute(rank + 1, rank, *range(rank))  # (outputs, inputs, ...)
    return _FUNCTIONS[rank](bordered(x, rest), weight, bias, strides, symmetric, dilation, groups)


class _Conv(ConvolutionLayer):
    filters: int
    kernel_size: Extent
    strides: Extent = 1
    padding: str = "valid"
    data_format: str | None = "channels_last"
    dilation_rate: Extent = 1
    groups: int = 1
    activation: Any = None
    use_bias: bool = True
    kernel_initializer: Any = "glorot_uniform"
    bias_initializer: Any = "zeros"
    kernel_regularizer: Any = None
    bias_regularizer: Any = None

    def prepare(self) -> None:
        self._divide("filters", self.filters)

    def _divide(self, what: str, count: int) -> int:
        if count % self.groups:
            raise ValueError(f"[{type(self).__name__}] {what} must be a multiple of groups: got {count} and {self.groups}")
        return count // self.groups

    def build(self, input_shape: Any) -> None:
        channels = self._channels(input_shape)
        inputs = channels if channels is None else self._divide("the channels", channels)
        self.kernel = self.weight_of("kernel", (*self.kernel_size, inputs, self.filters))
        self._add_bias(self.filters)

    def forward(self, inputs: Tensor) -> Tensor:
        result = self._convolve(channels_first(inputs, self.data_format), self.kernel, self.bias, self.groups)
        return self._activate(as_given(result, self.data_format))


class Conv1D(_Conv, rank=1, causal=True):
    """1-d convolution over (N, steps, channels).

    Args:
        padding: "valid", "same", or "causal" (zero padding before the first step, so that no output depends on later inputs).

    >>> p_vision.Conv1D(8, 3, padding="causal")(pyburn.rand(2, 10, 4)).shape
    pyburn.Size([2, 10, 8])
    """


class Conv2D(_Conv, rank=2):
    """2-d convolution over (N, height, width, channels).

    >>> layer = p_vision.Conv2D(8, 3, strides=2, activation="relu")
    >>> layer(pyburn.rand(2, 9, 9, 3)).shape, layer.kernel.shape
    (pyburn.Size([2, 4, 4, 8]), pyburn.Size([3, 3, 3, 8]))
    """


class Conv3D(_Conv, rank=3):
    """3-d convolution over (N, depth, height, width, channels).

    >>> p_vision.Conv3D(4, 3, padding="same")(pyburn.rand(1, 5, 6, 7, 2)).shape
    pyburn.Size([1, 5, 6, 7, 4])
    """


class _DepthwiseConv(ConvolutionLayer):
    kernel_size: Extent
    strides: Extent = 1
    padding: str = "valid"
    depth_multiplier: int = 1
    data_format: str | None = "channels_last"
    dilation_rate: Extent = 1
    activation: Any = None
    use_bias: bool = True
    depthwise_initializer: Any = "glorot_uniform"
    bias_initializer: Any = "zeros"
    depthwise_regularizer: Any = None
    bias_regularizer: Any = None

    def build(self, input_shape: Any) -> None:
        channels = self._channels(input_shape)
        self.kernel = self.weight_of("depthwise", (*self.kernel_size, channels, self.depth_multiplier))
        self._add_bias(channels * self.depth_multiplier)

    def forward(self, inputs: Tensor) -> Tensor:
        x = channels_first(inputs, self.data_format)
        result = self._convolve(x, by_channel(self.kernel), self.bias, x.shape[1])
        return self._activate(as_given(result, self.data_format))


class DepthwiseConv1D(_DepthwiseConv, rank=1, causal=True):
    """Depthwise convolution over (N, steps, channels): each channel has its own kernels.

    >>> p_vision.DepthwiseConv1D(3, depth_multiplier=2)(pyburn.rand(2, 10, 4)).shape
    pyburn.Size([2, 8, 8])
    """


class DepthwiseConv2D(_DepthwiseConv, rank=2):
    """Depthwise convolution over (N, height, width, channels): each channel has its own kernels.

    >>> p_vision.DepthwiseConv2D(3, padding="same")(pyburn.rand(2, 8, 8, 4)).shape
    pyburn.Size([2, 8, 8, 4])
    """


class _SeparableConv(ConvolutionLayer):
    filters: int
    kernel_size: Extent
    strides: Extent = 1
    padding: str = "valid"
    data_format: str | None = "channels_last"
    dilation_rate: Extent = 1
    depth_multiplier: int = 1
    activation: Any = None
    use_bias: bool = True
    depthwise_initializer: Any = "glorot_uniform"
    pointwise_initializer: Any = "glorot_uniform"
    bias_initializer: Any = "zeros"
    depthwise_regularizer: Any = None
    pointwise_regularizer: Any = None
    bias_regularizer: Any = None

    def build(self, input_shape: Any) -> None:
        channels = self._channels(input_shape)
        self.depthwise_kernel = self.weight_of("depthwise", (*self.kernel_size, channels, self.depth_multiplier))
        self.pointwise_kernel = self.weight_of("pointwise", (*[1] * self.rank, channels * self.depth_multiplier, self.filters))
        self._add_bias(self.filters)

    def forward(self, inputs: Tensor) -> Tensor:
        x = channels_first(inputs, self.data_format)
        x = self._convolve(x, by_channel(self.depthwise_kernel), None, x.shape[1])
        result = convolution(self.rank, x, self.pointwise_kernel, [(0, 0)] * self.rank, self.bias)
        return self._activate(as_given(result, self.data_format))


class SeparableConv1D(_SeparableConv, rank=1, causal=True):
    """Depthwise separable convolution over (N, steps, channels): a depthwise, then a pointwise convolution.

    >>> p_vision.SeparableConv1D(8, 3)(pyburn.rand(2, 10, 4)).shape
    pyburn.Size([2, 8, 8])
    """


class SeparableConv2D(_SeparableConv, rank=2):
    """Depthwise separable convolution over (N, height, width, channels): a depthwise, then a pointwise convolution.

    >>> p_vision.SeparableConv2D(8, 3, padding="same")(pyburn.rand(2, 6, 6, 3)).shape
    pyburn.Size([2, 6, 6, 8])
    """


def by_channel(kernel: Tensor) -> Tensor:
    """Reshapes a depthwise kernel (..., channels, multiplier) to that of a convolution with one group per channel."""
    return kernel.reshape(*kernel.shape[:-2], 1, kernel.shape[-2] * kernel.shape[-1])
