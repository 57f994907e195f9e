"""MixUp and CutMix: mix the samples of a batch and their labels. Apply them after collation, or in `collate_fn`."""

from __future__ import annotations

import math
import random
from typing import Any

from ... import _core
from ..._core import Tensor
from ..randomness import python_random
from .plain import Transform


class _Mix(Transform):
    def __init__(self, *, alpha: float = 1.0, num_classes: int | None = None) -> None:
        if alpha <= 0:
            raise ValueError(f"expected a positive alpha: got {alpha}")
        self.alpha = float(alpha)
        self.num_classes = num_classes

    def __call__(self, *inputs: Any) -> Any:
        """Mixes (images, labels). Labels are class indices or class probabilities; further tensors are returned unchanged."""
        batch = inputs[0] if len(inputs) == 1 else inputs
        if not isinstance(batch, (tuple, list)) or len(batch) < 2:
            raise TypeError("expected a batch of images and labels: mixer(images, labels)")
        images, labels, *rest = batch
        if not isinstance(images, Tensor) or images.dim() < 2 or not images.is_floating_point():
            raise ValueError(f"Expected a batch of floating images: got {getattr(images, 'shape', type(images))}")
        shares = self._shares(labels, images)
        draw = python_random()
        kept = draw.betavariate(self.alpha, self.alpha)
        mixed, kept = self._mixed(images, kept, draw)
        blended = shares * kept + shares.roll(1, 0) * (1.0 - kept)
        return type(batch)((mixed, blended, *rest)) if isinstance(batch, list) else (mixed, blended, *rest)

    def _shares(self, labels: Tensor, images: Tensor) -> Tensor:
        if not isinstance(labels, Tensor) or labels.size(0) != images.size(0):
            raise ValueError(f"Expected a label per image: got {getattr(labels, 'shape', labels)} for {images.size(0)} images")
        if labels.dim() == 2:
            return labels if labels.is_floating_point() else labels.to(images.dtype)
        if labels.dim() != 1 or labels.is_floating_point():
            raise ValueError(f"Expected labels (batch,) of integers or (batch, classes): got {labels.dtype} {tuple(labels.shape)}")
        if self.num_classes is None:
            raise ValueError("num_classes must be passed if the labels are numbers of classes")
        return _core.one_hot(labels, self.num_classes).to(images.dtype)

    def _mixed(self, images: Tensor, kept: float, draw: random.Random) -> tuple[Tensor, float]:
        raise NotImplementedError


class MixUp(_Mix):
    """Blends each image with its predecessor in the batch (MixUp).

    Args:
        alpha: The parameter of the Beta distribution of the mixing ratio.
        num_classes: The number of classes, needed if labels are class indices.

    Raises:
        ValueError: alpha is not positive.

    >>> images, shares = MixUp(num_classes=3)(pyburn.rand(2, 1, 4, 4), pyburn.tensor([0, 2]))
    >>> [round(total, 4) for total in shares.sum(1).tolist()]
    [1.0, 1.0]
    """

    def _mixed(self, images: Tensor, kept: float, draw: random.Random) -> tuple[Tensor, float]:
        return images.roll(1, 0).mul_(1.0 - kept).add_(images * kept), kept


class CutMix(_Mix):
    """Replaces a rectangle of each image by that of its predecessor in the batch (CutMix). Arguments as for MixUp.

    >>> images, labels = pyburn.rand(4, 3, 8, 8), pyburn.arange(4)
    >>> [part.shape for part in pyburn.data.transforms.CutMix(num_classes=4)(images, labels)]
    [pyburn.Size([4, 3, 8, 8]), pyburn.Size([4, 4])]
    """

    def _mixed(self, images: Tensor, kept: float, draw: random.Random) -> tuple[Tensor, float]:
        height, width = images.shape[-2:]
        x, y = draw.randrange(width), draw.randrange(height)
        half = 0.5 * math.sqrt(1.0 - kept)
        left, right = max(x - int(half * width), 0), min(x + int(half * width), width)
        top, bottom = max(y - int(half * height), 0), min(y + int(half * height), height)
        mixed = images.clone()
        mixed[..., top:bottom, left:right] = images.roll(1, 0)[..., top:bottom, left:right]
        return mixed, 1.0 - (bottom - top) * (right - left) / (height * width)
