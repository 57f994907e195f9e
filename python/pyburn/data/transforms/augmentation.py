"""Automatic augmentation: RandAugment and TrivialAugmentWide."""

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
    # Shears keep the top left corner fixed.
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
    "Invert": lambda img, m, mode, fill: F.invert(img),
}
SIGNED = {"ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness", "Color", "Contrast", "Sharpness"}


class Augment(Transform):
    """Base class of automatic augmentations."""

    num_magnitude_bins: int
    interpolation: InterpolationMode
    fill: Fill

    def change(self, img: Any, name: str, strength: float) -> Any:
        """Applies an operation by name."""
        return _CHANGES[name](img, strength, self.interpolation, self.fill)


def at_level(low: float, high: float, level: int, levels: int) -> float:
    """Interpolates between low and high by level."""
    return low + (high - low) * level / max(levels - 1, 1)


def strengths_at(level: int, levels: int, height: int, width: int) -> dict[str, float]:
    """Returns the strength of each operation at a magnitude level, as in AutoAugment and RandAugment."""
    share = at_level(0.0, 1.0, level, levels)
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
        "Posterize": 8 - round(level / ((levels - 1) / 4)) if levels > 1 else 8,
        "Solarize": 255.0 * (1 - share),
        "AutoContrast": 0.0,
        "Equalize": 0.0,
    }


class RandAugment(Augment):
    """Applies `num_ops` random operations of equal magnitude (RandAugment).

    Args:
        num_ops: The number of operations.
        magnitude: The magnitude, in [0, num_magnitude_bins).
        num_magnitude_bins: The number of magnitude levels.
        interpolation: The interpolation mode.
        fill: The fill value for pixels outside of the image.

    Raises:
        ValueError: The magnitude is out of range.

    >>> pyburn.data.transforms.RandAugment(2, 5)(pyburn.zeros(3, 8, 12, dtype=pyburn.uint8)).shape
    pyburn.Size([3, 8, 12])
    """

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

    def __call__(self, img: Any) -> Any:
        _, height, width = F.get_dimensions(img)
        strengths = strengths_at(self.magnitude, self.num_magnitude_bins, height, width)
        draw = python_random()
        for _ in range(self.num_ops):
            name = draw.choice(list(strengths))
            sign = draw.choice((1, -1)) if name in SIGNED else 1
            img = self.change(img, name, sign * strengths[name])
        return img


class TrivialAugmentWide(Augment):
    """Applies one random operation of random magnitude (TrivialAugment).

    Args:
        num_magnitude_bins: The number of magnitude levels.
        interpolation: The interpolation mode.
        fill: The fill value for pixels outside of the image.

    >>> pyburn.data.transforms.TrivialAugmentWide()(pyburn.zeros(3, 8, 12, dtype=pyburn.uint8)).shape
    pyburn.Size([3, 8, 12])
    """

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
        name = draw.choice(list(strengths_at(0, 1, 1, 1)))
        level, levels = draw.randrange(self.num_magnitude_bins), self.num_magnitude_bins
        if name == "Posterize":
            strength: float = 8 - round(level / max((levels - 1) / 6, 1e-9))
        elif name == "Solarize":
            strength = at_level(255.0, 0.0, level, levels)
        else:
            widest = {"Rotate": 135.0, "TranslateX": 32.0, "TranslateY": 32.0}.get(name, 0.99)
            strength = at_level(0.0, widest, level, levels)
        sign = draw.choice((1, -1)) if name in SIGNED else 1
        return self.change(img, name, sign * strength)
