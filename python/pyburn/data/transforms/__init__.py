"""Image transforms with torchvision's names.

Images are Pillow images or tensors (..., C, H, W).
"""

from typing import TYPE_CHECKING

from ..._on_demand import on_demand
from . import functional
from .augmentation import RandAugment, TrivialAugmentWide
from .geometry import InterpolationMode
from .mixing import CutMix, MixUp
from .plain import (
    RGB,
    CenterCrop,
    Compose,
    ConvertImageDtype,
    FiveCrop,
    Grayscale,
    Identity,
    Lambda,
    LinearTransformation,
    Normalize,
    Pad,
    PILToTensor,
    Resize,
    TenCrop,
    ToDtype,
    ToImage,
    ToPILImage,
    ToPureTensor,
    ToTensor,
    Transform,
    UniformTemporalSubsample,
)
from .policies import AugMix, AutoAugment, AutoAugmentPolicy
from .random_pixels import (
    JPEG,
    GaussianNoise,
    RandomAdjustSharpness,
    RandomAutocontrast,
    RandomChannelPermutation,
    RandomEqualize,
    RandomInvert,
    RandomPhotometricDistort,
    RandomPosterize,
    RandomSolarize,
)
from .random_shapes import (
    ElasticTransform,
    RandomPerspective,
    RandomResize,
    RandomShortestSize,
    RandomZoomOut,
    ScaleJitter,
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
    from . import v2

__all__ = [
    "FiveCrop",
    "Identity",
    "LinearTransformation",
    "RGB",
    "TenCrop",
    "ToDtype",
    "ToImage",
    "ToPureTensor",
    "Transform",
    "UniformTemporalSubsample",
    "ElasticTransform",
    "GaussianNoise",
    "JPEG",
    "RandomAdjustSharpness",
    "RandomAutocontrast",
    "RandomChannelPermutation",
    "RandomEqualize",
    "RandomInvert",
    "RandomPerspective",
    "RandomPhotometricDistort",
    "RandomPosterize",
    "RandomResize",
    "RandomShortestSize",
    "RandomSolarize",
    "RandomZoomOut",
    "ScaleJitter",
    "AugMix",
    "AutoAugment",
    "AutoAugmentPolicy",
    "v2",
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
    "functional",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_demand(__name__, "v2")
