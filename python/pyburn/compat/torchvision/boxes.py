"""Boxes of torchvision.ops: (x1, y1, x2, y2), one per row."""

from __future__ import annotations

from typing import Any

import pyburn

from ... import _core
from ..._core import Tensor
from .regions import nms

__all__ = [
    "batched_nms",
    "box_area",
    "box_convert",
    "box_iou",
    "clip_boxes_to_image",
    "complete_box_iou",
    "complete_box_iou_loss",
    "distance_box_iou",
    "distance_box_iou_loss",
    "generalized_box_iou",
    "generalized_box_iou_loss",
    "masks_to_boxes",
    "remove_small_boxes",
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


def batched_nms(boxes: Tensor, scores: Tensor, idxs: Tensor, iou_threshold: float) -> Tensor:
    """nms within each category: those of different ones are moved apart."""
    if boxes.numel() == 0:
        return _core.empty(0, dtype=_core.int64)
    offsets = idxs.to(boxes.dtype) * (boxes.max() + 1)
    return nms(boxes + offsets[:, None], scores, iou_threshold)


def _rows(boxes1: Tensor, boxes2: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """What each pair of rows has in common, what it covers, and the sides of the smallest box around it."""
    sides = (_core.minimum(boxes1[..., 2:], boxes2[..., 2:]) - _core.maximum(boxes1[..., :2], boxes2[..., :2])).clamp(min=0)
    hull = _core.maximum(boxes1[..., 2:], boxes2[..., 2:]) - _core.minimum(boxes1[..., :2], boxes2[..., :2])
    common = sides.prod(-1)
    return common, box_area(boxes1) + box_area(boxes2) - common, hull


def generalized_box_iou_loss(boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7) -> Tensor:
    """1 - the generalised IoU of each pair of rows."""
    common, union, hull = _rows(boxes1, boxes2)
    area = hull.prod(-1)
    return reduced(1 - (common / (union + eps) - (area - union) / (area + eps)), reduction)


def _distance_loss(boxes1: Tensor, boxes2: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    common, union, hull = _rows(boxes1, boxes2)
    iou = common / (union + eps)
    apart = (boxes1[..., :2] + boxes1[..., 2:] - boxes2[..., :2] - boxes2[..., 2:]) / 2
    return 1 - iou + apart.square().sum(-1) / (hull.square().sum(-1) + eps), iou


def distance_box_iou_loss(boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7) -> Tensor:
    """1 - the IoU of each pair of rows, and the distance of the centres."""
    return reduced(_distance_loss(boxes1, boxes2, eps)[0], reduction)


def complete_box_iou_loss(boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7) -> Tensor:
    """The distance loss, and how much the proportions differ."""
    loss, iou = _distance_loss(boxes1, boxes2, eps)
    angles = [_core.atan((boxes[..., 2] - boxes[..., 0]) / (boxes[..., 3] - boxes[..., 1])) for boxes in (boxes1, boxes2)]
    v = 4 / pyburn.pi**2 * (angles[1] - angles[0]).square()
    with pyburn.no_grad():
        alpha = v / (1 - iou + v + eps)
    return reduced(loss + alpha * v, reduction)


def reduced(loss: Tensor, reduction: str) -> Tensor:
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"Invalid Value for arg 'reduction': '{reduction}'")
    return loss if reduction == "none" else getattr(loss, reduction)()
