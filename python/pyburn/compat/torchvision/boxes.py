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
    """Returns the area of each box.

    Args:
        boxes: Boxes (..., 4) as (x1, y1, x2, y2).

    Returns:
        The areas, (...).

    >>> box_area(pyburn.tensor([[0.0, 0.0, 3.0, 2.0]]))
    tensor([6.])
    """
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


def _pairs(boxes1: Tensor, boxes2: Tensor) -> tuple[Tensor, Tensor]:
    """Each box of the one with each of the other: (..., N, 1, 4) and (..., 1, M, 4)."""
    return boxes1[..., :, None, :], boxes2[..., None, :, :]


def _overlap(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Areas of the intersection and the union, and the sides of the smallest box around both."""
    sides = (_core.minimum(a[..., 2:], b[..., 2:]) - _core.maximum(a[..., :2], b[..., :2])).clamp(min=0)
    hull = _core.maximum(a[..., 2:], b[..., 2:]) - _core.minimum(a[..., :2], b[..., :2])
    common = sides.prod(-1)
    return common, box_area(a) + box_area(b) - common, hull


def _generalized(a: Tensor, b: Tensor, eps: float = 0.0) -> Tensor:
    common, union, hull = _overlap(a, b)
    area = hull.prod(-1)
    return common / (union + eps) - (area - union) / (area + eps)


def _distance(a: Tensor, b: Tensor, eps: float, union_eps: float = 0.0) -> tuple[Tensor, Tensor]:
    """The IoU less the squared distance of the centres in units of the hull's diagonal, and the IoU."""
    common, union, hull = _overlap(a, b)
    iou = common / (union + union_eps)
    apart = (a[..., :2] + a[..., 2:] - b[..., :2] - b[..., 2:]) / 2
    return iou - apart.square().sum(-1) / (hull.square().sum(-1) + eps), iou


def _complete(a: Tensor, b: Tensor, eps: float, union_eps: float = 0.0) -> Tensor:
    """The distance IoU less how much the proportions differ."""
    distance, iou = _distance(a, b, eps, union_eps)
    angles = [_core.atan((boxes[..., 2] - boxes[..., 0]) / (boxes[..., 3] - boxes[..., 1])) for boxes in (a, b)]
    v = 4 / pyburn.pi**2 * (angles[0] - angles[1]).square()
    with pyburn.no_grad():
        alpha = v / (1 - iou + v + eps)
    return distance - alpha * v


def box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """Returns the intersection over union of each pair of boxes.

    Args:
        boxes1: Boxes (N, 4) as (x1, y1, x2, y2).
        boxes2: Boxes (M, 4) as (x1, y1, x2, y2).

    Returns:
        The values of all pairs, (N, M).

    >>> a, b = pyburn.tensor([[0.0, 0.0, 2.0, 2.0]]), pyburn.tensor([[1.0, 0.0, 3.0, 2.0]])
    >>> box_iou(a, b)
    tensor([[0.3333]])
    """
    common, union, _ = _overlap(*_pairs(boxes1, boxes2))
    return common / union


def generalized_box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """Returns the generalized IoU of each pair of boxes (Rezatofighi et al. 2019).

    Args:
        boxes1: Boxes (N, 4) as (x1, y1, x2, y2).
        boxes2: Boxes (M, 4) as (x1, y1, x2, y2).

    Returns:
        The values of all pairs, (N, M).

    >>> a, b = pyburn.tensor([[0.0, 0.0, 2.0, 2.0]]), pyburn.tensor([[1.0, 0.0, 3.0, 2.0]])
    >>> generalized_box_iou(a, b)
    tensor([[0.3333]])
    """
    return _generalized(*_pairs(boxes1, boxes2))


def distance_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """Returns the distance IoU of each pair of boxes (Zheng et al. 2020): the IoU minus the normalized distance of the centers.

    Args:
        boxes1: Boxes (N, 4) as (x1, y1, x2, y2).
        boxes2: Boxes (M, 4) as (x1, y1, x2, y2).
        eps: A small number that is added to divisors.

    Returns:
        The values of all pairs, (N, M).

    >>> a, b = pyburn.tensor([[0.0, 0.0, 2.0, 2.0]]), pyburn.tensor([[1.0, 0.0, 3.0, 2.0]])
    >>> distance_box_iou(a, b)
    tensor([[0.2564]])
    """
    return _distance(*_pairs(boxes1, boxes2), eps)[0]


def complete_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """Returns the complete IoU of each pair of boxes (Zheng et al. 2020): the distance IoU minus a term for the aspect ratio.

    Args:
        boxes1: Boxes (N, 4) as (x1, y1, x2, y2).
        boxes2: Boxes (M, 4) as (x1, y1, x2, y2).
        eps: A small number that is added to divisors.

    Returns:
        The values of all pairs, (N, M).

    >>> a, b = pyburn.tensor([[0.0, 0.0, 2.0, 2.0]]), pyburn.tensor([[1.0, 0.0, 3.0, 2.0]])
    >>> complete_box_iou(a, b)
    tensor([[0.2564]])
    """
    return _complete(*_pairs(boxes1, boxes2), eps)


def generalized_box_iou_loss(boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7) -> Tensor:
    """Computes 1 minus the generalized IoU of corresponding boxes.

    Args:
        boxes1: Boxes (..., 4) as (x1, y1, x2, y2).
        boxes2: Boxes of the same shape.
        reduction: "none", "mean" or "sum".
        eps: A small number that is added to divisors.

    Returns:
        A loss per row, or one number with a reduction.

    >>> a, b = pyburn.tensor([[0.0, 0.0, 2.0, 2.0]]), pyburn.tensor([[1.0, 0.0, 3.0, 2.0]])
    >>> generalized_box_iou_loss(a, b)
    tensor([0.6667])
    """
    return reduced(1 - _generalized(boxes1, boxes2, eps), reduction)


def distance_box_iou_loss(boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7) -> Tensor:
    """Computes 1 minus the distance IoU of corresponding boxes.

    Args:
        boxes1: Boxes (..., 4) as (x1, y1, x2, y2).
        boxes2: Boxes of the same shape.
        reduction: "none", "mean" or "sum".
        eps: A small number that is added to divisors.

    Returns:
        A loss per row, or one number with a reduction.

    >>> a, b = pyburn.tensor([[0.0, 0.0, 2.0, 2.0]]), pyburn.tensor([[1.0, 0.0, 3.0, 2.0]])
    >>> distance_box_iou_loss(a, b)
    tensor([0.7436])
    """
    return reduced(1 - _distance(boxes1, boxes2, eps, eps)[0], reduction)


def complete_box_iou_loss(boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7) -> Tensor:
    """Computes 1 minus the complete IoU of corresponding boxes.

    Args:
        boxes1: Boxes (..., 4) as (x1, y1, x2, y2).
        boxes2: Boxes of the same shape.
        reduction: "none", "mean" or "sum".
        eps: A small number that is added to divisors.

    Returns:
        A loss per row, or one number with a reduction.

    >>> a, b = pyburn.tensor([[0.0, 0.0, 2.0, 2.0]]), pyburn.tensor([[1.0, 0.0, 3.0, 2.0]])
    >>> complete_box_iou_loss(a, b)
    tensor([0.7436])
    """
    return reduced(1 - _complete(boxes1, boxes2, eps, eps), reduction)


def box_convert(boxes: Tensor, in_fmt: str, out_fmt: str) -> Tensor:
    """Converts boxes to another format.

    Args:
        boxes: Boxes (..., 4).
        in_fmt: The format of boxes: "xyxy", "xywh" (corner and size) or "cxcywh" (center and size).
        out_fmt: The format of the result.

    Returns:
        A tensor of the shape of boxes.

    Raises:
        ValueError: A format is unknown.

    >>> box_convert(pyburn.tensor([[1.0, 1.0, 3.0, 5.0]]), "xyxy", "cxcywh")
    tensor([[2., 3., 2., 4.]])
    """
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
    """Clips boxes to the area of an image.

    Args:
        boxes: Boxes (..., 4) as (x1, y1, x2, y2).
        size: The size of the image as (height, width).

    Returns:
        A tensor of the shape of boxes.

    >>> clip_boxes_to_image(pyburn.tensor([[-1.0, 0.0, 9.0, 4.0]]), (4, 6))
    tensor([[0., 0., 6., 4.]])
    """
    height, width = size
    x, y = boxes[..., 0::2].clamp(0, width), boxes[..., 1::2].clamp(0, height)
    return _core.stack([x, y], -1).reshape(boxes.shape)


def remove_small_boxes(boxes: Tensor, min_size: float) -> Tensor:
    """Returns the indices of the boxes whose sides are at least min_size.

    Args:
        boxes: Boxes (N, 4) as (x1, y1, x2, y2).
        min_size: The minimum length of both sides.

    Returns:
        int64 indices (K,).

    >>> remove_small_boxes(pyburn.tensor([[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 5.0, 5.0]]), 2)
    tensor([1])
    """
    sides = boxes[:, 2:] - boxes[:, :2]
    return (sides >= min_size).all(1).nonzero()[:, 0]


def masks_to_boxes(masks: Tensor) -> Tensor:
    """Returns the bounding boxes of masks.

    Args:
        masks: Masks (N, H, W), each of which has an element that is not zero.

    Returns:
        float32 boxes (N, 4) as (x1, y1, x2, y2).

    >>> masks_to_boxes(pyburn.tensor([[[False, True], [False, True]]]))
    tensor([[1., 0., 1., 1.]])
    """
    boxes = _core.zeros(masks.shape[0], 4)
    for i, mask in enumerate(masks):
        y, x = mask.nonzero().t()
        boxes[i] = _core.stack([x.min(), y.min(), x.max(), y.max()]).to(boxes.dtype)
    return boxes


def batched_nms(boxes: Tensor, scores: Tensor, idxs: Tensor, iou_threshold: float) -> Tensor:
    """Performs non-maximum suppression within each category.

    Args:
        boxes: Boxes (N, 4) as (x1, y1, x2, y2).
        scores: Scores (N,).
        idxs: The category of each box (N,).
        iou_threshold: Boxes that overlap a better box of their category by more than this IoU are discarded.

    Returns:
        The int64 indices of the boxes that are kept, by descending score.

    >>> boxes = pyburn.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 2.0]])
    >>> batched_nms(boxes, pyburn.tensor([0.5, 0.9]), pyburn.tensor([0, 1]), 0.5)
    tensor([1, 0])
    """
    if boxes.numel() == 0:
        return _core.empty(0, dtype=_core.int64)
    offsets = idxs.to(boxes.dtype) * (boxes.max() + 1)
    return nms(boxes + offsets[:, None], scores, iou_threshold)


def reduced(loss: Tensor, reduction: str) -> Tensor:
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"Invalid Value for arg 'reduction': '{reduction}'")
    return loss if reduction == "none" else getattr(loss, reduction)()
