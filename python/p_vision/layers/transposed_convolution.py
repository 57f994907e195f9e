"""Transposed convolution layers in 1, 2 and 3 dimensions."""

from __future__ import annotations

from typing import Any

from pyburn import Tensor
from pyburn.nn import functional

from .arguments import Extent, extents
from .convolution import ConvolutionLayer
from .windows import as_given, bordered, channels_first

_FUNCTIONS: dict[int, Any] = {1: functional.conv_transpose1d, 2: functional.conv_transpose2d, 3: functional.conv_transpose3d}


class _ConvTranspose(ConvolutionLayer):
    checks = {"output_padding": lambda layer, name, value: extents(type(layer).__name__, name, value, layer.rank, least=0)}
    filters: int
    kernel_size: Extent
    strides: Extent = 1
    padding: str = "valid"
    output_padding: Extent | None = None
    data_format: str | None = "channels_last"
    dilation_rate: Extent = 1
    activation: Any = None
    use_bias: bool = True
    kernel_initializer: Any = "glorot_uniform"
    bias_initializer: Any = "zeros"
    kernel_regularizer: Any = None
    bias_regularizer: Any = None

    def build(self, input_shape: Any) -> None:
        self.kernel = self.weight_of("kernel", (*self.kernel_size, self.filters, self._channels(input_shape)))
        self._add_bias(self.filters)

    def forward(self, inputs: Tensor) -> Tensor:
        x = channels_first(inputs, self.data_format)
        weight = self.kernel.permute(self.rank + 1, self.rank, *range(self.rank))  # (inputs, outputs, ...)
        borders = self._borders(x.shape[2:])
        padding = [min(-a, -b) if a < 0 and b < 0 else 0 for a, b in borders]  # cropped symmetrically by the operation itself
        rest = [(a + p, b + p) for (a, b), p in zip(borders, padding)]
        if not any(n for pair in rest for n in pair):
            result = _FUNCTIONS[self.rank](x, weight, self.bias, self.strides, padding, 0, 1, self.dilation_rate)
        else:
            result = bordered(_FUNCTIONS[self.rank](x, weight, None, self.strides, padding, 0, 1, self.dilation_rate), rest)
            if self.bias is not None:  # the added border gets the bias too
                result = result + self.bias.view(-1, *[1] * self.rank)
        return self._activate(as_given(result, self.data_format))

    def _borders(self, sizes: Any) -> list[tuple[int, int]]:
        """Returns the padding of the full result in each dimension (negative: cropping) that gives the output size of Keras."""
        borders = []
        for axis, size in enumerate(sizes):
            width = (self.kernel_size[axis] - 1) * self.dilation_rate[axis] + 1
            stride = self.strides[axis]
            whole = (size - 1) * stride + width
            more = None if self.output_padding is None else self.output_padding[axis]
            cut = 0
            if self.padding == "valid":
                wanted = whole + (max(stride - width, 0) if more is None else more)
            else:
                wanted = size * stride if more is None else (size - 1) * stride + width % 2 + more
                kept = wanted - (size - 1) * stride + width - 2  # of the steps that go beyond the first and the last element
                cut = max(width - 1 - (kept + 1) // 2, 0)
            borders.append((-cut, wanted - (whole - cut)))
        return borders


class Conv1DTranspose(_ConvTranspose, rank=1):
    """1-d transposed convolution over (N, steps, channels), which upsamples by its strides.

    Args:
        output_padding: The size to add at the end of the output: one number, or one for each spatial dimension; None follows `padding`.

    >>> p_vision.Conv1DTranspose(4, 3, strides=2, padding="same")(pyburn.rand(1, 5, 2)).shape
    pyburn.Size([1, 10, 4])
    """


class Conv2DTranspose(_ConvTranspose, rank=2):
    """2-d transposed convolution over (N, height, width, channels), which upsamples by its strides.

    Args:
        output_padding: The size to add at the end of the output: one number, or one for each spatial dimension; None follows `padding`.

    >>> p_vision.Conv2DTranspose(4, 3, strides=2, padding="same")(pyburn.rand(1, 5, 6, 2)).shape
    pyburn.Size([1, 10, 12, 4])
    """


class Conv3DTranspose(_ConvTranspose, rank=3):
    """3-d transposed convolution over (N, depth, height, width, channels), which upsamples by its strides.

    Args:
        output_padding: The size to add at the end of the output: one number, or one for each spatial dimension; None follows `padding`.

    >>> p_vision.Conv3DTranspose(4, 3, strides=2, padding="same")(pyburn.rand(1, 3, 4, 5, 2)).shape
    pyburn.Size([1, 6, 8, 10, 4])
    """
