"""Regions of images: non-maximum suppression, and regions brought to one size."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ... import _core
from ..interface import kernel
from .arrays import wide


class RegionKernels:
    @kernel
    def nms(self, boxes, scores, *, iou_threshold):
        if boxes.dtype.kind != "f" or scores.dtype.kind != "f":
            raise _core.DTypeError(f"[nms] expected a floating dtype: got {boxes.dtype}, {scores.dtype}")
        if boxes.ndim != 2 or boxes.shape[1] != 4:
            raise _core.ShapeError(f"[nms] expected boxes (N, 4): got {boxes.shape}")
        if scores.shape != boxes.shape[:1]:
            raise _core.ShapeError(f"[nms] expected scores ({len(boxes)},): got {scores.shape}")
        x1, y1, x2, y2 = boxes.T
        area, left, kept = (x2 - x1) * (y2 - y1), np.argsort(-scores, kind="stable"), []
        while len(left):
            best, left = left[0], left[1:]
            kept.append(best)
            width = np.minimum(x2[best], x2[left]) - np.maximum(x1[best], x1[left])
            common = width.clip(0) * (np.minimum(y2[best], y2[left]) - np.maximum(y1[best], y1[left])).clip(0)
            left = left[~(common / (area[best] + area[left] - common) > iou_threshold)]
        return np.array(kept, np.int64)

    @kernel
    def roi_align(self, x, boxes, *, size, **how):
        y = np.zeros((len(boxes), x.shape[1], *size))
        for k, image, row, column, weights in bins(boxes, x.shape, size, **how):
            y[k, :, row, column] = (wide(x[image]) * weights).sum((1, 2))
        return y

    @kernel
    def roi_align_input(self, dy, boxes, *, size, **how):
        dx = np.zeros(size)
        for k, image, row, column, weights in bins(boxes, size, dy.shape[2:], **how):
            dx[image] += wide(dy[k, :, row, column])[:, None, None] * weights
        return dx


def bins(boxes, extents, size, *, spatial_scale, sampling_ratio, aligned) -> Iterator[tuple[int, int, int, int, np.ndarray]]:
    """Each bin of each box: its box, image, row, column, and how much each pixel of the image counts."""
    images, _, height, width = extents
    for k, box in enumerate(boxes):
        if not 0 <= box[0] < images:
            raise _core.ArgumentError(f"[roi_align] a box names an image that does not exist: got {box[0]} of {images}")
        x1, y1, x2, y2 = box[1:] * box.dtype.type(spatial_scale) - (0.5 if aligned else 0)
        least = -np.inf if aligned else 1
        axes = []
        for start, length, count, extent in ((y1, max(y2 - y1, least), size[0], height), (x1, max(x2 - x1, least), size[1], width)):
            samples = sampling_ratio if sampling_ratio > 0 else max(0, int(np.ceil(length / count)))
            steps = (np.arange(count * samples) + 0.5) / max(1, samples) * (length / count) + start
            axes.append([triangles(steps[i * samples : (i + 1) * samples], extent) for i in range(count)])
        for row, rows in enumerate(axes[0]):
            for column, columns in enumerate(axes[1]):
                yield k, int(box[0]), row, column, np.outer(rows.sum(0), columns.sum(0)) / max(1, len(rows) * len(columns))


def triangles(places: np.ndarray, extent: int) -> np.ndarray:
    """How much each pixel of a line counts in each sample; more than a pixel outside, none does."""
    inside = (places >= -1) & (places <= extent)
    nearest = places.clip(0, extent - 1)
    return np.maximum(0, 1 - np.abs(nearest[:, None] - np.arange(extent))) * inside[:, None]
