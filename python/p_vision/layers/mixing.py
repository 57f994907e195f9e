"""Layers that mix the pictures of a batch, and their labels with them, and the one that draws from all changes: RandAugment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyburn
from pyburn import Tensor

from . import colour, preprocessing
from .dense import positive
from .image import RandomLayer
from .windows import as_given, channels_first


class _MixingLayer(RandomLayer):
    """Takes pictures, or a dict of "images", "labels" (vectors of classes) and "segmentation_masks", which are mixed alike."""

    def forward(self, inputs: Any) -> Any:
        if not self.training:
            return inputs
        images = inputs["images"] if isinstance(inputs, Mapping) else inputs
        if images.ndim != 4:
            raise pyburn.ShapeError(f"[{type(self).__name__}] expected a batch of pictures: got the shape {tuple(images.shape)}")
        x = channels_first(images if images.is_floating_point() else images.float(), self.data_format)
        others = pyburn.randperm(len(x), generator=self._generator, device=x.device)
        share, kept = self._drawn(x)  # of each picture, how much is its own, and where

        def mixed(part: Tensor, weight: Tensor) -> Tensor:
            return part * weight + part[others] * (1 - weight)

        pictures = as_given(mixed(x, kept), self.data_format)
        if not isinstance(inputs, Mapping):
            return pictures
        changed = {**inputs, "images": pictures}
        if "labels" in inputs:
            labels = inputs["labels"]
            if not labels.is_floating_point() or labels.ndim < 2:
                raise ValueError(f"[{type(self).__name__}] labels are mixed as vectors: give them through to_categorical")
            changed["labels"] = mixed(labels, share.reshape(-1, *[1] * (labels.ndim - 1)).to(labels.dtype))
        if "segmentation_masks" in inputs:
            masks = channels_first(inputs["segmentation_masks"].float(), self.data_format)
            changed["segmentation_masks"] = as_given(mixed(masks, kept), self.data_format)
        return changed

    def _drawn(self, x: Tensor) -> tuple[Tensor, Tensor]:
        raise NotImplementedError


class MixUp(_MixingLayer):
    """Mixes each picture with another one of the batch, by a share from Beta(alpha, alpha)."""

    def __init__(self, alpha: float = 0.2, data_format: str | None = "channels_last", seed: int | None = None, **options: Any) -> None:
        super().__init__(seed, data_format=data_format, **options)
        if alpha <= 0:
            raise ValueError(f"[MixUp] alpha must be positive: got {alpha}")
        self.alpha = alpha

    def _drawn(self, x: Tensor) -> tuple[Tensor, Tensor]:
        share = _beta(self, x, self.alpha)
        return share, share.reshape(-1, 1, 1, 1)


class CutMix(_MixingLayer):
    """Puts a box of another picture of the batch into each; labels are mixed by the area. `factor` bounds the area of the box."""

    def __init__(self, factor: Any = 1.0, seed: int | None = None, data_format: str | None = "channels_last", **options: Any) -> None:
        super().__init__(seed, data_format=data_format, **options)
        self.factor = factor
        self._span = colour.share_range("CutMix", factor)

    def _drawn(self, x: Tensor) -> tuple[Tensor, Tensor]:
        own = _beta(self, x, 1.0)
        low, high = self._span
        box = colour.boxes(self, x, ((1 - own) * (high - low) + low).sqrt())
        kept = 1 - box.to(x.dtype)
        return kept.mean([1, 2, 3]), kept


def _beta(layer: RandomLayer, x: Tensor, alpha: float) -> Tensor:
    """A number from Beta(alpha, alpha) for each picture."""
    if alpha == 1.0:
        return layer._uniform(x, 0, 1)
    import numpy

    draw = numpy.random.default_rng(int(pyburn.randint(1 << 31, (1,), generator=layer._generator)))
    return pyburn.tensor(draw.beta(alpha, alpha, len(x)), dtype=x.dtype, device=x.device)


class RandAugment(RandomLayer):
    """`num_ops` changes one after the other, drawn for each batch from fourteen, as strong as `factor` (from 0 to 1) says."""

    def __init__(
        self,
        value_range: Sequence[float] = (0, 255),
        num_ops: int = 2,
        factor: Any = 0.5,
        interpolation: str = "bilinear",
        seed: int | None = None,
        data_format: str | None = "channels_last",
        **options: Any,
    ) -> None:
        super().__init__(seed, data_format=data_format, **options)
        self.value_range, self.num_ops, self.factor, self.interpolation = tuple(value_range), num_ops, factor, interpolation
        positive("RandAugment", "num_ops", num_ops)
        low, high = colour.share_range("RandAugment", factor)
        span, seeded = (low, high), {"seed": seed}
        middle = (0.5 - high / 2, 0.5 + high / 2)  # of the layers for which 0.5 leaves a picture as it is
        move = {"interpolation": interpolation, "fill_mode": "constant", **seeded}
        valued: dict[str, Any] = {"value_range": self.value_range, **seeded}
        self._changes: list[RandomLayer] = [
            colour.AutoContrast(**valued),
            colour.RandomInvert(high, **valued),
            colour.Solarization(span, span, **valued),
            colour.RandomPosterization(max(8 - round(4 * high), 1), **valued),
            colour.RandomSaturation(middle, **valued),
            colour.RandomSharpness(middle, **valued),
            colour.RandomColorDegeneration(span, **valued),
            colour.RandomGrayscale(high, **seeded),
            preprocessing.RandomBrightness(high, **valued),
            preprocessing.RandomContrast(high, **valued),
            preprocessing.RandomRotation(high / 6, **move),
            preprocessing.RandomShear(high * 0.6, high * 0.6, **move),
            preprocessing.RandomTranslation(high / 2, 0.0, **move),
            preprocessing.RandomTranslation(0.0, high / 2, **move),
        ]

    def changed(self, x: Tensor) -> Tensor:
        drawn = pyburn.randint(len(self._changes), (self.num_ops,), generator=self._generator, device="cpu")
        for index in [0] * self.num_ops if drawn.device.type == "null" else drawn.tolist():
            x = self._changes[index].changed(x)
        return x
