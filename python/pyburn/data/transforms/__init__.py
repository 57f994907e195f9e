"""Transforms of images, under the names of torchvision.transforms; of signals, in `transforms.eeg`.

Images are Pillow's or tensors (..., C, H, W).
"""

from typing import TYPE_CHECKING

from . import functional
from .augmentation import RandAugment, TrivialAugmentWide
from .geometry import InterpolationMode
from .mixing import CutMix, MixUp
from .plain import (
    CenterCrop,
    Compose,
    ConvertImageDtype,
    Grayscale,
    Lambda,
    Normalize,
    Pad,
    PILToTensor,
    Resize,
    ToPILImage,
    ToTensor,
)
from .randomly import (
    ColorJitter,
    GaussianBlur,
    RandomAffine,
    RandomApply,
    RandomChoice,
    RandomCrop,
    RandomErasing,
    RandomGrayscale,
    RandomHorizontalFlip,
    RandomOrder,
    RandomResizedCrop,
    RandomRotation,
    RandomVerticalFlip,
)

if TYPE_CHECKING:
    from . import eeg

__all__ = [
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "ConvertImageDtype",
    "CutMix",
    "GaussianBlur",
    "Grayscale",
    "InterpolationMode",
    "Lambda",
    "MixUp",
    "Normalize",
    "PILToTensor",
    "Pad",
    "RandAugment",
    "RandomAffine",
    "RandomApply",
    "RandomChoice",
    "RandomCrop",
    "RandomErasing",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomOrder",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomVerticalFlip",
    "Resize",
    "ToPILImage",
    "ToTensor",
    "TrivialAugmentWide",
    "eeg",
    "functional",
]


def __getattr__(name: str) -> object:
    """Signals are loaded when they are asked for."""
    if name != "eeg":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return importlib.import_module(".eeg", __name__)
