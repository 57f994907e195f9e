"""Convolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core import _nn
from .._core._nn import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._core import Tensor

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]


def deform_conv2d(
    input: Tensor,
    offset: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = (1, 1),
    padding: int | Sequence[int] = (0, 0),
    dilation: int | Sequence[int] = (1, 1),
    mask: Tensor | None = None,
) -> Tensor:
    """Computes a deformable convolution; torchvision's function.

    Args:
        input: The input, (N, C_in, H_in, W_in).
        offset: The (y, x) offsets of the kernel positions, (N, 2 * groups * taps, H, W).
        weight: The weight.
        bias: The bias.
        stride: The stride.
        padding: The padding.
        dilation: The dilation.
        mask: The scale factor of each kernel position, (N, groups * taps, H, W).

    Returns:
        The output, (N, C_out, H_out, W_out).

    >>> pyburn.nn.functional.deform_conv2d(pyburn.ones(1, 3, 4, 4), pyburn.zeros(1, 8, 3, 3), pyburn.ones(8, 3, 2, 2)).shape
    pyburn.Size([1, 8, 3, 3])
    """
    return _nn._deform_conv2d(input, offset, weight, bias, stride, padding, dilation, mask)
