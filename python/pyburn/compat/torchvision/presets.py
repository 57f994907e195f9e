"""torchvision.transforms._presets: what pictures go through before a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import _core
from ..._core import Tensor
from ...data.transforms import InterpolationMode
from ...data.transforms import functional as F
from ...nn import Module

__all__ = ["ImageClassification", "InterpolationMode", "ObjectDetection", "OpticalFlow", "SemanticSegmentation", "VideoClassification"]

_MEAN, _STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def _floats(image: Any) -> Tensor:
    """A picture as a tensor between 0 and 1."""
    return F.convert_image_dtype(image if isinstance(image, Tensor) else F.pil_to_tensor(image), _core.float32)


class _Preset(Module):
    """A preprocessing module whose repr shows its options."""

    def __repr__(self) -> str:
        lines = "".join(
            f"\n    {name}={getattr(self, name)}" for name in ("crop_size", "resize_size", "mean", "std") if hasattr(self, name)
        )
        return f"{type(self).__name__}({lines}\n    interpolation={self.interpolation}\n)" if lines else f"{type(self).__name__}()"


class ObjectDetection(_Preset):
    """Converts an image to a float tensor with values from 0 to 1.

    >>> ObjectDetection()(pyburn.full((3, 1, 1), 255, dtype=pyburn.uint8)).flatten()
    tensor([1., 1., 1.])
    """

    def forward(self, img: Any) -> Tensor:
        return _floats(img)


class SemanticSegmentation(_Preset):
    """Resizes an image so that its shorter side has a given length, and normalizes it.

    Args:
        resize_size: The length of the shorter side; None keeps the size.
        mean: The mean of each channel, which is subtracted.
        std: The standard deviation of each channel, by which is divided.
        interpolation: The interpolation of resizing.
        antialias: Whether to smooth when the image gets smaller.

    >>> SemanticSegmentation(resize_size=4)(pyburn.zeros(3, 8, 16)).shape
    pyburn.Size([3, 4, 8])
    """

    def __init__(
        self,
        *,
        resize_size: int | None,
        mean: Sequence[float] = _MEAN,
        std: Sequence[float] = _STD,
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.resize_size, self.mean, self.std = None if resize_size is None else [resize_size], list(mean), list(std)
        self.interpolation, self.antialias = interpolation, antialias

    def _resized(self, img: Any) -> Any:
        return img if self.resize_size is None else F.resize(img, self.resize_size, self.interpolation, antialias=self.antialias)

    def forward(self, img: Any) -> Tensor:
        return F.normalize(_floats(self._resized(img)), self.mean, self.std)


class ImageClassification(SemanticSegmentation):
    """Resizes an image, crops its center and normalizes it.

    Args:
        crop_size: The height and width of the result.
        resize_size: The length of the shorter side before the crop.
        **options: The options of SemanticSegmentation.

    >>> ImageClassification(crop_size=4, resize_size=6)(pyburn.zeros(3, 8, 16)).shape
    pyburn.Size([3, 4, 4])
    """

    def __init__(self, *, crop_size: int, resize_size: int = 256, **options: Any) -> None:
        super().__init__(resize_size=resize_size, **options)
        self.crop_size = [crop_size]

    def _resized(self, img: Any) -> Any:
        return F.center_crop(super()._resized(img), self.crop_size)


class VideoClassification(_Preset):
    """Resizes and crops the frames of videos, normalizes them and moves the channels first: (N, T, C, H, W) to (N, C, T, h, w).

    Args:
        crop_size: The size of the result as (h, w).
        resize_size: The size before the crop as (h, w).
        mean: The mean of each channel, which is subtracted.
        std: The standard deviation of each channel, by which is divided.
        interpolation: The interpolation of resizing.

    >>> VideoClassification(crop_size=(4, 4), resize_size=(6, 6))(pyburn.zeros(1, 2, 3, 8, 8)).shape
    pyburn.Size([1, 3, 2, 4, 4])
    """

    def __init__(
        self,
        *,
        crop_size: Sequence[int],
        resize_size: Sequence[int],
        mean: Sequence[float] = (0.43216, 0.394666, 0.37645),
        std: Sequence[float] = (0.22803, 0.22145, 0.216989),
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    ) -> None:
        super().__init__()
        self.crop_size, self.resize_size, self.mean, self.std = list(crop_size), list(resize_size), list(mean), list(std)
        self.interpolation = interpolation

    def forward(self, vid: Tensor) -> Tensor:
        frames = vid.reshape(-1, *vid.shape[-3:])
        frames = F.resize(frames, self.resize_size, interpolation=self.interpolation, antialias=False)
        frames = F.normalize(_floats(F.center_crop(frames, self.crop_size)), self.mean, self.std)
        return frames.reshape(*vid.shape[:-2], *frames.shape[-2:]).transpose(-4, -3)


class OpticalFlow(_Preset):
    """Converts two images to float tensors with values from -1 to 1.

    >>> first, second = OpticalFlow()(pyburn.zeros(3, 1, 1), pyburn.ones(3, 1, 1))
    >>> second.flatten()
    tensor([1., 1., 1.])
    """

    def forward(self, img1: Any, img2: Any) -> tuple[Tensor, Tensor]:
        return _floats(img1) * 2 - 1, _floats(img2) * 2 - 1
