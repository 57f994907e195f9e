"""Transposed convolution layers in 1, 2 and 3 dimensions."""

from __future__ import annotations

from typing import Any

from pyburn import Tensor
from pyburn.nn import functional

from .convolution import ConvolutionLayer
from .dense import positive
from .windows import Extent, as_given, bordered, channels_first, extents

_FUNCTIONS: dict[int, Any] = {1: functional.conv_transpose1d, 2: functional.conv_transpose2d, 3: functional.conv_transpose3d}


class _ConvTranspose(ConvolutionLayer):
    def __init__(
        self,
        filters: int,
        kernel_size: Extent,
        strides: Extent = 1,
        padding: str = "valid",
        output_padding: Extent | None = None,
        data_format: str | None = "channels_last",
        dilation_rate: Extent = 1,
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
        name = type(self).__name__
        if self.padding == "causal":
            raise ValueError(f"[{name}] padding must be 'valid' or 'same': got 'causal'")
        self.filters = positive(name, "filters", filters)
        self.output_padding = None if output_padding is None else extents(name, "output_padding", output_padding, self.rank, least=0)
        self.kernel_initializer, self.kernel_regularizer = kernel_initializer, kernel_regularizer

    def build(self, input_shape: Any) -> None:
        shape = (*self.kernel_size, self.filters, self._channels(input_shape))
        self.kernel = self.add_weight(shape, self.kernel_initializer, regularizer=self.kernel_regularizer)
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
    """1-d transposed convolution over (N, steps, channels)."""


class Conv2DTranspose(_ConvTranspose, rank=2):
    """2-d transposed convolution over (N, height, width, channels)."""


class Conv3DTranspose(_ConvTranspose, rank=3):
    """3-d transposed convolution over (N, depth, height, width, channels)."""
