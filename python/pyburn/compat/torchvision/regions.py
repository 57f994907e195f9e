"""What torchvision has compiled: nms, pooling of regions of interest and deformable convolution, over the operations of pyburn."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ... import _core, nn
from ..._core import Tensor
from ...nn import Module
from ...nn.functional import deform_conv2d

__all__ = ["DeformConv2d", "PSRoIAlign", "PSRoIPool", "RoIAlign", "RoIPool", "deform_conv2d", "nms", "ps_roi_align", "ps_roi_pool"]
__all__ += ["roi_align", "roi_pool"]


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Performs non-maximum suppression.

    Args:
        boxes: Boxes (N, 4) as (x1, y1, x2, y2).
        scores: Scores (N,).
        iou_threshold: Boxes that overlap a better box by more than this IoU are discarded.

    Returns:
        The int64 indices of the boxes that are kept, by descending score.

    >>> boxes = pyburn.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.9], [5.0, 5.0, 6.0, 6.0]])
    >>> nms(boxes, pyburn.tensor([0.5, 0.9, 0.1]), 0.5)
    tensor([1, 2])
    """
    return _core.nms(boxes.detach(), scores.detach(), iou_threshold)


def _rows(boxes: Any, like: Tensor) -> Tensor:
    """Boxes as rows (image, x1, y1, x2, y2), from one tensor per image if they are a list."""
    if isinstance(boxes, Tensor):
        if boxes.ndim != 2 or boxes.shape[1] != 5:
            raise ValueError(f"[roi_align] expected boxes (K, 5), with the index of the image first: got {tuple(boxes.shape)}")
        return boxes.detach()
    rows = [_core.cat([_core.full_like(b[:, :1], i), b], 1) for i, b in enumerate(boxes)]
    return _core.cat(rows).detach() if rows else like.new_zeros(0, 5)


def _pair(size: Any) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else (size[0], size[1])


def roi_align(
    input: Tensor, boxes: Any, output_size: Any, spatial_scale: float = 1.0, sampling_ratio: int = -1, aligned: bool = False
) -> Tensor:
    """Samples regions of interest with bilinear interpolation and averages the samples of each bin (Mask R-CNN).

    Args:
        input: A batch of images or feature maps (N, C, H, W).
        boxes: Boxes (K, 5) as (image, x1, y1, x2, y2), or a list with a tensor (L, 4) per image. They get no gradient.
        output_size: The size of the result as (h, w), or one number for both.
        spatial_scale: The factor from the coordinates of boxes to those of input.
        sampling_ratio: The number of samples per bin and dimension; one per pixel with -1.
        aligned: Whether to shift coordinates by half a pixel, so that pixel centers have the coordinates 0.5, 1.5 ...

    Returns:
        A tensor (K, C, h, w).

    >>> roi_align(pyburn.ones(1, 2, 4, 4), [pyburn.tensor([[0.0, 0.0, 2.0, 2.0]])], 2).shape
    pyburn.Size([1, 2, 2, 2])
    """
    rows = _rows(boxes, input).to(input.dtype)
    return _core.roi_align(input, rows, _pair(output_size), spatial_scale, sampling_ratio, aligned)


def _own_channels(pooled: Tensor, size: tuple[int, int]) -> Tensor:
    """Of (K, C * h * w, h, w) the channel of each bin: (K, C, h, w)."""
    height, width = size
    if pooled.shape[1] % (height * width):
        raise ValueError(f"[ps_roi_align] expected a multiple of {height * width} channels: got {pooled.shape[1]}")
    y, x = _core.arange(height)[:, None], _core.arange(width)
    return pooled.reshape(len(pooled), -1, height, width, height, width)[:, :, y, x, y, x]


def ps_roi_align(input: Tensor, boxes: Any, output_size: Any, spatial_scale: float = 1.0, sampling_ratio: int = -1) -> Tensor:
    """Position-sensitive roi_align: each bin reads its own channels (Light-Head R-CNN).

    Args:
        input: A batch of images or feature maps (N, C, H, W).
        boxes: Boxes (K, 5) as (image, x1, y1, x2, y2), or a list with a tensor (L, 4) per image. They get no gradient.
        output_size: The size of the result as (h, w), or one number for both.
        spatial_scale: The factor from the coordinates of boxes to those of input.
        sampling_ratio: The number of samples per bin and dimension; one per pixel with -1.

    Returns:
        A tensor (K, C / (h * w), h, w).

    >>> ps_roi_align(pyburn.ones(1, 8, 4, 4), [pyburn.tensor([[0.0, 0.0, 2.0, 2.0]])], 2).shape
    pyburn.Size([1, 2, 2, 2])
    """
    size = _pair(output_size)
    return _own_channels(roi_align(input, boxes, size, spatial_scale, sampling_ratio, aligned=True), size)


def _edges(start: int, length: int, bins: int, extent: int) -> list[tuple[int, int]]:
    """The first pixel of each bin of whole pixels and that after its last."""
    ends = ((start + math.floor(i * length / bins), start + math.ceil((i + 1) * length / bins)) for i in range(bins))
    return [(min(max(a, 0), extent), min(max(b, 0), extent)) for a, b in ends]


def _pooled(input: Tensor, rows: Tensor, size: tuple[int, int], bounds: Callable[..., Any], reduce: Callable[..., Any]) -> Tensor:
    results = []
    for image, *box in rows.tolist():
        picture = input[int(image)]
        y, x = bounds(box, picture.shape[1:])
        empty = picture.new_zeros(picture.shape[0])
        bins = [reduce(picture[:, a:b, c:d], (1, 2)) if a < b and c < d else empty for a, b in y for c, d in x]
        results.append(_core.stack(bins, 1).reshape(-1, *size))
    return _core.stack(results) if results else input.new_zeros(0, input.shape[1], *size)


def _nearest(value: float) -> int:
    return int(value + 0.5) if value >= 0 else -int(0.5 - value)  # halves away from zero, as C rounds


def roi_pool(input: Tensor, boxes: Any, output_size: Any, spatial_scale: float = 1.0) -> Tensor:
    """Divides regions of interest into bins and takes the maximum of each (Fast R-CNN).

    Args:
        input: A batch of images or feature maps (N, C, H, W).
        boxes: Boxes (K, 5) as (image, x1, y1, x2, y2), or a list with a tensor (L, 4) per image. They get no gradient.
        output_size: The size of the result as (h, w), or one number for both.
        spatial_scale: The factor from the coordinates of boxes to those of input.

    Returns:
        A tensor (K, C, h, w).

    >>> roi_pool(pyburn.ones(1, 2, 4, 4), [pyburn.tensor([[0.0, 0.0, 2.0, 2.0]])], 2).shape
    pyburn.Size([1, 2, 2, 2])
    """
    size = _pair(output_size)

    def bounds(box: Sequence[float], extents: Sequence[int]) -> Any:
        x1, y1, x2, y2 = (_nearest(v * spatial_scale) for v in box)
        return _edges(y1, max(y2 - y1 + 1, 1), size[0], extents[0]), _edges(x1, max(x2 - x1 + 1, 1), size[1], extents[1])

    return _pooled(input, _rows(boxes, input), size, bounds, _core.amax)


def ps_roi_pool(input: Tensor, boxes: Any, output_size: Any, spatial_scale: float = 1.0) -> Tensor:
    """Position-sensitive average pooling of regions of interest: each bin reads its own channels (R-FCN).

    Args:
        input: A batch of images or feature maps (N, C, H, W).
        boxes: Boxes (K, 5) as (image, x1, y1, x2, y2), or a list with a tensor (L, 4) per image. They get no gradient.
        output_size: The size of the result as (h, w), or one number for both.
        spatial_scale: The factor from the coordinates of boxes to those of input.

    Returns:
        A tensor (K, C / (h * w), h, w).

    >>> ps_roi_pool(pyburn.ones(1, 8, 4, 4), [pyburn.tensor([[0.0, 0.0, 2.0, 2.0]])], 2).shape
    pyburn.Size([1, 2, 2, 2])
    """
    size = _pair(output_size)

    def bounds(box: Sequence[float], extents: Sequence[int]) -> Any:
        x1, y1, x2, y2 = (_nearest(v * spatial_scale) for v in box)
        return _edges(y1, max(y2 - y1, 1), size[0], extents[0] - 1), _edges(x1, max(x2 - x1, 1), size[1], extents[1] - 1)

    return _own_channels(_pooled(input, _rows(boxes, input), size, bounds, _core.mean), size)


class _Regions(Module):
    """A layer that pools regions of interest."""

    options: tuple[str, ...]
    function: Callable[..., Any]

    def __init__(self, output_size: Any, spatial_scale: float, *rest: Any, **named: Any) -> None:
        super().__init__()
        given = dict(zip(self.options, (output_size, spatial_scale, *rest), strict=False)) | named
        for name in self.options:
            if name not in given and name != "aligned":
                raise TypeError(f"{type(self).__name__}.__init__() missing 1 required positional argument: {name!r}")
            setattr(self, name, given.pop(name, False))
        if given.keys() - set(self.options):
            raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument {next(iter(given))!r}")

    def forward(self, input: Tensor, rois: Any) -> Tensor:
        return type(self).function(input, rois, *(getattr(self, name) for name in self.options))  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)}' for name in self.options)})"


class RoIAlign(_Regions):
    """Applies roi_align as a layer.

    >>> RoIAlign(2, 1.0, -1)
    RoIAlign(output_size=2, spatial_scale=1.0, sampling_ratio=-1, aligned=False)
    """

    options, function = ("output_size", "spatial_scale", "sampling_ratio", "aligned"), staticmethod(roi_align)


class PSRoIAlign(_Regions):
    """Applies ps_roi_align as a layer.

    >>> PSRoIAlign(2, 1.0, -1)
    PSRoIAlign(output_size=2, spatial_scale=1.0, sampling_ratio=-1)
    """

    options, function = ("output_size", "spatial_scale", "sampling_ratio"), staticmethod(ps_roi_align)


class RoIPool(_Regions):
    """Applies roi_pool as a layer.

    >>> RoIPool(2, 1.0)
    RoIPool(output_size=2, spatial_scale=1.0)
    """

    options, function = ("output_size", "spatial_scale"), staticmethod(roi_pool)


class PSRoIPool(_Regions):
    """Applies ps_roi_pool as a layer.

    >>> PSRoIPool(2, 1.0)
    PSRoIPool(output_size=2, spatial_scale=1.0)
    """

    options, function = ("output_size", "spatial_scale"), staticmethod(ps_roi_pool)


class DeformConv2d(nn.DeformConv2d):  # type: ignore[misc]
    """Deformable convolution. The number of offset groups follows from the shape of the offsets.

    Args:
        in_channels: The number of input channels.
        out_channels: The number of output channels.
        kernel_size: The size of the kernel.
        stride: The step of the kernel.
        padding: The zero padding on both sides.
        dilation: The distance between kernel elements.
        groups: The number of groups of channels.
        bias: Whether to add a bias.

    Raises:
        ValueError: groups does not divide the channels.

    >>> layer = DeformConv2d(2, 4, 3, padding=1)
    >>> layer(pyburn.ones(1, 2, 5, 5), pyburn.zeros(1, 18, 5, 5)).shape
    pyburn.Size([1, 4, 5, 5])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        if in_channels % groups or out_channels % groups:
            raise ValueError(f"in_channels and out_channels must be divisible by groups: got {in_channels}, {out_channels} and {groups}")
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias=bias)

    def forward(self, input: Tensor, offset: Tensor, mask: Tensor | None = None) -> Tensor:
        return deform_conv2d(input, offset, self.weight, self.bias, self.stride, self.padding, self.dilation, mask)
