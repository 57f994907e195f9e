"""Augmentation with few knobs: RandAugment and TrivialAugmentWide draw from a list of changes and their strengths."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..randomness import python_random
from . import functional as F
from .geometry import Fill, InterpolationMode, interpolation_mode
from .plain import Transform

Change = Callable[[Any, float, InterpolationMode, Any], Any]


def _affine(
    img: Any, mode: InterpolationMode, fill: Any, *, moves: tuple[int, int] = (0, 0), slants: tuple[float, float] = (0.0, 0.0)
) -> Any:
    # Shears keep the top left corner where it is.
    corner = [0, 0] if slants != (0.0, 0.0) else None
    return F.affine(img, 0.0, moves, 1.0, slants, interpolation=mode, fill=fill, center=corner)


_CHANGES: dict[str, Change] = {
    "Identity": lambda img, m, mode, fill: img,
    "ShearX": lambda img, m, mode, fill: _affine(img, mode, fill, slants=(math.degrees(math.atan(m)), 0.0)),
    "ShearY": lambda img, m, mode, fill: _affine(img, mode, fill, slants=(0.0, math.degrees(math.atan(m)))),
    "TranslateX": lambda img, m, mode, fill: _affine(img, mode, fill, moves=(int(m), 0)),
    "TranslateY": lambda img, m, mode, fill: _affine(img, mode, fill, moves=(0, int(m))),
    "Rotate": lambda img, m, mode, fill: F.rotate(img, m, mode, fill=fill),
    "Brightness": lambda img, m, mode, fill: F.adjust_brightness(img, 1.0 + m),
    "Color": lambda img, m, mode, fill: F.adjust_saturation(img, 1.0 + m),
    "Contrast": lambda img, m, mode, fill: F.adjust_contrast(img, 1.0 + m),
    "Sharpness": lambda img, m, mode, fill: F.adjust_sharpness(img, 1.0 + m),
    "Posterize": lambda img, m, mode, fill: F.posterize(img, int(m)),
    "Solarize": lambda img, m, mode, fill: F.solarize(img, m),
    "AutoContrast": lambda img, m, mode, fill: F.autocontrast(img),
    "Equalize": lambda img, m, mode, fill: F.equalize(img),
}
_SIGNED = {"ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness", "Color", "Contrast", "Sharpness"}


class _Augment(Transform):
    num_magnitude_bins: int
    interpolation: InterpolationMode
    fill: Fill

    def _change(self, img: Any, name: str, strength: float) -> Any:
        return _CHANGES[name](img, strength, self.interpolation, self.fill)


def _at(low: float, high: float, level: int, levels: int) -> float:
    return low + (high - low) * level / max(levels - 1, 1)


class RandAugment(_Augment):
    """`num_ops` random changes of an image, one after the other, all of the strength `magnitude` (of `num_magnitude_bins`)."""

    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: InterpolationMode | int = InterpolationMode.NEAREST,
        fill: Fill = None,
    ) -> None:
        if not 0 <= magnitude < num_magnitude_bins:
            raise ValueError(f"expected a magnitude from 0 to {num_magnitude_bins - 1}: got {magnitude}")
        self.num_ops = num_ops
        self.magnitude = magnitude
        self.num_magnitude_bins = num_magnitude_bins
        self.interpolation = interpolation_mode(interpolation)
        self.fill = fill

    def _strengths(self, height: int, width: int) -> dict[str, float]:
        share = _at(0.0, 1.0, self.magnitude, self.num_magnitude_bins)
        return {
            "Identity": 0.0,
            "ShearX": 0.3 * share,
            "ShearY": 0.3 * share,
            "TranslateX": 150.0 / 331.0 * width * share,
            "TranslateY": 150.0 / 331.0 * height * share,
            "Rotate": 30.0 * share,
            "Brightness": 0.9 * share,
            "Color": 0.9 * share,
            "Contrast": 0.9 * share,
            "Sharpness": 0.9 * share,
            "Posterize": 8 - round(self.magnitude / ((self.num_magnitude_bins - 1) / 4)) if self.num_magnitude_bins > 1 else 8,
            "Solarize": 255.0 * (1 - share),
            "AutoContrast": 0.0,
            "Equalize": 0.0,
        }

    def __call__(self, img: Any) -> Any:
        _, height, width = F.get_dimensions(img)
        strengths = self._strengths(height, width)
        draw = python_random()
        for _ in range(self.num_ops):
            name = draw.choice(list(strengths))
            sign = draw.choice((1, -1)) if name in _SIGNED else 1
            img = self._change(img, name, sign * strengths[name])
        return img


class TrivialAugmentWide(_Augment):
    """One random change of an image, of random strength."""

    def __init__(
        self,
        num_magnitude_bins: int = 31,
        interpolation: InterpolationMode | int = InterpolationMode.NEAREST,
        fill: Fill = None,
    ) -> None:
        self.num_magnitude_bins = num_magnitude_bins
        self.interpolation = interpolation_mode(interpolation)
        self.fill = fill

    def __call__(self, img: Any) -> Any:
        draw = python_random()
        name = draw.choice(list(_CHANGES))
        level, levels = draw.randrange(self.num_magnitude_bins), self.num_magnitude_bins
        if name == "Posterize":
            strength: float = 8 - round(level / max((levels - 1) / 6, 1e-9))
        elif name == "Solarize":
            strength = _at(255.0, 0.0, level, levels)
        else:
            widest = {"Rotate": 135.0, "TranslateX": 32.0, "TranslateY": 32.0}.get(name, 0.99)
            strength = _at(0.0, widest, level, levels)
        sign = draw.choice((1, -1)) if name in _SIGNED else 1
        return self._change(img, name, sign * strength)
