"""AutoAugment (learned augmentation policies) and AugMix (mixtures of augmentation chains)."""

from __future__ import annotations

from enum import Enum
from typing import Any

from ..._core import Tensor
from ..randomness import numpy_random, python_random
from . import functional as F
from .augmentation import SIGNED, Augment, at_level, strengths_at
from .geometry import Fill, InterpolationMode, interpolation_mode


class AutoAugmentPolicy(Enum):
    """The data set on which a policy was learned.

    >>> pyburn.data.transforms.AutoAugmentPolicy.IMAGENET.value
    'imagenet'
    """

    IMAGENET = "imagenet"
    CIFAR10 = "cifar10"
    SVHN = "svhn"


# The policies of Cubuk et al. (2019): 25 pairs of operations, each with its probability in tenths and its magnitude from 0 to 9.
_POLICIES = {
    AutoAugmentPolicy.IMAGENET: """
        Posterize 4 8 Rotate 6 9; Solarize 6 5 AutoContrast 6 -; Equalize 8 - Equalize 6 -; Posterize 6 7 Posterize 6 6;
        Equalize 4 - Solarize 2 4; Equalize 4 - Rotate 8 8; Solarize 6 3 Equalize 6 -; Posterize 8 5 Equalize 10 -; Rotate 2 3
        Solarize 6 8; Equalize 6 - Posterize 4 6; Rotate 8 8 Color 4 0; Rotate 4 9 Equalize 6 -; Equalize 0 - Equalize 8 -;
        Invert 6 - Equalize 10 -; Color 6 4 Contrast 10 8; Rotate 8 8 Color 10 2; Color 8 8 Solarize 8 7; Sharpness 4 7 Invert 6
        -; ShearX 6 5 Equalize 10 -; Color 4 0 Equalize 6 -; Equalize 4 - Solarize 2 4; Solarize 6 5 AutoContrast 6 -; Invert 6
        - Equalize 10 -; Color 6 4 Contrast 10 8; Equalize 8 - Equalize 6 -""",
    AutoAugmentPolicy.CIFAR10: """
        Invert 1 - Contrast 2 6; Rotate 7 2 TranslateX 3 9; Sharpness 8 1 Sharpness 9 3; ShearY 5 8 TranslateY 7 9; AutoContrast
        5 - Equalize 9 -; ShearY 2 7 Posterize 3 7; Color 4 3 Brightness 6 7; Sharpness 3 9 Brightness 7 9; Equalize 6 -
        Equalize 5 -; Contrast 6 7 Sharpness 6 5; Color 7 7 TranslateX 5 8; Equalize 3 - AutoContrast 4 -; TranslateY 4 3
        Sharpness 2 6; Brightness 9 6 Color 2 8; Solarize 5 2 Invert 0 -; Equalize 2 - AutoContrast 6 -; Equalize 2 - Equalize 6
        -; Color 9 9 Equalize 6 -; AutoContrast 8 - Solarize 2 8; Brightness 1 3 Color 7 0; Solarize 4 5 AutoContrast 9 -;
        TranslateY 9 9 TranslateY 7 9; AutoContrast 9 - Solarize 8 3; Equalize 8 - Invert 1 -; TranslateY 7 9 AutoContrast 9 -""",
    AutoAugmentPolicy.SVHN: """
        ShearX 9 4 Invert 2 -; ShearY 9 8 Invert 7 -; Equalize 6 - Solarize 6 6; Invert 9 - Equalize 6 -; Equalize 6 - Rotate 9
        3; ShearX 9 4 AutoContrast 8 -; ShearY 9 8 Invert 4 -; ShearY 9 5 Solarize 2 6; Invert 9 - AutoContrast 8 -; Equalize 6
        - Rotate 9 3; ShearX 9 4 Solarize 3 3; ShearY 8 8 Invert 7 -; Equalize 9 - TranslateY 6 6; Invert 9 - Equalize 6 -;
        Contrast 3 3 Rotate 8 4; Invert 8 - TranslateY 0 2; ShearY 7 6 Solarize 4 8; Invert 6 - Rotate 8 4; ShearY 3 7
        TranslateX 9 3; ShearX 1 6 Invert 6 -; Solarize 7 2 TranslateY 6 7; ShearY 8 4 Invert 8 -; ShearX 7 9 TranslateY 8 3;
        ShearY 8 5 AutoContrast 7 -; ShearX 7 2 Invert 1 -""",
}


def _read(text: str) -> list[list[tuple[str, float, int]]]:
    def change(name: str, tenths: str, level: str) -> tuple[str, float, int]:
        return name, int(tenths) / 10, 0 if level == "-" else int(level)

    words = [pair.split() for pair in text.split(";")]
    return [[change(*pair[:3]), change(*pair[3:])] for pair in words]


class AutoAugment(Augment):
    """Applies one of the 25 sub-policies of an AutoAugment policy.

    Args:
        policy: The policy.
        interpolation: The interpolation mode.
        fill: The fill value for pixels outside of the image.

    >>> pyburn.data.transforms.AutoAugment()(pyburn.zeros(3, 8, 12, dtype=pyburn.uint8)).shape
    pyburn.Size([3, 8, 12])
    """

    def __init__(
        self,
        policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET,
        interpolation: InterpolationMode | int = InterpolationMode.NEAREST,
        fill: Fill = None,
    ) -> None:
        self.policy = AutoAugmentPolicy(policy)
        self.interpolation = interpolation_mode(interpolation)
        self.fill = fill
        self._pairs = _read(_POLICIES[self.policy])

    def __call__(self, img: Any) -> Any:
        _, height, width = F.get_dimensions(img)
        draw = python_random()
        for name, probability, level in draw.choice(self._pairs):
            happens, sign = draw.random() < probability, draw.choice((1, -1)) if name in SIGNED else 1
            if happens:
                img = self.change(img, name, sign * strengths_at(level, 10, height, width).get(name, 0.0))
        return img


class AugMix(Augment):
    """Mixes the image with `mixture_width` randomly augmented copies (Hendrycks et al. 2020).

    Args:
        severity: The severity of the operations, 1 to 10.
        mixture_width: The number of augmented copies.
        chain_depth: The number of operations per copy; -1 for a random number.
        alpha: The parameter of the Beta and Dirichlet distributions of the weights.
        all_ops: Whether to include brightness, contrast, color and sharpness.
        interpolation: The interpolation mode.
        fill: The fill value for pixels outside of the image.

    Raises:
        ValueError: severity is out of range.

    >>> pyburn.data.transforms.AugMix()(pyburn.zeros(3, 8, 12, dtype=pyburn.uint8)).shape
    pyburn.Size([3, 8, 12])
    """

    def __init__(
        self,
        severity: int = 3,
        mixture_width: int = 3,
        chain_depth: int = -1,
        alpha: float = 1.0,
        all_ops: bool = True,
        interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
        fill: Fill = None,
    ) -> None:
        if not 1 <= severity <= 10:
            raise ValueError(f"The severity must be between [1, 10]. Got {severity} instead.")
        self.severity, self.mixture_width, self.chain_depth, self.alpha, self.all_ops = severity, mixture_width, chain_depth, alpha, all_ops
        self.interpolation = interpolation_mode(interpolation)
        self.fill = fill

    def _changed(self, img: Any, height: int, width: int) -> Any:
        draw = python_random()
        names = ["ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Posterize", "Solarize", "AutoContrast", "Equalize"]
        names += ["Brightness", "Color", "Contrast", "Sharpness"] if self.all_ops else []
        for _ in range(self.chain_depth if self.chain_depth > 0 else draw.randint(1, 3)):
            name, level = draw.choice(names), draw.randrange(self.severity)
            strength = strengths_at(level, 10, height, width)[name]
            if name.startswith("Translate"):
                strength = at_level(0.0, (width if name == "TranslateX" else height) / 3.0, level, 10)
            elif name == "Posterize":
                strength = 4 - round(level / (9 / 4))
            img = self.change(img, name, (draw.choice((1, -1)) if name in SIGNED else 1) * strength)
        return img

    def __call__(self, img: Any) -> Any:
        _, height, width = F.get_dimensions(img)
        random = numpy_random()
        original, mixed = random.dirichlet([self.alpha] * 2)
        shares = random.dirichlet([self.alpha] * self.mixture_width) * mixed
        picture = img if isinstance(img, Tensor) else F.pil_to_tensor(img)
        total = picture.float() * float(original)
        for share in shares:
            made = self._changed(img, height, width)
            total = total + (made if isinstance(made, Tensor) else F.pil_to_tensor(made)).float() * float(share)
        made = total.to(picture.dtype)
        return made if isinstance(img, Tensor) else F.to_pil_image(made)
