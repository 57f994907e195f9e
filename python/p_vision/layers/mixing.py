"""Layers that mix the images of a batch and their labels (MixUp, CutMix), and policies of random augmentations (RandAugment, AugMix)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyburn
from pyburn import Tensor

from . import augmentation, colour
from .arguments import positive, share_of
from .image import RandomLayer, ValueLayer
from .windows import as_given, channels_first


class _MixingLayer(RandomLayer):
    """Base class: takes images, or a dict of "images", "labels" (class vectors) and "segmentation_masks", which are mixed consistently."""

    def forward(self, inputs: Any) -> Any:
        if not self.training:
            return inputs
        images = inputs["images"] if isinstance(inputs, Mapping) else inputs
        if images.ndim != 4:
            raise pyburn.ShapeError(f"[{type(self).__name__}] expected a batch of pictures: got the shape {tuple(images.shape)}")
        x = channels_first(images if images.is_floating_point() else images.float(), self.data_format)
        others = pyburn.randperm(len(x), generator=self._generator, device=x.device)
        share, kept = self._drawn(x)  # per image: its own weight, and the mask where it is kept

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
    """MixUp: blends each image with another one of the batch, with a weight from Beta(alpha, alpha).

    Args:
        alpha: The parameter of the distribution of the weights.

    Raises:
        ValueError: alpha is not positive.

    >>> batch = {"images": pyburn.rand(4, 8, 8, 3), "labels": pyburn.eye(4)}
    >>> mixed = p_vision.MixUp(alpha=0.4, seed=0)(batch)
    >>> mixed["images"].shape, mixed["labels"].sum(1).round(decimals=4).tolist()
    (pyburn.Size([4, 8, 8, 3]), [1.0, 1.0, 1.0, 1.0])
    """

    alpha: float = 0.2
    data_format: str | None = "channels_last"
    seed: int | None = None

    def prepare(self) -> None:
        super().prepare()
        _check_alpha(self)

    def _drawn(self, x: Tensor) -> tuple[Tensor, Tensor]:
        share = _beta(self, x, self.alpha)
        return share, share.reshape(-1, 1, 1, 1)


class CutMix(_MixingLayer):
    """CutMix: replaces a box in each image by that of another image, and mixes the labels by area.

    Args:
        factor: The range of the area of the box, as a fraction of the image; a single number f is (0, f).

    >>> p_vision.CutMix(seed=0)(pyburn.rand(4, 8, 8, 3)).shape
    pyburn.Size([4, 8, 8, 3])
    """

    factor: Any = 1.0
    seed: int | None = None
    data_format: str | None = "channels_last"

    def prepare(self) -> None:
        super().prepare()
        self._span = share_of("CutMix", "factor", self.factor)

    def _drawn(self, x: Tensor) -> tuple[Tensor, Tensor]:
        own = _beta(self, x, 1.0)
        low, high = self._span
        box = colour.boxes(self, x, ((1 - own) * (high - low) + low).sqrt())
        kept = 1 - box.to(x.dtype)
        return kept.mean([1, 2, 3]), kept


def _check_alpha(layer: Any) -> None:
    if layer.alpha <= 0:
        raise ValueError(f"[{type(layer).__name__}] alpha must be positive: got {layer.alpha}")


def _beta(layer: RandomLayer, x: Tensor, alpha: float) -> Tensor:
    """Draws one sample of Beta(alpha, alpha) per image."""
    if alpha == 1.0:
        return layer._uniform(x, 0, 1)
    return pyburn.tensor(_draws(layer).beta(alpha, alpha, len(x)), dtype=x.dtype, device=x.device)


def _draws(layer: RandomLayer) -> Any:
    """Returns a NumPy generator, which has more distributions, seeded by the generator of the layer."""
    import numpy

    return numpy.random.default_rng(int(pyburn.randint(1 << 31, (1,), generator=layer._generator, device="cpu")))


class RandAugment(ValueLayer):
    """RandAugment: applies `num_ops` augmentations, drawn per batch from 14 (Cubuk et al. 2019).

    Args:
        num_ops: The number of augmentations.
        factor: The strength, from 0 to 1; or a range.

    >>> p_vision.RandAugment(num_ops=2, seed=0)(pyburn.rand(2, 16, 16, 3) * 255).shape
    pyburn.Size([2, 16, 16, 3])
    """

    value_range: Sequence[float] = (0, 255)
    num_ops: int = 2
    factor: Any = 0.5
    interpolation: str = "bilinear"
    seed: int | None = None
    data_format: str | None = "channels_last"

    def prepare(self) -> None:
        super().prepare()
        positive("RandAugment", "num_ops", self.num_ops)
        low, high = share_of("RandAugment", "factor", self.factor)
        span: Any = (low, high)
        seeded: dict[str, Any] = {"seed": self.seed}
        middle = (0.5 - high / 2, 0.5 + high / 2)  # for layers where 0.5 leaves the image unchanged
        move: dict[str, Any] = {"interpolation": self.interpolation, "fill_mode": "constant", **seeded}
        valued: dict[str, Any] = {"value_range": self.value_range, **seeded}
        self._changes: list[RandomLayer] = [
            colour.AutoContrast(self.value_range),
            colour.RandomInvert(high, **valued),
            colour.Solarization(span, span, **valued),
            colour.RandomPosterization(max(8 - round(4 * high), 1), **valued),
            colour.RandomSaturation(middle, **valued),
            colour.RandomSharpness(middle, **valued),
            colour.RandomColorDegeneration(span, **valued),
            colour.RandomGrayscale(high, **seeded),
            augmentation.RandomBrightness(high, **valued),
            augmentation.RandomContrast(high, **valued),
            augmentation.RandomRotation(high / 6, **move),
            augmentation.RandomShear(high * 0.6, high * 0.6, **move),
            augmentation.RandomTranslation(high / 2, 0.0, **move),
            augmentation.RandomTranslation(0.0, high / 2, **move),
        ]

    def changed(self, x: Tensor) -> Tensor:
        drawn = pyburn.randint(len(self._changes), (self.num_ops,), generator=self._generator, device="cpu")
        for index in [0] * self.num_ops if drawn.device.type == "meta" else drawn.tolist():
            x = self._changes[index].changed(x)
        return x


class AugMix(ValueLayer):
    """AugMix: mixes images with the results of several chains of augmentations (Hendrycks et al. 2020).

    Args:
        num_chains: The number of chains.
        chain_depth: The largest number of augmentations of a chain.
        factor: The strength, from 0 to 1; or a range.
        alpha: The parameter of the distributions of the mixing weights.
        all_ops: Whether to change brightness, contrast, color and sharpness, too.

    Raises:
        ValueError: alpha is not positive.

    >>> p_vision.AugMix(num_chains=2, seed=0)(pyburn.rand(2, 16, 16, 3) * 255).shape
    pyburn.Size([2, 16, 16, 3])
    """

    value_range: Sequence[float] = (0, 255)
    num_chains: int = 3
    chain_depth: int = 3
    factor: Any = 0.3
    alpha: float = 1.0
    all_ops: bool = True
    interpolation: str = "bilinear"
    seed: int | None = None
    data_format: str | None = "channels_last"

    def prepare(self) -> None:
        super().prepare()
        for name in ("num_chains", "chain_depth"):
            positive("AugMix", name, getattr(self, name))
        _check_alpha(self)
        span = share_of("AugMix", "factor", self.factor)
        move: dict[str, Any] = {"interpolation": self.interpolation, "seed": self.seed}
        valued: dict[str, Any] = {"value_range": self.value_range, "seed": self.seed}
        self._changes: list[RandomLayer] = [
            augmentation.RandomShear(span, span, **move),
            augmentation.RandomTranslation(span, span, **move),
            augmentation.RandomRotation(span, **move),
            colour.RandomPosterization(max(int(8 * span[1]), 1), **valued),
            colour.Solarization(span, span, **valued),
            colour.AutoContrast(self.value_range),
            colour.Equalization(self.value_range),
        ]
        if self.all_ops:
            self._changes += [
                augmentation.RandomBrightness(span, **valued),
                colour.RandomColorDegeneration(span, **valued),
                augmentation.RandomContrast(span, **valued),
                colour.RandomSharpness(span, **valued),
            ]

    def changed(self, x: Tensor) -> Tensor:
        if x.device.type == "meta":
            return x
        draw = _draws(self)
        shares, own = draw.dirichlet([self.alpha] * self.num_chains), float(draw.beta(self.alpha, self.alpha))
        mixed = x * own
        for share in shares:
            link = x
            for index in draw.integers(len(self._changes) + 1, size=self.chain_depth):
                link = self._changes[index].changed(link) if index < len(self._changes) else link  # the last index is the identity
            mixed = mixed + link * (float(share) * (1 - own))
        return mixed.clamp(*self.value_range)
