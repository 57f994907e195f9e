"""Boxes of torchvision.ops: (x1, y1, x2, y2), one per row."""

from __future__ import annotations

from typing import Any

import pyburn

from .. import _core
from .._core import Tensor

__all__ = [
    "batched_nms",
    "box_area",
    "box_convert",
    "box_iou",
    "clip_boxes_to_image",
    "complete_box_iou",
    "distance_box_iou",
    "generalized_box_iou",
    "masks_to_boxes",
    "nms",
    "remove_small_boxes",
    "roi_align",
]


def box_area(boxes: Tensor) -> Tensor:
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


def _intersection_and_union(boxes1: Tensor, boxes2: Tensor) -> tuple[Tensor, Tensor]:
    corner1 = _core.maximum(boxes1[..., :, None, :2], boxes2[..., None, :, :2])
    corner2 = _core.minimum(boxes1[..., :, None, 2:], boxes2[..., None, :, 2:])
    sides = (corner2 - corner1).clamp(min=0)
    common = sides[..., 0] * sides[..., 1]
    return common, box_area(boxes1)[..., :, None] + box_area(boxes2)[..., None, :] - common


def _hull(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """Width and height of the smallest box around each pair."""
    corner1 = _core.minimum(boxes1[..., :, None, :2], boxes2[..., None, :, :2])
    corner2 = _core.maximum(boxes1[..., :, None, 2:], boxes2[..., None, :, 2:])
    return (corner2 - corner1).clamp(min=0)


def box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """What each pair has in common over what it covers: (N, M)."""
    common, union = _intersection_and_union(boxes1, boxes2)
    return common / union


def generalized_box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    common, union = _intersection_and_union(boxes1, boxes2)
    sides = _hull(boxes1, boxes2)
    area = sides[..., 0] * sides[..., 1]
    return common / union - (area - union) / area


def distance_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """The IoU less the distance of the centres, in units of the hull's diagonal."""
    diagonal = _hull(boxes1, boxes2).square().sum(-1) + eps
    centres1, centres2 = ((boxes[..., :2] + boxes[..., 2:]) / 2 for boxes in (boxes1, boxes2))
    distance = (centres1[..., :, None, :] - centres2[..., None, :, :]).square().sum(-1)
    return box_iou(boxes1, boxes2) - distance / diagonal


def complete_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """The distance IoU less how much the proportions differ."""
    angles = [_core.atan((boxes[..., 2] - boxes[..., 0]) / (boxes[..., 3] - boxes[..., 1])) for boxes in (boxes1, boxes2)]
    v = 4 / pyburn.pi**2 * (angles[0][..., :, None] - angles[1][..., None, :]).square()
    with pyburn.no_grad():
        alpha = v / (1 - box_iou(boxes1, boxes2) + v + eps)
    return distance_box_iou(boxes1, boxes2, eps) - alpha * v


def box_convert(boxes: Tensor, in_fmt: str, out_fmt: str) -> Tensor:
    """Boxes in another of the forms "xyxy", "xywh" and "cxcywh"."""
    first, second = boxes[..., :2], boxes[..., 2:]
    if in_fmt == "xywh":
        second = first + second
    elif in_fmt == "cxcywh":
        first, second = first - second / 2, first + second / 2
    elif in_fmt != "xyxy":
        raise ValueError(f"Unsupported Bounding Box Conversions for given in_fmt {in_fmt}")
    if out_fmt == "xywh":
        second = second - first
    elif out_fmt == "cxcywh":
        first, second = (first + second) / 2, second - first
    elif out_fmt != "xyxy":
        raise ValueError(f"Unsupported Bounding Box Conversions for given out_fmt {out_fmt}")
    return _core.cat([first, second], -1)


def clip_boxes_to_image(boxes: Tensor, size: Any) -> Tensor:
    height, width = size
    x, y = boxes[..., 0::2].clamp(0, width), boxes[..., 1::2].clamp(0, height)
    return _core.stack([x, y], -1).reshape(boxes.shape)


def remove_small_boxes(boxes: Tensor, min_size: float) -> Tensor:
    """The indices of boxes with both sides at least so long."""
    sides = boxes[:, 2:] - boxes[:, :2]
    return (sides >= min_size).all(1).nonzero()[:, 0]


def masks_to_boxes(masks: Tensor) -> Tensor:
    """The box around what is true in each mask (N, H, W)."""
    boxes = _core.zeros(masks.shape[0], 4)
    for i, mask in enumerate(masks):
        y, x = mask.nonzero().t()
        boxes[i] = _core.stack([x.min(), y.min(), x.max(), y.max()]).to(boxes.dtype)
    return boxes


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """The indices of boxes kept, best first: each overlaps no better one that is kept by more than the threshold."""
    order = scores.detach().argsort(descending=True, stable=True)
    sorted_boxes = boxes.detach()[order]
    overlaps = (box_iou(sorted_boxes, sorted_boxes) > iou_threshold).numpy()
    dropped = [False] * len(overlaps)
    kept = []
    for i, row in enumerate(overlaps):
        if not dropped[i]:
            kept.append(i)
            for j in row[i + 1 :].nonzero()[0]:
                dropped[i + 1 + int(j)] = True
    return order[pyburn.tensor(kept, dtype=_core.int64)]


def batched_nms(boxes: Tensor, scores: Tensor, idxs: Tensor, iou_threshold: float) -> Tensor:
    """nms within each category: those of different ones are moved apart."""
    if boxes.numel() == 0:
        return _core.empty(0, dtype=_core.int64)
    offsets = idxs.to(boxes.dtype) * (boxes.max() + 1)
    return nms(boxes + offsets[:, None], scores, iou_threshold)


def roi_align(
    input: Tensor, boxes: Any, output_size: Any, spatial_scale: float = 1.0, sampling_ratio: int = -1, aligned: bool = False
) -> Tensor:
    """Regions of a picture brought to one size: means of samples between pixels. `boxes` has rows (image, x1, y1, x2, y2), or is a list."""
    if not isinstance(boxes, Tensor):
        rows = [_core.cat([_core.full((len(b), 1), i, dtype=b.dtype), b], 1) for i, b in enumerate(boxes)]
        boxes = _core.cat(rows) if rows else _core.zeros(0, 5)
    height, width = (output_size, output_size) if isinstance(output_size, int) else output_size
    pooled = [_align(input, box, (height, width), spatial_scale, sampling_ratio, 0.5 if aligned else 0.0) for box in boxes]
    return _core.stack(pooled) if pooled else input.new_zeros(0, input.shape[1], height, width)


def _align(input: Tensor, box: Tensor, size: tuple[int, int], scale: float, ratio: int, shift: float) -> Tensor:
    image = input[int(box[0])]
    axes = []
    for axis, bins in enumerate(size):  # y, then x
        start, end = (float(box[2 - axis + 2 * side]) * scale - shift for side in (0, 1))
        length = end - start if shift else max(end - start, 1.0)
        samples = ratio if ratio > 0 else max(1, -int(-(length / bins) // 1))
        places = start + (_core.arange(bins * samples, dtype=input.dtype) + 0.5) * (length / bins / samples)
        axes.append((*_between(places, image.shape[1 + axis]), bins, samples))
    (y0, y1, fy, wy, rows, ny), (x0, x1, fx, wx, columns, nx) = axes
    top = image[:, y0][:, :, x0] * (1 - fx) + image[:, y0][:, :, x1] * fx
    bottom = image[:, y1][:, :, x0] * (1 - fx) + image[:, y1][:, :, x1] * fx
    values = (top * (1 - fy)[:, None] + bottom * fy[:, None]) * (wy[:, None] * wx)
    return values.reshape(-1, rows, ny, columns, nx).mean((2, 4))


def _between(places: Tensor, extent: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The two pixels beside each place, how far it is from the first, and 1 where it counts: further out than a pixel it is 0."""
    inside = ((places >= -1) & (places <= extent)).to(places.dtype)
    places = places.clamp(0, extent - 1)
    first = places.floor().long().clamp(max=extent - 1)
    return first, (first + 1).clamp(max=extent - 1), places - first, inside
