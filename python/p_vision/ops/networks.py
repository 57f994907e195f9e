"""Network functions of `ops`: convolution, pooling, normalization, attention, decompositions, images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyburn
from pyburn import Tensor, linalg
from pyburn.nn import functional

from ..layers import convolution as convolutions
from ..layers import pooling, transposed_convolution
from ..layers.arguments import checked_format, checked_padding, extents, positive
from ..layers.windows import as_given, channels_first, same_padding
from .tensors import Functions

FUNCTIONS = Functions(
    {
        "cholesky": linalg.cholesky,
        "det": linalg.det,
        "eigh": linalg.eigh,
        "inv": linalg.inv,
        "lu_factor": linalg.lu_factor,
        "matrix_rank": linalg.matrix_rank,
        "pinv": linalg.pinv,
        "slogdet": linalg.slogdet,
        "solve": linalg.solve,
        "logdet": pyburn.logdet,
    }
)
IMAGE = Functions()


@FUNCTIONS.add
def solve_triangular(a: Tensor, b: Tensor, lower: bool = False) -> Tensor:
    """The solution of a @ x = b for a triangular matrix a."""
    vector = b.ndim == a.ndim - 1
    found = linalg.solve_triangular(a, b.unsqueeze(-1) if vector else b, upper=not lower)
    return found.squeeze(-1) if vector else found


def _convolved(
    x: Tensor, kernel: Tensor, strides: Any, padding: str, data_format: str | None, dilation: Any, groups: int, name: str
) -> Tensor:
    rank = x.ndim - 2
    steps, gaps = extents(name, "strides", strides, rank), extents(name, "dilation_rate", dilation, rank)
    where = checked_format(name, data_format)
    first = channels_first(x, where)
    borders = [(0, 0)] * rank
    if checked_padding(name, padding) == "same":
        borders = same_padding(first.shape[2:], kernel.shape[:rank], steps, gaps)
    return as_given(convolutions.convolution(rank, first, kernel, borders, None, steps, gaps, groups), where)


@FUNCTIONS.add
def conv(
    inputs: Tensor, kernel: Tensor, strides: Any = 1, padding: str = "valid", data_format: str | None = None, dilation_rate: Any = 1
) -> Tensor:
    """Convolution with a kernel (..., inputs, outputs). If the inputs have more channels than the kernel, it is a grouped convolution."""
    channels = inputs.shape[1 if data_format == "channels_first" else -1]
    return _convolved(inputs, kernel, strides, padding, data_format, dilation_rate, channels // kernel.shape[-2], "conv")


@FUNCTIONS.add
def depthwise_conv(
    inputs: Tensor, kernel: Tensor, strides: Any = 1, padding: str = "valid", data_format: str | None = None, dilation_rate: Any = 1
) -> Tensor:
    """Depthwise convolution with a kernel (..., channels, multiplier)."""
    channels = kernel.shape[-2]
    flat = kernel.reshape(*kernel.shape[:-2], 1, channels * kernel.shape[-1])
    return _convolved(inputs, flat, strides, padding, data_format, dilation_rate, channels, "depthwise_conv")


@FUNCTIONS.add
def separable_conv(
    inputs: Tensor,
    depthwise_kernel: Tensor,
    pointwise_kernel: Tensor,
    strides: Any = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = 1,
) -> Tensor:
    """A depthwise, then a pointwise convolution."""
    middle = depthwise_conv(inputs, depthwise_kernel, strides, padding, data_format, dilation_rate)
    return conv(middle, pointwise_kernel, 1, "valid", data_format)


_TRANSPOSED = {
    1: transposed_convolution.Conv1DTranspose,
    2: transposed_convolution.Conv2DTranspose,
    3: transposed_convolution.Conv3DTranspose,
}


@FUNCTIONS.add
def conv_transpose(
    inputs: Tensor,
    kernel: Tensor,
    strides: Any = 1,
    padding: str = "valid",
    output_padding: Any = None,
    data_format: str | None = None,
    dilation_rate: Any = 1,
) -> Tensor:
    """Transposed convolution with a kernel (..., outputs, inputs)."""
    rank = inputs.ndim - 2
    layer: Any = _TRANSPOSED[rank](
        kernel.shape[-2],
        tuple(kernel.shape[:rank]),
        strides,
        padding,
        output_padding=output_padding,
        data_format=data_format or "channels_last",
        dilation_rate=dilation_rate,
        use_bias=False,
    )
    layer.kernel, layer.bias, layer.built = pyburn.nn.Parameter(kernel.detach()), None, True
    return pyburn.func.functional_call(layer, {"kernel": kernel}, (inputs,))


def _pooled(kinds: dict[int, Any], inputs: Tensor, pool_size: Any, strides: Any, padding: str, data_format: str | None) -> Tensor:
    return kinds[inputs.ndim - 2](pool_size, strides, padding, data_format or "channels_last")(inputs)


@FUNCTIONS.add
def max_pool(inputs: Tensor, pool_size: Any, strides: Any = None, padding: str = "valid", data_format: str | None = None) -> Tensor:
    """Max pooling."""
    kinds = {1: pooling.MaxPooling1D, 2: pooling.MaxPooling2D, 3: pooling.MaxPooling3D}
    return _pooled(kinds, inputs, pool_size, strides, padding, data_format)


@FUNCTIONS.add
def average_pool(inputs: Tensor, pool_size: Any, strides: Any = None, padding: str = "valid", data_format: str | None = None) -> Tensor:
    """Average pooling."""
    kinds = {1: pooling.AveragePooling1D, 2: pooling.AveragePooling2D, 3: pooling.AveragePooling3D}
    return _pooled(kinds, inputs, pool_size, strides, padding, data_format)


@FUNCTIONS.add
def batch_normalization(
    x: Tensor, mean: Tensor, variance: Tensor, axis: int, offset: Any = None, scale: Any = None, epsilon: float = 1e-3
) -> Tensor:
    """Normalizes by a given mean and variance per channel."""
    shape = [-1 if at == axis % x.ndim else 1 for at in range(x.ndim)]
    made = (x - mean.reshape(shape)) / (variance.reshape(shape) + epsilon).sqrt()
    made = made if scale is None else made * scale.reshape(shape)
    return made if offset is None else made + offset.reshape(shape)


@FUNCTIONS.add
def layer_normalization(x: Tensor, gamma: Any = None, beta: Any = None, axis: int = -1, epsilon: float | None = None) -> Tensor:
    """Normalizes each sample along an axis."""
    centred = x - x.mean(axis, keepdim=True)
    made = centred / (centred.square().mean(axis, keepdim=True) + (1e-5 if epsilon is None else epsilon)).sqrt()
    made = made if gamma is None else made * gamma
    return made if beta is None else made + beta


@FUNCTIONS.add
def rms_normalization(x: Tensor, scale: Any = 1, axis: int = -1, epsilon: float | None = None) -> Tensor:
    """Divides by the root mean square along an axis, and scales."""
    return x / (x.square().mean(axis, keepdim=True) + (1e-7 if epsilon is None else epsilon)).sqrt() * scale


@FUNCTIONS.add
def dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Any = None,
    mask: Any = None,
    scale: float | None = None,
    is_causal: bool = False,
    flash_attention: Any = None,
    attn_logits_soft_cap: float | None = None,
) -> Tensor:
    """Scaled dot-product attention of (batch, steps, heads, features); `mask` is True where attention is allowed."""
    if attn_logits_soft_cap is not None:
        raise ValueError("[dot_product_attention] attn_logits_soft_cap is not supported")
    allowed = bias if mask is None else mask if bias is None else pyburn.where(mask, bias, float("-inf"))
    q, k, v = (x.transpose(1, 2) for x in (query, key, value))
    return functional.scaled_dot_product_attention(q, k, v, allowed, 0.0, is_causal, scale=scale).transpose(1, 2)


@FUNCTIONS.add
def ctc_loss(target: Tensor, output: Tensor, target_length: Tensor, output_length: Tensor, mask_index: int = 0) -> Tensor:
    """The CTC loss of labels (N, length) and logits (N, steps, classes)."""
    logs = functional.log_softmax(output, -1).transpose(0, 1)
    return functional.ctc_loss(logs, target.long(), output_length.long(), target_length.long(), blank=mask_index, reduction="none")


@FUNCTIONS.add
def depth_to_space(x: Tensor, block_size: int, data_format: str = "channels_last") -> Tensor:
    """Rearranges channels into blocks of pixels."""
    if data_format == "channels_first":
        n, c, h, w = x.shape
        y = x.reshape(n, block_size, block_size, c // block_size**2, h, w).permute(0, 3, 4, 1, 5, 2)
        return y.reshape(n, c // block_size**2, h * block_size, w * block_size)
    n, h, w, c = x.shape
    y = x.reshape(n, h, w, block_size, block_size, c // block_size**2).permute(0, 1, 3, 2, 4, 5)
    return y.reshape(n, h * block_size, w * block_size, c // block_size**2)


@FUNCTIONS.add
def space_to_depth(x: Tensor, block_size: int, data_format: str = "channels_last") -> Tensor:
    """Rearranges blocks of pixels into channels."""
    if data_format == "channels_first":
        return space_to_depth(x.movedim(1, -1), block_size).movedim(-1, 1)
    n, h, w, c = x.shape
    y = x.reshape(n, h // block_size, block_size, w // block_size, block_size, c).permute(0, 1, 3, 2, 4, 5)
    return y.reshape(n, h // block_size, w // block_size, c * block_size**2)


# ---- images: ops.image


def _pictures(x: Tensor, data_format: str | None) -> tuple[Tensor, bool]:
    """Converts to (N, channels, height, width); also returns whether the batch dimension was missing."""
    single = x.ndim == 3
    return channels_first(x.unsqueeze(0) if single else x, checked_format("image", data_format)), single


def _back(x: Tensor, single: bool, data_format: str | None) -> Tensor:
    y = as_given(x, checked_format("image", data_format))
    return y[0] if single else y


@IMAGE.add
def resize(
    images: Tensor,
    size: Sequence[int],
    interpolation: str = "bilinear",
    antialias: bool = False,
    crop_to_aspect_ratio: bool = False,
    data_format: str | None = None,
) -> Tensor:
    """Resizes images."""
    from ..layers.preprocessing import Resizing

    height, width = size
    options: dict[str, Any] = {"interpolation": interpolation, "crop_to_aspect_ratio": crop_to_aspect_ratio, "antialias": antialias}
    return Resizing(height, width, data_format=data_format, **options)(images)


@IMAGE.add
def rgb_to_grayscale(images: Tensor, data_format: str | None = None) -> Tensor:
    """Converts images to grayscale."""
    x, single = _pictures(images, data_format)
    weights = pyburn.tensor([0.2989, 0.587, 0.114], device=x.device).reshape(1, 3, 1, 1)
    return _back((x * weights).sum(1, keepdim=True), single, data_format)


@IMAGE.add
def pad_images(
    images: Tensor,
    top_padding: int | None = None,
    left_padding: int | None = None,
    bottom_padding: int | None = None,
    right_padding: int | None = None,
    target_height: int | None = None,
    target_width: int | None = None,
    data_format: str | None = None,
) -> Tensor:
    """Zero-pads images: by two of the sides and the size, or by all sides."""
    x, single = _pictures(images, data_format)
    top, bottom = _sides("pad_images", top_padding, bottom_padding, None if target_height is None else target_height - x.shape[2])
    left, right = _sides("pad_images", left_padding, right_padding, None if target_width is None else target_width - x.shape[3])
    return _back(functional.pad(x, [left, right, top, bottom]), single, data_format)


@IMAGE.add
def crop_images(
    images: Tensor,
    top_cropping: int | None = None,
    left_cropping: int | None = None,
    bottom_cropping: int | None = None,
    right_cropping: int | None = None,
    target_height: int | None = None,
    target_width: int | None = None,
    data_format: str | None = None,
) -> Tensor:
    """Crops images: by two of the sides and the size, or by all sides."""
    x, single = _pictures(images, data_format)
    height, width = x.shape[2:]
    top, bottom = _sides("crop_images", top_cropping, bottom_cropping, None if target_height is None else height - target_height)
    left, right = _sides("crop_images", left_cropping, right_cropping, None if target_width is None else width - target_width)
    return _back(x[:, :, top : height - bottom, left : width - right], single, data_format)


def _sides(name: str, before: int | None, after: int | None, total: int | None) -> tuple[int, int]:
    """Computes the third of two sides and a total."""
    if total is None:
        return before or 0, after or 0
    first = before if before is not None else total - after if after is not None else total // 2
    if not 0 <= first <= total:
        raise ValueError(f"[{name}] the padding does not match the size: {before}, {after} and {total} in total")
    return first, total - first


@IMAGE.add
def extract_patches(
    images: Tensor, size: Any, strides: Any = None, dilation_rate: Any = 1, padding: str = "valid", data_format: str | None = None
) -> Tensor:
    """Extracts patches: (N, rows, columns, height * width * channels)."""
    x, single = _pictures(images, data_format)
    window = extents("extract_patches", "size", size, 2)
    steps = window if strides is None else extents("extract_patches", "strides", strides, 2)
    gaps = (positive("extract_patches", "dilation_rate", dilation_rate),) * 2
    borders = [(0, 0), (0, 0)]
    if checked_padding("extract_patches", padding) == "same":
        borders = same_padding(x.shape[2:], window, steps, gaps)
    padded = functional.pad(x, [*borders[1], *borders[0]])
    n, channels = x.shape[:2]
    rows, columns = ((extent - (w - 1) * g - 1) // s + 1 for extent, w, s, g in zip(padded.shape[2:], window, steps, gaps))
    columns_of = functional.unfold(padded, window, dilation=gaps, stride=steps).reshape(n, channels, window[0] * window[1], rows, columns)
    return _back(columns_of.permute(0, 2, 1, 3, 4).reshape(n, -1, rows, columns), single, data_format)
